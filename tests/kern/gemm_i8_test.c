/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm_i8_test.c - 8-bit products are exact on every instruction set: extreme bytes, zero points, ragged shapes,
 * and all three kinds of result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "kern/emulated/emulated.h"
#include "kern/gemm/gemm_i8.h"
#include "support/check.h"
#include "support/extreme_bytes.h"

static uint32_t seed = 3;
static uint8_t byte(void) { return extreme_byte(&seed); }
static int value(uint8_t b, bool is_signed) { return is_signed && b > 127 ? (int)b - 256 : (int)b; }

typedef struct problem {
  size_t m, n, k;
  bool a_signed, b_signed, zeros, per_row, per_col, a_trans;
  bool plain_b; /* only A has zero points */
  uint32_t out;
  bool term;
  bool mild; /* B: mild_byte(&seed) */
} problem;

/* What the operands hold: A [m, k] (or [k, m]) and B [k, n] with their zero points, and what the sums are scaled by. */
typedef struct operands {
  uint8_t *a, *b, *a_zero, *b_zero;
  float *row_scale, *col_scale, *terms;
} operands;

/* Element |i|, |j| of C as a number. */
static double wanted_at(const problem *p, const operands *o, size_t i, size_t j) {
  int64_t sum = 0;
  int x = p->zeros ? value(o->a_zero[p->per_row ? i : 0], p->a_signed) : 0;
  int y = p->zeros && !p->plain_b ? value(o->b_zero[p->per_col ? j : 0], p->b_signed) : 0;
  for (size_t q = 0; q < p->k; q++) {
    uint8_t e = p->a_trans ? o->a[q * p->m + i] : o->a[i * p->k + q];
    sum += (int64_t)(value(e, p->a_signed) - x) * (value(o->b[q * p->n + j], p->b_signed) - y);
  }
  float scaled = (float)sum * (o->row_scale[p->per_row ? i : 0] * o->col_scale[p->per_col ? j : 0]);
  if (p->term) scaled += o->terms[i * p->n + j];
  if (p->out == OX_F32) return (double)(scaled + o->col_scale[j]);
  if (p->out == OX_U8) return fmin(fmax(nearbyint((double)scaled) + 100, 0), 255);
  if (p->out == OX_I8) return fmin(fmax(nearbyint((double)scaled) - 3, -128), 127);
  return (double)sum;
}

static double got_at(uint32_t type, const char *c, size_t at) {
  if (type == OX_I32) return ((const int32_t *)(const void *)c)[at];
  if (type == OX_F32) return (double)((const float *)(const void *)c)[at];
  return type == OX_U8 ? ((const uint8_t *)c)[at] : ((const int8_t *)c)[at];
}

static void check_problem(const ox_gemm_i8_variant *v, const problem *p) {
  size_t m = p->m, n = p->n, k = p->k, elem = p->out == OX_I32 || p->out == OX_F32 ? 4 : 1;
  uint8_t *a = malloc(m * k + 1), *b = malloc(n * k + 1), *za = malloc(m + 1), *zb = malloc(n + 1);
  float *rs = malloc((m + 1) * 4), *cs = malloc((n + 1) * 4), *terms = malloc((m * n + 1) * 4);
  for (size_t i = 0; i < m * k; i++) a[i] = byte();
  for (size_t i = 0; i < n * k; i++) b[i] = p->mild ? mild_byte(&seed) ^ (p->b_signed ? 0 : 128) : byte();
  for (size_t i = 0; i < m * n; i++) terms[i] = 0.1f * (float)byte();
  for (size_t i = 0; i <= m; i++) za[i] = byte(), rs[i] = 0.001f * (float)(i % 5 + 1);
  for (size_t i = 0; i <= n; i++) zb[i] = byte(), cs[i] = 0.01f * (float)(i % 7 + 1);
  void *packed = NULL;
  assert_int_equal(posix_memalign(&packed, 64, ox_gemm_i8_b_bytes(v, k, n) + 64), 0);
  ox_gemm_i8_pack_b(v, b, p->b_signed, (ptrdiff_t)n, 1, k, n, 0, ox_gemm_i8_panels(v, n), packed, NULL);
  char *c = malloc((m * n + 1) * elem);
  memset(c, 0xcd, (m * n + 1) * elem);
  ox_gemm_i8_out out = {.type = p->out,
                        .row_scale = rs,
                        .col_scale = cs,
                        .row_step = p->per_row,
                        .col_step = p->per_col,
                        .term = p->term ? terms : NULL,
                        .term_rs = n,
                        .bias = p->out == OX_F32 ? cs : NULL,
                        .zero = p->out == OX_U8 ? 100 : -3};
  ox_gemm_i8_io io = {.a = a,
                      .a_signed = p->a_signed,
                      .b_signed = p->b_signed,
                      .packed = packed,
                      .out = &out,
                      .c = c,
                      .a_rs = p->a_trans ? 1 : (ptrdiff_t)k,
                      .a_ks = p->a_trans ? (ptrdiff_t)m : 1,
                      .a_zero = p->zeros ? za : NULL,
                      .b_zero = p->zeros && !p->plain_b ? zb : NULL,
                      .a_zero_step = p->per_row,
                      .b_zero_step = p->per_col,
                      .c_rs = n};
  ox_gemm_i8_plan g;
  ox_gemm_i8_plan_init(&g, v, m, n, k);
  for (size_t i = 0; i < ox_gemm_i8_tiles(&g); i++) {
    void *scratch = NULL;
    assert_int_equal(posix_memalign(&scratch, 64, g.scratch + 64), 0);
    ox_gemm_i8_run(&g, &io, i, scratch);
    free(scratch);
  }
  const operands o = {a, b, za, zb, rs, cs, terms};
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      double want = wanted_at(p, &o, i, j), got = got_at(p->out, c, i * n + j);
      if (want != got)
        fail_msg("%s %zux%zux%zu out %u: (%zu,%zu) is %g, wanted %g", v->name, m, n, k, p->out, i, j, got, want);
    }
  for (size_t i = 0; i < elem; i++) assert_int_equal((unsigned char)c[m * n * elem + i], 0xcd);
  void *all[] = {a, b, za, zb, rs, cs, terms, packed, c};
  for (size_t i = 0; i < OX_COUNT(all); i++) free(all[i]);
}

static void check_variant(void **state) {
  const ox_gemm_i8_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  size_t mr = v->mr, nr = v->nr;
  const size_t shapes[][3] = {
      {1, 1, 1},       {1, nr, 0},          {mr, nr, 64},       {mr + 1, nr + 1, 65}, {mr - 1, nr - 1, 63},
      {17, 41, 97},    {2, 211, 300},       {200, 3 * nr, 128}, {5, 7, 1031},         {3, 100, 6},
      {1, 4 * nr, 24}, {1, 9 * nr - 3, 261}};
  static const uint32_t outs[] = {OX_I32, OX_F32, OX_U8, OX_I8};
  for (size_t i = 0; i < OX_COUNT(shapes); i++)
    for (unsigned f = 0; f < 64; f++) {
      problem p = {shapes[i][0], shapes[i][1], shapes[i][2],      f & 1,      f & 2,    f & 4, f & 8, f & 16,
                   f % 3 == 0,   f & 32,       outs[(i + f) % 4], f % 5 == 0, f % 7 < 3};
      check_problem(v, &p);
    }
  for (size_t m = 1; m <= mr; m++)
    for (int mild = 0; mild < 2; mild++)
      check_problem(v, &(problem){m, nr, 137, false, true, true, true, true, false, false, OX_I32, false, mild});
}

int main(void) {
  static ox_gemm_i8_variant variants[] = {
#define OX_GEMM_I8(...) OX_GEMM_I8_ROW(__VA_ARGS__),
#include "kern/gemm/gemm_i8_variants.inc"
#undef OX_GEMM_I8
      EMULATED_GEMM_I8};
  struct CMUnitTest tests[OX_COUNT(variants)];
  for (size_t i = 0; i < OX_COUNT(variants); i++)
    tests[i] = (struct CMUnitTest){variants[i].name, check_variant, NULL, NULL, &variants[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
