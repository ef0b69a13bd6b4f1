/* SPDX-License-Identifier: Apache-2.0
 * ops/move/deferred.c - a plan is built once per shape signature, or in every run. */
#include "ops/move/deferred.h"

#include <string.h>

enum { TILES_AT_RUN = 16 }; /* when the amount of work is not known in prepare */

typedef struct deferred_state { /* c->prep */
  int64_t n_tiles;              /* tiles of the stage that does the work */
  bool at_run;                  /* the plan is built in each run, in c->shared */
} deferred_state;

static void *plan_of(const deferred_state *s) { return (char *)(uintptr_t)s + OX_ROUND_UP(sizeof *s, 16); }

static bool params_known(const ox_kernel_ctx *c, uint32_t params) {
  for (uint32_t i = 0; i < c->n_in; i++)
    if (params >> i & 1 && c->in[i] && !c->in[i]->data && ox_shape_count(&c->in[i]->shape) != 0) return false;
  for (uint32_t i = 0; i < c->n_out; i++)
    if (c->out[i] && !ox_shape_known(&c->out[i]->shape)) return false;
  return true;
}

static int64_t tiles_for(const ox_deferred_head *p) { return ox_move_tiles(p->bytes, p->units); }

static ox_status *build_plan(const ox_kernel_ctx *c, const ox_deferred_op *op, void *plan) {
  ox_type out[OX_DEFERRED_OUTS];
  OX_TRY(ox_infer_at_run(c, op->infer, out));
  return op->build(c, out, plan);
}

ox_status *ox_deferred_prepare(ox_kernel_ctx *c, const ox_deferred_op *op) {
  bool known = params_known(c, op->params);
  size_t head = OX_ROUND_UP(sizeof(deferred_state), 16);
  deferred_state *s = ox_ctx_alloc(c, known ? head + op->plan_bytes : head);
  if (!s) return ox_oom();
  c->prep = s;
  if (known) {
    OX_TRY(build_plan(c, op, plan_of(s)));
    s->n_tiles = tiles_for(plan_of(s));
    return ox_ctx_plan(c, s->n_tiles, 0);
  }
  s->at_run = true, s->n_tiles = TILES_AT_RUN;
  c->n_stages = 2, c->n_tiles[0] = 1, c->n_tiles[1] = TILES_AT_RUN, c->shared_bytes = op->plan_bytes;
  return NULL;
}

static ox_status *build_at_run(const ox_kernel_ctx *c, const ox_deferred_op *op) {
  ox_type out[OX_DEFERRED_OUTS];
  memset(c->shared, 0, op->plan_bytes);
  OX_TRY(ox_infer_at_run(c, op->infer, out));
  for (uint32_t i = 0; i < c->n_out && i < OX_DEFERRED_OUTS; i++) {
    void *data;
    if (c->out[i]) OX_TRY(ox_output_at_run(c, i, &out[i].shape, &data));
  }
  OX_TRY(op->build(c, out, c->shared));
  ox_deferred_head *p = c->shared;
  if (tiles_for(p) > 1) return NULL;
  int64_t units = p->units; /* little work is done here, and nothing by the next stage */
  p->units = 0;
  return op->work(c, p, 0, units);
}

ox_status *ox_deferred_run(const ox_kernel_ctx *c, const ox_deferred_op *op, uint32_t stage, ox_range tiles) {
  const deferred_state *s = c->prep;
  if (s->at_run && stage == 0) return build_at_run(c, op);
  const ox_deferred_head *p = s->at_run ? c->shared : plan_of(s);
  ox_range u = ox_units_of(tiles, s->n_tiles, p->units);
  return u.begin < u.end ? op->work(c, p, u.begin, u.end) : NULL;
}

ox_status *ox_output_at_run(const ox_kernel_ctx *c, uint32_t i, const ox_shape *s, void **out_data) {
  ox_tensor *t = c->out[i];
  char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
  *out_data = NULL;
  if (!ox_shape_fits(s)) /* a shape of no elements must be checked, too */
    return ox_fail(OX_LIMIT, "output %u of shape %s is too large", i, ox_shape_text(s, a));
  if (!ox_shape_known(s)) return ox_fail(OX_FAIL, "output %u: shape not known when it should be", i);
  if (ox_shape_known(&t->shape) && (t->data || ox_shape_count(&t->shape) == 0)) {
    if (!ox_shape_equal(&t->shape, s))
      return ox_fail(OX_SHAPE_MISMATCH, "output %u has shape %s, planned %s", i, ox_shape_text(s, a),
                     ox_shape_text(&t->shape, b));
    *out_data = t->data;
    return NULL;
  }
  *out_data = ox_ctx_output(c, i, s);
  return *out_data || ox_shape_count(s) == 0 ? NULL : ox_oom();
}

ox_status *ox_infer_at_run(const ox_kernel_ctx *c, ox_status *(*infer)(ox_infer_ctx *), ox_type *out) {
  ox_type in[OX_DEFERRED_INS];
  const ox_type *in_ptr[OX_DEFERRED_INS];
  const ox_tensor *in_data[OX_DEFERRED_INS];
  uint32_t n_in = OX_MIN(c->n_in, OX_DEFERRED_INS), n_out = OX_MIN(c->n_out, OX_DEFERRED_OUTS);
  for (uint32_t i = 0; i < n_in; i++) {
    in_ptr[i] = NULL, in_data[i] = NULL;
    if (!c->in[i]) continue;
    in[i] = (ox_type){.kind = c->in[i]->kind, .dtype = c->in[i]->dtype, .shape = c->in[i]->shape};
    in_ptr[i] = &in[i];
    if (c->in[i]->data || ox_shape_count(&c->in[i]->shape) == 0) in_data[i] = c->in[i];
  }
  for (uint32_t i = 0; i < n_out; i++) out[i] = ox_type_unknown();
  ox_infer_ctx ic = {.struct_size = sizeof ic,
                     .op = "",
                     .attrs = c->attrs,
                     .op_version = c->op_version,
                     .n_in = n_in,
                     .n_out = n_out,
                     .in = in_ptr,
                     .in_data = in_data,
                     .out = out};
  return infer(&ic);
}

ox_status *ox_ints_of(const ox_tensor *t, const char *what, int64_t *out, int max, int *out_n) {
  int64_t n = ox_shape_count(&t->shape);
  *out_n = 0;
  if (t->dtype != OX_I64 && t->dtype != OX_I32)
    return ox_fail(OX_INVALID_MODEL, "%s: wanted int32 or int64, got %s", what, ox_dtype_name(t->dtype));
  if (n < 0 || n > max)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: wanted at most %d values, got %lld", what, max, (long long)n);
  for (int64_t i = 0; i < n; i++) out[i] = ox_int_at(t, i);
  *out_n = (int)n;
  return NULL;
}

void ox_move_plan_init(ox_move_plan *p, uint32_t dtype, const ox_region *r) {
  ox_move_init(&p->move, ox_dtype_bits(dtype) / 8, r);
  p->head.units = p->move.units, p->head.bytes = p->move.total_bytes;
}

ox_status *ox_move_plan_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end) {
  const ox_move_plan *p = plan;
  ox_move_run(&p->move, c->isa, c->in[0]->data, c->out[0]->data, begin, end);
  return NULL;
}
