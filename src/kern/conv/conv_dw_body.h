/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_dw_body.h - one block of a depthwise convolution or of a maximum over windows. The inputs are copied
 * with their padding into one plane per phase of the strides, so that every tap is a contiguous read at an offset. Taps
 * that are far apart have a plane each. Part of conv_f32_body.h. */

/* ---- the planes ---- */

/* The input coordinate on |axis| at which plane |i| of the block that begins at output |o0| begins. */
OX_INLINE int64_t plane_begin(const ox_conv_plan *p, const int64_t *o0, int axis, int64_t i) {
  const ox_conv_planes *q = &p->planes;
  return o0[axis] * p->g.stride[axis] + (q->by_tap ? p->g.tap[axis][i] : q->tap_min[axis] + i);
}

/* Copies the part of the planes that is inside the input. |o0|: the block's first output; |s2|: the innermost stride,
 * a constant where the compiler can use it. */
OX_INLINE void copy_planes(const ox_conv_plan *p, const float *x, const int64_t *o0, float *plane, int64_t s2) {
  const ox_conv_planes *q = &p->planes;
  const ox_conv_geom *g = &p->g;
  const int64_t *s = g->stride, *len = q->phase_len, *n = q->n_planes;
  int64_t lo[3], hi[3];
  for (int64_t pd = 0; pd < n[0]; pd++) {
    int64_t d = plane_begin(p, o0, 0, pd);
    inside(d, s[0], g->in[0], len[0], &lo[0], &hi[0]);
    for (int64_t ph = 0; ph < n[1]; ph++) {
      int64_t h = plane_begin(p, o0, 1, ph);
      inside(h, s[1], g->in[1], len[1], &lo[1], &hi[1]);
      for (int64_t pw = 0; pw < n[2]; pw++, plane += len[0] * len[1] * len[2]) {
        int64_t w = plane_begin(p, o0, 2, pw);
        inside(w, s2, g->in[2], len[2], &lo[2], &hi[2]);
        if (lo[2] == hi[2]) continue;
        for (int64_t i = lo[0]; i < hi[0]; i++) {
          const float *from = x + ((d + i * s[0]) * g->in[1] + h + lo[1] * s[1]) * g->in[2] + w + lo[2] * s2;
          float *to = plane + (i * len[1] + lo[1]) * len[2] + lo[2];
          for (int64_t j = lo[1]; j < hi[1]; j++, from += s[1] * g->in[2], to += len[2])
            inner_copy(to, from, s2, hi[2] - lo[2]);
        }
      }
    }
  }
}

/* Writes what |fill| asks for of the planes of one channel's block. */
static void fill_planes(const ox_conv_plan *p, const float *x, const int64_t *o0, float *plane, ox_conv_fill fill) {
  const ox_conv_planes *q = &p->planes;
  const int64_t *s = p->g.stride, *len = q->phase_len, *n = q->n_planes;
  if (fill == OX_CONV_FILL_NONE) return;
  if (fill == OX_CONV_FILL_ALL) set_all(plane, n[0] * n[1] * n[2] * len[0] * len[1] * len[2], q->pad);
  if (s[2] == 1)
    copy_planes(p, x, o0, plane, 1);
  else if (s[2] == 2)
    copy_planes(p, x, o0, plane, 2);
  else
    copy_planes(p, x, o0, plane, s[2]);
}

/* ---- taps ---- */

/* |nv| vectors of outputs, |tail| lanes of the last one: the sum over taps of w[t] * src[off[t]], plus |bias| and |z|,
 * clamped. */
OX_INLINE void taps_step(float *dst, const float *src, const int32_t *off, const float *w, size_t n_taps, vf32 bias,
                         const float *z, vf32 lo, vf32 hi, size_t tail, int nv) {
  vf32 acc[8];
  OX_UNROLL for (int j = 0; j < nv; j++) acc[j] = bias;
  for (size_t t = 0; t < n_taps; t++) {
    vf32 wt = vf32_splat(w[t]);
    const float *s = src + off[t];
    OX_UNROLL for (int j = 0; j < nv; j++) acc[j] = vf32_fma(wt, vf32_load(s + j * L), acc[j]);
  }
  OX_UNROLL for (int j = 0; j < nv; j++) {
    size_t n = j == nv - 1 ? tail : L;
    if (z) acc[j] = vf32_add(acc[j], vf32_load_n(z + j * L, n));
    vf32_store_n(dst + j * L, clamp(acc[j], lo, hi), n);
  }
}

/* |len| outputs that are contiguous, as are the inputs of each tap. */
static void taps(float *dst, const float *src, const int32_t *off, const float *w, size_t n_taps, float bias,
                 const float *z, float lo, float hi, size_t len) {
  vf32 b = vf32_splat(bias), l = vf32_splat(lo), h = vf32_splat(hi);
  size_t i = 0;
#define CONV_TAPS(nv, tail) taps_step(dst + i, src + i, off, w, n_taps, b, z ? z + i : NULL, l, h, tail, nv)
  for (; len - i >= 8 * L; i += 8 * L) CONV_TAPS(8, L);
  if (len - i > 4 * L) {
    CONV_TAPS(4, L);
    i += 4 * L;
  }
  size_t left = len - i;
  if (left > 3 * L)
    CONV_TAPS(4, left - 3 * L);
  else if (left > 2 * L)
    CONV_TAPS(3, left - 2 * L);
  else if (left > L)
    CONV_TAPS(2, left - L);
  else if (left)
    CONV_TAPS(1, left);
#undef CONV_TAPS
}

/* |nv| vectors of maxima over the taps; max(x, -infinity) first, so that a NaN is ignored. */
OX_INLINE void max_step(float *dst, const float *src, const int32_t *off, size_t n_taps, size_t tail, int nv) {
  vf32 acc[4];
  OX_UNROLL for (int j = 0; j < nv; j++) acc[j] =
      vf32_max(vf32_load(src + off[0] + j * L), vf32_splat(-__builtin_inff()));
  for (size_t t = 1; t < n_taps; t++)
    OX_UNROLL for (int j = 0; j < nv; j++) acc[j] = vf32_max(vf32_load(src + off[t] + j * L), acc[j]);
  OX_UNROLL for (int j = 0; j < nv; j++) vf32_store_n(dst + j * L, acc[j], j == nv - 1 ? tail : L);
}

static void taps_max(float *dst, const float *src, const int32_t *off, size_t n_taps, size_t len) {
  size_t i = 0;
  for (; len - i >= 4 * L; i += 4 * L) max_step(dst + i, src + i, off, n_taps, L, 4);
  for (; i < len; i += L) max_step(dst + i, src + i, off, n_taps, vf32_lanes_at(i, len), 1);
}

/* ---- a block ---- */

/* |len| outputs of either kind; |clamped|: no residual follows, so the bounds apply now. */
static void reduce_taps(const ox_conv_plan *p, float *dst, const float *src, const float *w, float bias, const float *z,
                        int64_t len, bool clamped) {
  const ox_conv_planes *q = &p->planes;
  size_t n_taps = (size_t)(p->g.n_taps[0] * p->g.n_taps[1] * p->g.n_taps[2]);
  float lo = clamped ? q->lo : -__builtin_inff(), hi = clamped ? q->hi : __builtin_inff();
  if (q->pool_max)
    taps_max(dst, src, q->tap_off, n_taps, (size_t)len);
  else
    taps(dst, src, q->tap_off, w, n_taps, bias, z, lo, hi, (size_t)len);
}

/* The block's outputs of one channel, |n| on each axis: row by row into y, or, where rows are narrow, as one long row
 * into |flat|, from which copy_rows copies them. */
static void block_taps(const ox_conv_plan *p, const float *src, float *flat, const float *w, float bias,
                       const int64_t *n, float *y, const float *z) {
  const ox_conv_planes *q = &p->planes;
  const ox_conv_geom *g = &p->g;
  const int64_t *len = q->phase_len;
  if (!q->by_row) {
    reduce_taps(p, flat, src, w, bias, NULL, ((n[0] - 1) * len[1] + n[1] - 1) * len[2] + n[2], !z);
    return;
  }
  for (int64_t d = 0; d < n[0]; d++)
    for (int64_t h = 0; h < n[1]; h++) {
      int64_t at = (d * g->out[1] + h) * g->out[2];
      reduce_taps(p, y + at, src + (d * len[1] + h) * len[2], w, bias, z ? z + at : NULL, n[2], true);
    }
}

static void copy_rows(const ox_conv_plan *p, const float *flat, const int64_t *n, float *y, const float *z) {
  const ox_conv_planes *q = &p->planes;
  const ox_conv_geom *g = &p->g;
  const int64_t *len = q->phase_len;
  ox_act clamp_act = {OX_ACT_CLIP, q->lo, q->hi};
  for (int64_t d = 0; d < n[0]; d++)
    for (int64_t h = 0; h < n[1]; h++) {
      int64_t at = (d * g->out[1] + h) * g->out[2];
      inner_copy(y + at, flat + (d * len[1] + h) * len[2], 1, n[2]);
      if (z) finish(&clamp_act, y + at, 0, NULL, z + at, 1, (size_t)n[2]);
    }
}

/* Applies an activation that is no clamp to the block's outputs. */
static void activate_block(const ox_conv_plan *p, const int64_t *n, float *y) {
  const ox_conv_geom *g = &p->g;
  if (n[1] == g->out[1] && n[2] == g->out[2]) { /* whole planes are contiguous */
    finish(&p->act, y, 0, NULL, NULL, 1, (size_t)(n[0] * n[1] * n[2]));
    return;
  }
  for (int64_t d = 0; d < n[0]; d++)
    for (int64_t h = 0; h < n[1]; h++)
      finish(&p->act, y + (d * g->out[1] + h) * g->out[2], 0, NULL, NULL, 1, (size_t)n[2]);
}

/* Each step is done for all channels before the next one: a load that spans several recent stores cannot be forwarded
 * from them and waits until they reach the cache. */
static void depthwise(const ox_conv_plan *p, const ox_conv_args *a, int64_t unit, int64_t count, int64_t block,
                      float *scratch, ox_conv_fill fill) {
  const ox_conv_planes *q = &p->planes;
  const ox_conv_geom *g = &p->g;
  const int64_t *nb = q->n_block;
  int64_t n_taps = g->n_taps[0] * g->n_taps[1] * g->n_taps[2], channels = g->groups * g->oc,
          o0[OX_CONV_AXES] = {0, 0, 0};
  if (block > 0) {
    o0[0] = block / nb[2] / nb[1] * q->block[0], o0[1] = block / nb[2] % nb[1] * q->block[1];
    o0[2] = block % nb[2] * q->block[2];
  }
  int64_t n[OX_CONV_AXES];
  for (int i = 0; i < OX_CONV_AXES; i++) n[i] = OX_MIN(q->block[i], g->out[i] - o0[i]);
  int64_t at = unit * p->pixels + (o0[0] * g->out[1] + o0[1]) * g->out[2] + o0[2], channel = unit % channels;
  const float *z = a->z ? a->z + at : NULL, *x = a->x + (g->oc == 1 ? unit : unit / g->oc) * p->in_pixels;
  float *y = a->y + at, *flat = scratch + q->flat_at;
  for (int64_t i = 0; i < count; i++) fill_planes(p, x + i * p->in_pixels, o0, scratch + i * q->slot, fill);
  for (int64_t i = 0; i < count; i++) {
    block_taps(p, scratch + i * q->slot, flat + i * q->slot, a->w + (q->one_filter ? 0 : channel * n_taps),
               a->bias ? a->bias[channel] : 0, n, y + i * p->pixels, z ? z + i * p->pixels : NULL);
    if (++channel == channels) channel = 0;
  }
  for (int64_t i = 0; i < count && !q->by_row; i++)
    copy_rows(p, flat + i * q->slot, n, y + i * p->pixels, z ? z + i * p->pixels : NULL);
  for (int64_t i = 0; i < count && q->post; i++) activate_block(p, n, y + i * p->pixels);
}
