/* SPDX-License-Identifier: Apache-2.0
 * kern/strassen_test.c - products in seven steps: shapes with an edge of every kind, epilogues, errors against sums in
 * double and against plain products, rows of very different sizes, what is not finite, denormals. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_kind.h"
#include "base/macros.h"
#include "kern/gemm/strassen.h"
#include "support/check.h"
#include "support/kernel_room.h"

static float *random_floats(size_t n) {
  float *x = room(n * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = rnd();
  return x;
}
static void check_end(const void *p, size_t bytes) {
  for (size_t i = 0; i < OX_PAD_BYTES; i++) assert_int_equal(((const unsigned char *)p)[bytes + i], 0xff);
}

typedef struct problem {
  size_t m, n, k;
  size_t gap; /* floats between rows of A */
  ox_act act;
  int terms; /* 0: none, 1: column bias, 2: row bias and matrix, 3: scalar */
} problem;

typedef struct operands {
  float *a, *b, *t0, *t1;
} operands;

static operands make(const problem *p) {
  return (operands){random_floats(p->m * (p->k + p->gap)), random_floats(p->k * p->n), random_floats(p->m + p->n),
                    random_floats(p->m * p->n)};
}
static void drop(operands *x) { free(x->a), free(x->b), free(x->t0), free(x->t1); }

static ox_gemm_epi epilogue(const problem *p, const operands *x) {
  ox_gemm_epi e = {.alpha = p->terms ? 0.5f : 1, .beta = 2, .act = p->act};
  if (p->terms) e.term[0] = (ox_gemm_term){x->t0, OX_F32, p->terms == 2, p->terms == 1};
  if (p->terms == 2) e.term[1] = (ox_gemm_term){x->t1, OX_F32, (ptrdiff_t)p->n, 1};
  return e;
}

/* Panels and the instruction sets that choose what goes with them. */
typedef struct subject {
  const ox_gemm_variant *v;
  ox_isa have;
} subject;

/* In seven steps, tiles in order or backwards and by turns on two workers, or with B in place at an odd address; PLAIN:
 * in eight. */
typedef enum way { FORWARDS, BACKWARDS, IN_PLACE, PLAIN } way;
static float *multiply(const subject *on, const problem *p, const operands *x, way w) {
  const ox_gemm_variant *v = on->v;
  void *panels = room(ox_gemm_b_bytes(v, p->k, p->n));
  ox_gemm_src src = {x->b, OX_F32, (ptrdiff_t)p->n, 1};
  ox_gemm_pack_b(v, &src, p->k, p->n, 0, ox_gemm_panels(v, p->n), panels, NULL);
  char *odd = room(p->k * p->n * sizeof(float) + 1);
  memcpy(odd + 1, x->b, p->k * p->n * sizeof(float));
  ox_gemm_epi e = epilogue(p, x);
  float *c = room(p->m * p->n * sizeof *c);
  ox_gemm_io io = {.a = x->a, .a_rs = (ptrdiff_t)(p->k + p->gap), .a_ks = 1, .b = panels, .c = c, .c_rs = p->n};
  io.epi = &e;
  const ox_gemm_src whole = {odd + 1, OX_F32, (ptrdiff_t)p->n, 1};
  if (w == IN_PLACE) io.b = NULL, io.whole = &whole;
  ox_gemm_plan g;
  ox_strassen_plan s;
  ox_gemm_plan_init(&g, v, p->m, p->n, p->k, OX_F32, OX_F32, w == IN_PLACE ? OX_GEMM_LATE : OX_GEMM_PACKED);
  ox_strassen_plan_init(&s, &g, on->have);
  void *scratch = room(OX_MAX(s.scratch, g.scratch)), *other = room(s.scratch);
  if (w == PLAIN) {
    for (size_t i = 0; i < ox_gemm_tiles(&g); i++) ox_gemm_run(&g, &io, i, scratch);
  } else {
    size_t tiles = ox_strassen_tiles(&s);
    ox_carried made;
    ox_carried_begin(&made);
    for (size_t i = 0; i < tiles; i++)
      ox_strassen_run(&s, &io, w == BACKWARDS ? tiles - 1 - i : i, &made, w == BACKWARDS && i % 3 ? other : scratch);
    check_end(scratch, s.scratch), check_end(other, s.scratch);
  }
  check_end(c, p->m * p->n * sizeof *c);
  free(panels), free(odd), free(scratch), free(other);
  return c;
}

static float largest(const float *x, size_t n, size_t step) {
  float most = 0;
  for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i * step]));
  return most;
}

static double exact_sum(const problem *p, const operands *x, size_t i, size_t j) {
  double sum = 0;
  for (size_t k = 0; k < p->k; k++) sum += (double)x->a[i * (p->k + p->gap) + k] * (double)x->b[k * p->n + j];
  return sum;
}

static double want(const problem *p, const operands *x, size_t i, size_t j) {
  double sum = exact_sum(p, x, i, j) * (p->terms ? 0.5 : 1);
  if (p->terms == 1) sum += 2 * (double)x->t0[j];
  if (p->terms == 2) sum += 2 * (double)x->t0[i] + 2 * (double)x->t1[i * p->n + j];
  if (p->terms == 3) sum += 2 * (double)x->t0[0];
  return ox_act_f64(p->act, sum);
}

static void check_problem(const subject *on, const problem *p) {
  operands x = make(p);
  float *c = multiply(on, p, &x, FORWARDS), *d = multiply(on, p, &x, BACKWARDS), *e = multiply(on, p, &x, IN_PLACE);
  assert_memory_equal(c, d, p->m * p->n * sizeof *c);
  assert_memory_equal(c, e, p->m * p->n * sizeof *c);
  for (size_t i = 0; i < p->m; i++)
    for (size_t j = 0; j < p->n; j++) {
      double w = want(p, &x, i, j), r = (double)c[i * p->n + j];
      if (!(fabs(w - r) <= 2e-6 * (1 + fabs(w)) * sqrt((double)p->k + 1))) /* as the plain products' test has it */
        fail_msg("%s %zux%zux%zu terms %d act %u: (%zu,%zu) is %g, wanted %g", on->v->name, p->m, p->n, p->k, p->terms,
                 p->act.kind, i, j, r, w);
    }
  free(c), free(d), free(e), drop(&x);
}

static void check_shapes(void **state) {
  const subject *on = *state;
  const ox_gemm_variant *v = on->v;
  if (v->needs & ~ox_isa_host()) skip();
  const size_t nr = v->nr;
  const struct {
    size_t m, n, k, gap;
    int terms;
    uint32_t act;
  } rows[] = {
      {1, 2 * nr, 4, 0, 0, OX_ACT_NONE}, /* too few rows: plain */
      {35, 2 * nr, 6, 0, 1, OX_ACT_NONE},
      {36, 2 * nr + 3, 2, 0, 2, OX_ACT_NONE}, /* the fewest on some CPUs */
      {37, 4 * nr, 770, 0, 1, OX_ACT_GELU},
      {59, 2 * nr, 6, 0, 1, OX_ACT_NONE},
      {60, 2 * nr, 2, 0, 0, OX_ACT_NONE},  /* the fewest */
      {61, nr, 8, 0, 1, OX_ACT_NONE},      /* a single panel: plain */
      {61, nr + 1, 62, 0, 2, OX_ACT_NONE}, /* odd rows; the second panel has one column */
      {62, 3 * nr, 64, 3, 3, OX_ACT_RELU}, /* a panel is left over */
      {64, 4 * nr - 1, 66, 0, 1, OX_ACT_GELU},
      {75, 2 * nr, 386, 1, 2, OX_ACT_TANH},
      {100, 2 * nr + 7, 34, 0, 1, OX_ACT_RELU},
      {127, 5 * nr + 2, 130, 0, 2, OX_ACT_NONE},
      {128, 2 * nr, 768, 0, 1, OX_ACT_NONE},     /* one block of k, as large as can be */
      {128, 2 * nr, 770, 0, 1, OX_ACT_GELU},     /* two, the last one smaller */
      {66, 2 * nr + 1, 1538, 5, 2, OX_ACT_NONE}, /* three */
      {197, 2 * nr, 96, 0, 3, OX_ACT_SIGMOID},
      {256, 2 * nr, 16, 0, 0, OX_ACT_NONE}, /* a tile as high as can be */
      {257, 4 * nr, 18, 0, 1, OX_ACT_NONE}, /* two tiles of rows */
      {521, 3 * nr + 1, 32, 0, 2, OX_ACT_NONE},
      {60, 7 * nr, 1540, 0, 2, OX_ACT_GELU},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    problem p = {rows[i].m, rows[i].n, rows[i].k, rows[i].gap, {rows[i].act, 0, 0}, rows[i].terms};
    check_problem(on, &p);
  }
  for (size_t m = 38; m <= 128; m += 3) { /* strips of every height */
    problem p = {m, 2 * nr, 10, 0, {0}, 1};
    check_problem(on, &p);
  }
}

/* The bound of strassen.h, and how that compares with plain products: for sums that cancel, and for sums that grow. */
static void check_errors(void **state) {
  const subject *on = *state;
  const ox_gemm_variant *v = on->v;
  if (v->needs & ~ox_isa_host()) skip();
  static const size_t depths[] = {64, 384, 768, 2048};
  for (size_t t = 0; t < 2 * OX_COUNT(depths); t++) {
    problem p = {128, 2 * (size_t)v->nr, depths[t / 2], 0, {0}, 0};
    operands x = make(&p);
    for (size_t i = 0; i < p.m * p.k && t % 2; i++) x.a[i] += 1;
    float *c = multiply(on, &p, &x, FORWARDS), *d = multiply(on, &p, &x, PLAIN);
    double worst = 0, plain = 0, k = (double)p.k;
    for (size_t i = 0; i < p.m; i++)
      for (size_t j = 0; j < p.n; j++) {
        double w = exact_sum(&p, &x, i, j), a = (double)largest(x.a + i * p.k, p.k, 1);
        size_t other = j < v->nr ? j + v->nr : j - v->nr;
        double b = (double)fmaxf(largest(x.b + j, p.k, p.n), largest(x.b + other, p.k, p.n));
        double e = fabs((double)c[i * p.n + j] - w);
        if (!(e <= (6 * k * k + 50 * k) * 0x1p-24 * a * b)) fail_msg("%s k %zu: error %g", v->name, p.k, e);
        worst = fmax(worst, e), plain = fmax(plain, fabs((double)d[i * p.n + j] - w));
      }
    if (!(worst <= 4 * plain)) fail_msg("%s k %zu: error %g, of plain sums %g", v->name, p.k, worst, plain);
    free(c), free(d), drop(&x);
  }
}

/* Rows as large as 2^96 and as small as denormals, paired in all ways: each is exact in its own size. */
static void check_sizes(void **state) {
  const subject *on = *state;
  const ox_gemm_variant *v = on->v;
  if (v->needs & ~ox_isa_host()) skip();
  static const int powers[] = {0, 96, -60, -110, -126, -140, 60};
  problem p = {95, 2 * (size_t)v->nr, 98, 0, {0}, 0};
  operands x = make(&p);
  for (size_t i = 0; i < p.m; i++)
    for (size_t k = 0; k < p.k; k++) {
      float *a = &x.a[i * p.k + k];
      *a = i == 3 || i == 93 ? 0 : ldexpf(*a, powers[i % OX_COUNT(powers)]);
    }
  float *c = multiply(on, &p, &x, FORWARDS);
  for (size_t i = 0; i < p.m; i++)
    for (size_t j = 0; j < p.n; j++) {
      double a = (double)largest(x.a + i * p.k, p.k, 1), w = exact_sum(&p, &x, i, j);
      double e = fabs((double)c[i * p.n + j] - w), most = (double)p.k * (a * 0x1p-23 + (a > 0 ? 0x1p-149 : 0));
      if (!(e <= most)) fail_msg("%s (%zu,%zu) is %g, wanted %g", v->name, i, j, (double)c[i * p.n + j], w);
    }
  free(c), drop(&x);
}

static bool is_as(float got, double w, double tolerance) {
  if (isnan(w)) return isnan(got);
  if (fabs(w) > (double)FLT_MAX) return isinf(got) && (got > 0) == (w > 0);
  return fabs((double)got - w) <= tolerance;
}

/* One odd element in each quarter of A and of B: it goes where it belongs, and nowhere else. */
static void check_odd_elements(void **state) {
  const subject *on = *state;
  const ox_gemm_variant *v = on->v;
  if (v->needs & ~ox_isa_host()) skip();
  const float odd[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -0x1p120f, 1e-40f, 0x1p-149f};
  const size_t nr = v->nr;
  for (size_t o = 0; o < OX_COUNT(odd); o++)
    for (int q = 0; q < 8; q++) {
      problem p = {63, 3 * nr + 1, 800, 0, {0}, (int)o % 2}; /* two blocks of k, two tiles */
      operands x = make(&p);
      size_t k = (q & 1 ? 770 : 5) + (o % 2 ? 210 - 210 * (q & 1) : 0);
      if (q < 4) {
        x.a[(q & 2 ? 40 : 7) * p.k + k] = odd[o];
      } else {
        x.b[k * p.n + (q & 2 ? nr + 1 : 2)] = odd[o];
        if (fabsf(odd[o]) > 1 && isfinite(odd[o])) x.b[k * p.n + (q & 2 ? nr + 1 : 2)] = rnd(); /* a column's size */
      }
      float *c = multiply(on, &p, &x, FORWARDS);
      for (size_t i = 0; i < p.m; i++)
        for (size_t j = 0; j < p.n; j++) {
          double a = (double)largest(x.a + i * p.k, p.k, 1), w = want(&p, &x, i, j);
          if (!is_as(c[i * p.n + j], w, (1 + a) * 800 * 0x1p-22))
            fail_msg("%s odd %g in quarter %d: (%zu,%zu) is %g, wanted %g", v->name, (double)odd[o], q, i, j,
                     (double)c[i * p.n + j], w);
        }
      float *d = multiply(on, &p, &x, IN_PLACE), *e = multiply(on, &p, &x, BACKWARDS);
      assert_memory_equal(c, d, p.m * p.n * sizeof *c);
      assert_memory_equal(c, e, p.m * p.n * sizeof *c);
      free(c), free(d), free(e), drop(&x);
    }
}

static void check_choice(void **state) {
  (void)state;
  const ox_gemm_variant *v = ox_gemm_select(OX_F32, ox_isa_host()), *narrow = ox_gemm_select(OX_F16, ox_isa_host());
  const struct {
    const ox_gemm_variant *v;
    size_t m, n, k;
    bool pays;
  } rows[] = {{v, 128, 3072, 768, true},
              {v, 60, 384, 1536, true},
              {v, 60, 1536, 384, true},
              {v, 60, 384, 384, false},
              {v, SIZE_MAX / 4096, 1536, 4096, true},
              {v, 256, 1536, 4098, false}, /* what would be made of A is too large */
              {v, 128, 1536, 8192, true},
              {v, 59, 3072, 768, false},
              {v, 128, 383, 768, false},
              {v, 128, 3072, 382, false},
              {v, 128, 3072, 769, false},
              {narrow, 128, 3072, 768, false},
              {ox_gemm_select(OX_F32, 0), 128, 3072, 768, false}};
  if (!ox_strassen_select(v, ox_isa_host())) skip();
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    if (ox_strassen_pays(rows[i].v, rows[i].v->needs, rows[i].m, rows[i].n, rows[i].k) != rows[i].pays)
      fail_msg("row %zu", i);
}

/* Where vectors go through the units in halves, fewer rows and smaller B are enough. */
static void check_choice_of_halves(void **state) {
  (void)state;
  const ox_isa have = OX_AVX512 | OX_AVX512_HALVES;
  const ox_gemm_variant *v = ox_gemm_select(OX_F32, have | OX_AVX2);
  if (v->needs != OX_AVX512) skip(); /* not built */
  assert_true(ox_strassen_pays(v, have, 36, 384, 384));
  assert_true(ox_strassen_pays(v, have, 36, 256, 576));
  assert_true(ox_strassen_pays(v, have, 36, 576, 256));
  assert_false(ox_strassen_pays(v, have, 35, 384, 384));
  assert_false(ox_strassen_pays(v, have, 36, 382, 384));
  assert_false(ox_strassen_pays(v, have, 36, 255, 1024));
  assert_false(ox_strassen_pays(v, have, 36, 1024, 254));
}

/* Where strips wait for L2, more rows are needed. */
static void check_choice_of_slow_l3(void **state) {
  (void)state;
  const ox_isa have = OX_AVX512 | OX_SLOW_L3;
  const ox_gemm_variant *v = ox_gemm_select(OX_F32, have | OX_AVX2);
  if (v->needs != OX_AVX512) skip(); /* not built */
  assert_true(ox_strassen_pays(v, have, 100, 768, 768));
  assert_false(ox_strassen_pays(v, have, 99, 768, 768));
  assert_false(ox_strassen_pays(v, have, 128, 384, 384));
}

/* What some CPUs run better gives the bits of what it replaces. */
static void check_kinds(void **state) {
  const subject *on = *state;
  const ox_isa other_kind = on->have ? 0 : OX_AVX512_HALVES;
  const subject other = {on->v, other_kind};
  if (on->v->needs & ~ox_isa_host()) skip();
  if (ox_strassen_select(on->v, on->have) == ox_strassen_select(on->v, other_kind)) return; /* the same everywhere */
  for (size_t m = 100; m <= 128; m += 4) { /* both are in seven steps */
    problem p = {m, 4 * (size_t)on->v->nr - 1, 96 + 16 * m, 0, {OX_ACT_GELU, 0, 0}, 1};
    operands x = make(&p);
    float *c = multiply(on, &p, &x, FORWARDS), *d = multiply(&other, &p, &x, FORWARDS);
    assert_memory_equal(c, d, p.m * p.n * sizeof *c);
    free(c), free(d), drop(&x);
  }
}

/* More workers than there are entries: the others make what they need for each tile. */
static void check_many_workers(void **state) {
  const subject *on = *state;
  const ox_gemm_variant *v = on->v;
  if (v->needs & ~ox_isa_host()) skip();
  problem p = {62, 4 * (size_t)v->nr, 34, 0, {0}, 1};
  operands x = make(&p);
  float *c = multiply(on, &p, &x, FORWARDS), *d = room(p.m * p.n * sizeof *d);
  void *panels = room(ox_gemm_b_bytes(v, p.k, p.n));
  ox_gemm_src src = {x.b, OX_F32, (ptrdiff_t)p.n, 1};
  ox_gemm_pack_b(v, &src, p.k, p.n, 0, ox_gemm_panels(v, p.n), panels, NULL);
  ox_gemm_epi e = epilogue(&p, &x);
  ox_gemm_io io = {.a = x.a, .a_rs = (ptrdiff_t)p.k, .a_ks = 1, .b = panels, .c = d, .c_rs = p.n, .epi = &e};
  ox_strassen_plan s;
  ox_gemm_plan g;
  ox_gemm_plan_init(&g, v, p.m, p.n, p.k, OX_F32, OX_F32, OX_GEMM_PACKED);
  ox_strassen_plan_init(&s, &g, on->have);
  ox_carried made;
  ox_carried_begin(&made);
  void *scratch[OX_CARRIED_WORKERS + 2];
  for (size_t i = 0; i < OX_COUNT(scratch); i++) {
    scratch[i] = room(s.scratch);
    for (size_t t = 0; t < ox_strassen_tiles(&s); t++) ox_strassen_run(&s, &io, t, &made, scratch[i]);
    assert_memory_equal(c, d, p.m * p.n * sizeof *c);
    memset(d, 0xff, p.m * p.n * sizeof *d);
  }
  for (size_t i = 0; i < OX_COUNT(scratch); i++) free(scratch[i]);
  free(c), free(d), free(panels), drop(&x);
}

int main(void) {
  static const ox_gemm_variant variants[] = {
#define OX_GEMM(...) OX_GEMM_ROW(__VA_ARGS__),
#include "kern/gemm/gemm_variants.inc"
#undef OX_GEMM
  };
  static const struct {
    const char *name;
    CMUnitTestFunction run;
  } checks[] = {{"shapes", check_shapes},      {"errors", check_errors},
                {"sizes", check_sizes},        {"odd elements", check_odd_elements},
                {"kinds of CPU", check_kinds}, {"many workers", check_many_workers}};
  static const struct {
    const char *name;
    ox_isa isa;
  } kinds[] = {{"", 0}, {", halves", OX_AVX512_HALVES}, {", slow L3", OX_SLOW_L3}};
  static subject subjects[OX_COUNT(kinds) * OX_COUNT(variants)];
  static char names[OX_COUNT(subjects) * OX_COUNT(checks)][64];
  struct CMUnitTest tests[OX_COUNT(names) + 3];
  size_t n = 0;
  for (size_t i = 0; i < OX_COUNT(subjects); i++) {
    const ox_gemm_variant *v = &variants[i / OX_COUNT(kinds)];
    size_t kind = i % OX_COUNT(kinds);
    subjects[i] = (subject){v, kinds[kind].isa};
    if (!ox_strassen_select(v, kinds[kind].isa)) continue;
    if (kind && ox_strassen_select(v, 0) == ox_strassen_select(v, kinds[kind].isa)) continue;
    for (size_t k = 0; k < OX_COUNT(checks); k++, n++) {
      snprintf(names[n], sizeof names[n], "%s%s: %s", v->name, kinds[kind].name, checks[k].name);
      tests[n] = (struct CMUnitTest){names[n], checks[k].run, NULL, NULL, &subjects[i]};
    }
  }
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(check_choice);
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(check_choice_of_halves);
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(check_choice_of_slow_l3);
  return _cmocka_run_group_tests("strassen", tests, n, NULL, NULL);
}
