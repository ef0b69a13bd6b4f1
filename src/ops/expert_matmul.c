/* SPDX-License-Identifier: Apache-2.0
 * ops/expert_matmul.c - ai.onyx.ExpertMatMul(x, w, index): each vector of x by the matrix that its index picks from w,
 * as Gather and MatMul would, but no matrix is copied: rows are sorted by matrix, so that each matrix is read once for
 * all of its rows. Made by a rule, from the experts of language models.
 *
 * column 1: x [t, k, 1], w [experts, n, k], result [t, n, 1]; column 0: x [t, 1, k], w [experts, k, n], result
 * [t, 1, n]. Of x and index, one may have a single element for all of the other's. */
#include <string.h>

#include "base/cksize.h"
#include "kern/move/gather_scatter.h"
#include "kern/quant/convert.h"
#include "ops/moe/moe_sort.h"

typedef struct expert_attrs {
  int64_t column;
} expert_attrs;
static const ox_attr_def attrs[] = {OX_ATTR_INT_IN(expert_attrs, column, 0, 0, 1)};

enum { X, W, INDEX };
enum { SORT, GATHER, MULTIPLY, SCATTER };
static const ox_dense_slots slots = {W, OX_DENSE_NO_INPUT, OX_DENSE_NO_INPUT, OX_DENSE_NO_INPUT};

typedef struct expert_plan {
  ox_dense layer;
  int64_t rows, busy;
  bool each_x, each_index; /* or one for all rows */
  ox_moe_places order;
  size_t at_from, at_to; /* in shared memory: rows in that order */
} expert_plan;

/* ---- shapes ---- */
static int64_t inner(const ox_shape *s, bool column) { return s->dim[column ? 1 : 2]; }

static ox_status *mismatch(const ox_shape *x, const ox_shape *w, const ox_shape *index) {
  char tx[OX_SHAPE_TEXT], tw[OX_SHAPE_TEXT], ti[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "ExpertMatMul: %s by matrices of %s, indices %s", ox_shape_text(x, tx),
                 ox_shape_text(w, tw), ox_shape_text(index, ti));
}

/* The result's shape; unknown dimensions are accepted. */
static ox_status *shape_of(const ox_shape *x, const ox_shape *w, const ox_shape *index, bool column, ox_shape *out) {
  *out = ox_shape_unknown();
  if (x->rank < 0 || w->rank < 0 || index->rank < 0) return NULL;
  if (x->rank != 3 || w->rank != 3 || index->rank != 1) return mismatch(x, w, index);
  int64_t one = x->dim[column ? 2 : 1], k = inner(x, column), of_w = w->dim[column ? 2 : 1];
  if ((one >= 0 && one != 1) || (k >= 0 && of_w >= 0 && k != of_w)) return mismatch(x, w, index);
  const ox_shape vectors = ox_shape_of(1, x->dim);
  ox_shape rows;
  OX_TRY(ox_shape_broadcast(&vectors, index, &rows));
  int64_t n = w->dim[column ? 1 : 2];
  *out = ox_shape_of(3, (int64_t[]){rows.dim[0], column ? n : 1, column ? 1 : n});
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape y;
  const bool column = ((const expert_attrs *)c->attrs)->column;
  for (uint32_t i = X; i <= INDEX; i++)
    if (!ox_infer_has(c, i)) return ox_fail(OX_INVALID_MODEL, "ExpertMatMul: input %u is missing", i);
  OX_TRY(shape_of(&c->in[X]->shape, &c->in[W]->shape, &c->in[INDEX]->shape, column, &y));
  ox_infer_out(c, 0, c->in[X]->dtype, &y);
  return NULL;
}

/* ---- load, prepare ---- */
static ox_status *load(ox_load_ctx *c) {
  ox_dense_state *s = c->state = OX_LOAD_NEW(c, ox_dense_state);
  return s ? ox_dense_load_floats(c, &slots, 0, !((const expert_attrs *)c->attrs)->column, s) : ox_oom();
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const bool column = ((const expert_attrs *)c->attrs)->column;
  const ox_shape *w = &c->in[W]->shape;
  expert_plan *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_shape y;
  size_t at = 0;
  int64_t all;
  if (!p) return ox_oom();
  OX_TRY(shape_of(&c->in[X]->shape, w, &c->in[INDEX]->shape, column, &y));
  p->layer = (ox_dense){.in = slots, .count = w->dim[0], .turned = !column};
  p->layer.n = w->dim[column ? 1 : 2], p->layer.k = w->dim[column ? 2 : 1];
  p->rows = y.dim[0], p->each_x = c->in[X]->shape.dim[0] > 1, p->each_index = c->in[INDEX]->shape.dim[0] > 1;
  p->busy = OX_MIN(p->rows, p->layer.count);
  if (!ox_mul_i64_ok(p->rows, OX_MAX(p->layer.n, p->layer.k), &all) || all > INT64_MAX / 64)
    return ox_fail(OX_LIMIT, "%lld rows are too large", (long long)p->rows);
  p->order = ox_moe_take_order(&at, p->rows, p->layer.count, p->busy);
  p->at_from = ox_moe_take(&at, p->rows * p->layer.k, sizeof(float)),
  p->at_to = ox_moe_take(&at, p->rows * p->layer.n, sizeof(float));
  c->shared_bytes = at;
  OX_TRY(ox_dense_plan(c, &p->layer, c->state, 0, p->rows, &c->scratch_per_worker));
  c->n_stages = SCATTER + 1;
  c->n_tiles[SORT] = 1, c->n_tiles[GATHER] = p->rows, c->n_tiles[SCATTER] = p->rows;
  c->n_tiles[MULTIPLY] = p->busy * ox_dense_groups(&p->layer);
  return NULL;
}

/* ---- run ---- */
static ox_status *sort(const ox_kernel_ctx *c, const expert_plan *p) {
  const ox_moe_order o = ox_moe_order_at(c, &p->order);
  const ox_index x = {c->in[INDEX]->data, c->in[INDEX]->dtype == OX_I64};
  for (int64_t i = 0; i < p->rows; i++) {
    int64_t at = p->each_index ? i : 0;
    o.expert[i] = ox_index_in(&x, at, p->layer.count);
    if (o.expert[i] < 0) return ox_index_error("ExpertMatMul", &x, at, p->layer.count);
  }
  ox_moe_sort(&o, p->rows, p->layer.count, p->busy);
  return NULL;
}

static void gather(const ox_kernel_ctx *c, const expert_plan *p, int64_t row) {
  const ox_tensor *x = c->in[X];
  float *to =
      (float *)ox_moe_shared(c, p->at_from) + ((const int64_t *)ox_moe_shared(c, p->order.place))[row] * p->layer.k;
  const size_t from = (size_t)((p->each_x ? row : 0) * p->layer.k);
  ox_convert_select(c->isa)->load_f32[x->dtype](x->data, from, (size_t)p->layer.k, to);
}

static void scatter(const ox_kernel_ctx *c, const expert_plan *p, int64_t row) {
  const ox_tensor *y = c->out[0];
  const float *from =
      (const float *)ox_moe_shared(c, p->at_to) + ((const int64_t *)ox_moe_shared(c, p->order.place))[row] * p->layer.n;
  ox_convert_select(c->isa)->store_f32[y->dtype](from, y->data, (size_t)(row * p->layer.n), (size_t)p->layer.n, NULL);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const expert_plan *p = c->prep;
  const int64_t groups = OX_MAX(ox_dense_groups(&p->layer), 1);
  if (stage == SORT) return sort(c, p);
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    if (stage == GATHER) gather(c, p, i);
    if (stage == MULTIPLY)
      ox_moe_run_group(c, &p->order, &p->layer, i / groups, i % groups, p->at_from, p->at_to, scratch);
    if (stage == SCATTER) scatter(c, p, i);
  }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const expert_plan *p = c->prep;
  return 2 * (double)p->rows * (double)p->layer.n * (double)p->layer.k;
}

enum { FLOATS = OX_BIT(OX_F32) | OX_T_FLOAT16S };
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ExpertMatMul", .domain = "ai.onyx", .since = 1, .min_in = 3, .max_in = 3,
               .types = {FLOATS, FLOATS, OX_T_INDEX}, .vars = "TT.", OX_ATTRS(attrs),
               .attrs_bytes = sizeof(expert_attrs), .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .flops = flops, .packs_in = 1u << W)},
};
const ox_op_set ox_ops_expert_matmul = {ops, OX_COUNT(ops)};
