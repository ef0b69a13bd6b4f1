/* SPDX-License-Identifier: Apache-2.0
 * device/qproduct.c - see qproduct.h. */
#include "plugins/device/qproduct.h"

#include <limits.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/plan.h"
#include "plugins/device/tail.h"

bool dev_q_has(const dev_node *n, size_t i) { return i < dev_in_count(n) && dev_in(n, i) != UINT32_MAX; }

dev_ref dev_q_value(dev_plan *p, const dev_node *n, size_t i) {
  return dev_value(p, dev_q_has(n, i) ? dev_in(n, i) : UINT32_MAX);
}

int dev_q_kind(uint32_t dtype) {
  return dtype == OX_U8    ? QUANT_U8
         : dtype == OX_I8  ? QUANT_I8
         : dtype == OX_I32 ? QUANT_I32
         : dtype == OX_F32 ? QUANT_F32
                           : -1;
}

const char *dev_q_takes(const dev_node *n, const dev_q_inputs *in) {
  const size_t sides[] = {in->x, in->w}, zeros[] = {in->x_zero, in->w_zero};
  const size_t reals[] = {in->x_scale, in->w_scale, in->y_scale, in->float_bias};
  for (size_t i = 0; i < 2; i++) {
    uint32_t dtype = dev_in_dtype(n, sides[i]);
    if (i == 0 && in->dynamic) {
      if (dtype != OX_F32) return REASON("float32", "{inputs}");
      continue;
    }
    if (dtype != OX_U8 && dtype != OX_I8) return REASON("8-bit integers", "{inputs}");
    if (!dev_q_has(n, zeros[i])) continue;
    if (dev_in_dtype(n, zeros[i]) != dtype || dev_in_rank(n, zeros[i]) > 1 || dev_in_rank(n, zeros[i]) < 0)
      return REASON("zero points of their integers' type, of at most one axis", "{inputs}");
  }
  for (size_t i = 0; i < DEV_LENGTH(reals); i++)
    if (dev_q_has(n, reals[i]) &&
        (dev_in_dtype(n, reals[i]) != OX_F32 || dev_in_rank(n, reals[i]) > 1 || dev_in_rank(n, reals[i]) < 0))
      return REASON("scales of float32 and at most one axis", "{inputs}");
  if (dev_q_has(n, in->y_zero) && dev_in_dtype(n, in->y_zero) != OX_U8 && dev_in_dtype(n, in->y_zero) != OX_I8)
    return REASON("a result of 8-bit integers", "{inputs}");
  return NULL;
}

bool dev_q_has_w_zero(const dev_node *n, const dev_q_inputs *in) {
  bool u8 = dev_in_dtype(n, in->w) == OX_U8;
  if (!dev_q_has(n, in->w_zero)) return u8;
  const ox_tensor *t = dev_in_constant(n, in->w_zero);
  for (size_t i = 0; t && i < t->bytes; i++)
    if (((const unsigned char *)t->data)[i] != (u8 ? 128 : 0)) return true;
  return !t;
}

/* The stride of a parameter over |rows| rows: -1 absent, 0 one for all, 1 one per row, -2 it does not fit. */
static int step_of(const dev_plan *p, const dev_node *n, size_t i, int64_t rows) {
  int64_t count = dev_q_has(n, i) ? dev_count(p, dev_in(n, i)) : 0;
  return count == 0 ? -1 : count == 1 ? 0 : count == rows ? 1 : -2;
}

/* May X's scale be folded into the weights' heads? Only a single one that does not change between runs: otherwise the
 * heads would have to be computed in every run. */
static bool has_known_x_scale(const dev_plan *p, const dev_node *n, const dev_q_inputs *in) {
  return step_of(p, n, in->x_scale, 1) == 0 && (dev_in_constant(n, in->x_scale) || dev_q_has(n, in->y_scale));
}

/* The stride of X's scales if the epilogue has to multiply with them; -1: they are folded into the heads. */
static int x_scale_step(const dev_plan *p, const dev_node *n, const dev_q_inputs *in, int64_t rows) {
  return has_known_x_scale(p, n, in) ? -1 : step_of(p, n, in->x_scale, rows);
}

ox_status *dev_q_weights(dev_plan *p, const dev_node *n, const dev_q_inputs *in, int64_t groups, bool pack,
                         qweights_params w, dev_ref *out_packed, dev_ref *out_head) {
  int64_t ints = groups * w.rows * w.taps * ((w.c + 3) / 4), rows = groups * w.rows;
  if (ints > INT_MAX) return dev_refuse(p, "weights of more than 2^31 - 1 bytes");
  w.kind = dev_q_kind(dev_in_dtype(n, in->w));
  if (!w.shared) w.shared = 1;
  w.w_zero_step = step_of(p, n, in->w_zero, rows / w.shared);
  w.w_scale_step = step_of(p, n, in->w_scale, rows / w.shared);
  w.has_bias = dev_q_has(n, in->bias), w.has_y_scale = dev_q_has(n, in->y_scale);
  w.has_x_scale = has_known_x_scale(p, n, in);
  if (w.w_zero_step == -2 || w.w_scale_step == -2) return dev_refuse(p, "zero points or scales that do not fit");
  if (w.has_bias && dev_count(p, dev_in(n, in->bias)) != rows) return dev_refuse(p, "a bias that does not fit");
  if (w.has_y_scale && dev_count(p, dev_in(n, in->y_scale)) != 1) return dev_refuse(p, "results of many scales");
  if (rows == 0) return NULL;
  qweights_params all = w;
  w.n = (int)rows, all.n = (int)ints;
  dev_call head = {
      .source = "qweights",
      .kernel = "qweights_head",
      .dtype = OX_F32,
      .groups = {dev_groups(rows, 256)},
      .items = 256,
      .n_buffers = 7,
      .written = 1u << 6,
      DEV_PARAMS(w),
      .buffers = {dev_value(p, dev_in(n, in->w)), dev_q_value(p, n, in->w_zero), dev_q_value(p, n, in->bias),
                  w.has_x_scale ? dev_q_value(p, n, in->x_scale) : (dev_ref){DEV_REF_NONE, 0, 0},
                  dev_q_value(p, n, in->w_scale), dev_q_value(p, n, in->y_scale)}};
  dev_call packed = {.source = "qweights",
                     .kernel = "qweights_pack",
                     .dtype = OX_F32,
                     .groups = {dev_groups(ints, 256)},
                     .items = 256,
                     .n_buffers = 2,
                     .written = 1u << 1,
                     DEV_PARAMS(all),
                     .buffers = {dev_value(p, dev_in(n, in->w))}};
  DEV_TRY(dev_emit_made(p, &head, 6, (size_t)rows * 16, in->slot, out_head));
  return pack && ints ? dev_emit_made(p, &packed, 1, (size_t)ints * 4, in->slot + 1, out_packed) : NULL;
}

/* Is |n| the Max (1) or Min (-1) of |value| and a constant byte? 0: neither. */
static int cut_of(const dev_node *n, uint32_t value, int kind, int *bound) {
  int way = strcmp(dev_node_op(n), "Max") == 0 ? 1 : strcmp(dev_node_op(n), "Min") == 0 ? -1 : 0;
  if (!way || *n->host->node_domain(n->graph, n->index) || dev_in_count(n) != 2) return 0;
  const ox_tensor *t = dev_in_constant(n, dev_in(n, 0) == value);
  if (!t || t->bytes != 1) return 0;
  *bound = kind == QUANT_I8 ? *(const signed char *)t->data : *(const unsigned char *)t->data;
  return way;
}

uint32_t dev_q_cut(dev_plan *p, const dev_node *n, int kind, int *out_low, int *out_high) {
  uint32_t value = dev_out(n, 0);
  dev_node next;
  int way, bound;
  *out_low = kind == QUANT_I8 ? -128 : 0, *out_high = *out_low + 255;
  if (kind != QUANT_U8 && kind != QUANT_I8) return value;
  while (dev_only_reader(p, n, value, &next) && (way = cut_of(&next, value, kind, &bound)) != 0 &&
         dev_shape(p, dev_out(&next, 0))->rank == dev_shape(p, value)->rank) {
    int *sides[] = {out_low, out_high};
    for (int i = 0; i < 2; i++) *sides[i] = way > 0 ? OX_MAX(*sides[i], bound) : OX_MIN(*sides[i], bound);
    p->taken[next.index] = 1, value = dev_out(&next, 0);
  }
  return value;
}

/* ---- splitting k: for few tiles with long sums ---- */

enum { LEAST_STEPS = 4, MOST_SPLITS = 16 };

int dev_q_splits(const dev_plan *p, int64_t groups, int k4, int *out_each) {
  const dev_info *d = dev_plan_device(p);
  int steps = OX_CEIL_DIV(k4, QPRODUCT_STEP), splits = 1;
  if (!d->is_cpu && groups > 0 && groups < d->n_units) splits = (int)(2 * (int64_t)d->n_units / groups);
  splits = OX_MAX(OX_MIN(OX_MIN(splits, MOST_SPLITS), steps / LEAST_STEPS), 1);
  *out_each = OX_MAX(OX_CEIL_DIV(steps, splits), 1) * QPRODUCT_STEP;
  return OX_MAX(OX_CEIL_DIV(k4, *out_each), 1);
}

dev_q_left dev_q_left_of(dev_plan *p, const dev_node *n, const dev_q_inputs *in) {
  return (dev_q_left){dev_value(p, dev_in(n, in->x)), dev_q_value(p, n, in->x_zero), dev_q_value(p, n, in->x_scale)};
}

ox_status *dev_q_finish(dev_plan *p, const dev_node *n, const dev_q_inputs *in, const qfinish_params *f,
                        const dev_q_sums *s) {
  dev_call c = {.source = "qfinish",
                .kernel = "qfinish",
                .dtype = OX_F32,
                .n_buffers = 7,
                .written = 1u << 6,
                .params = f,
                .params_bytes = sizeof *f,
                .buffers = {s->parts, s->head, s->left.zero, s->left.scale, dev_q_value(p, n, in->y_zero),
                            dev_q_value(p, n, in->float_bias), s->out}};
  return dev_emit_items(p, &c, f->n);
}

/* ---- matrix products ---- */

const char *dev_q_matmul_takes(const dev_node *n, const dev_q_inputs *in) {
  const char *why = dev_q_takes(n, in);
  if (why) return why;
  for (size_t i = 0; i < 2; i++) {
    int rank = dev_in_rank(n, i ? in->w : in->x);
    if (rank < 1 || rank > GEMM_BATCHES + 2) return REASON("a left side of 1 to 6 axes", "{inputs}");
  }
  return NULL;
}

ox_status *dev_q_tiles(dev_plan *p, const dev_node *n, const dev_q_inputs *in, qgemm_params *q, dev_ref packed,
                       dev_q_sums *s, int64_t batches) {
  int64_t small = batches * dev_groups(q->m, 64) * dev_groups(q->n, 64);
  int64_t large = batches * dev_groups(q->m, 128) * dev_groups(q->n, 128);
  bool wide = q->m > 64 && q->n > 64 && large >= dev_plan_device(p)->n_units && !dev_plan_device(p)->is_cpu;
  if (small == 0) return NULL;
  if (small > INT_MAX) return dev_refuse(p, "a product of too many tiles");
  q->splits = batches == 1 && small <= INT_MAX ? dev_q_splits(p, small, q->k4, &q->k_each) : 1;
  if (q->splits == 1) q->k_each = q->k4;
  qfinish_params f = {.n = q->m * q->n,
                      .splits = q->splits,
                      .inner = 1,
                      .rows = q->n,
                      .x_kind = q->x_kind,
                      .y_kind = q->y_kind,
                      .low = q->low,
                      .high = q->high,
                      .x_zero_step = q->x_zero_step,
                      .x_scale_step = q->x_scale_step,
                      .has_y_zero = q->has_y_zero,
                      .has_bias = q->has_bias};
  s->parts = q->splits > 1 ? dev_temp(p, (size_t)q->splits * (size_t)f.n * 4) : s->out;
  dev_call c = {.source = wide ? "qgemm128" : "qgemm64",
                .kernel = wide ? "qgemm128" : "qgemm64",
                .dtype = OX_F32,
                .groups = {(uint32_t)(wide ? large : small), (uint32_t)q->splits},
                .items = 256,
                .n_buffers = 8,
                .written = 1u << 7,
                .params = q,
                .params_bytes = sizeof *q,
                .buffers = {s->left.x, packed, s->head, s->left.zero, s->left.scale, dev_q_value(p, n, in->y_zero),
                            dev_q_value(p, n, in->float_bias), s->parts}};
  DEV_TRY(dev_emit(p, &c));
  return q->splits > 1 ? dev_q_finish(p, n, in, &f, s) : NULL;
}

ox_status *dev_q_matmul(dev_plan *p, const dev_node *n, const dev_q_inputs *in, const dev_q_left *made,
                        const dev_ref *to) {
  ox_shape a = *dev_shape(p, dev_in(n, in->x)), b = *dev_shape(p, dev_in(n, in->w));
  bool trans_b = dev_attr_int(n, "transB", 0) != 0;
  gemm_params g = {0};
  dev_ref packed = {DEV_REF_NONE, 0, 0};
  dev_q_sums sums = {.left = made ? *made : dev_q_left_of(p, n, in)};
  if (a.rank == 1) a.rank = 2, a.dim[1] = a.dim[0], a.dim[0] = 1;
  if (b.rank == 1) b.rank = 2, b.dim[1] = 1;
  int64_t matrices = dev_span(&b, 0, b.rank - 2), batches = 1;
  g.k = (int)a.dim[a.rank - 1], g.n = (int)b.dim[b.rank - (trans_b ? 2 : 1)];
  if (matrices == 1) { /* merge A's batches into rows */
    a.dim[0] = dev_span(&a, 0, a.rank - 1), a.dim[1] = g.k, a.rank = 2;
  }
  g.m = (int)a.dim[a.rank - 2];
  dev_batch_axes(&a, &b, &g);
  qgemm_params q = {.m = g.m,
                    .n = g.n,
                    .k = g.k,
                    .k4 = (g.k + 3) / 4,
                    .wide = g.k % 4 == 0,
                    .x_kind = made ? QUANT_U8 : dev_q_kind(dev_in_dtype(n, in->x)),
                    .y_kind = dev_q_kind(dev_dtype(p, dev_out(n, 0))),
                    .x_zero_step = made ? 0 : step_of(p, n, in->x_zero, g.m),
                    .x_scale_step = made ? 0 : x_scale_step(p, n, in, g.m),
                    .has_w_zero = dev_q_has_w_zero(n, in),
                    .has_y_zero = dev_q_has(n, in->y_zero),
                    .has_bias = dev_q_has(n, in->float_bias)};
  if (q.x_zero_step == -2 || q.x_scale_step == -2 || (q.has_bias && dev_count(p, dev_in(n, in->float_bias)) != g.n))
    return dev_refuse(p, "zero points, scales or a bias that do not fit");
  for (int i = 0; i < GEMM_BATCHES; i++) {
    batches *= q.batch[i] = g.batch[i], q.x_batch[i] = g.a_batch[i];
    q.w_batch[i] = g.n && g.k ? g.b_batch[i] / (g.k * g.n) : 0;
  }
  qweights_params w = {.rows = g.n,
                       .c = g.k,
                       .taps = 1,
                       .group_step = g.k * g.n,
                       .row_step = trans_b ? g.k : 1,
                       .c_step = trans_b ? 1 : g.n,
                       .alpha = dev_attr_float(n, "alpha", 1)};
  int64_t rows = matrices * g.n;
  if (matrices > 1 && (step_of(p, n, in->w_zero, rows) == 1 || step_of(p, n, in->w_scale, rows) == 1))
    return dev_refuse(p, "zero points or scales for each matrix");
  sums.out = to ? *to : dev_value(p, dev_q_cut(p, n, q.y_kind, &q.low, &q.high));
  DEV_TRY(dev_q_weights(p, n, in, matrices, true, w, &packed, &sums.head));
  return dev_q_tiles(p, n, in, &q, packed, &sums, batches);
}
