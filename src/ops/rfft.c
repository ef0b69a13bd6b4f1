/* SPDX-License-Identifier: Apache-2.0
 * ops/rfft.c - com.microsoft's Rfft and Irfft: the transform of real signals over the last one to three axes and its
 * inverse; along the last axis only the bins that do not follow from symmetry are stored. Computed in double, a tile
 * per signal. */
#include "base/cksize.h"
#include "base/macros.h"
#include "graph/op_def.h"
#include "kern/quant/convert.h"
#include "kern/signal/fft.h"

enum { AXES = 3, FLOATS = OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_F16) };
typedef struct rfft_attrs {
  int64_t signal_ndim, normalized, onesided;
} rfft_attrs;
static const ox_attr_def rfft_rows[] = {OX_ATTR_INT_IN(rfft_attrs, signal_ndim, 1, 1, AXES),
                                        OX_ATTR_INT(rfft_attrs, normalized, 0), OX_ATTR_INT(rfft_attrs, onesided, 1)};
static const ox_attr_def irfft_rows[] = {OX_ATTR_INT_REQUIRED_IN(rfft_attrs, signal_ndim, 1, AXES),
                                         OX_ATTR_INT(rfft_attrs, normalized, 0), OX_ATTR_INT(rfft_attrs, onesided, 1)};

typedef struct rfft_prep {
  bool inverse;
  int axes;
  int64_t n[AXES], bins, rows; /* lengths; bins of a row of the last axis, and rows */
  int64_t most;                /* the longest length */
  ox_fft_f64 fft[AXES];
} rfft_prep;

static ox_status *check(const ox_infer_ctx *c, int least) {
  const rfft_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  if (a->normalized || !a->onesided)
    return ox_fail(OX_INVALID_MODEL, "%s: normalized is %lld, onesided %lld, wanted 0 and 1", c->op,
                   (long long)a->normalized, (long long)a->onesided);
  if (x->rank >= 0 && x->rank < least)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: input has rank %d, wanted at least %d", c->op, x->rank, least);
  return NULL;
}

static ox_status *infer_rfft(ox_infer_ctx *c) {
  ox_shape y = c->in[0]->shape;
  OX_TRY(check(c, (int)((const rfft_attrs *)c->attrs)->signal_ndim));
  if (y.rank == OX_MAX_RANK) return ox_fail(OX_LIMIT, "Rfft: input has rank %d", y.rank);
  if (y.rank >= 0) {
    int64_t *n = &y.dim[y.rank - 1];
    *n = *n < 0 ? -1 : *n / 2 + 1;
    y.dim[y.rank++] = 2;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *infer_irfft(ox_infer_ctx *c) {
  ox_shape y = c->in[0]->shape;
  OX_TRY(check(c, (int)((const rfft_attrs *)c->attrs)->signal_ndim + 1));
  if (y.rank >= 0) {
    int64_t *n = &y.dim[y.rank - 2], pair = y.dim[--y.rank];
    if (pair >= 0 && pair != 2)
      return ox_fail(OX_SHAPE_MISMATCH, "Irfft: the last dimension is %lld, wanted 2", (long long)pair);
    if (*n == 0) return ox_fail(OX_SHAPE_MISMATCH, "Irfft: a signal of no bins");
    *n = *n < 0 ? -1 : *n > INT64_MAX / 2 ? -1 : 2 * (*n - 1);
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *make_fft(ox_kernel_ctx *c, rfft_prep *p, int axis) {
  ox_fft_shape s;
  ox_stop stop = ox_ctx_stop(c);
  if (!ox_fft_shape_init(&s, p->n[axis])) return ox_fail(OX_LIMIT, "a transform of %lld", (long long)p->n[axis]);
  double *table = ox_ctx_alloc(c, (size_t)ox_fft_table_len(&s) * sizeof(double));
  double *work = ox_ctx_alloc(c, (size_t)ox_fft_work_len(&s) * sizeof(double));
  if (!table || !work) return ox_oom();
  ox_fft_f64_init(&p->fft[axis], &s, table, work, &stop);
  return NULL;
}

static ox_status *prepare_with(ox_kernel_ctx *c, bool inverse) {
  rfft_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  const ox_shape *real = inverse ? &c->out[0]->shape : &c->in[0]->shape;
  int64_t work = 0, signals;
  p->inverse = inverse, p->axes = (int)((const rfft_attrs *)c->attrs)->signal_ndim;
  signals = ox_shape_span(real, 0, real->rank - p->axes);
  if (ox_shape_count(real) == 0) return ox_ctx_plan(c, 0, 0);
  for (int a = 0; a < p->axes; a++) p->n[a] = real->dim[real->rank - p->axes + a], p->most = OX_MAX(p->most, p->n[a]);
  p->bins = p->n[p->axes - 1] / 2 + 1, p->rows = ox_shape_span(real, real->rank - p->axes, real->rank - 1);
  for (int a = 0; a < p->axes; a++) {
    OX_TRY(make_fft(c, p, a));
    work = OX_MAX(work, ox_fft_work_len(&p->fft[a].shape));
  }
  size_t bytes, lines = (size_t)(2 * p->most + work);
  if (!ox_mul_ok((size_t)p->rows * 2, (size_t)p->bins, &bytes) || !ox_add_ok(bytes, lines, &bytes) ||
      !ox_mul_ok(bytes, sizeof(double), &bytes))
    return ox_fail(OX_LIMIT, "a signal is too long");
  return ox_ctx_plan(c, signals, bytes);
}

static ox_status *prepare_rfft(ox_kernel_ctx *c) { return prepare_with(c, false); }
static ox_status *prepare_irfft(ox_kernel_ctx *c) { return prepare_with(c, true); }

/* Bins of a signal, and room for a line. */
typedef struct signal {
  double *re, *im, *line_re, *line_im, *work;
  ox_stop stop;
} signal;

/* The inverse exchanges the parts; its division by n comes last. */
static void transform(const rfft_prep *p, int axis, const signal *s) {
  ox_fft_f64_run(&p->fft[axis], p->inverse ? s->line_im : s->line_re, p->inverse ? s->line_re : s->line_im, s->work,
                 &s->stop);
}

/* All lines along |axis|, which is not the last. */
static void along(const rfft_prep *p, int axis, const signal *s) {
  int64_t n = p->n[axis], inner = p->bins;
  for (int a = axis + 1; a + 1 < p->axes; a++) inner *= p->n[a];
  int64_t lines = p->rows * p->bins / n;
  for (int64_t l = 0; l < lines; l++) {
    int64_t at = l / inner * inner * n + l % inner;
    for (int64_t i = 0; i < n; i++) s->line_re[i] = s->re[at + i * inner], s->line_im[i] = s->im[at + i * inner];
    transform(p, axis, s);
    for (int64_t i = 0; i < n; i++) s->re[at + i * inner] = s->line_re[i], s->im[at + i * inner] = s->line_im[i];
  }
}

static void forward(const ox_kernel_ctx *c, const rfft_prep *p, int64_t index, const signal *s) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  int64_t n = p->n[p->axes - 1];
  for (int64_t r = 0; r < p->rows; r++) {
    cv->load_f64[t](c->in[0]->data, (size_t)((index * p->rows + r) * n), (size_t)n, s->line_re);
    for (int64_t i = 0; i < n; i++) s->line_im[i] = 0;
    transform(p, p->axes - 1, s);
    for (int64_t i = 0; i < p->bins; i++)
      s->re[r * p->bins + i] = s->line_re[i], s->im[r * p->bins + i] = s->line_im[i];
  }
  for (int a = 0; a + 1 < p->axes; a++) along(p, a, s);
  for (int64_t i = 0; i < p->rows * p->bins && !ox_ctx_stopped_each(c, i, 1024); i++) {
    double pair[2] = {s->re[i], s->im[i]};
    cv->store_f64[t](pair, c->out[0]->data, (size_t)(2 * (index * p->rows * p->bins + i)), 2, NULL);
  }
}

static void backward(const ox_kernel_ctx *c, const rfft_prep *p, int64_t index, const signal *s) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  int64_t n = p->n[p->axes - 1];
  double count = (double)(p->rows * n);
  for (int64_t i = 0; i < p->rows * p->bins && !ox_ctx_stopped_each(c, i, 1024); i++) {
    double pair[2];
    cv->load_f64[t](c->in[0]->data, (size_t)(2 * (index * p->rows * p->bins + i)), 2, pair);
    s->re[i] = pair[0], s->im[i] = pair[1];
  }
  for (int a = 0; a + 1 < p->axes; a++) along(p, a, s);
  for (int64_t r = 0; r < p->rows; r++) {
    for (int64_t i = 0; i < n; i++) {
      bool given = i < p->bins;
      int64_t at = r * p->bins + (given ? i : n - i);
      s->line_re[i] = s->re[at], s->line_im[i] = given ? s->im[at] : -s->im[at];
    }
    s->line_im[0] = s->line_im[p->bins - 1] = 0; /* these bins of a real signal are real */
    transform(p, p->axes - 1, s);
    for (int64_t i = 0; i < n; i++) s->line_re[i] /= count;
    cv->store_f64[t](s->line_re, c->out[0]->data, (size_t)((index * p->rows + r) * n), (size_t)n, NULL);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const rfft_prep *p = c->prep;
  signal s = {.re = scratch, .stop = ox_ctx_stop(c)};
  s.im = s.re + p->rows * p->bins, s.line_re = s.im + p->rows * p->bins;
  s.line_im = s.line_re + p->most, s.work = s.line_im + p->most;
  for (int64_t i = tiles.begin; i < tiles.end; i++) (p->inverse ? backward : forward)(c, p, i, &s);
  return NULL;
}

#define ROW(op, rows, infer_fn, prepare_fn)                                                                   \
  {                                                                                                           \
    OX_SCHEMA(.name = op, .domain = "com.microsoft", .since = 1, .types = {FLOATS}, .min_in = 1, .max_in = 1, \
              OX_ATTRS(rows), .attrs_bytes = sizeof(rfft_attrs), .infer = infer_fn),                          \
        OX_KERNEL(.prepare = prepare_fn, .run = run)                                                          \
  }
static const ox_op ops[] = {
    ROW("Rfft", rfft_rows, infer_rfft, prepare_rfft),
    ROW("Irfft", irfft_rows, infer_irfft, prepare_irfft),
};
const ox_op_set ox_ops_rfft = {ops, OX_COUNT(ops)};
