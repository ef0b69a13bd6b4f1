/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm_test.c - every microkernel at every shape that could hurt, all epilogues, all ways of reading B. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "kern/gemm/gemm.h"
#include "support/check.h"
#include "support/kernel_room.h"

/* float rounded to |type| and back */
static float rounded(uint32_t type, float x) {
  if (type == OX_F16) return ox_f16_to_f32(ox_f16_from_f32(x));
  return type == OX_BF16 ? ox_bf16_to_f32(ox_bf16_from_f32(x)) : x;
}
static void set(uint32_t type, void *p, size_t i, float x) {
  if (type == OX_F32)
    ((float *)p)[i] = x;
  else
    ((uint16_t *)p)[i] = type == OX_F16 ? ox_f16_from_f32(x) : ox_bf16_from_f32(x);
}
static float get(uint32_t type, const void *p, size_t i) {
  if (type == OX_F32) return ((const float *)p)[i];
  return type == OX_F16 ? ox_f16_to_f32(((const uint16_t *)p)[i]) : ox_bf16_to_f32(((const uint16_t *)p)[i]);
}

typedef struct problem {
  size_t m, n, k;
  uint32_t type; /* of A, B, C and terms */
  ox_gemm_b mode;
  bool trans_a, trans_b;
  ox_act act;
  int terms; /* 0: none, 1: column bias, 2: row bias and matrix, 3: scalar */
} problem;

static double want(const problem *p, const float *a, const float *b, const float *t0, const float *t1, size_t i,
                   size_t j) {
  double sum = 0;
  for (size_t k = 0; k < p->k; k++)
    sum += (double)a[p->trans_a ? k * p->m + i : i * p->k + k] * b[p->trans_b ? j * p->k + k : k * p->n + j];
  sum *= 0.5;
  if (p->terms == 1) sum += 2 * t0[j];
  if (p->terms == 2) sum += 2 * t0[i] + 2 * t1[i * p->n + j];
  if (p->terms == 3) sum += 2 * t0[0];
  return ox_act_f64(p->act, sum);
}

static float *random_floats(uint32_t type, size_t n, void **as) {
  float *x = room(n * 4);
  *as = room(n * 4);
  for (size_t i = 0; i < n; i++) x[i] = rounded(type, rnd()), set(type, *as, i, x[i]);
  return x;
}

/* B as a source writes it. */
typedef struct made {
  const float *b;
  ptrdiff_t ks, ns;
  size_t nr;
} made;

static void write_b(const void *ctx, size_t k0, size_t kn, size_t col, size_t n, float *to, size_t ld) {
  const made *b = ctx;
  for (size_t k = 0; k < kn; k++)
    for (size_t j = 0; j < OX_ROUND_UP(n, b->nr); j++)
      to[k * ld + j] = j < n ? b->b[(ptrdiff_t)(k0 + k) * b->ks + (ptrdiff_t)(col + j) * b->ns] : 0;
}

static void check_problem(const ox_gemm_variant *v, const problem *p) {
  size_t m = p->m, n = p->n, k = p->k, elem = p->type == OX_F32 ? 4 : 2;
  void *a_as, *b_as, *t0_as, *t1_as;
  float *a = random_floats(p->type, m * k, &a_as), *b = random_floats(p->type, n * k, &b_as);
  float *t0 = random_floats(p->type, m + n + 1, &t0_as), *t1 = random_floats(p->type, m * n, &t1_as);
  void *panels = room(ox_gemm_b_bytes(v, k, n)), *c = room((m * n + 1) * elem);
  ox_gemm_src src = {b_as, p->type, p->trans_b ? 1 : (ptrdiff_t)n, p->trans_b ? (ptrdiff_t)k : 1};
  size_t np = ox_gemm_panels(v, n);
  ox_gemm_pack_b(v, &src, k, n, 0, np / 2, panels, NULL);
  ox_gemm_pack_b(v, &src, k, n, np / 2, np, panels, NULL);
  ox_gemm_epi e = {.alpha = 0.5f, .beta = 2, .act = p->act};
  if (p->terms) e.term[0] = (ox_gemm_term){t0_as, p->type, p->terms == 2, p->terms == 1};
  if (p->terms == 2) e.term[1] = (ox_gemm_term){t1_as, p->type, (ptrdiff_t)n, 1};
  ox_gemm_plan g;
  ox_gemm_plan_init(&g, v, m, n, k, p->type, p->type, p->mode);
  ox_gemm_io io = {.a = a_as,
                   .a_rs = p->trans_a ? 1 : (ptrdiff_t)k,
                   .a_ks = p->trans_a ? (ptrdiff_t)m : 1,
                   .b = panels,
                   .c = c,
                   .c_rs = n,
                   .epi = &e};
  if (p->mode != OX_GEMM_PACKED) io.b = b_as, io.b_rs = p->mode == OX_GEMM_DOTS ? src.ns : src.ks;
  const made written = {b, src.ks, src.ns, v->nr};
  if (p->mode == OX_GEMM_SOURCE) io.b = &written, io.source = write_b;
  if (p->mode == OX_GEMM_LATE) io.b = NULL, io.whole = &src;
  for (size_t i = 0; i < ox_gemm_tiles(&g); i++) {
    void *scratch = room(g.scratch);
    ox_gemm_run(&g, &io, i, scratch);
    free(scratch);
  }
  double tol = p->type == OX_F32 ? 2e-6 : p->type == OX_F16 ? 1e-3 : 8e-3;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      double w = want(p, a, b, t0, t1, i, j), r = (double)get(p->type, c, i * n + j);
      if (!(fabs(w - r) <= tol * (1 + fabs(w)) * sqrt((double)k + 1)))
        fail_msg("%s %zux%zux%zu mode %d terms %d act %u: (%zu,%zu) is %g, wanted %g", v->name, m, n, k, p->mode,
                 p->terms, p->act.kind, i, j, r, w);
    }
  unsigned char *end = (unsigned char *)c + m * n * elem; /* nothing past the end was written */
  for (size_t i = 0; i < elem; i++) assert_int_equal(end[i], 0xff);
  void *all[] = {a, b, t0, t1, a_as, b_as, t0_as, t1_as, panels, c};
  for (size_t i = 0; i < OX_COUNT(all); i++) free(all[i]);
}

static void check_variant(void **state) {
  const ox_gemm_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  size_t mr = v->mr, nr = v->nr, kc = v->kc;
  const size_t shapes[][3] = {
      {1, 1, 1},
      {1, nr, 0},
      {3, 5, 2},
      {mr, nr, 64},
      {mr + 1, nr + 1, 65},
      {mr - 1, nr - 1, 63},
      {17, 41, 97},
      {2 * mr, 3 * nr, kc},
      {5, 100, kc + 1},
      {150, 7, 2 * kc + 5},
      {1, 211, 600},
      {2, 3 * nr - 1, 33},
      {3, nr, 31},
      {4, 2 * nr, 129},
      /* one vector's columns, by strips of each height */
      {1, nr / 2, 37},
      {2, nr / 2, 37},
      {3, 1, 37},
      {4, nr / 4, 37},
      {5, nr / 2 - 1, 37},
      {6, nr / 2, kc + 3},
      {7, nr + nr / 2, 37},
      {8, 2, 37},
      {9, nr / 2, 1},
      {10, nr / 2, 37},
      {11, nr / 2, 37},
      {5 * mr + 7, nr / 2, 2 * kc + 1},
  };
  for (size_t i = 0; i < OX_COUNT(shapes); i++)
    for (int way = 0; way < 9; way++) {
      problem p = {shapes[i][0], shapes[i][1], shapes[i][2], v->panel, OX_GEMM_PACKED,
                   way == 1,     way == 2,     {0, 0, 0},    0};
      p.terms = (int)((i + (size_t)way) % 4);
      if (way == 4) p.mode = OX_GEMM_DIRECT;
      if (way == 5) p.mode = OX_GEMM_DOTS, p.trans_b = true;
      if (way == 6) p.mode = OX_GEMM_SOURCE;
      if (way >= 7) p.mode = OX_GEMM_LATE, p.trans_b = way == 8;
      if (way >= 4 && v->panel != OX_F32) continue;
      check_problem(v, &p);
    }
  static const size_t beyond_l2[][2] = {{1100, 1030}, {4200, 257}, {9001, 121}};
  for (size_t i = 0; i < OX_COUNT(beyond_l2) && v->panel == OX_F32; i++) {
    problem p = {1, beyond_l2[i][0], beyond_l2[i][1], OX_F32, OX_GEMM_DIRECT, false, false, {0, 0, 0}, (int)i + 1};
    check_problem(v, &p);
  }
}

static void check_rows(void **state) { /* each height of the tile, and each activation */
  const ox_gemm_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  for (size_t m = 1; m <= v->mr; m++) {
    problem p = {m, v->nr + 3, 37, v->panel, OX_GEMM_PACKED, m & 1, false, {0, 0, 0}, 2};
    check_problem(v, &p);
  }
  static const float params[] = {0.3f, 0.6f};
  for (uint32_t act = 0; act <= OX_ACT_SOFTPLUS; act++) {
    problem p = {5, 19, 11, v->panel, OX_GEMM_PACKED, false, true, {act, params[0], params[1]}, 1};
    check_problem(v, &p);
  }
}

/* What plain C gives for a row of A by a column of B, rounding each product or only each sum; the exact sum; and how
 * far from it the variant may be: where terms below 2^-126 vanish, by as much of the other factor. */
typedef struct dot {
  float rounded, fused;
  double exact, tolerance;
} dot;

static dot dot_of(const float *a, const float *b, size_t k, size_t ldb) {
  dot d = {0};
  for (size_t i = 0; i < k; i++, b += ldb) {
    double x = (double)a[i], y = (double)*b;
    d.rounded += a[i] * *b, d.fused = fmaf(a[i], *b, d.fused), d.exact += x * y;
    d.tolerance += 1e-6 * fabs(x * y) + 0x1p-149;
  }
  return d;
}

static bool is_as(float got, float want, const dot *d) {
  if (isnan(want)) return isnan(got);
  if (isinf(want)) return got == want;
  return fabs((double)got - d->exact) <= d->tolerance;
}

static void multiply(const ox_gemm_variant *v, const float *a, const float *b, float *c, size_t m, size_t n, size_t k) {
  void *panels = room(ox_gemm_b_bytes(v, k, n));
  ox_gemm_src src = {b, OX_F32, (ptrdiff_t)n, 1};
  ox_gemm_pack_b(v, &src, k, n, 0, ox_gemm_panels(v, n), panels, NULL);
  ox_gemm_epi e = {.alpha = 1};
  ox_gemm_plan g;
  ox_gemm_plan_init(&g, v, m, n, k, OX_F32, OX_F32, OX_GEMM_PACKED);
  ox_gemm_io io = {.a = a, .a_rs = (ptrdiff_t)k, .a_ks = 1, .b = panels, .c = c, .c_rs = n, .epi = &e};
  void *scratch = room(g.scratch);
  for (size_t i = 0; i < ox_gemm_tiles(&g); i++) ox_gemm_run(&g, &io, i, scratch);
  free(scratch), free(panels);
}

/* Each pair of these values in A times each pair in B, at a low and a high place of a tile, and a product of ordinary
 * numbers in the next tile. NaN and infinities come out where they do in plain C. */
static void check_extremes(void **state) {
  const float values[] = {0,
                          -0.0f,
                          1,
                          -1.5f,
                          INFINITY,
                          -INFINITY,
                          NAN,
                          FLT_MAX,
                          -FLT_MAX,
                          0x1.fep127f /* largest bfloat16 */,
                          1e-30f,
                          FLT_MIN,
                          0x1p-149f,
                          1e-40f,
                          -0x1.fffffcp-127f,
                          __builtin_nansf("1") /* bfloat16 has no such bit */};
  const ox_gemm_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  enum { K = 37, N = OX_COUNT(values) * OX_COUNT(values) };
  float *a = room(N * K * 4), *b = room(N * K * 4), *c = room((size_t)N * N * 4);
  memset(a, 0, N * K * 4), memset(b, 0, N * K * 4);
  for (size_t i = 0; i < N; i++) {
    float x = values[i / OX_COUNT(values)], y = values[i % OX_COUNT(values)];
    a[i * K + 1] = x, a[i * K + 20] = y, a[i * K + 36] = 1;
    b[N + i] = x, b[20 * N + i] = y, b[36 * N + i] = 0.5f;
  }
  multiply(v, a, b, c, N, N, K);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) {
      dot d = dot_of(a + i * K, b + j, K, N);
      float got = c[i * N + j];
      if (!is_as(got, d.rounded, &d) && !is_as(got, d.fused, &d))
        fail_msg("%s (%g, %g) by (%g, %g): %g, wanted %g", v->name, (double)a[i * K + 1], (double)a[i * K + 20],
                 (double)b[N + j], (double)b[20 * N + j], (double)got, (double)d.rounded);
    }
  free(a), free(b), free(c);
}

/* An infinity in row 33 of A changes no bit of the other rows, nor one in column 34 of B of the other columns. */
static void check_infinity_stays_put(void **state) {
  const ox_gemm_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  enum { M = 40, N = 40, K = 70 };
  void *as, *bs;
  float *a = random_floats(OX_F32, M * K, &as), *b = random_floats(OX_F32, K * N, &bs);
  float c[2][M * N];
  multiply(v, a, b, c[0], M, N, K);
  a[33 * K + 5] = INFINITY, b[60 * N + 34] = -INFINITY;
  multiply(v, a, b, c[1], M, N, K);
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < N; j++) {
      bool hit = i == 33 || j == 34, same = memcmp(&c[0][i * N + j], &c[1][i * N + j], sizeof(float)) == 0;
      if (hit == same)
        fail_msg("%s (%zu,%zu): %g, was %g", v->name, i, j, (double)c[1][i * N + j], (double)c[0][i * N + j]);
    }
  free(a), free(b), free(as), free(bs);
}

/* As exact as float: an error no larger than that of a plain loop. */
static void check_accuracy(void **state) {
  const ox_gemm_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  enum { M = 33, N = 35 };
  static const size_t ks[] = {32, 96, 768};
  seed = 1; /* the same numbers, whatever ran before */
  for (size_t q = 0; q < OX_COUNT(ks); q++) {
    size_t k = ks[q];
    void *as, *bs;
    float *a = random_floats(OX_F32, M * k, &as), *b = random_floats(OX_F32, k * N, &bs), c[M * N];
    multiply(v, a, b, c, M, N, k);
    double mine = 0, plain = 0;
    for (size_t i = 0; i < M; i++)
      for (size_t j = 0; j < N; j++) {
        dot d = dot_of(a + i * k, b + j, k, N);
        mine += pow((double)c[i * N + j] - d.exact, 2), plain += pow((double)d.rounded - d.exact, 2);
      }
    if (!(mine <= plain)) fail_msg("%s k %zu: error %g, a plain loop's %g", v->name, k, sqrt(mine), sqrt(plain));
    free(a), free(b), free(as), free(bs);
  }
}

/* Wide panels only for the rows they have registers for, and where at most a 32nd of the columns is padding; for a B
 * that is read where it lies, if it has that many columns. */
static void check_wide_choice(void **state) {
  (void)state;
  static const struct {
    ox_isa have;
    size_t rows, n;
    uint16_t nr, direct; /* what is chosen; the usual panels are narrower */
  } t[] = {{OX_AVX512 | OX_AVX2, 1, 2048, 128, 128},
           {OX_AVX512 | OX_AVX2, 3, 128, 128, 128},
           {OX_AVX512 | OX_AVX2, 4, 2048, 32, 32},
           {OX_AVX512 | OX_AVX2, 1, 127, 128, 32},
           {OX_AVX512 | OX_AVX2, 1, 100, 32, 32},
           {OX_AVX512 | OX_AVX2, 1, 129, 32, 128},
           {OX_AVX512 | OX_AVX2, 1, 0, 128, 32},
           {OX_AVX2, 1, 2048, 64, 64},
           {OX_AVX2, 2, 2048, 16, 16},
           {OX_AVX2, 1, 65, 16, 64},
           {0, 1, 2048, 4, 4}};
  for (size_t i = 0; i < OX_COUNT(t); i++) {
    if (ox_gemm_select(OX_F32, t[i].have)->needs != (t[i].have & (t[i].have & OX_AVX512 ? OX_AVX512 : OX_AVX2)))
      continue; /* not built */
    assert_int_equal(ox_gemm_select_wide(t[i].rows, t[i].n, t[i].have)->nr, t[i].nr);
    assert_int_equal(ox_gemm_select_direct(t[i].rows, t[i].n, t[i].have)->nr, t[i].direct);
  }
}

int main(void) {
  static ox_gemm_variant variants[] = {
#define OX_GEMM(...) OX_GEMM_ROW(__VA_ARGS__),
#include "kern/gemm/gemm_variants.inc"
#undef OX_GEMM
  };
  struct CMUnitTest tests[5 * OX_COUNT(variants) + 1];
  size_t n = 0;
  for (size_t i = 0; i < OX_COUNT(variants); i++) {
    tests[n++] = (struct CMUnitTest){variants[i].name, check_variant, NULL, NULL, &variants[i]};
    tests[n++] = (struct CMUnitTest){variants[i].name, check_rows, NULL, NULL, &variants[i]};
    if (variants[i].panel != OX_F32) continue;
    tests[n++] = (struct CMUnitTest){variants[i].name, check_extremes, NULL, NULL, &variants[i]};
    tests[n++] = (struct CMUnitTest){variants[i].name, check_infinity_stays_put, NULL, NULL, &variants[i]};
    tests[n++] = (struct CMUnitTest){variants[i].name, check_accuracy, NULL, NULL, &variants[i]};
  }
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(check_wide_choice);
  return _cmocka_run_group_tests("gemm", tests, n, NULL, NULL);
}
