/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_loops_body.h - the loops of od_loops.h in the SIMD vocabulary. Include a simd/f32_<isa>.h first. */
#include <math.h>

#include "base/macros.h"
#include "kern/quant/byte_sum.h"
#include "kern/simd/math_f32.h"
#include "od_loops.h"

typedef struct {
  vf32 scale, inverse, least, most;
  vi32 zero;
} goal;

static inline goal goal_of(const od_loops_job *j) {
  float s = j->y.scale;
  return (goal){vf32_splat(s), vf32_splat(s > 0x1p-120f && s < 0x1p120f ? 1 / s : NAN),
                vf32_splat((float)(j->low - j->y.zero)), vf32_splat((float)(j->high - j->y.zero)),
                vi32_splat(j->y.zero)};
}

/* rint(x / scale). x * (1 / scale) is within 1.5 ulp of the quotient, so both round to the same integer unless they are
 * close to a tie or 1 / scale is not a normal number; then the division is done. Large quotients are clamped anyway. */
static inline vf32 quotient(vf32 x, const goal *g) {
  vf32 q = vf32_mul(x, g->inverse), r = vf32_round(q), off = vf32_abs(vf32_sub(q, r));
  if (OX_LIKELY(vm32_all(vf32_lt(off, vf32_splat(0.4999f))))) return r;
  return vf32_round(vf32_div(x, g->scale));
}

/* vf32_max and vf32_min return their second argument for NaN, so NaN becomes the low end. */
static inline vi32 to_bytes(vf32 x, const goal *g) {
  return vi32_add(vf32_to_i32(vf32_min(vf32_max(quotient(x, g), g->least), g->most)), g->zero);
}

static inline vi32 load(const uint8_t *p, bool is_signed, size_t n) {
  if (n == VF32_LANES) return is_signed ? vi32_load_i8((const int8_t *)p) : vi32_load_u8(p);
  return is_signed ? vi32_load_i8_n((const int8_t *)p, n) : vi32_load_u8_n(p, n);
}

static inline void store(uint8_t *p, bool is_signed, vi32 v, size_t n) {
  if (n == VF32_LANES && is_signed)
    vi32_store_i8((int8_t *)p, v);
  else if (n == VF32_LANES)
    vi32_store_u8(p, v);
  else if (is_signed)
    vi32_store_i8_n((int8_t *)p, v, n);
  else
    vi32_store_u8_n(p, v, n);
}

static inline vf32 load_number(const float *p, size_t n) { return n == VF32_LANES ? vf32_load(p) : vf32_load_n(p, n); }

static inline void store_number(float *p, vf32 v, size_t n) {
  if (n == VF32_LANES)
    vf32_store(p, v);
  else
    vf32_store_n(p, v, n);
}

static inline vf32 number(const uint8_t *p, bool is_signed, vi32 zero, vf32 scale, size_t n) {
  return vf32_mul(vi32_to_f32(vi32_sub(load(p, is_signed, n), zero)), scale);
}

/* Runs |BODY| over n elements: whole vectors, then the remainder. */
#define OVER(n, BODY)                                                \
  do {                                                               \
    size_t i = 0;                                                    \
    for (; i + VF32_LANES <= (n); i += VF32_LANES) BODY(VF32_LANES); \
    if (i < (n)) BODY((n)-i);                                        \
  } while (0)

OX_INLINE void quantize_as(const od_loops_job *j, const float *x, uint8_t *y, size_t n, bool y_signed) {
  goal g = goal_of(j);
#define QUANTIZE(m) store(y + i, y_signed, to_bytes(load_number(x + i, m), &g), m)
  OVER(n, QUANTIZE);
}

OX_INLINE void dequantize_as(const od_loops_job *j, const uint8_t *x, float *y, size_t n, bool x_signed) {
  vi32 zero = vi32_splat(j->x[0].zero);
  vf32 scale = vf32_splat(j->x[0].scale);
#define DEQUANTIZE(m) store_number(y + i, number(x + i, x_signed, zero, scale, m), m)
  OVER(n, DEQUANTIZE);
}

/* Operands and sum of one type: the CPU provider makes com.microsoft's QLinearAdd of these. */
OX_INLINE void add_alike(const od_loops_job *j, const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n,
                         bool is_signed) {
  ox_byte_sum sum = ox_byte_sum_of(j->x[0].scale, j->x[0].zero, j->x[1].scale, j->x[1].zero, j->y.scale, j->y.zero);
  ox_byte_sum_lanes l = ox_byte_sum_lanes_of(&sum);
  vf32 least = vf32_splat((float)j->low), most = vf32_splat((float)j->high);
#define BYTE(p, m) vi32_to_f32(load(p, is_signed, m))
#define ADD_ALIKE(m)      \
  store(y + i, is_signed, \
        vf32_to_i32(vf32_min(vf32_max(ox_byte_sum_at(BYTE(a + i, m), BYTE(b + i, m), &l), least), most)), m)
  OVER(n, ADD_ALIKE);
}

OX_INLINE void add_as(const od_loops_job *j, const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n, bool a_signed,
                      bool b_signed, bool y_signed) {
  goal g = goal_of(j);
  vi32 az = vi32_splat(j->x[0].zero), bz = vi32_splat(j->x[1].zero);
  vf32 as = vf32_splat(j->x[0].scale), bs = vf32_splat(j->x[1].scale);
  if (a_signed == b_signed && a_signed == y_signed) {
    add_alike(j, a, b, y, n, y_signed);
    return;
  }
#define ADD(m)           \
  store(y + i, y_signed, \
        to_bytes(vf32_add(number(a + i, a_signed, az, as, m), number(b + i, b_signed, bz, bs, m)), &g), m)
  OVER(n, ADD);
}

static void quantize(const od_loops_job *j, const float *x, uint8_t *y, size_t n) {
  if (j->y.is_signed)
    quantize_as(j, x, y, n, true);
  else
    quantize_as(j, x, y, n, false);
}

static void dequantize(const od_loops_job *j, const uint8_t *x, float *y, size_t n) {
  if (j->x[0].is_signed)
    dequantize_as(j, x, y, n, true);
  else
    dequantize_as(j, x, y, n, false);
}

static void add(const od_loops_job *j, const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n) {
  switch (j->x[0].is_signed << 2 | j->x[1].is_signed << 1 | j->y.is_signed) {
#define CASE(k)                                           \
  case k:                                                 \
    add_as(j, a, b, y, n, (k) >> 2, (k) >> 1 & 1, (k)&1); \
    return
    CASE(0);
    CASE(1);
    CASE(2);
    CASE(3);
    CASE(4);
    CASE(5);
    CASE(6);
    CASE(7);
  }
}

static void erf_of(const float *x, float *y, size_t n) {
#define ERF(m) store_number(y + i, vf32_erf(load_number(x + i, m)), m)
  OVER(n, ERF);
}

extern const od_loops_table OD_LOOPS_NAME;
const od_loops_table OD_LOOPS_NAME = {OD_LOOPS_NEEDS, quantize, dequantize, add, erf_of};
