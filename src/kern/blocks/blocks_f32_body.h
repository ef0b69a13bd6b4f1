/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/blocks_f32_body.h - conversion of planes to blocks and back: squares of VF32_LANES x VF32_LANES are
 * transposed in registers. Included by blocks_f32_<isa>.c with BLOCKS_ISA and BLOCKS_NEEDS. */
#include "kern/blocks/blocks.h"
#include "kern/simd/act_f32.h"

/* Converts |n| <= VF32_LANES pixels of |channels| planes to lanes [0, VF32_LANES) of these pixels. |whole|: n and
 * channels are VF32_LANES, so that nothing is masked. */
OX_INLINE void square_to(float *y, const float *x, size_t plane, size_t channels, size_t n, int whole) {
  vf32 v[VF32_LANES];
  OX_UNROLL for (size_t c = 0; c < VF32_LANES; c++) v[c] = whole          ? vf32_load(x + c * plane)
                                                           : c < channels ? vf32_load_n(x + c * plane, n)
                                                                          : vf32_zero();
  vf32_transpose(v);
  OX_UNROLL for (size_t p = 0; p < VF32_LANES; p++) if (whole || p < n) vf32_store(y + p * OX_BLOCK, v[p]);
}

/* The reverse. */
OX_INLINE void square_from(float *y, size_t plane, const float *x, size_t channels, size_t n, int whole) {
  vf32 v[VF32_LANES];
  OX_UNROLL for (size_t p = 0; p < VF32_LANES; p++) v[p] = whole || p < n ? vf32_load(x + p * OX_BLOCK) : vf32_zero();
  vf32_transpose(v);
  OX_UNROLL for (size_t c = 0; c < VF32_LANES; c++) if (whole) vf32_store(y + c * plane, v[c]);
  else if (c < channels) vf32_store_n(y + c * plane, v[c], n);
}

OX_INLINE size_t at_most(size_t most, size_t n) { return n < most ? n : most; }

/* Sixteen pixels at a time, so that each plane's cache line is read at once, whatever the length of vectors. */
static void to_blocks(float *y, const float *x, size_t plane, size_t channels, size_t n) {
  for (size_t p = 0; p < n; p += OX_BLOCK)
    for (size_t c = 0; c < OX_BLOCK; c += VF32_LANES)
      for (size_t q = p; q < at_most(n, p + OX_BLOCK); q += VF32_LANES) {
        size_t some_c = at_most(VF32_LANES, channels > c ? channels - c : 0), some_p = at_most(VF32_LANES, n - q);
        const float *from = some_c ? x + c * plane + q : x;
        if (some_c == VF32_LANES && some_p == VF32_LANES)
          square_to(y + q * OX_BLOCK + c, from, plane, VF32_LANES, VF32_LANES, 1);
        else
          square_to(y + q * OX_BLOCK + c, from, plane, some_c, some_p, 0);
      }
}

static void from_blocks(float *y, size_t plane, const float *x, size_t channels, size_t n) {
  for (size_t p = 0; p < n; p += OX_BLOCK)
    for (size_t c = 0; c < channels; c += VF32_LANES)
      for (size_t q = p; q < at_most(n, p + OX_BLOCK); q += VF32_LANES) {
        size_t some_c = at_most(VF32_LANES, channels - c), some_p = at_most(VF32_LANES, n - q);
        if (some_c == VF32_LANES && some_p == VF32_LANES)
          square_from(y + c * plane + q, plane, x + q * OX_BLOCK + c, VF32_LANES, VF32_LANES, 1);
        else
          square_from(y + c * plane + q, plane, x + q * OX_BLOCK + c, some_c, some_p, 0);
      }
}

OX_INLINE void affine_as(ox_act act, float *y, const float *x, const float *center, const float *scale,
                         const float *shift, size_t n) {
  for (size_t c = 0; c < OX_BLOCK; c += VF32_LANES) {
    vf32 m = vf32_load(center + c), a = vf32_load(scale + c), b = vf32_load(shift + c);
    for (size_t p = c; p < n * OX_BLOCK + c; p += OX_BLOCK)
      vf32_store(y + p, vf32_act(act, vf32_fma(a, vf32_sub(vf32_load(x + p), m), b)));
  }
}

static void affine(float *y, const float *x, const float *center, const float *scale, const float *shift, ox_act act,
                   size_t n) {
  switch (act.kind) { /* the common ones have loops of their own */
    case OX_ACT_NONE:
      affine_as((ox_act){OX_ACT_NONE, 0, 0}, y, x, center, scale, shift, n);
      break;
    case OX_ACT_RELU:
      affine_as((ox_act){OX_ACT_RELU, 0, 0}, y, x, center, scale, shift, n);
      break;
    default:
      affine_as(act, y, x, center, scale, shift, n);
  }
}

/* Two passes. Deviations are taken from the mean rounded to float32; their own mean is that rounding error, and
 * corrects both results in double precision. Two sums of each kind, for even and odd pixels, so that additions overlap.
 */
static void moments(const float *x, size_t n, double *mean, double *squares) {
  for (size_t c = 0; c < OX_BLOCK; c += VF32_LANES) {
    vf32 sum = vf32_zero(), odd = sum, square = sum, odd_square = sum;
    float m[VF32_LANES], d[VF32_LANES], s[VF32_LANES];
    const float *end = x + n / 2 * 2 * OX_BLOCK + c, *at = x + c;
    for (; at < end; at += 2 * OX_BLOCK)
      sum = vf32_add(sum, vf32_load(at)), odd = vf32_add(odd, vf32_load(at + OX_BLOCK));
    if (n % 2) sum = vf32_add(sum, vf32_load(at));
    vf32 middle = vf32_mul(vf32_add(sum, odd), vf32_splat(1.0f / (float)n));
    sum = odd = vf32_zero();
    for (at = x + c; at < end; at += 2 * OX_BLOCK) {
      vf32 v = vf32_sub(vf32_load(at), middle), w = vf32_sub(vf32_load(at + OX_BLOCK), middle);
      sum = vf32_add(sum, v), odd = vf32_add(odd, w);
      square = vf32_fma(v, v, square), odd_square = vf32_fma(w, w, odd_square);
    }
    if (n % 2) {
      vf32 v = vf32_sub(vf32_load(at), middle);
      sum = vf32_add(sum, v), square = vf32_fma(v, v, square);
    }
    vf32_store(m, middle), vf32_store(d, vf32_add(sum, odd)), vf32_store(s, vf32_add(square, odd_square));
    for (size_t i = 0; i < VF32_LANES; i++) {
      double off = (double)d[i] / (double)n;
      mean[c + i] = (double)m[i] + off, squares[c + i] = (double)s[i] - off * off * (double)n;
    }
  }
}

/* Lane i of a result is lane[i] of the vector at |x|, or another step's if lane[i] is -1. */
typedef struct pick_step {
  const float *x;
  int32_t lane[VF32_LANES];
} pick_step;

OX_INLINE void pick_vectors(float *y, const pick_step *step, size_t steps, size_t n) {
  for (size_t p = 0; p < n * OX_BLOCK; p += OX_BLOCK) {
    vf32 v = vf32_zero();
    for (size_t k = 0; k < steps; k++) v = vf32_pick(v, vf32_load(step[k].x + p), vi32_load(step[k].lane));
    vf32_store(y + p, v);
  }
}

/* The step that takes lanes [c, c + VF32_LANES) from lanes [at, at + VF32_LANES) of |s|; false: it takes none. */
OX_INLINE int step_of(const ox_blocks_source *s, size_t c, size_t at, pick_step *step) {
  int any = 0;
  step->x = s->x + at;
  for (size_t i = 0; i < VF32_LANES; i++) {
    int lane = s->from[c + i] - (int)at;
    step->lane[i] = lane >= 0 && lane < VF32_LANES ? lane : -1;
    any |= step->lane[i] >= 0;
  }
  return any;
}

static void pick(float *y, const ox_blocks_source *from, size_t n_from, size_t n) {
  for (size_t c = 0; c < OX_BLOCK; c += VF32_LANES) {
    pick_step step[OX_BLOCK]; /* enough, since each gives at least one lane */
    size_t steps = 0;
    for (size_t k = 0; k < n_from; k++)
      for (size_t at = 0; at < OX_BLOCK && steps < VF32_LANES; at += VF32_LANES)
        steps += (size_t)step_of(&from[k], c, at, &step[steps]);
    switch (steps) {
      case 1:
        pick_vectors(y + c, step, 1, n);
        break;
      case 2:
        pick_vectors(y + c, step, 2, n);
        break;
      case 4:
        pick_vectors(y + c, step, 4, n);
        break;
      default:
        pick_vectors(y + c, step, steps, n);
    }
  }
}

extern const ox_blocks_variant OX_PASTE(ox_blocks_f32__, BLOCKS_ISA);
const ox_blocks_variant OX_PASTE(ox_blocks_f32__, BLOCKS_ISA) = {BLOCKS_NEEDS, "blocks_f32", to_blocks, from_blocks,
                                                                 affine,       moments,      pick};
