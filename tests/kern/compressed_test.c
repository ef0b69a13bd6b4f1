/* SPDX-License-Identifier: Apache-2.0
 * kern/compressed_test.c - compressed panels hold each weight's bits, whichever way they are compressed, and products
 * by them have the bits of products by plain panels: few rows, more rows, rows enough for Strassen's algorithm. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "kern/gemm/compressed.h"
#include "kern/gemm/strassen.h"
#include "support/check.h"
#include "support/kernel_room.h"

/* A test's parameter. */
typedef struct way {
  const ox_gemm_variant *v;
  const ox_compressed_kernels *c;
} way;

/* What B is made of. */
typedef enum content {
  ORDINARY,
  ZEROS,
  DENORMALS,
  SPECIAL,
  SOME_SMALL,
  BF16,
  F16,
  SOME_BF16,
  SOME_F16,
  ALL_RANGES,
  CONTENTS
} content;

static float bits_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The same number rounded towards zero to the bits of a bfloat16, or of a float16 if |x| is one's magnitude. */
static float cut(float x, uint32_t kept) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits_of(bits & kept);
}
static float bf16(size_t i) {
  static const float special[] = {0, -0.0f, INFINITY, -INFINITY, 0x1p-133f, -0x1p-126f, 0x1.fep127f};
  return i % 40 == 3 ? special[i / 40 % OX_COUNT(special)] : cut(rnd() * (i % 7 == 0 ? 1e-30f : 1), 0xffff0000);
}
static float f16(size_t i) {
  static const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-24f, -0x1.ff8p-15f, 0x1p-14f, 0x1.ffcp15f};
  return i % 40 == 3 ? special[i / 40 % OX_COUNT(special)] : cut(rnd() + 2, 0xffffe000);
}
/* Beside them: what is nearest to a float16 or a bfloat16 without being one. */
static float neighbour(size_t i) {
  static const float near[] = {0x1p-25f,      0x1.002p0f,    -0x1.ffep15f, 0x1p16f, 0x1.004p-15f,
                               0x1.000002p0f, 0x1.ffffcp-1f, 1e-40f,       NAN};
  return near[i % OX_COUNT(near)];
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
    case BF16:
      return bf16(i);
    case F16:
      return f16(i);
    case SOME_BF16:
      return i % 1500 == 7 || i % 4000 < 12 ? neighbour(i) : bf16(i);
    case SOME_F16:
      return i % 1500 == 7 || i % 4000 < 12 ? neighbour(i) : f16(i);
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
  x.plain = room(ox_gemm_b_bytes(v, k, n)), x.compressed = room(ox_compressed_bytes(c, k, n));
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
  const way *w = *state;
  const ox_gemm_variant *v = w->v;
  const ox_compressed_kernels *c = w->c;
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
          p.data = (const char *)x.compressed + j * ox_compressed_panel_bytes(c, x.k);
          c->expand(&p, k0, kn, rows);
          const float *want = (const float *)x.plain + j * nr * x.k + k0 * nr;
          if (memcmp(rows, want, kn * nr * 4) != 0)
            fail_msg("content %d, %zu x %zu, panel %zu: rows %zu to %zu differ", what, x.k, x.n, j, k0, k0 + kn);
        }
      free(rows), drop(&x);
    }
}

static ox_gemm_plan plan_of(const way *w, const matrix *x, size_t m, bool compressed) {
  ox_gemm_plan g;
  if (compressed)
    ox_gemm_plan_compressed(&g, w->v, m, x->n, x->k, OX_F32, OX_F32, w->c);
  else
    ox_gemm_plan_init(&g, w->v, m, x->n, x->k, OX_F32, OX_F32, OX_GEMM_PACKED);
  return g;
}

static float *multiply(const way *w, const matrix *x, const float *a, size_t m, bool compressed) {
  float *c = room(m * x->n * 4);
  ox_gemm_epi e = {.alpha = 1};
  ox_gemm_plan g = plan_of(w, x, m, compressed);
  ox_gemm_io io = {.a = a, .a_rs = (ptrdiff_t)x->k, .a_ks = 1, .c = c, .c_rs = x->n, .epi = &e, .whole = &x->src};
  io.b = compressed ? x->compressed : x->plain;
  void *scratch = room(g.scratch);
  for (size_t i = 0; i < ox_gemm_tiles(&g); i++) ox_gemm_run(&g, &io, i, scratch);
  free(scratch);
  return c;
}

static float *multiply_by_strassen(const way *w, const matrix *x, const float *a, size_t m, bool compressed) {
  float *c = room(m * x->n * 4);
  ox_gemm_epi e = {.alpha = 1};
  ox_gemm_plan plain = plan_of(w, x, m, compressed);
  ox_strassen_plan g;
  ox_strassen_plan_init(&g, &plain, ox_isa_host());
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
  const way *w = *state;
  const ox_gemm_variant *v = w->v;
  const ox_compressed_kernels *c = w->c;
  if (v->needs & ~ox_isa_host()) skip();
  const content contents[] = {ORDINARY, SOME_SMALL, BF16, SOME_BF16, F16, SOME_F16, ALL_RANGES};
  for (size_t i = 0; i < OX_COUNT(contents); i++)
    for (size_t s = 0; s < OX_COUNT(shapes); s++) {
      matrix x = make(v, c, contents[i], shapes[s][0], shapes[s][1], s % 2);
      for (size_t m = 1; m <= (size_t)v->mr + 3; m++) {
        float *a = room(m * x.k * 4);
        for (size_t at = 0; at < m * x.k; at++) a[at] = rnd();
        compare("product", &x, m, multiply(w, &x, a, m, true), multiply(w, &x, a, m, false));
        free(a);
      }
      drop(&x);
    }
}

static void check_strassen(void **state) {
  const way *w = *state;
  const ox_gemm_variant *v = w->v;
  const ox_compressed_kernels *c = w->c;
  enum { M = 61, K = 1000, N = 750 };
  if ((v->needs & ~ox_isa_host()) || !ox_strassen_pays(v, ox_isa_host(), M, N, K)) skip();
  const content contents[] = {ORDINARY, SOME_SMALL, SOME_BF16, SOME_F16};
  for (size_t j = 0; j < OX_COUNT(contents); j++) {
    matrix x = make(v, c, contents[j], K, N, false);
    float *a = room(M * K * 4);
    for (size_t i = 0; i < M * K; i++) a[i] = rnd();
    compare("strassen", &x, M, multiply_by_strassen(w, &x, a, M, true), multiply_by_strassen(w, &x, a, M, false));
    free(a), drop(&x);
  }
}

/* The way with the fewest bits that fits; weights of all magnitudes are not compressed. */
static void check_choice(void **state) {
  static const struct {
    content what;
    int want;
  } cases[] = {{ORDINARY, 2}, {ZEROS, 0}, {BF16, 0}, {F16, 1}, {ALL_RANGES, -1}};
  const way *w = *state;
  if (w->v->needs & ~ox_isa_host()) skip();
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (int trans = 0; trans < 2; trans++) {
      matrix x = make(w->v, w->c, cases[i].what, 300, 200, trans);
      assert_int_equal(ox_compressed_choose(w->v, &x.src, x.k, x.n), cases[i].want);
      drop(&x);
    }
}

int main(void) {
  static ox_gemm_variant variants[] = {
#define OX_GEMM(...) OX_GEMM_ROW(__VA_ARGS__),
#include "kern/gemm/gemm_variants.inc"
#undef OX_GEMM
  };
  enum { MOST = OX_COMPRESSED_WAYS * OX_COUNT(variants) };
  static way ways[MOST];
  struct CMUnitTest tests[4 * MOST];
  size_t n = 0, n_ways = 0;
  for (size_t i = 0; i < MOST; i++) {
    const ox_gemm_variant *v = &variants[i / OX_COMPRESSED_WAYS];
    const ox_compressed_kernels *c = ox_compressed_kernels_of(v, (int)(i % OX_COMPRESSED_WAYS));
    if (!c) continue;
    way *w = &ways[n_ways++];
    *w = (way){v, c};
    tests[n++] = (struct CMUnitTest){c->form, check_bits, NULL, NULL, w};
    tests[n++] = (struct CMUnitTest){c->form, check_products, NULL, NULL, w};
    tests[n++] = (struct CMUnitTest){c->form, check_strassen, NULL, NULL, w};
    tests[n++] = (struct CMUnitTest){c->form, check_choice, NULL, NULL, w};
  }
  return _cmocka_run_group_tests("compressed", tests, n, NULL, NULL);
}
