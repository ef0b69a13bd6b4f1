/* SPDX-License-Identifier: Apache-2.0
 * support/levels.h - the instruction-set levels that kernels are tested at: those this machine has. */
#ifndef OX_TESTS_LEVELS_H
#define OX_TESTS_LEVELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/cpu.h"
#include "base/macros.h"

static const struct {
  const char *name;
  ox_isa have;
} test_levels[] = {{"scalar", 0}, {"avx2", OX_AVX2}, {"avx512", OX_AVX2 | OX_AVX512}, {"neon", OX_NEON}};

/* for (size_t l = 0; level_next(&l); l++) uses test_levels[l] */
static inline int level_next(size_t *l) {
  ox_isa host = ox_isa_host();
  while (*l < OX_COUNT(test_levels) && (test_levels[*l].have & ~host)) ++*l;
  return *l < OX_COUNT(test_levels);
}

/* Distance of |got| from |want| in float units in the last place of |want|; 0 when both are NaN or equal. Below the
 * normal range the unit is that of the smallest normal: denormal results may be flushed. */
static inline double test_ulps(float got, double want) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
  if ((float)want == got) return 0;
  if (isinf(got) || isinf((float)want)) return INFINITY;
  int e;
  frexp(want, &e);
  return fabs((double)got - want) / ldexp(1, e < -125 ? -149 : e - 24);
}

/* Deterministic numbers: the next of a sequence. */
static inline uint32_t test_random(uint32_t *state) { return *state = *state * 1664525u + 1013904223u; }
static inline float test_uniform(uint32_t *state, float low, float high) {
  return low + (high - low) * (float)(test_random(state) >> 8) * 0x1p-24f;
}

static inline float test_float_of(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Values at the edges of float arithmetic, rounding and exp. */
static const float test_edges[] = {
    0.0f,     -0.0f,     1.0f,      -1.0f,      0.5f,      -0.5f,         1.5f,
    2.5f,     -2.5f,     0x1p-149f, -0x1p-149f, 0x1p-126f, -0x1p-126f,    0x1.fffffep-127f,
    1e-30f,   -1e-30f,   87.5f,     88.8f,      -87.5f,    -103.9f,       -104.5f,
    0x1p23f,  0x1p24f,   -0x1p24f,  1e10f,      -1e10f,    3.4028234e38f, -3.4028234e38f,
    INFINITY, -INFINITY, NAN};

#endif
