/* SPDX-License-Identifier: Apache-2.0
 * ops/roi.c - RoiAlign and MaxRoiPool: regions of an image become planes of one size.
 * Regions are read in double precision, images as they are (float32) or as doubles. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "ops/shared/as_real.h"
#include "ops/shared/regions.h"

typedef struct roi_attrs {
  const char *mode, *coordinate_transformation_mode;
  int64_t output_height, output_width, sampling_ratio;
  float spatial_scale;
  ox_ints pooled_shape;
} roi_attrs;

static const ox_attr_def align10_rows[] = {OX_ATTR_STR(roi_attrs, mode, "avg"),
                                           OX_ATTR_INT_IN(roi_attrs, output_height, 1, 1, OX_COUNT_MAX),
                                           OX_ATTR_INT_IN(roi_attrs, output_width, 1, 1, OX_COUNT_MAX),
                                           OX_ATTR_INT_IN(roi_attrs, sampling_ratio, 0, 0, OX_COUNT_MAX),
                                           OX_ATTR_FLOAT_IN(roi_attrs, spatial_scale, 1.0f, -FLT_MAX, FLT_MAX)};
static const ox_attr_def align16_rows[] = {OX_ATTR_STR(roi_attrs, mode, "avg"),
                                           OX_ATTR_INT_IN(roi_attrs, output_height, 1, 1, OX_COUNT_MAX),
                                           OX_ATTR_INT_IN(roi_attrs, output_width, 1, 1, OX_COUNT_MAX),
                                           OX_ATTR_INT_IN(roi_attrs, sampling_ratio, 0, 0, OX_COUNT_MAX),
                                           OX_ATTR_FLOAT_IN(roi_attrs, spatial_scale, 1.0f, -FLT_MAX, FLT_MAX),
                                           OX_ATTR_STR(roi_attrs, coordinate_transformation_mode, "half_pixel")};
static const ox_attr_def pool_rows[] = {OX_ATTR_INTS_REQUIRED_IN(roi_attrs, pooled_shape, 1, OX_COUNT_MAX),
                                        OX_ATTR_FLOAT_IN(roi_attrs, spatial_scale, 1.0f, -FLT_MAX, FLT_MAX)};

typedef enum { ALIGN, POOL } kind;
typedef struct roi_prep {
  kind kind;
  bool wide, largest, half_pixel;
  int64_t rois, images, channels, h, w, out_h, out_w;
  size_t x_at;
} roi_prep;

static ox_status *infer_align(ox_infer_ctx *c) {
  const roi_attrs *a = c->attrs;
  return ox_regions_infer(c, 4, a->output_height, a->output_width);
}

static ox_status *infer_pool(ox_infer_ctx *c) {
  const roi_attrs *a = c->attrs;
  if (a->pooled_shape.n != 2)
    return ox_fail(OX_INVALID_MODEL, "pooled_shape has %zu integers, wanted 2", a->pooled_shape.n);
  return ox_regions_infer(c, 5, a->pooled_shape.v[0], a->pooled_shape.v[1]);
}

enum { MOST_SAMPLES = 1000000 }; /* in a bin, along an axis */

/* The rows (or columns) that the samples of one bin touch along one axis, and their weights. The samples of a bin form
 * a grid, so that their sum is a sum over rows times columns: the work is bounded by the data, however large
 * sampling_ratio is. */
typedef struct touched {
  int64_t at;
  double sum, least, most; /* of the weights given by samples */
} touched;
typedef struct axis_samples {
  touched *rows;
  int64_t n;
  bool outside; /* some sample is outside: it counts as 0 */
} axis_samples;

/* Most rows that the samples of a bin touch; |ratio| 0: how many samples there are depends on the region. */
static int64_t most_touched(int64_t n, int64_t ratio) {
  int64_t samples = ratio > 0 ? OX_MIN(ratio, MOST_SAMPLES) : MOST_SAMPLES;
  return OX_MIN(n, 2 * samples);
}

/* The range of a bin of MaxRoiPool along one axis. */
typedef struct bin_range {
  int64_t begin, end;
} bin_range;

static ox_status *prepare(ox_kernel_ctx *c, kind k) {
  const roi_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape, *y = &c->out[0]->shape;
  roi_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->kind = k, p->wide = c->in[0]->dtype != OX_F32;
  p->rois = c->in[1]->shape.dim[0], p->images = x->dim[0], p->channels = x->dim[1], p->h = x->dim[2], p->w = x->dim[3];
  p->out_h = y->dim[2], p->out_w = y->dim[3];
  const char *coord = a->coordinate_transformation_mode;
  p->half_pixel = coord && strcmp(coord, "half_pixel") == 0;
  if (coord && !p->half_pixel && strcmp(coord, "output_half_pixel") != 0)
    return ox_fail(OX_INVALID_MODEL, "unknown coordinate_transformation_mode \"%.40s\"", coord);
  p->largest = a->mode && strcmp(a->mode, "max") == 0;
  if (k == ALIGN && !p->largest && strcmp(a->mode, "avg") != 0)
    return ox_fail(OX_INVALID_MODEL, "unknown mode \"%.40s\"", a->mode);
  OX_TRY(ox_regions_check(c, k == ALIGN));
  int64_t load = 0;
  if (p->wide) OX_TRY(ox_as_real_book(c, OX_AS_DOUBLE, 0, &p->x_at, &load));
  if (k == ALIGN)
    c->scratch_per_worker =
        (size_t)(most_touched(p->h, a->sampling_ratio) + most_touched(p->w, a->sampling_ratio)) * sizeof(touched);
  if (k == POOL) {
    int64_t bins;
    if (!ox_add_i64_ok(p->out_h, p->out_w, &bins) ||
        !ox_mul_ok((size_t)bins, sizeof(bin_range), &c->scratch_per_worker))
      return ox_fail(OX_LIMIT, "MaxRoiPool: too large");
  }
  c->n_stages = 2, c->n_tiles[0] = load, c->n_tiles[1] = ox_shape_count(y) ? p->rois : 0;
  return NULL;
}
static ox_status *prepare_align(ox_kernel_ctx *c) { return prepare(c, ALIGN); }
static ox_status *prepare_pool(ox_kernel_ctx *c) { return prepare(c, POOL); }

static double at(const ox_kernel_ctx *c, const roi_prep *p, int64_t plane, int64_t y, int64_t x) {
  int64_t i = (plane * p->h + y) * p->w + x;
  return p->wide ? ((const double *)ox_as_real_at(c, p->x_at))[i] : (double)((const float *)c->in[0]->data)[i];
}

static void put(const ox_kernel_ctx *c, const roi_prep *p, int64_t roi, int64_t ch, int64_t i, int64_t j, double v) {
  size_t to = (size_t)(((roi * p->channels + ch) * p->out_h + i) * p->out_w + j);
  if (p->wide)
    ox_convert_select(c->isa)->store_f64[c->out[0]->dtype](&v, c->out[0]->data, to, 1, NULL);
  else
    ((float *)c->out[0]->data)[to] = (float)v;
}

/* ---- RoiAlign ---- */
/* Samples are in order along the axis, so a row that is touched again is among the last three. */
static void touch(axis_samples *s, int64_t at, double w) {
  for (int64_t k = s->n; k-- > OX_MAX(s->n - 3, 0);)
    if (s->rows[k].at == at) {
      touched *r = &s->rows[k];
      r->sum += w, r->least = fmin(r->least, w), r->most = fmax(r->most, w);
      return;
    }
  s->rows[s->n++] = (touched){at, w, w, w};
}

static void sample_axis(double start, double bin, int64_t grid, int64_t n, axis_samples *s) {
  s->n = 0, s->outside = false;
  for (int64_t i = 0; i < grid; i++) {
    double y = start + ((double)i + 0.5) * bin / (double)grid;
    if (!(y >= -1 && y <= (double)n)) {
      s->outside = true;
      continue;
    }
    y = fmax(y, 0);
    int64_t y0 = OX_MIN(ox_i64_of(y), n - 1);
    double l = y0 == n - 1 ? 0 : y - (double)y0;
    touch(s, y0, 1 - l);
    touch(s, OX_MIN(y0 + 1, n - 1), l);
  }
}

static double sum_of(const ox_kernel_ctx *c, const roi_prep *p, int64_t plane, const axis_samples s[2]) {
  double r = 0;
  for (int64_t i = 0; i < s[0].n; i++)
    for (int64_t j = 0; j < s[1].n; j++)
      r += s[0].rows[i].sum * s[1].rows[j].sum * at(c, p, plane, s[0].rows[i].at, s[1].rows[j].at);
  return r;
}

/* sum_of for all channels of an image of floats, if the bin touches few elements: their positions and weights are
 * computed once, and several channels are summed at a time. False: it touches more. */
static bool sums_of_f32(const ox_kernel_ctx *c, const roi_prep *p, int64_t image, const axis_samples s[2],
                        double samples, float *y) {
  enum { MOST = 64, TOGETHER = 4 };
  int64_t off[MOST], n = 0, plane = p->h * p->w, step = p->out_h * p->out_w;
  double w[MOST];
  if (s[0].n * s[1].n > MOST) return false;
  for (int64_t i = 0; i < s[0].n; i++)
    for (int64_t j = 0; j < s[1].n; j++, n++)
      off[n] = s[0].rows[i].at * p->w + s[1].rows[j].at, w[n] = s[0].rows[i].sum * s[1].rows[j].sum;
  const float *x = (const float *)c->in[0]->data + image * p->channels * plane;
  int64_t ch = 0;
  for (; ch + TOGETHER <= p->channels; ch += TOGETHER, x += TOGETHER * plane) {
    double r[TOGETHER] = {0};
    for (int64_t k = 0; k < n; k++)
      for (int t = 0; t < TOGETHER; t++) r[t] += w[k] * (double)x[t * plane + off[k]];
    for (int t = 0; t < TOGETHER; t++) y[(ch + t) * step] = (float)(r[t] / samples);
  }
  for (; ch < p->channels; ch++, x += plane) {
    double r = 0;
    for (int64_t k = 0; k < n; k++) r += w[k] * (double)x[off[k]];
    y[ch * step] = (float)(r / samples);
  }
  return true;
}

/* The largest weighted pixel of any sample, as in the reference implementation. */
static double largest_of(const ox_kernel_ctx *c, const roi_prep *p, int64_t plane, const axis_samples s[2]) {
  double r = s[0].outside || s[1].outside ? 0 : NAN; /* fmax ignores NaN */
  for (int64_t i = 0; i < s[0].n; i++)
    for (int64_t j = 0; j < s[1].n; j++) {
      const touched *y = &s[0].rows[i], *x = &s[1].rows[j];
      double v = at(c, p, plane, y->at, x->at);
      r = fmax(r, fmax(y->least * x->least * v, y->most * x->most * v));
    }
  return r;
}

/* largest_of for all channels of an image of floats: as sums_of_f32. */
static bool largest_of_f32(const ox_kernel_ctx *c, const roi_prep *p, int64_t image, const axis_samples s[2],
                           float *y) {
  enum { MOST = 64 };
  int64_t off[MOST], n = 0, plane = p->h * p->w, step = p->out_h * p->out_w;
  double least[MOST], most[MOST];
  if (s[0].n * s[1].n > MOST || s[0].n * s[1].n == 0) return false;
  for (int64_t i = 0; i < s[0].n; i++)
    for (int64_t j = 0; j < s[1].n; j++, n++) {
      const touched *a = &s[0].rows[i], *b = &s[1].rows[j];
      off[n] = a->at * p->w + b->at, least[n] = a->least * b->least, most[n] = a->most * b->most;
    }
  const float *x = (const float *)c->in[0]->data + image * p->channels * plane;
  bool outside = s[0].outside || s[1].outside;
  for (int64_t ch = 0; ch < p->channels; ch++, x += plane) {
    double r = outside ? 0 : -INFINITY;
    for (int64_t k = 0; k < n; k++) {
      double v = (double)x[off[k]], lo = least[k] * v, hi = most[k] * v;
      r = lo > r ? lo : r; /* NaN is ignored */
      r = hi > r ? hi : r;
    }
    y[ch * step] = (float)(r > -INFINITY ? r : largest_of(c, p, image * p->channels + ch, s));
  }
  return true;
}

static void align(const ox_kernel_ctx *c, const roi_prep *p, int64_t roi, int64_t image, const double *r,
                  touched *scratch) {
  const roi_attrs *a = c->attrs;
  double scale = (double)a->spatial_scale, shift = p->half_pixel ? 0.5 : 0, start[2], bin[2];
  int64_t grid[2], out[2] = {p->out_h, p->out_w};
  for (int k = 0; k < 2; k++) { /* rows, then columns; the region says x first */
    start[k] = r[1 - k] * scale - shift;
    double size = r[3 - k] * scale - shift - start[k];
    if (!p->half_pixel) size = fmax(size, 1);
    bin[k] = size / (double)out[k];
    double n = a->sampling_ratio > 0 ? (double)a->sampling_ratio : ceil(bin[k]);
    grid[k] = n > 0 && n < MOST_SAMPLES ? ox_i64_of(n) : 0;
  }
  axis_samples s[2] = {{.rows = scratch}, {.rows = scratch + most_touched(p->h, a->sampling_ratio)}};
  double samples = (double)OX_MAX(grid[0] * grid[1], 1);
  for (int64_t i = 0; i < p->out_h; i++) {
    sample_axis(start[0] + (double)i * bin[0], bin[0], grid[0], p->h, &s[0]);
    for (int64_t j = 0; j < p->out_w; j++) {
      if (ox_ctx_stopped(c)) return;
      sample_axis(start[1] + (double)j * bin[1], bin[1], grid[1], p->w, &s[1]);
      float *y = p->wide ? NULL : (float *)c->out[0]->data + (roi * p->channels * p->out_h + i) * p->out_w + j;
      if (y && grid[0] * grid[1] > 0 &&
          (p->largest ? largest_of_f32(c, p, image, s, y) : sums_of_f32(c, p, image, s, samples, y)))
        continue;
      for (int64_t ch = 0; ch < p->channels; ch++) {
        int64_t plane = image * p->channels + ch;
        double v = grid[0] * grid[1] == 0 ? 0
                   : p->largest           ? largest_of(c, p, plane, s)
                                          : sum_of(c, p, plane, s) / samples;
        put(c, p, roi, ch, i, j, v);
      }
    }
  }
}

/* ---- MaxRoiPool ---- */
static int64_t bound(double v, int64_t n) { return v < 0 ? 0 : v > (double)n ? n : ox_i64_of(v); }

/* In float, as Caffe and its successors compute bins: with seven bins of 29 columns, double precision would extend the
 * last one beyond the region. */
static void bins_of(float first, float last, int64_t bins, int64_t n, bin_range *out) {
  float bin = fmaxf(last - first + 1, 1) / (float)bins;
  for (int64_t i = 0; i < bins; i++)
    out[i] = (bin_range){bound((double)floorf((float)i * bin) + (double)first, n),
                         bound((double)ceilf((float)(i + 1) * bin) + (double)first, n)};
}

/* The largest element of a bin, ignoring NaN; 0 for an empty bin. */
static double largest_in(const ox_kernel_ctx *c, const roi_prep *p, int64_t plane, bin_range y, bin_range x) {
  double best = y.end <= y.begin || x.end <= x.begin ? 0 : -INFINITY;
  for (int64_t i = y.begin; i < y.end; i++)
    for (int64_t j = x.begin; j < x.end; j++) {
      double v = at(c, p, plane, i, j);
      best = v > best ? v : best;
    }
  return best;
}

static float largest_in_f32(const float *plane, int64_t width, bin_range y, bin_range x) {
  float best = y.end <= y.begin || x.end <= x.begin ? 0 : -INFINITY;
  for (int64_t i = y.begin; i < y.end; i++)
    for (int64_t j = x.begin; j < x.end; j++) {
      float v = plane[i * width + j];
      best = v > best ? v : best;
    }
  return best;
}

static void pool(const ox_kernel_ctx *c, const roi_prep *p, int64_t roi, int64_t image, const double *r,
                 bin_range *rows) {
  float scale = ((const roi_attrs *)c->attrs)->spatial_scale, end[4];
  bin_range *columns = rows + p->out_h;
  for (int k = 0; k < 4; k++) end[k] = roundf((float)r[k] * scale);
  bins_of(end[1], end[3], p->out_h, p->h, rows), bins_of(end[0], end[2], p->out_w, p->w, columns);
  for (int64_t ch = 0; ch < p->channels && !ox_ctx_stopped(c); ch++) {
    int64_t plane = image * p->channels + ch, to = (roi * p->channels + ch) * p->out_h * p->out_w;
    for (int64_t i = 0; i < p->out_h; i++)
      for (int64_t j = 0; j < p->out_w; j++)
        if (p->wide)
          put(c, p, roi, ch, i, j, largest_in(c, p, plane, rows[i], columns[j]));
        else
          ((float *)c->out[0]->data)[to + i * p->out_w + j] =
              largest_in_f32((const float *)c->in[0]->data + plane * p->h * p->w, p->w, rows[i], columns[j]);
  }
}

/* ---- run ---- */
static ox_status *one_region(const ox_kernel_ctx *c, const roi_prep *p, int64_t roi, void *scratch) {
  const ox_convert *cv = ox_convert_select(c->isa);
  double r[5];
  int64_t cols = p->kind == POOL ? 5 : 4, image;
  cv->load_f64[c->in[1]->dtype](c->in[1]->data, (size_t)(roi * cols), (size_t)cols, r);
  if (p->kind == POOL)
    image = r[0] >= 0 && r[0] < (double)p->images ? ox_i64_of(r[0]) : -1;
  else
    cv->load_i64[c->in[2]->dtype](c->in[2]->data, (size_t)roi, 1, &image);
  OX_TRY(ox_regions_image(c, roi, image));
  if (p->kind == ALIGN)
    align(c, p, roi, image, r, scratch);
  else
    pool(c, p, roi, image, r + 1, scratch);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t k = t;
    if (stage == 0)
      ox_as_real_tile(c, OX_AS_DOUBLE, 0, ((const roi_prep *)c->prep)->x_at, &k);
    else
      OX_TRY(one_region(c, c->prep, t, scratch));
  }
  return NULL;
}

#define ROW(rows) OX_ATTRS(rows), .attrs_bytes = sizeof(roi_attrs)
#define ROW_KERNEL .run = run
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "RoiAlign", .since = 10, .types = {OX_T_FLOAT, OX_T_FLOAT, OX_BIT(OX_I64)}, .vars = "TT",
               .min_in = 3, .max_in = 3, .infer = infer_align, ROW(align10_rows)),
     OX_KERNEL(.prepare = prepare_align, ROW_KERNEL)},
    {OX_SCHEMA(.name = "RoiAlign", .since = 16, .types = {OX_T_FLOAT, OX_T_FLOAT, OX_BIT(OX_I64)}, .vars = "TT",
               .min_in = 3, .max_in = 3, .infer = infer_align, ROW(align16_rows)),
     OX_KERNEL(.prepare = prepare_align, ROW_KERNEL)},
    {OX_SCHEMA(.name = "MaxRoiPool", .since = 1, .types = {OX_T_FLOAT}, .vars = "TT", .min_in = 2, .max_in = 2,
               .infer = infer_pool, ROW(pool_rows)),
     OX_KERNEL(.prepare = prepare_pool, ROW_KERNEL)},
};
const ox_op_set ox_ops_roi = {ops, OX_COUNT(ops)};
