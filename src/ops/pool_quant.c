/* SPDX-License-Identifier: Apache-2.0
 * ops/pool_quant.c - com.microsoft's QLinearAveragePool, QLinearGlobalAveragePool, NhwcMaxPool: pools of bytes in
 * either layout, averaged as real numbers and rounded to even. Pools of one or two axes are computed by rows. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/pool/max_lines.h"
#include "kern/pool/mean_lines.h"
#include "kern/quant/convert.h"
#include "ops/shared/conv_node.h"

typedef struct qpool_attrs {
  const char *auto_pad;
  ox_ints dilations, kernel_shape, pads, strides;
  int64_t ceil_mode, count_include_pad, channels_last;
} qpool_attrs;

#define QPOOL_COMMON                                                                                              \
  OX_ATTR_STR(qpool_attrs, auto_pad, NULL), OX_ATTR_INTS_REQUIRED_IN(qpool_attrs, kernel_shape, 1, OX_COUNT_MAX), \
      OX_ATTR_INTS(qpool_attrs, pads), OX_ATTR_INTS_IN(qpool_attrs, strides, 1, OX_COUNT_MAX),                    \
      OX_ATTR_INT(qpool_attrs, ceil_mode, 0)
static const ox_attr_def average_rows[] = {QPOOL_COMMON, OX_ATTR_INT(qpool_attrs, count_include_pad, 0),
                                           OX_ATTR_INT(qpool_attrs, channels_last, 0)};
static const ox_attr_def max_rows[] = {QPOOL_COMMON, OX_ATTR_INTS_IN(qpool_attrs, dilations, 1, OX_COUNT_MAX)};
static const ox_attr_def global_rows[] = {OX_ATTR_INT(qpool_attrs, channels_last, 0)};

typedef enum { Q_AVERAGE, Q_GLOBAL, Q_MAX } kind;
typedef struct qpool_prep {
  ox_pool pool;
  bool last, linear; /* linear: has scales and zero points */
  bool rows;         /* a tile is a row of outputs; of means channels first, a plane */
  bool means;        /* a tile is some channels of an image, each of which has one output */
  int64_t batch, channels, in_n, out_n;
} qpool_prep;

enum { MEANS = 64 /* channels of a tile */ };

/* The spatial axes of a shape start at 2, or at 1 with channels last. */
static int spatial(bool last) { return last ? 1 : 2; }

static ox_status *spatial_of(const qpool_attrs *a, kind k, const ox_shape *x, bool last, ox_spatial_attrs *w) {
  int axes = x->rank - 2;
  if (axes < 1) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted at least 3", x->rank);
  if (k == Q_GLOBAL) {
    int64_t kernel[OX_SPATIAL_AXES];
    for (int i = 0; i < axes; i++) kernel[i] = OX_MAX(x->dim[i + spatial(last)], 1);
    ox_ints none = {0, NULL};
    return ox_spatial_attrs_read(w, axes, (ox_ints){(size_t)axes, kernel}, none, none, none, NULL);
  }
  OX_TRY(ox_spatial_attrs_read(w, axes, a->kernel_shape, a->strides, a->dilations, a->pads, a->auto_pad));
  w->ceil = a->ceil_mode != 0, w->clipped = true;
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c, kind k) {
  const qpool_attrs *a = c->attrs;
  ox_shape y = c->in[0]->shape;
  bool last = k == Q_MAX || a->channels_last;
  ox_spatial_attrs w;
  if (y.rank >= 0) {
    OX_TRY(spatial_of(a, k, &y, last, &w));
    for (int i = 0; i < w.axes; i++) {
      int64_t lo, hi, *d = &y.dim[i + spatial(last)];
      if (k == Q_GLOBAL)
        *d = 1;
      else
        OX_TRY(ox_spatial_output(&w, i, *d, d, &lo, &hi));
    }
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}
static ox_status *infer_average(ox_infer_ctx *c) { return infer(c, Q_AVERAGE); }
static ox_status *infer_global(ox_infer_ctx *c) { return infer(c, Q_GLOBAL); }
static ox_status *infer_max(ox_infer_ctx *c) { return infer(c, Q_MAX); }

static int64_t rows_of(const qpool_prep *p) { return p->pool.axes == 2 ? p->pool.out[0] : 1; }

static ox_status *plan_mean_rows(ox_kernel_ctx *c, const qpool_prep *p) {
  int a = p->pool.axes - 1;
  size_t wide, bytes;
  if (!ox_add_ok((size_t)p->pool.in[a], (size_t)p->pool.out[a], &wide) ||
      !ox_mul_ok(wide, sizeof(int32_t) * (size_t)(p->last ? p->channels : 1), &bytes))
    return ox_fail(OX_LIMIT, "pool: too large");
  return ox_ctx_plan(c, p->out_n && p->channels ? p->batch * (p->last ? rows_of(p) : p->channels) : 0, bytes);
}

static ox_status *prepare(ox_kernel_ctx *c, kind k) {
  const qpool_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape, *y = &c->out[0]->shape;
  qpool_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_spatial_attrs w;
  if (!p) return ox_oom();
  p->last = k == Q_MAX || a->channels_last, p->linear = k != Q_MAX;
  OX_TRY(spatial_of(a, k, x, p->last, &w));
  for (uint32_t i = 1; i < c->n_in; i++)
    if (c->in[i] && ox_shape_count(&c->in[i]->shape) != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "input %u must be a scalar", (unsigned)i);
  p->pool = (ox_pool){
      .kind = k == Q_MAX ? OX_POOL_MAX : OX_POOL_AVERAGE, .axes = w.axes, .include_pad = a->count_include_pad != 0};
  p->batch = x->dim[0], p->channels = x->dim[p->last ? x->rank - 1 : 1], p->in_n = p->out_n = 1;
  for (int i = 0; i < w.axes; i++) {
    int64_t out;
    p->pool.in[i] = x->dim[i + spatial(p->last)], p->pool.out[i] = y->dim[i + spatial(p->last)];
    OX_TRY(ox_spatial_output(&w, i, p->pool.in[i], &out, &p->pool.lo[i], &p->pool.hi[i]));
    p->pool.kernel[i] = w.kernel[i], p->pool.stride[i] = w.stride[i], p->pool.dilation[i] = w.dilation[i];
    p->in_n *= p->pool.in[i], p->out_n *= p->pool.out[i];
  }
  size_t bytes;
  p->rows = k == Q_MAX && w.axes <= 2;
  if (p->rows) {
    if (!ox_mul_ok((size_t)p->pool.in[w.axes - 1], (size_t)p->channels, &bytes))
      return ox_fail(OX_LIMIT, "pool: too large");
    return ox_ctx_plan(c, p->out_n && p->channels ? p->batch * rows_of(p) : 0, bytes);
  }
  p->rows = k == Q_AVERAGE && ox_mean_pool_fits(&p->pool);
  if (p->rows) return plan_mean_rows(c, p);
  p->means = k == Q_GLOBAL && p->in_n > 0 && p->in_n <= INT64_MAX / 256;
  if (p->means) return ox_ctx_plan(c, p->batch * OX_CEIL_DIV(p->channels, MEANS), 0);
  if (!ox_mul_ok((size_t)p->in_n + (size_t)p->out_n, sizeof(double), &bytes))
    return ox_fail(OX_LIMIT, "pool: too large");
  return ox_ctx_plan(c, p->out_n ? p->batch * p->channels : 0, bytes);
}
static ox_status *prepare_average(ox_kernel_ctx *c) { return prepare(c, Q_AVERAGE); }
static ox_status *prepare_global(ox_kernel_ctx *c) { return prepare(c, Q_GLOBAL); }
static ox_status *prepare_max(ox_kernel_ctx *c) { return prepare(c, Q_MAX); }

static double byte_at(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_I8 ? (double)((const int8_t *)t->data)[i] : (double)((const uint8_t *)t->data)[i];
}

static double scalar(const ox_kernel_ctx *c, uint32_t i, double absent) {
  if (!ox_ctx_has(c, i)) return absent;
  return c->in[i]->dtype == OX_F32 ? (double)*(const float *)c->in[i]->data : byte_at(c->in[i], 0);
}

static void run_rows(const ox_kernel_ctx *c, const qpool_prep *p, ox_range tiles, void *scratch) {
  int64_t rows = rows_of(p), channels = p->channels;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t image = t / rows;
    ox_max_pool_last(ox_max_lines_select(c->isa), &p->pool, channels, c->in[0]->dtype == OX_I8,
                     (const uint8_t *)c->in[0]->data + image * p->in_n * channels,
                     (uint8_t *)c->out[0]->data + image * p->out_n * channels, t % rows, scratch);
  }
}

typedef struct scales {
  double x, x_zero, y, y_zero;
} scales;

static scales scales_of(const ox_kernel_ctx *c, const qpool_prep *p) {
  if (!p->linear) return (scales){1, 0, 1, 0};
  return (scales){scalar(c, 1, 1), scalar(c, 2, 0), scalar(c, 3, 1), scalar(c, 4, 0)};
}

/* |n| elements |step| apart, less the zero point. */
static void take_plane(const ox_kernel_ctx *c, int64_t from, int64_t step, int64_t n, double zero, double *x) {
  const ox_tensor *t = c->in[0];
  const uint8_t *u = (const uint8_t *)t->data + from;
  if (step == 1) {
    ox_convert_select(c->isa)->load_f64[t->dtype](t->data, (size_t)from, (size_t)n, x);
    for (int64_t i = 0; i < n; i++) x[i] -= zero;
  } else if (t->dtype == OX_I8) {
    for (int64_t i = 0; i < n; i++) x[i] = (double)(int8_t)u[i * step] - zero;
  } else {
    for (int64_t i = 0; i < n; i++) x[i] = (double)u[i * step] - zero;
  }
}

/* |v|: of X less its zero point. */
static void put(const ox_kernel_ctx *c, const scales *s, int64_t at, double v) {
  bool is_signed = c->in[0]->dtype == OX_I8;
  double least = is_signed ? -128 : 0, most = is_signed ? 127 : 255;
  v = (double)(float)(v * s->x / s->y);
  v = v > -0x1p20 ? v < 0x1p20 ? v : 0x1p20 : -0x1p20; /* far beyond the bytes; NaN counts as the least */
  v = (v + 0x1.8p52) - 0x1.8p52 + s->y_zero;           /* to the nearest integer, the even of two */
  v = v > least ? v < most ? v : most : least;
  if (is_signed)
    ((int8_t *)c->out[0]->data)[at] = (int8_t)v;
  else
    ((uint8_t *)c->out[0]->data)[at] = (uint8_t)v;
}

static void run_mean_rows(const ox_kernel_ctx *c, const qpool_prep *p, ox_range tiles, void *scratch) {
  const ox_mean_lines *v = ox_mean_lines_select(c->isa);
  scales s = scales_of(c, p);
  uint8_t flip = c->in[0]->dtype == OX_I8 ? 128 : 0;
  ox_mean_bytes q = {s.x / s.y, (int32_t)s.x_zero + flip, (int32_t)s.y_zero + flip, flip};
  int64_t rows = rows_of(p), each = p->last ? p->channels : 1;
  ox_stop stop = ox_ctx_stop(c);
  for (int64_t t = tiles.begin; t < tiles.end && !ox_stop_asked(&stop); t++) {
    int64_t image = p->last ? t / rows : t, first = p->last ? t % rows : 0, end = p->last ? first + 1 : rows;
    const uint8_t *x = (const uint8_t *)c->in[0]->data + image * p->in_n * each;
    uint8_t *y = (uint8_t *)c->out[0]->data + image * p->out_n * each;
    for (int64_t row = first; row < end; row++) ox_mean_pool_row(v, &p->pool, each, &q, x, y, row, scratch);
  }
}

/* ---- one mean per channel ---- */

enum { AT_ONCE = 1 << 22 /* bytes whose sum an int32 holds */ };

/* Of the |n| bytes of a channel, |flip| taken as unsigned. */
static int64_t sum_of_plane(const ox_mean_lines *v, const uint8_t *x, int64_t n, uint8_t flip) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i += AT_ONCE) sum += v->all(x + i, (size_t)OX_MIN(n - i, AT_ONCE), flip);
  return sum;
}

/* Of |channels| that lie side by side, once in |step| bytes. */
static void sums_of_lanes(const ox_mean_lines *v, const uint8_t *x, int64_t n, int64_t step, int64_t channels,
                          uint8_t flip, int64_t *sums) {
  int32_t some[MEANS];
  for (int64_t i = 0; i < n; i += AT_ONCE) {
    v->down(some, x + i * step, (ptrdiff_t)step, OX_MIN(n - i, AT_ONCE), (size_t)channels, flip);
    for (int64_t k = 0; k < channels; k++) sums[k] += some[k];
  }
}

static void run_means(const ox_kernel_ctx *c, const qpool_prep *p, ox_range tiles) {
  const ox_mean_lines *v = ox_mean_lines_select(c->isa);
  int64_t blocks = OX_CEIL_DIV(p->channels, MEANS), n = p->in_n;
  uint8_t flip = c->in[0]->dtype == OX_I8 ? 128 : 0;
  scales s = scales_of(c, p);
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t image = t / blocks, first = t % blocks * MEANS, count = OX_MIN(MEANS, p->channels - first);
    int64_t sums[MEANS] = {0}, at = image * p->channels + first;
    const uint8_t *x = c->in[0]->data;
    if (p->last)
      sums_of_lanes(v, x + image * n * p->channels + first, n, p->channels, count, flip, sums);
    else
      for (int64_t k = 0; k < count; k++) sums[k] = sum_of_plane(v, x + (at + k) * n, n, flip);
    for (int64_t k = 0; k < count; k++)
      put(c, &s, at + k, ((double)sums[k] - ((double)flip + s.x_zero) * (double)n) / (double)n);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const qpool_prep *p = c->prep;
  if (p->rows) {
    (p->linear ? run_mean_rows : run_rows)(c, p, tiles, scratch);
    return NULL;
  }
  if (p->means) {
    run_means(c, p, tiles);
    return NULL;
  }
  ox_stop stop = ox_ctx_stop(c);
  scales s = scales_of(c, p);
  double *x = scratch, *y = x + p->in_n;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t image = t / p->channels, ch = t % p->channels, step = p->last ? p->channels : 1;
    int64_t from = p->last ? image * p->in_n * p->channels + ch : t * p->in_n;
    int64_t to = p->last ? image * p->out_n * p->channels + ch : t * p->out_n;
    take_plane(c, from, step, p->in_n, s.x_zero, x);
    ox_pool_plane(&p->pool, x, y, NULL, &stop);
    for (int64_t i = 0; i < p->out_n; i++) put(c, &s, to + i * step, y[i]);
  }
  return NULL;
}

#define BYTES (OX_BIT(OX_U8) | OX_BIT(OX_I8))
#define ROW(rows) .domain = "com.microsoft", .since = 1, OX_ATTRS(rows), .attrs_bytes = sizeof(qpool_attrs)
#define ROW_KERNEL .run = run
#define LINEAR .types = {BYTES, OX_BIT(OX_F32), BYTES, OX_BIT(OX_F32), BYTES}, .vars = "T.T.T", .min_in = 4, .max_in = 5
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "QLinearAveragePool", LINEAR, .infer = infer_average, ROW(average_rows)),
     OX_KERNEL(.prepare = prepare_average, ROW_KERNEL)},
    {OX_SCHEMA(.name = "QLinearGlobalAveragePool", LINEAR, .infer = infer_global, ROW(global_rows)),
     OX_KERNEL(.prepare = prepare_global, ROW_KERNEL)},
    {OX_SCHEMA(.name = "NhwcMaxPool", .types = {BYTES}, .min_in = 1, .max_in = 1, .infer = infer_max, ROW(max_rows)),
     OX_KERNEL(.prepare = prepare_max, ROW_KERNEL)},
};
const ox_op_set ox_ops_pool_quant = {ops, OX_COUNT(ops)};
