/* SPDX-License-Identifier: Apache-2.0
 * ops/tokenizer.c - com.microsoft's Tokenizer: by characters, by separators, or by a pattern for tokens. */
#include <string.h>

#include "kern/text/regex.h"
#include "kern/text/utf8.h"
#include "ops/move/deferred.h"

typedef struct {
  int64_t mark, mincharnum;
  const char *pad_value, *tokenexp;
  ox_strs separators;
} tokenizer_attrs;
static const ox_attr_def attr_defs[] = {
    OX_ATTR_INT_REQUIRED(tokenizer_attrs, mark),
    OX_ATTR_INT_REQUIRED_IN(tokenizer_attrs, mincharnum, 1, OX_COUNT_MAX),
    OX_ATTR_STR(tokenizer_attrs, pad_value, NULL),
    OX_ATTR_STR(tokenizer_attrs, tokenexp, NULL),
    OX_ATTR_STRS(tokenizer_attrs, separators),
};

typedef struct tokenizer_state {
  ox_arena arena;
  bool by_character;
  ox_regex *token;
  ox_regex **separators;
  size_t n_separators, scratch;
} tokenizer_state;

static ox_status *infer(ox_infer_ctx *c) {
  const tokenizer_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  if (s.rank >= 0 && (s.rank < 1 || s.rank > 2))
    return ox_fail(OX_SHAPE_MISMATCH, "Tokenizer: input has rank %d, wanted 1 or 2", s.rank);
  if (!a->tokenexp == !a->separators.n)
    return ox_fail(OX_INVALID_MODEL, "Tokenizer: wanted one of tokenexp and separators");
  if (s.rank > 0) s.dim[s.rank++] = -1;
  ox_infer_out(c, 0, OX_STRING, &s);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  const tokenizer_attrs *a = c->attrs;
  tokenizer_state *s = c->state = OX_LOAD_NEW(c, tokenizer_state);
  if (!s) return ox_oom();
  ox_arena_init(&s->arena, c->alloc);
  s->by_character = a->tokenexp ? strcmp(a->tokenexp, ".") == 0 : a->separators.n == 1 && a->separators.v[0].n == 0;
  if (s->by_character) return NULL;
  if (a->tokenexp) {
    OX_TRY(ox_regex_compile(&s->arena, a->tokenexp, strlen(a->tokenexp), &s->token));
    s->scratch = ox_regex_scratch(s->token);
    return NULL;
  }
  s->n_separators = a->separators.n;
  s->separators = OX_ARENA_ARRAY(&s->arena, ox_regex *, a->separators.n);
  if (!s->separators) return ox_oom();
  for (size_t i = 0; i < a->separators.n; i++) {
    OX_TRY(ox_regex_compile(&s->arena, a->separators.v[i].p, a->separators.v[i].n, &s->separators[i]));
    s->scratch = OX_MAX(s->scratch, ox_regex_scratch(s->separators[i]));
  }
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) { return ox_ctx_plan(c, 1, ((const tokenizer_state *)c->state)->scratch); }

/* The state of splitting a string into tokens. */
typedef struct cursor {
  const tokenizer_state *s;
  int64_t least;
  ox_str text;
  size_t at;
  ox_regex_work work;
} cursor;

static int64_t characters(ox_str s) {
  int64_t n = 0;
  uint32_t cp;
  for (size_t i = 0; i < s.n; n++) i += ox_utf8_next(s.p + i, s.n - i, &cp);
  return n;
}

static size_t step(const cursor *c, size_t at) {
  uint32_t cp;
  return ox_utf8_next(c->text.p + at, c->text.n - at, &cp);
}

/* The next separator from c->at on, the first one listed if several begin there; the text's end if there is none. */
static size_t next_separator(cursor *c, size_t *out_len) {
  size_t best = c->text.n, len;
  *out_len = 0;
  for (size_t i = 0; i < c->s->n_separators; i++) {
    size_t at = ox_regex_find(c->s->separators[i], c->text.p, c->text.n, c->at, &len, &c->work);
    if (at < best) best = at, *out_len = len;
  }
  return best;
}

/* The next piece, however short; false at the end. */
static bool next_piece(cursor *c, ox_str *out) {
  size_t from = c->at, len;
  if (c->at >= c->text.n) return false;
  if (c->s->token) {
    from = ox_regex_find(c->s->token, c->text.p, c->text.n, c->at, &len, &c->work);
    if (from == SIZE_MAX) return false;
    *out = (ox_str){c->text.p + from, len}, c->at = from + len;
  } else if (c->s->by_character) {
    c->at += step(c, c->at);
    *out = (ox_str){c->text.p + from, c->at - from};
  } else {
    size_t to = next_separator(c, &len);
    *out = (ox_str){c->text.p + from, to - from}, c->at = to + len;
  }
  return true;
}

/* Tokens of |text|, written to |out| unless NULL. */
static ox_status *tokenize(const ox_kernel_ctx *c, ox_str text, ox_str *out, void *scratch, int64_t *out_n) {
  const tokenizer_attrs *a = c->attrs;
  cursor at = {c->state, a->mincharnum, text, 0, ox_regex_work_on(text.n, scratch, ox_ctx_stop(c))};
  int64_t n = 0;
  ox_str piece;
  while (next_piece(&at, &piece)) {
    if (piece.n == 0 || (a->mincharnum > 1 && characters(piece) < a->mincharnum)) continue;
    if (out) out[n] = piece;
    n++;
  }
  *out_n = n;
  return ox_ctx_stopped(c) ? NULL : ox_regex_work_status(&at.work, text.n);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles;
  const tokenizer_attrs *a = c->attrs;
  const ox_str *in = c->in[0]->data, pad = {a->pad_value ? a->pad_value : "", a->pad_value ? strlen(a->pad_value) : 0};
  ox_shape s = c->in[0]->shape;
  int64_t n = ox_shape_count(&s), most = 0, found;
  for (int64_t i = 0; i < n; i++) {
    OX_TRY(tokenize(c, in[i], NULL, scratch, &found));
    most = OX_MAX(most, found);
    if (ox_ctx_stopped(c)) return NULL;
  }
  int64_t width = most || !a->mark ? most + (a->mark ? 2 : 0) : 0;
  s.dim[s.rank++] = width;
  void *data;
  OX_TRY(ox_output_at_run(c, 0, &s, &data));
  for (int64_t i = 0; i < n && width; i++) {
    ox_str *row = (ox_str *)data + i * width;
    int64_t k = 0;
    if (a->mark) row[k++] = (ox_str){"\x02", 1};
    OX_TRY(tokenize(c, in[i], row + k, scratch, &found));
    if (ox_ctx_stopped(c)) return NULL;
    k += found;
    if (a->mark) row[k++] = (ox_str){"\x03", 1};
    while (k < width) row[k++] = pad;
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Tokenizer", .domain = "com.microsoft", .since = 1, .types = {OX_BIT(OX_STRING)}, .min_in = 1,
               .max_in = 1, OX_ATTRS(attr_defs), .attrs_bytes = sizeof(tokenizer_attrs), .infer = infer),
     OX_KERNEL(.load = load, .unload = ox_unload_arena, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_tokenizer = {ops, OX_COUNT(ops)};
