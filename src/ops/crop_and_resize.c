/* SPDX-License-Identifier: Apache-2.0
 * ops/crop_and_resize.c - com.microsoft.CropAndResize (TensorFlow's operator, channels first): regions of images,
 * given in fractions of an image's sides, become planes of one size. Positions are computed in double precision once
 * for all channels of a tile. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "ops/shared/as_real.h"
#include "ops/shared/regions.h"

typedef struct crop_attrs {
  const char *mode;
  float extrapolation_value;
} crop_attrs;

static const ox_attr_def crop_rows[] = {OX_ATTR_STR(crop_attrs, mode, "bilinear"),
                                        OX_ATTR_FLOAT(crop_attrs, extrapolation_value, 0.0f)};

enum { CHANNELS = 16 }; /* of a tile */

/* An element of the output: its neighbours' positions in a plane, and their weights. */
typedef struct sample {
  int64_t at[4]; /* upper left, upper right, lower left, lower right; at[0] -1: outside of the image */
  double w[4];
} sample;

typedef struct crop_prep {
  bool wide, nearest;
  int64_t channels, h, w, out_h, out_w, blocks;
  size_t x_at;
} crop_prep;

static ox_status *infer(ox_infer_ctx *c) {
  int64_t size[2] = {-1, -1};
  int n = 0, got = ox_infer_ints(c, 3, size, 2, &n);
  if (got < 0 || (got && (n != 2 || size[0] < 1 || size[1] < 1)))
    return ox_fail(OX_INVALID_MODEL, "crop_size must be two positive integers");
  return ox_regions_infer(c, 4, size[0], size[1]);
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const crop_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape, *y = &c->out[0]->shape;
  int64_t regions = c->in[1]->shape.dim[0], load = 0;
  crop_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->wide = c->in[0]->dtype != OX_F32, p->nearest = strcmp(a->mode, "nearest") == 0;
  if (!p->nearest && strcmp(a->mode, "bilinear") != 0)
    return ox_fail(OX_INVALID_MODEL, "unknown mode \"%.40s\"", a->mode);
  p->channels = x->dim[1], p->h = x->dim[2], p->w = x->dim[3];
  p->out_h = y->dim[2], p->out_w = y->dim[3], p->blocks = OX_CEIL_DIV(p->channels, CHANNELS);
  OX_TRY(ox_regions_check(c, true));
  if (!ox_mul_ok((size_t)p->out_w, sizeof(sample) + sizeof(double), &c->scratch_per_worker))
    return ox_fail(OX_LIMIT, "CropAndResize: too large");
  if (p->wide) OX_TRY(ox_as_real_book(c, OX_AS_DOUBLE, 0, &p->x_at, &load));
  c->n_stages = 2, c->n_tiles[0] = load, c->n_tiles[1] = ox_shape_count(y) ? regions * p->blocks : 0;
  return NULL;
}

static double coordinate(double lo, double hi, int64_t i, int64_t out, int64_t n) {
  if (out <= 1) return 0.5 * (lo + hi) * (double)(n - 1);
  return lo * (double)(n - 1) + (double)i * (hi - lo) * (double)(n - 1) / (double)(out - 1);
}

static sample sample_at(const crop_prep *p, double y, double x) {
  sample s = {{-1, 0, 0, 0}, {0, 0, 0, 0}};
  if (!(y >= 0 && y <= (double)(p->h - 1) && x >= 0 && x <= (double)(p->w - 1))) return s;
  if (p->nearest) {
    s.at[0] = ox_i64_of(round(y)) * p->w + ox_i64_of(round(x));
    return s;
  }
  int64_t y0 = ox_i64_of(y), x0 = ox_i64_of(x), y1 = OX_MIN(y0 + 1, p->h - 1), x1 = OX_MIN(x0 + 1, p->w - 1);
  double ly = y - (double)y0, lx = x - (double)x0;
  return (sample){{y0 * p->w + x0, y0 * p->w + x1, y1 * p->w + x0, y1 * p->w + x1},
                  {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx}};
}

/* A row of the output from |plane|, float or double. */
#define DEFINE_LINE(name, type)                                                                       \
  static void name(const crop_prep *p, const type *plane, const sample *s, double outside, type *y) { \
    for (int64_t j = 0; j < p->out_w; j++, s++) {                                                     \
      const int64_t *at = s->at;                                                                      \
      const double *w = s->w;                                                                         \
      double v = at[0] < 0    ? outside                                                               \
                 : p->nearest ? (double)plane[at[0]]                                                  \
                              : w[0] * (double)plane[at[0]] + w[1] * (double)plane[at[1]] +           \
                                    w[2] * (double)plane[at[2]] + w[3] * (double)plane[at[3]];        \
      y[j] = (type)v;                                                                                 \
    }                                                                                                 \
  }
DEFINE_LINE(line_f32, float)
DEFINE_LINE(line_f64, double)

static void crop(const ox_kernel_ctx *c, const crop_prep *p, int64_t region, int64_t image, ox_range channels,
                 const double *r, sample *s) {
  const ox_convert *cv = ox_convert_select(c->isa);
  double outside = (double)((const crop_attrs *)c->attrs)->extrapolation_value, *wide = (double *)(s + p->out_w);
  int64_t plane = p->h * p->w;
  for (int64_t i = 0; i < p->out_h && !ox_ctx_stopped(c); i++) {
    double y = coordinate(r[0], r[2], i, p->out_h, p->h);
    for (int64_t j = 0; j < p->out_w; j++) s[j] = sample_at(p, y, coordinate(r[1], r[3], j, p->out_w, p->w));
    for (int64_t ch = channels.begin; ch < channels.end; ch++) {
      int64_t from = (image * p->channels + ch) * plane, to = ((region * p->channels + ch) * p->out_h + i) * p->out_w;
      if (!p->wide) {
        line_f32(p, (const float *)c->in[0]->data + from, s, outside, (float *)c->out[0]->data + to);
        continue;
      }
      line_f64(p, (const double *)ox_as_real_at(c, p->x_at) + from, s, outside, wide);
      cv->store_f64[c->out[0]->dtype](wide, c->out[0]->data, (size_t)to, (size_t)p->out_w, NULL);
    }
  }
}

static ox_status *crop_tile(const ox_kernel_ctx *c, const crop_prep *p, int64_t tile, void *scratch) {
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t region = tile / p->blocks, first = tile % p->blocks * CHANNELS, image;
  double r[4];
  cv->load_f64[c->in[1]->dtype](c->in[1]->data, (size_t)region * 4, 4, r);
  cv->load_i64[c->in[2]->dtype](c->in[2]->data, (size_t)region, 1, &image);
  OX_TRY(ox_regions_image(c, region, image));
  crop(c, p, region, image, (ox_range){first, OX_MIN(first + CHANNELS, p->channels)}, r, scratch);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t k = t;
    if (stage == 0)
      ox_as_real_tile(c, OX_AS_DOUBLE, 0, ((const crop_prep *)c->prep)->x_at, &k);
    else
      OX_TRY(crop_tile(c, c->prep, t, scratch));
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "CropAndResize", .domain = "com.microsoft", .since = 1,
               .types = {OX_T_FLOAT, OX_T_FLOAT, OX_BIT(OX_I32), OX_BIT(OX_I32)}, .vars = "TT", .min_in = 4,
               .max_in = 4, .value_in = 8, .infer = infer, OX_ATTRS(crop_rows), .attrs_bytes = sizeof(crop_attrs)),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_crop_and_resize = {ops, OX_COUNT(ops)};
