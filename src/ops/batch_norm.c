/* SPDX-License-Identifier: Apache-2.0
 * ops/batch_norm.c - BatchNormalization of every version. Stage 0 turns each channel's parameters (in training: its
 * own statistics) into y = a (x - m) + b, stage 1 applies it as it stands: y = a x + (b - a m) would lose digits to a
 * large mean. Where a channel has one element per image (X is [N, C]), channels are lanes: stage 0 leaves rows of
 * numbers, and a tile of stage 1 is some images. */
#include <math.h>
#include <string.h>

#include "kern/norm/channel.h"
#include "kern/norm/mean.h"
#include "kern/quant/convert.h"
#include "ops/shared/tiles.h"

enum { X, SCALE, BIAS, MEAN, VAR };

typedef struct bn_attrs {
  float epsilon, momentum;
  int64_t spatial, training_mode, is_test;
  ox_ints consumed_inputs;
} bn_attrs;

static const ox_attr_def attr_rows[] = {
    OX_ATTR_FLOAT(bn_attrs, epsilon, 1e-5f), OX_ATTR_FLOAT(bn_attrs, momentum, 0.9f),
    OX_ATTR_INT(bn_attrs, spatial, 1),       OX_ATTR_INT(bn_attrs, training_mode, 0),
    OX_ATTR_INT(bn_attrs, is_test, 0),       OX_ATTR_INTS(bn_attrs, consumed_inputs)};

typedef struct bn_prep {
  int64_t batch, channels, n; /* n: elements of a channel in one image */
  int64_t per_tile;           /* planes, or images */
  bool training, lanes;       /* lanes: one element per channel and image */
} bn_prep;

/* Before version 14, training mode is when outputs for the statistics exist. */
static bool is_training(const bn_attrs *a, uint32_t version, uint32_t n_out) {
  return version >= 14 ? a->training_mode != 0 : n_out > 1 && !a->is_test;
}

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[X]->shape;
  const bn_attrs *a = c->attrs;
  ox_shape channels = {.rank = 1, .dim = {x->rank >= 2 ? x->dim[1] : x->rank == 1 ? 1 : -1}};
  if (c->op_version < 9 && !a->spatial) channels = ox_shape_unknown();
  for (uint32_t i = SCALE; i <= VAR; i++) {
    const ox_shape *s = &c->in[i]->shape;
    if (s->rank < 0 || channels.rank < 0) continue;
    if (s->rank != 1 || (s->dim[0] >= 0 && channels.dim[0] >= 0 && s->dim[0] != channels.dim[0]))
      return ox_fail(OX_SHAPE_MISMATCH, "input %u must have one element per channel", (unsigned)i);
  }
  ox_infer_out(c, 0, c->in[X]->dtype, x);
  for (uint32_t i = 1; i < 5; i++) ox_infer_out(c, i, c->in[MEAN]->dtype, &c->in[MEAN]->shape);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const bn_attrs *a = c->attrs;
  const ox_shape *x = &c->in[X]->shape;
  bn_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->training = is_training(a, c->op_version, c->n_out);
  bool whole = c->op_version < 9 && !a->spatial; /* every element of an image is a channel of its own */
  p->batch = x->rank ? x->dim[0] : 1;
  p->channels = x->rank < 2 ? 1 : whole ? ox_shape_span(x, 1, x->rank) : x->dim[1];
  p->n = x->rank < 2 || whole ? 1 : ox_shape_span(x, 2, x->rank);
  for (uint32_t i = SCALE; i <= VAR; i++)
    if (ox_shape_count(&c->in[i]->shape) != p->channels)
      return ox_fail(OX_SHAPE_MISMATCH, "BatchNormalization: input %u has %lld elements, wanted %lld", (unsigned)i,
                     (long long)ox_shape_count(&c->in[i]->shape), (long long)p->channels);
  p->lanes = p->n == 1;
  p->per_tile = OX_MAX(OX_TILE_CHEAP / OX_MAX(p->lanes ? p->channels : p->n, 1), 1);
  c->n_stages = 2, c->n_tiles[0] = p->training ? p->channels : 1;
  c->n_tiles[1] = p->n ? ox_tile_count(p->lanes ? p->batch : p->batch * p->channels, p->per_tile) : 0;
  c->shared_bytes = (size_t)p->channels * 4 * sizeof(double);
  return NULL;
}

/* The variance of channel |ch| over the batch, and its mean. */
static double statistics(const ox_kernel_ctx *c, const bn_prep *p, int64_t ch, ox_mean *mean) {
  const ox_convert *cv = ox_convert_select(c->isa);
  double block[OX_CONVERT_BLOCK], count = (double)(p->batch * p->n);
  double sum = 0;
  enum { HI, LO, VARIANCE };
  *mean = (ox_mean){0, 0};
  for (int pass = HI; pass <= VARIANCE; pass++) {
    sum = 0;
    for (int64_t b = 0; b < p->batch && p->n; b++)
      for (int64_t i = 0; i < p->n; i += OX_CONVERT_BLOCK) {
        size_t n = (size_t)OX_MIN(p->n - i, OX_CONVERT_BLOCK);
        cv->load_f64[c->in[X]->dtype](c->in[X]->data, (size_t)((b * p->channels + ch) * p->n + i), n, block);
        for (size_t j = 0; j < n; j++) {
          double d = ox_mean_deviation(block[j], *mean);
          sum += pass == VARIANCE ? d * d : d;
        }
      }
    if (pass == HI) mean->hi = sum / count;
    if (pass == LO) mean->lo = ox_mean_low(sum, count);
  }
  return sum / count;
}

static void put(const ox_kernel_ctx *c, uint32_t out, int64_t at, double v) {
  if (ox_ctx_wants(c, out))
    ox_convert_select(c->isa)->store_f64[c->out[out]->dtype](&v, c->out[out]->data, (size_t)at, 1, NULL);
}

/* The shift of y = scale (x - mean) + shift where the mean is rounded to float32: it includes the rounding error. */
static float shift_of(ox_mean mean, double scale, double shift) {
  return (float)(shift - (mean.hi + mean.lo - (double)(float)mean.hi) * scale);
}

static void channel(const ox_kernel_ctx *c, const bn_prep *p, int64_t ch) {
  const bn_attrs *a = c->attrs;
  double v[5], scale;
  ox_mean mean = {0, 0};
  for (uint32_t i = SCALE; i <= VAR; i++)
    ox_convert_select(c->isa)->load_f64[c->in[i]->dtype](c->in[i]->data, (size_t)ch, 1, &v[i]);
  if (p->training) {
    double var = statistics(c, p, ch, &mean), m = (double)a->momentum, whole = mean.hi + mean.lo;
    put(c, 1, ch, v[MEAN] * m + whole * (1 - m)), put(c, 2, ch, v[VAR] * m + var * (1 - m));
    put(c, 3, ch, whole), put(c, 4, ch, var);
    v[VAR] = var;
  } else {
    put(c, 1, ch, v[MEAN]), put(c, 2, ch, v[VAR]), put(c, 3, ch, v[MEAN]), put(c, 4, ch, v[VAR]);
    mean.hi = v[MEAN];
  }
  scale = v[SCALE] / sqrt(v[VAR] + (double)a->epsilon);
  if (p->lanes && c->in[X]->dtype == OX_F32) {
    float *row = (float *)c->shared + ch;
    row[0] = (float)mean.hi, row[p->channels] = (float)scale;
    row[2 * p->channels] = shift_of(mean, scale, v[BIAS]);
  } else {
    double *to = (double *)c->shared + (p->lanes ? ch : 4 * ch);
    int64_t step = p->lanes ? p->channels : 1;
    to[0] = mean.hi, to[step] = mean.lo, to[2 * step] = scale, to[3 * step] = v[BIAS];
  }
}

/* All channels of the lanes of one type, where only y is wanted: the same numbers. */
static bool channels_at_once(const ox_kernel_ctx *c, const bn_prep *p) {
  uint32_t dtype = c->in[X]->dtype;
  bool fits = p->lanes && !p->training && (dtype == OX_F32 || dtype == OX_F64);
  for (uint32_t i = SCALE; i <= VAR; i++) fits &= c->in[i]->dtype == dtype && !ox_ctx_wants(c, i);
  if (!fits) return false;
  size_t n = (size_t)p->channels;
  double epsilon = (double)((const bn_attrs *)c->attrs)->epsilon;
  if (dtype == OX_F32) {
    float *row = c->shared;
    memcpy(row, c->in[MEAN]->data, n * sizeof *row), memcpy(row + 2 * n, c->in[BIAS]->data, n * sizeof *row);
    const float *scale = c->in[SCALE]->data, *var = c->in[VAR]->data;
    for (size_t ch = 0; ch < n; ch++) row[n + ch] = (float)((double)scale[ch] / sqrt((double)var[ch] + epsilon));
  } else {
    double *row = c->shared;
    memcpy(row, c->in[MEAN]->data, n * sizeof *row), memset(row + n, 0, n * sizeof *row);
    memcpy(row + 3 * n, c->in[BIAS]->data, n * sizeof *row);
    const double *scale = c->in[SCALE]->data, *var = c->in[VAR]->data;
    for (size_t ch = 0; ch < n; ch++) row[2 * n + ch] = scale[ch] / sqrt(var[ch] + epsilon);
  }
  return true;
}

/* One image, whose channels are lanes. */
static void apply_lanes(const ox_kernel_ctx *c, const bn_prep *p, int64_t image) {
  const ox_channel_variant *v = ox_channel_select(c->isa);
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t dtype = c->in[X]->dtype;
  size_t n = (size_t)p->channels, at = (size_t)image * n;
  if (dtype == OX_F32) {
    const float *row = c->shared;
    v->scale_shift_each((float *)c->out[0]->data + at, (const float *)c->in[X]->data + at, row, row + n, row + 2 * n,
                        n);
    return;
  }
  const double *row = c->shared;
  if (dtype == OX_F64) {
    v->scale_shift_each_f64((double *)c->out[0]->data + at, (const double *)c->in[X]->data + at, row, row + n,
                            row + 2 * n, row + 3 * n, n);
    return;
  }
  double block[OX_CONVERT_BLOCK];
  for (size_t i = 0; i < n; i += OX_CONVERT_BLOCK, row += OX_CONVERT_BLOCK) {
    size_t m = OX_MIN(n - i, (size_t)OX_CONVERT_BLOCK);
    cv->load_f64[dtype](c->in[X]->data, at + i, m, block);
    v->scale_shift_each_f64(block, block, row, row + n, row + 2 * n, row + 3 * n, m);
    cv->store_f64[dtype](block, c->out[0]->data, at + i, m, NULL);
  }
}

static void apply_plane(const ox_kernel_ctx *c, const bn_prep *p, int64_t plane) {
  enum { HI, LO, A, B };
  const double *ab = (const double *)c->shared + 4 * (plane % p->channels);
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_channel_variant *v = ox_channel_select(c->isa);
  uint32_t dtype = c->in[X]->dtype;
  size_t n = (size_t)p->n, at = (size_t)plane * n;
  ox_mean mean = {ab[HI], ab[LO]};
  if (dtype == OX_F32) {
    v->scale_shift((float *)c->out[0]->data + at, (const float *)c->in[X]->data + at, (float)mean.hi, (float)ab[A],
                   shift_of(mean, ab[A], ab[B]), n);
    return;
  }
  if (dtype == OX_F64) {
    v->scale_shift_f64((double *)c->out[0]->data + at, (const double *)c->in[X]->data + at, mean.hi, mean.lo, ab[A],
                       ab[B], n);
    return;
  }
  double block[OX_CONVERT_BLOCK];
  for (size_t i = 0; i < n; i += OX_CONVERT_BLOCK) {
    size_t m = OX_MIN(n - i, (size_t)OX_CONVERT_BLOCK);
    cv->load_f64[dtype](c->in[X]->data, at + i, m, block);
    v->scale_shift_f64(block, block, mean.hi, mean.lo, ab[A], ab[B], m);
    cv->store_f64[dtype](block, c->out[0]->data, at + i, m, NULL);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const bn_prep *p = c->prep;
  if (stage == 0) {
    int64_t begin = p->training ? tiles.begin : 0, end = p->training ? tiles.end : p->channels;
    if (channels_at_once(c, p)) return NULL;
    for (int64_t ch = begin; ch < end; ch++) channel(c, p, ch);
    return NULL;
  }
  int64_t end = OX_MIN(tiles.end * p->per_tile, p->lanes ? p->batch : p->batch * p->channels);
  for (int64_t i = tiles.begin * p->per_tile; i < end; i++) {
    if (p->lanes)
      apply_lanes(c, p, i);
    else
      apply_plane(c, p, i);
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BatchNormalization", .since = 1, .types = {OX_T_FLOAT}, .vars = ".TTUU", .min_in = 5,
               .max_in = 5, .min_out = 1, .max_out = 5, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(bn_attrs),
               .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run, .inplace = 1)},
};
const ox_op_set ox_ops_batch_norm = {ops, OX_COUNT(ops)};
