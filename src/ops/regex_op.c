/* SPDX-License-Identifier: Apache-2.0
 * ops/regex_op.c - RegexFullMatch: the pattern is compiled once, at load. */
#include <string.h>

#include "base/macros.h"
#include "graph/op_def.h"
#include "kern/text/regex.h"

typedef struct {
  const char *pattern;
} regex_attrs;
static const ox_attr_def attr_defs[] = {OX_ATTR_STR(regex_attrs, pattern, NULL)};

typedef struct {
  ox_arena arena;
  ox_regex *regex;
} regex_state;

enum { PER_TILE = 64 };

static ox_status *infer(ox_infer_ctx *c) {
  if (ox_infer_has(c, 0)) ox_infer_out(c, 0, OX_BOOL, &c->in[0]->shape);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  const regex_attrs *a = c->attrs;
  if (!a->pattern) return ox_fail(OX_INVALID_MODEL, "RegexFullMatch: no pattern");
  regex_state *s = c->state = OX_LOAD_NEW(c, regex_state);
  if (!s) return ox_oom();
  ox_arena_init(&s->arena, c->alloc);
  return ox_regex_compile(&s->arena, a->pattern, strlen(a->pattern), &s->regex);
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const regex_state *s = c->state;
  return ox_ctx_plan(c, OX_CEIL_DIV(ox_shape_count(&c->in[0]->shape), PER_TILE), ox_regex_scratch(s->regex));
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const regex_state *s = c->state;
  const ox_str *in = c->in[0]->data;
  int64_t end = OX_MIN(tiles.end * PER_TILE, ox_shape_count(&c->in[0]->shape));
  for (int64_t i = tiles.begin * PER_TILE; i < end; i++) {
    ox_regex_work w = ox_regex_work_on(in[i].n, scratch, ox_ctx_stop(c));
    ((uint8_t *)c->out[0]->data)[i] = ox_regex_full_match(s->regex, in[i].p, in[i].n, &w);
    if (ox_ctx_stopped_each(c, i, 16)) return NULL;
    OX_TRY(ox_regex_work_status(&w, in[i].n));
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "RegexFullMatch", .since = 20, .types = {OX_BIT(OX_STRING)}, .min_in = 1, .max_in = 1,
               OX_ATTRS(attr_defs), .attrs_bytes = sizeof(regex_attrs), .infer = infer),
     OX_KERNEL(.load = load, .unload = ox_unload_arena, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_regex_op = {ops, OX_COUNT(ops)};
