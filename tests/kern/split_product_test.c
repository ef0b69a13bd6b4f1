/* SPDX-License-Identifier: Apache-2.0
 * kern/split_product_test.c - float32 products on a matrix unit, emulated: all ways to read A and B at every shape that
 * could hurt, blocks of k, tiles, epilogues, what is not finite, and how exact each number of terms is. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "kern/emulated/emulated.h"
#include "kern/gemm/split_product.h"
#include "support/check.h"
#include "support/kernel_room.h"

typedef struct problem {
  size_t m, n, k;
  int terms;
  bool alone, trans_a, trans_b;
  size_t panel; /* columns of a panel of B; 0: none */
  ox_act act;
  bool epilogue; /* alpha, column bias and matrix */
} problem;

/* |b| into panels as ox_gemm_pack_b has them. */
static float *panels_of(const problem *p, const float *b, size_t *out_floats) {
  size_t n = OX_CEIL_DIV(p->n, p->panel), floats = p->k * p->panel;
  float *to = room(n * floats * sizeof *to);
  for (size_t j = 0; j < n * p->panel; j++)
    for (size_t i = 0; i < p->k; i++)
      to[j / p->panel * floats + i * p->panel + j % p->panel] = j >= p->n    ? 0
                                                                : p->trans_b ? b[j * p->k + i]
                                                                             : b[i * p->n + j];
  *out_floats = floats;
  return to;
}

/* A worker that runs all tiles in two calls, the second of which finds A split, gets the bits of |c|. */
static void check_calls(const ox_split_plan *g, ox_split_io io, const float *c, const problem *p) {
  const size_t n = p->m * p->n * sizeof *c, tiles = ox_split_tiles(g);
  ox_carried *made = room(sizeof *made);
  void *scratch = room(g->scratch);
  io.c = room(n);
  ox_carried_begin(made);
  ox_split_run(g, &io, 0, tiles / 2, made, scratch), ox_split_run(g, &io, tiles / 2, tiles, made, scratch);
  assert_memory_equal(io.c, c, n);
  free(io.c), free(scratch), free(made);
}

static void multiply_with(const ox_split_kernels *v, const problem *p, const float *a, const float *b,
                          const ox_gemm_epi *epi, float *c) {
  ox_split_plan g;
  ox_split_plan_init(&g, v, p->terms, p->m, p->n, p->k, p->alone);
  ox_split_io io = {.a = a, .b = b, .panel = SIZE_MAX, .c = c, .c_rs = p->n, .epi = epi};
  io.a_rs = p->trans_a ? 1 : (ptrdiff_t)p->k, io.a_ks = p->trans_a ? (ptrdiff_t)p->m : 1;
  io.b_ks = p->trans_b ? 1 : (ptrdiff_t)p->n, io.b_ns = p->trans_b ? (ptrdiff_t)p->k : 1;
  float *panels = NULL;
  if (p->panel) {
    io.b = panels = panels_of(p, b, &io.panel_floats);
    io.panel = p->panel, io.b_ks = (ptrdiff_t)p->panel, io.b_ns = 1;
  }
  for (size_t i = ox_split_tiles(&g); i-- > 0;) {
    void *scratch = room(g.scratch);
    ox_split_run(&g, &io, i, i + 1, NULL, scratch);
    unsigned char *end = (unsigned char *)scratch + g.scratch;
    for (size_t j = 0; j < OX_PAD_BYTES; j++) assert_int_equal(end[j], 0xff);
    free(scratch);
  }
  if (p->alone) check_calls(&g, io, c, p);
  free(panels);
}

static void multiply(const ox_split_kernels *v, const float *a, const float *b, float *c, size_t m, size_t n, size_t k,
                     int terms) {
  problem p = {m, n, k, terms, .alone = true};
  ox_gemm_epi e = {.alpha = 1};
  multiply_with(v, &p, a, b, &e, c);
}

static float *random_floats(size_t n) {
  float *x = room(n * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = rnd();
  return x;
}

/* Units of the last place that a product of |terms| may be off. */
static double bound_of(int terms) { return terms == 1 ? 0x1p-7 : terms == 2 ? 3 * 0x1p-16 : 0x1p-22; }

static void check_problem(const ox_split_kernels *v, const problem *p) {
  size_t m = p->m, n = p->n, k = p->k;
  float *a = random_floats(m * k), *b = random_floats(k * n), *bias = random_floats(n), *z = random_floats(m * n);
  float *c = room(m * n * sizeof *c);
  ox_gemm_epi e = {.alpha = 1, .act = p->act};
  if (p->epilogue) {
    e.alpha = 0.5f, e.beta = 2;
    e.term[0] = (ox_gemm_term){bias, OX_F32, 0, 1}, e.term[1] = (ox_gemm_term){z, OX_F32, (ptrdiff_t)n, 1};
  }
  multiply_with(v, p, a, b, &e, c);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      double sum = 0, sizes = 0;
      for (size_t q = 0; q < k; q++) {
        double x = (double)a[p->trans_a ? q * m + i : i * k + q] * b[p->trans_b ? j * k + q : q * n + j];
        sum += x, sizes += fabs(x);
      }
      if (p->epilogue) sum = 0.5 * sum + 2 * bias[j] + 2 * z[i * n + j];
      double want = ox_act_f64(p->act, sum), got = c[i * n + j];
      if (!(fabs(got - want) <= bound_of(p->terms) * sizes + 1e-6 * (1 + fabs(want))))
        fail_msg("%s %zux%zux%zu terms %d panel %zu alone %d trans %d %d: (%zu,%zu) is %g, wanted %g", v->name, m, n, k,
                 p->terms, p->panel, p->alone, p->trans_a, p->trans_b, i, j, got, want);
    }
  const unsigned char *end = (const unsigned char *)(c + m * n);
  for (size_t i = 0; i < sizeof *c; i++) assert_int_equal(end[i], 0xff);
  free(a), free(b), free(bias), free(z), free(c);
}

static void check_shapes(void **state) {
  static const size_t shapes[][3] = {{1, 1, 1},      {16, 16, 16},  {17, 33, 31},   {32, 32, 32},    {33, 31, 33},
                                     {48, 64, 160},  {31, 65, 161}, {64, 96, 352},  {130, 40, 321},  {97, 257, 64},
                                     {40, 70, 1000}, {513, 33, 40}, {600, 64, 450}, {1040, 35, 200}, {128, 200, 1100},
                                     {20, 70, 1300}, {40, 96, 80},  {33, 64, 66},   {17, 128, 94}};
  const ox_split_kernels *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  for (size_t i = 0; i < OX_COUNT(shapes); i++)
    for (int way = 0; way < 6; way++) {
      if (way != (int)i % 6 && shapes[i][0] * shapes[i][1] * shapes[i][2] > 1 << 20) continue;
      problem p = {shapes[i][0], shapes[i][1], shapes[i][2], .terms = 3 - (way + (int)i) / 3 % 3, .alone = way % 2};
      p.trans_a = way == 1, p.trans_b = way == 2 || way == 4, p.panel = way == 3 || way == 4 ? 32 : way == 5 ? 64 : 0;
      p.epilogue = way % 3 == 0;
      if (way == 3) p.act = (ox_act){OX_ACT_RELU, 0, 0};
      check_problem(v, &p);
    }
}

/* What plain C gives for a row of A by a column of B, rounding each product or only each sum, and the exact sum. */
typedef struct dot {
  float rounded, fused;
  double exact, sizes, tolerance;
} dot;

static dot dot_of(const float *a, const float *b, size_t k, size_t ldb) {
  dot d = {0};
  for (size_t i = 0; i < k; i++, b += ldb) {
    double x = (double)a[i], y = (double)*b;
    d.rounded += a[i] * *b, d.fused = fmaf(a[i], *b, d.fused), d.exact += x * y, d.sizes += fabs(x * y);
    d.tolerance += 1e-6 * fabs(x * y) + 0x1p-125 * (fabs(x) + fabs(y)); /* terms below 2^-126 vanish */
  }
  return d;
}

static bool is_as(float got, float want, const dot *d, int terms) {
  if (isnan(want)) return isnan(got);
  if (isinf(want)) return got == want || (terms < 3 && isinf((float)(d->exact * (1 - bound_of(terms)))) == 0);
  return fabs((double)got - d->exact) <= d->tolerance + bound_of(terms) * d->sizes;
}

/* Each pair of these values in A times each pair in B, at a low and a high place of a tile, and a product of ordinary
 * numbers in the next tile. NaN and infinities come out where they do in plain C. */
static void check_extremes(void **state) {
  static const uint32_t bits[] = {0x7fffffff, 0xffffffff, 0x7f800001, 0xff80ffff}; /* NaN */
  float values[18] = {0,       -0.0f,    1,           -1.5f,  INFINITY, -INFINITY, NAN,
                      FLT_MAX, -FLT_MAX, 0x1.fep127f, 1e-30f, FLT_MIN,  0x1p-149f, 1e-40f};
  memcpy(values + 14, bits, sizeof bits);
  const ox_split_kernels *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  enum { K = 37, N = OX_COUNT(values) * OX_COUNT(values) };
  float *a = room(N * K * 4), *b = room(N * K * 4), *c = room((size_t)N * N * 4);
  memset(a, 0, N * K * 4), memset(b, 0, N * K * 4);
  for (size_t i = 0; i < N; i++) {
    float x = values[i / OX_COUNT(values)], y = values[i % OX_COUNT(values)];
    a[i * K + 1] = x, a[i * K + 20] = y, a[i * K + 36] = 1;
    b[N + i] = x, b[20 * N + i] = y, b[36 * N + i] = 0.5f;
  }
  for (int terms = 1; terms <= 3; terms++) {
    multiply(v, a, b, c, N, N, K, terms);
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j < N; j++) {
        dot d = dot_of(a + i * K, b + j, K, N);
        float got = c[i * N + j];
        if (!is_as(got, d.rounded, &d, terms) && !is_as(got, d.fused, &d, terms))
          fail_msg("%s terms %d (%g, %g) by (%g, %g): %g, wanted %g", v->name, terms, (double)a[i * K + 1],
                   (double)a[i * K + 20], (double)b[N + j], (double)b[20 * N + j], (double)got, (double)d.rounded);
      }
  }
  free(a), free(b), free(c);
}

/* An infinity in row 33 of A changes no bit of the other rows, nor one in column 34 of B of the other columns. */
static void check_infinity_stays_put(void **state) {
  const ox_split_kernels *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  enum { M = 40, N = 40, K = 300 };
  float *a = random_floats(M * K), *b = random_floats(K * N);
  static float c[2][M * N + 16];
  for (int terms = 1; terms <= 3; terms++) {
    a[33 * K + 5] = 1, b[60 * N + 34] = 1;
    multiply(v, a, b, c[0], M, N, K, terms);
    a[33 * K + 5] = INFINITY, b[60 * N + 34] = -INFINITY;
    multiply(v, a, b, c[1], M, N, K, terms);
    for (size_t i = 0; i < M; i++)
      for (size_t j = 0; j < N; j++) {
        bool hit = i == 33 || j == 34, same = memcmp(&c[0][i * N + j], &c[1][i * N + j], sizeof(float)) == 0;
        if (hit == same)
          fail_msg("%s (%zu,%zu): %g, was %g", v->name, i, j, (double)c[1][i * N + j], (double)c[0][i * N + j]);
      }
  }
  free(a), free(b);
}

/* Three terms are as exact as float: an error no larger than that of a plain loop. Two and one keep their bounds, and
 * one is no better than it should be. */
static void check_accuracy(void **state) {
  const ox_split_kernels *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  enum { M = 33, N = 35 };
  static const size_t ks[] = {32, 96, 768};
  for (size_t q = 0; q < OX_COUNT(ks); q++)
    for (int terms = 1; terms <= 3; terms++)
      for (int positive = 0; positive < 2; positive++) {
        size_t k = ks[q];
        float *a = random_floats(M * k), *b = random_floats(k * N), c[M * N + 16];
        for (size_t i = 0; positive && i < M * k; i++) a[i] = fabsf(a[i]);
        for (size_t i = 0; positive && i < k * N; i++) b[i] = fabsf(b[i]);
        multiply(v, a, b, c, M, N, k, terms);
        double mine = 0, plain = 0, most = 0;
        for (size_t i = 0; i < M; i++)
          for (size_t j = 0; j < N; j++) {
            dot d = dot_of(a + i * k, b + j, k, N);
            double error = fabs((double)c[i * N + j] - d.exact);
            mine += pow(error, 2), plain += pow((double)d.rounded - d.exact, 2), most = fmax(most, error / d.sizes);
          }
        if (terms == 3 && !(mine <= plain))
          fail_msg("%s k %zu: error %g, a plain loop's %g", v->name, k, sqrt(mine), sqrt(plain));
        if (!(most <= bound_of(terms) + (double)k * 0x1p-24))
          fail_msg("%s k %zu terms %d: error %g", v->name, k, terms, most);
        if (terms < 3 && !(most > bound_of(terms + 1))) fail_msg("%s: %d terms are too good: %g", v->name, terms, most);
        free(a), free(b);
      }
}

static void check_choice(void **state) {
  (void)state;
  static const struct {
    size_t m, n, k;
    bool pays;
  } rows[] = {{1, 768, 768, false},  {15, 3072, 768, false},   {128, 8, 768, false},   {128, 768, 8, false},
              {128, 768, 768, true}, {128, 768, 3072, true},   {197, 3072, 768, true}, {64, 1536, 384, true},
              {128, 384, 384, true}, {1024, 1024, 1024, true}, {32, 2048, 768, false}, {48, 2048, 768, true},
              {128, 2048, 32, true}, {197, 2048, 32, false},   {100, 2048, 80, false}, {100, 2048, 128, true}};
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    if (ox_split_pays(rows[i].m, rows[i].n, rows[i].k, 3, true, true) != rows[i].pays)
      fail_msg("%zux%zux%zu: wanted %d", rows[i].m, rows[i].n, rows[i].k, rows[i].pays);
}

int main(void) {
  static const ox_split_kernels *const kernels[] = {EMULATED(EMULATED_SPLIT)};
  struct CMUnitTest tests[4 * OX_COUNT(kernels) + 1];
  size_t n = 0;
  for (size_t i = 0; i < OX_COUNT(kernels); i++) {
    void *v = (void *)(uintptr_t)kernels[i];
    tests[n++] = (struct CMUnitTest){"shapes", check_shapes, NULL, NULL, v};
    tests[n++] = (struct CMUnitTest){"extremes", check_extremes, NULL, NULL, v};
    tests[n++] = (struct CMUnitTest){"infinity stays put", check_infinity_stays_put, NULL, NULL, v};
    tests[n++] = (struct CMUnitTest){"accuracy", check_accuracy, NULL, NULL, v};
  }
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(check_choice);
  return _cmocka_run_group_tests("split_product", tests, n, NULL, NULL);
}
