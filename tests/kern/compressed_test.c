/* SPDX-License-Identifier: Apache-2.0
 * kern/compressed_test.c - compressed panels hold each weight's bits, and products by them have the bits of products by
 * plain panels: few rows, more rows, rows enough for Strassen's algorithm. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "kern/gemm/compressed.h"
#include "kern/gemm/strassen.h"
#include "support/check.h"
#include "support/kernel_room.h"

/* What B is made of. */
typedef enum content { ORDINARY, ZEROS, DENORMALS, SPECIAL, SOME_SMALL, ALL_RANGES, CONTENTS } content;

static float bits_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float element(content what, size_t i) {
  static const float special[] = {0, -0.0f, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-40f, -0x1p-149f, 1};
  switch (what) {
    case ORDINARY:
      return rnd();
    case ZEROS:
      return i % 3 ? 0 : -0.0f;
    case DENORMALS:
      return rnd() * 1e-39f;
    case SPECIAL:
      return special[i % OX_COUNT(special)];
    case SOME_SMALL: /* few enough to be listed, but for one segment here and there */
      return i % 1500 == 7 ? rnd() * 1e-9f : i % 1999 == 0 ? NAN : rnd();
    default: /* every exponent: nothing can be listed */
      return bits_of((uint32_t)(i * 2654435761u));
  }
}

typedef struct matrix {
  size_t k, n;
  bool trans;
  char *data; /* unaligned */
  ox_gemm_src src;
  void *plain, *compressed;
} matrix;

static matrix make(const ox_gemm_variant *v, const ox_compressed_kernels *c, content what, size_t k, size_t n,
                   bool trans) {
  matrix x = {.k = k, .n = n, .trans = trans, .data = room(k * n * 4 + 1)};
  for (size_t i = 0; i < k * n; i++) {
    float e = element(what, i);
    memcpy(x.data + 1 + i * 4, &e, 4);
  }
  x.src = (ox_gemm_src){x.data + 1, OX_F32, trans ? 1 : (ptrdiff_t)n, trans ? (ptrdiff_t)k : 1};
  x.plain = room(ox_gemm_b_bytes(v, k, n)), x.compressed = room(ox_compressed_bytes(v, k, n));
  ox_gemm_pack_b(v, &x.src, k, n, 0, ox_gemm_panels(v, n), x.plain, NULL);
  for (size_t u = ox_compressed_units(v, &x.src, k, n); u-- > 0;)
    ox_compressed_pack(c, v, &x.src, k, n, u, x.compressed);
  return x;
}

static void drop(matrix *x) { free(x->data), free(x->plain), free(x->compressed); }

static const size_t shapes[][2] = {/* k, n by which panels end early, late, or in time */
                                   {1, 1},  {3, 31},  {4, 32},  {5, 33},   {63, 40},  {64, 64},
                                   {65, 7}, {67, 96}, {130, 5}, {200, 70}, {389, 33}, {259, 140}};

/* Any rows of any panel, expanded, are B's. */
static void check_bits(void **state) {
  const ox_gemm_variant *v = *state;
  const ox_compressed_kernels *c = ox_compressed_select(v);
  if (v->needs & ~ox_isa_host()) skip();
  size_t nr = v->nr;
  for (content what = 0; what < CONTENTS; what++)
    for (size_t s = 0; s < OX_COUNT(shapes) * 2; s++) {
      matrix x = make(v, c, what, shapes[s / 2][0], shapes[s / 2][1], s % 2);
      float *rows = room(x.k * nr * 4);
      for (size_t j = 0; j < ox_gemm_panels(v, x.n); j++)
        for (size_t k0 = 0; k0 < x.k; k0 += 13) {
          size_t kn = OX_MIN(x.k - k0, (size_t)(s % 3 == 0 ? 1 : s % 3 == 1 ? 29 : 300)), n = OX_MIN(nr, x.n - j * nr);
          ox_compressed_panel p = {.k = x.k, .col = j * nr, .n = n, .whole = &x.src};
          p.data = (const char *)x.compressed + j * ox_compressed_panel_bytes(nr, x.k);
          c->expand(&p, k0, kn, rows);
          const float *want = (const float *)x.plain + j * nr * x.k + k0 * nr;
          if (memcmp(rows, want, kn * nr * 4) != 0)
            fail_msg("content %d, %zu x %zu, panel %zu: rows %zu to %zu differ", what, x.k, x.n, j, k0, k0 + kn);
        }
      free(rows), drop(&x);
    }
}

static float *multiply(const ox_gemm_variant *v, const matrix *x, const float *a, size_t m, bool compressed) {
  float *c = room(m * x->n * 4);
  ox_gemm_epi e = {.alpha = 1};
  ox_gemm_plan g;
  ox_gemm_plan_init(&g, v, m, x->n, x->k, OX_F32, OX_F32, compressed ? OX_GEMM_COMPRESSED : OX_GEMM_PACKED);
  ox_gemm_io io = {.a = a, .a_rs = (ptrdiff_t)x->k, .a_ks = 1, .c = c, .c_rs = x->n, .epi = &e, .whole = &x->src};
  io.b = compressed ? x->compressed : x->plain;
  void *scratch = room(g.scratch);
  for (size_t i = 0; i < ox_gemm_tiles(&g); i++) ox_gemm_run(&g, &io, i, scratch);
  free(scratch);
  return c;
}

static float *multiply_by_strassen(const ox_gemm_variant *v, const matrix *x, const float *a, size_t m,
                                   bool compressed) {
  float *c = room(m * x->n * 4);
  ox_gemm_epi e = {.alpha = 1};
  ox_strassen_plan g;
  ox_strassen_plan_init(&g, v, ox_isa_host(), m, x->n, x->k, compressed ? OX_GEMM_COMPRESSED : OX_GEMM_PACKED);
  ox_gemm_io io = {.a = a, .a_rs = (ptrdiff_t)x->k, .a_ks = 1, .c = c, .c_rs = x->n, .epi = &e, .whole = &x->src};
  io.b = compressed ? x->compressed : x->plain;
  void *scratch = room(g.scratch);
  ox_carried made;
  ox_carried_begin(&made);
  for (size_t i = 0; i < ox_strassen_tiles(&g); i++) ox_strassen_run(&g, &io, i, &made, scratch);
  free(scratch);
  return c;
}

/* The same bits, but for those of NaN, which depend on the order of an instruction's operands. */
static void compare(const char *what, const matrix *x, size_t m, float *got, float *want) {
  for (size_t i = 0; i < m * x->n; i++)
    if (memcmp(got + i, want + i, sizeof *got) != 0 && !(isnan(got[i]) && isnan(want[i])))
      fail_msg("%s: %zu x %zu x %zu: (%zu, %zu) is %g, wanted %g", what, m, x->k, x->n, i / x->n, i % x->n,
               (double)got[i], (double)want[i]);
  free(got), free(want);
}

static void check_products(void **state) {
  const ox_gemm_variant *v = *state;
  const ox_compressed_kernels *c = ox_compressed_select(v);
  if (v->needs & ~ox_isa_host()) skip();
  const content contents[] = {ORDINARY, SOME_SMALL, ALL_RANGES};
  for (size_t w = 0; w < OX_COUNT(contents); w++)
    for (size_t s = 0; s < OX_COUNT(shapes); s++) {
      matrix x = make(v, c, contents[w], shapes[s][0], shapes[s][1], s % 2);
      for (size_t m = 1; m <= (size_t)v->mr + 3; m++) {
        float *a = room(m * x.k * 4);
        for (size_t i = 0; i < m * x.k; i++) a[i] = rnd();
        compare("product", &x, m, multiply(v, &x, a, m, true), multiply(v, &x, a, m, false));
        free(a);
      }
      drop(&x);
    }
}

static void check_strassen(void **state) {
  const ox_gemm_variant *v = *state;
  const ox_compressed_kernels *c = ox_compressed_select(v);
  enum { M = 61, K = 1000, N = 750 };
  if ((v->needs & ~ox_isa_host()) || !ox_strassen_pays(v, ox_isa_host(), M, N, K)) skip();
  const content contents[] = {ORDINARY, SOME_SMALL};
  for (size_t w = 0; w < OX_COUNT(contents); w++) {
    matrix x = make(v, c, contents[w], K, N, false);
    float *a = room(M * K * 4);
    for (size_t i = 0; i < M * K; i++) a[i] = rnd();
    compare("strassen", &x, M, multiply_by_strassen(v, &x, a, M, true), multiply_by_strassen(v, &x, a, M, false));
    free(a), drop(&x);
  }
}

/* Weights of one magnitude pay, weights of all magnitudes do not. */
static void check_choice(void **state) {
  const ox_gemm_variant *v = *state;
  const ox_compressed_kernels *c = ox_compressed_select(v);
  if (v->needs & ~ox_isa_host()) skip();
  for (content what = 0; what < CONTENTS; what++) {
    matrix x = make(v, c, what, 300, 200, false);
    if (what == ORDINARY || what == ZEROS || what == ALL_RANGES)
      assert_int_equal(ox_compressed_pays(c, v, &x.src, x.k, x.n), what != ALL_RANGES);
    drop(&x);
  }
}

int main(void) {
  static ox_gemm_variant variants[] = {
#define OX_GEMM(...) OX_GEMM_ROW(__VA_ARGS__),
#include "kern/gemm/gemm_variants.inc"
#undef OX_GEMM
  };
  struct CMUnitTest tests[4 * OX_COUNT(variants)];
  size_t n = 0;
  for (size_t i = 0; i < OX_COUNT(variants); i++) {
    const ox_compressed_kernels *c = ox_compressed_select(&variants[i]);
    if (!c) continue;
    tests[n++] = (struct CMUnitTest){c->form, check_bits, NULL, NULL, &variants[i]};
    tests[n++] = (struct CMUnitTest){c->form, check_products, NULL, NULL, &variants[i]};
    tests[n++] = (struct CMUnitTest){c->form, check_strassen, NULL, NULL, &variants[i]};
    tests[n++] = (struct CMUnitTest){c->form, check_choice, NULL, NULL, &variants[i]};
  }
  return _cmocka_run_group_tests("compressed", tests, n, NULL, NULL);
}
