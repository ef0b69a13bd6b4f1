/* SPDX-License-Identifier: Apache-2.0
 * kern/bconv_test.c - every form of convolution between tensors in blocks, on every instruction set, against a naive
 * sum in double precision: named shapes at the edges, then seeded random geometries. Lanes past the last channel hold
 * NaN. Tolerance: 4e-6 of the sum of magnitudes; forms that need not be exact, 4e-5. */
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_kind.h"
#include "kern/blocks/bconv_direct.h"
#include "kern/blocks/bconv_split.h"
#include "kern/emulated/emulated.h"
#include "support/bconv_problem.h"
#include "support/bconv_shapes.h"
#include "support/block_layout.h"
#include "support/blocks_problem.h"
#include "support/levels.h"

/* A unit sees its own filters only, at any address. */
static void pack_unit(const ox_bconv_form *f, const bconv_problem *p, float *packed, int64_t u) {
  int64_t filter = p->t.g.ic * ox_conv_taps(&p->t.g), first = f->unit_filter(&p->t, u),
          end = f->unit_filter(&p->t, u + 1);
  size_t bytes = (size_t)((end - first) * filter) * sizeof(float);
  char *own = malloc(bytes + 2);
  memcpy(own + u % 2, p->w + first * filter, bytes);
  f->pack(&p->t, packed, (const float *)(own + u % 2), u, u + 1, NULL);
  free(own);
}

static void read_filters(const void *ctx, int64_t first, int64_t n, float *to) {
  memcpy(to, ((const bconv_problem *)ctx)->w + first, (size_t)n * sizeof *to);
}

/* One to three tiles at a time, last first: the order must not matter. */
static void run_backwards(const ox_bconv_plan *plan, const ox_conv_args *a, char *scratch) {
  for (uint32_t s = 0; s < plan->n_stages; s++)
    for (int64_t end = plan->n_tiles[s], begin; end > 0; end = begin) {
      begin = OX_MAX(end - 1 - end % 3, 0);
      plan->form->run(plan, a, s, begin, end, scratch);
    }
}

/* The same in order, so that a call may go on with what the one before has left. */
static void run_forwards(const ox_bconv_plan *plan, const ox_conv_args *a, char *scratch) {
  for (uint32_t s = 0; s < plan->n_stages; s++)
    for (int64_t begin = 0, end; begin < plan->n_tiles[s]; begin = end) {
      end = OX_MIN(begin + 1 + begin % 3, plan->n_tiles[s]);
      plan->form->run(plan, a, s, begin, end, scratch);
    }
}

/* With Y in the place of |z| the bits are those of |a|. */
static void check_in_place(const ox_bconv_plan *plan, const ox_conv_args *a, const bconv_problem *p, float *z,
                           char *scratch, const char *name) {
  ox_conv_args b = *a;
  b.y = z;
  run_forwards(plan, &b, scratch);
  for (int64_t i = 0; i < p->n_y; i++) {
    int64_t at = block_at(i, p->oc, p->pixels);
    if (memcmp(&z[at], &a->y[at], sizeof *z) != 0)
      fail_msg("%s, shape %s: [%lld] is %g in place, else %g", plan->form->name, name, (long long)i, (double)z[at],
               (double)a->y[at]);
  }
}

/* Nothing is written past the end of Y. */
static void check_form(const bconv_problem *p, const ox_bconv_form *f, const char *isa, const char *name) {
  double tolerance = p->t.isa & OX_PRECISION_BF16   ? 0x1p-7
                     : p->t.isa & OX_PRECISION_TF32 ? 0x1p-14
                     : p->t.exact                   ? 4e-6
                                                    : 4e-5;
  ox_bconv_plan *plan = calloc(1, f->plan_bytes);
  plan->form = f, plan->task = p->t;
  if (!f->plan(plan)) fail_msg("%s: no plan", name);
  char *scratch = malloc(plan->scratch_bytes + OX_PAD_BYTES), *shared = malloc(plan->shared_bytes + OX_PAD_BYTES);
  memset(scratch, 0xff, plan->scratch_bytes + OX_PAD_BYTES), memset(shared, 0xff, plan->shared_bytes + OX_PAD_BYTES);
  float *x = p->t.x_plain ? p->x : bconv_to_blocks(p, p->x, p->ic, p->in_pixels),
        *y = bconv_to_blocks(p, NULL, p->oc, p->pixels);
  float *z = bconv_to_blocks(p, p->z, p->oc, p->pixels);
  size_t floats = f->weight_floats(&p->t);
  float *packed = malloc(floats * sizeof *packed + OX_PAD_BYTES);
  for (int64_t u = floats ? f->weight_units(&p->t) : 0; u-- > 0;) pack_unit(f, p, packed, u);
  ox_conv_args a = {.x = x,
                    .w = floats ? packed : p->w,
                    .bias = p->bias,
                    .z = p->z ? z : NULL,
                    .y = y,
                    .shared = shared,
                    .slope = p->slope};
  if (p->t.reads_w) a.filters = read_filters, a.filters_ctx = p;
  run_backwards(plan, &a, scratch);
  for (int64_t i = 0; i < p->n_y; i++) {
    double got = (double)y[block_at(i, p->oc, p->pixels)];
    if (!blocks_is_as(got, p->want[i], tolerance * p->size[i]))
      fail_msg("%s on %s, shape %s, activation %u: [%lld] is %g, wanted %g", f->name, isa, name, p->t.act.kind,
               (long long)i, got, p->want[i]);
  }
  for (int i = 0; i < OX_PAD_BYTES; i++)
    assert_int_equal(((unsigned char *)(y + bconv_block_floats(p, p->oc, p->pixels)))[i], 0xff);
  if (p->z) check_in_place(plan, &a, p, z, scratch, name);
  if (x != p->x) free(x);
  free(z), free(y), free(packed), free(scratch), free(shared), free(plan);
}

/* All forms that serve, on all instruction sets, the direct one as if AVX-512 went in halves, too; those that serve
 * exact tasks are held to it. */
static int check_forms(bconv_problem *p, const char *name) {
  extern const ox_bconv_form ox_bconv_form_direct;
  size_t n_forms;
  const ox_bconv_form *const *forms = ox_bconv_forms(&n_forms);
  int served = 0;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < n_forms; i++) {
      p->t.isa = test_levels[l].have, p->t.exact = true;
      if (!(forms[i]->cost_ns(&p->t) < INFINITY)) p->t.exact = false;
      if (!(forms[i]->cost_ns(&p->t) < INFINITY)) continue;
      served++;
      for (int way = 0; way < 3; way++) {
        p->t.reads_w = way == 1;
        if (way == 2 && (forms[i] != &ox_bconv_form_direct || !(p->t.isa & OX_AVX512))) continue;
        if (way == 2) p->t.isa |= OX_AVX512_HALVES;
        check_form(p, forms[i], test_levels[l].name, name);
      }
      p->t.reads_w = false;
    }
  return served;
}

/* The form on a matrix unit, emulated, at so many of its precisions. */
#define EMULATED_PLAN(suffix, needs) \
  static bool plan_##suffix(ox_bconv_plan *p) { return ox_bconv_split_plan_on(p, &ox_split_kernels__##suffix); }
EMULATED(EMULATED_PLAN)

static void check_split(bconv_problem *p, const char *name, size_t n_precisions) {
#define EMULATED_ROW(suffix, needs) {needs, #suffix, plan_##suffix},
  static const struct {
    ox_isa needs;
    const char *isa;
    bool (*plan)(ox_bconv_plan *p);
  } rows[] = {EMULATED(EMULATED_ROW)};
  static const ox_isa precisions[] = {0, OX_PRECISION_TF32, OX_PRECISION_BF16};
  extern const ox_bconv_form ox_bconv_form_split;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_bconv_form f = ox_bconv_form_split;
    f.plan = rows[i].plan, p->t.exact = true;
    for (size_t j = 0; j < n_precisions && !(rows[i].needs & ~ox_isa_host()); j++) {
      ox_bconv_split_plan probe = {.head.task = p->t};
      p->t.isa = precisions[j];
      if (f.plan(&probe.head)) check_form(p, &f, rows[i].isa, name);
    }
  }
}

static void test_named_shapes(void **state) {
  (void)state;
  bconv_seed = 7;
  for (size_t i = 0; i < OX_COUNT(bconv_shapes); i++) {
    bconv_problem p;
    bconv_problem_init(&p, &bconv_shapes[i]);
    int served = check_forms(&p, bconv_shapes[i].name);
    if (served == 0) fail_msg("no form serves %s", bconv_shapes[i].name);
    check_split(&p, bconv_shapes[i].name, 3);
    bconv_problem_deinit(&p);
  }
}

static void test_pads_at_the_end(void **state) {
  (void)state;
  static const int64_t more[][3] = {{2, 0, 0}, {0, 3, 0}, {0, 0, 5}, {1, 1, 1}};
  bconv_seed = 9;
  for (size_t i = 0; i < OX_COUNT(bconv_shapes); i++)
    for (size_t k = 0; k < OX_COUNT(more); k++) {
      bconv_problem p;
      bconv_problem_init_more(&p, &bconv_shapes[i], more[k]);
      bool small = p.n_y * p.k < 1 << 18;
      if (small) check_forms(&p, bconv_shapes[i].name);
      if (small) check_split(&p, bconv_shapes[i].name, 1);
      bconv_problem_deinit(&p);
    }
}

static bconv_shape random_shape(void) {
  int axes = 1 + (int)bconv_next(3);
  bconv_shape s = {.name = "random", .plain = bconv_next(4) == 0, .batch = 1 + bconv_next(2), .groups = 1};
  s.ic = 1 + bconv_next(s.plain ? 4 : bconv_next(3) ? 40 : 200), s.oc = 1 + bconv_next(bconv_next(3) ? 40 : 120);
  if (!s.plain && bconv_next(4) == 0)
    s.groups = 1 + bconv_next(4), s.ic = s.oc = bconv_next(2) ? 16 * (1 + bconv_next(3)) : 1u << bconv_next(4);
  if (s.groups > 1 && bconv_next(3) == 0) s.ic = 1 + bconv_next(50), s.oc = 1 + bconv_next(50);
  for (int a = 0; a < 3; a++) {
    bool dead = a < 3 - axes;
    s.in[a] = dead ? 1 : 1 + bconv_next(axes == 1 ? 200 : axes == 2 ? 24 : 8);
    s.kernel[a] = dead || bconv_next(3) == 0 ? 1 : 1 + bconv_next(4);
    s.stride[a] = dead || bconv_next(2) ? 1 : 1 + bconv_next(3);
    s.dilation[a] = dead ? 1 : 1 + bconv_next(3);
    s.pad[a] = dead || bconv_next(2) ? 0 : bconv_next(5);
  }
  return s;
}

static void test_random_shapes(void **state) {
  (void)state;
  bconv_seed = 11;
  for (int i = 0; i < 300; i++) {
    bconv_shape s = random_shape();
    bconv_problem p;
    bconv_problem_init(&p, &s);
    check_forms(&p, s.name);
    check_split(&p, s.name, 1);
    bconv_problem_deinit(&p);
  }
}

/* Single elements of input and weights that no sum of terms may get wrong: NaN and infinities come out where they do
 * in float64, in no other element. */
static void test_extremes(void **state) {
  (void)state;
  static const bconv_shape square[] = {
      {"extremes", 0, 1, 1, 40, 35, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
      {"volume", 0, 1, 1, 40, 35, {3, 5, 5}, {3, 3, 3}, ONES, ONES, ONES},
      {"lines", 0, 1, 1, 40, 35, {1, 9, 9}, {1, 5, 5}, ONES, ONES, {0, 2, 2}},
      {"in groups", 0, 1, 10, 4, 4, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
      {"groups apart", 0, 1, 2, 20, 18, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
      {"depthwise", 0, 1, 40, 1, 1, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}},
      {"pointwise", 0, 1, 1, 40, 35, {1, 9, 9}, ONES, ONES, ONES, {0, 0, 0}},
      {"pointwise, whole pairs", 0, 1, 1, 64, 64, {1, 9, 9}, ONES, ONES, ONES, {0, 0, 0}},
      {"pointwise, a block left", 0, 1, 1, 48, 80, {1, 9, 9}, ONES, ONES, ONES, {0, 0, 0}},
      {"image", 1, 1, 1, 40, 35, {1, 9, 9}, {1, 3, 3}, ONES, ONES, {0, 1, 1}}};
  static const float values[][2] = {{INFINITY, 0.5f}, {INFINITY, INFINITY}, {INFINITY, -INFINITY},
                                    {NAN, 1},         {FLT_MAX, 1},         {1e-40f, -1e-45f},
                                    {-0.0f, 0}};
  static const float weights[] = {0.5f, 0, 0x1p-149f, INFINITY, NAN, FLT_MAX};
  bconv_seed = 13;
  for (size_t s = 0; s < OX_COUNT(square); s++)
    for (size_t v = 0; v < OX_COUNT(values); v++)
      for (size_t w = 0; w < OX_COUNT(weights); w++) {
        bconv_problem p;
        bconv_problem_init(&p, &square[s]);
        float *middle = p.x + 37 * p.in_pixels + p.in_pixels / 2;
        middle[0] = values[v][0], middle[1] = values[v][1];
        int64_t taps = p.k / p.t.g.ic, channel = 37 % p.t.g.ic; /* the tap that reads no padding */
        p.w[21 * p.k + channel * taps + taps / 2] = weights[w], p.t.act.kind = OX_ACT_NONE;
        bconv_problem_solve(&p);
        p.t.exact = true;
        check_forms(&p, square[s].name);
        check_split(&p, square[s].name, 1);
        bconv_problem_deinit(&p);
      }
}

/* Lines and lanes times factors, on each instruction set; what lies behind stays. */
static void test_scales(void **state) {
  (void)state;
  enum { LINES = 5, ALL = LINES * OX_BLOCK };
  for (size_t l = 0; level_next(&l); l++) {
    const ox_bconv_variant *v = ox_bconv_select(test_levels[l].have);
    float from[ALL], by[OX_BLOCK], to[2][ALL + 1];
    for (int i = 0; i < ALL; i++) from[i] = (float)(i % 37) - 18.5f;
    for (int i = 0; i < OX_BLOCK; i++) by[i] = 0.25f * (float)(i - 3);
    by[1] = NAN, from[7] = INFINITY, from[3 * OX_BLOCK + 2] = -NAN, to[0][ALL] = to[1][ALL] = 7;
    v->scale_lines(to[0], from, by, LINES), v->scale_lanes(to[1], from, by, LINES);
    for (int i = 0; i < ALL; i++) {
      float want[2] = {from[i] * by[i / OX_BLOCK], from[i] * by[i % OX_BLOCK]};
      for (int k = 0; k < 2; k++)
        if (isnan(want[k]) ? !isnan(to[k][i]) : to[k][i] != want[k])
          fail_msg("%s: %s [%d] is %g, wanted %g", v->name, k ? "lanes" : "lines", i, (double)to[k][i],
                   (double)want[k]);
    }
    assert_true(to[0][ALL] == 7 && to[1][ALL] == 7);
  }
}

/* Two threads share the tiles of layers of MobileNet, EfficientNet and a TCN evenly. */
static void test_even_tiles(void **state) {
  (void)state;
  extern const ox_bconv_form ox_bconv_form_direct, ox_bconv_form_strassen;
  static const ox_bconv_form *const forms[] = {&ox_bconv_form_direct, &ox_bconv_form_strassen};
  static const bconv_shape odd[] = {{"a stem", 1, 1, 1, 3, 32, {1, 224, 224}, {1, 3, 3}, {1, 2, 2}, ONES, {0, 1, 1}},
                                    {"14x14", 0, 1, 1, 80, 480, {1, 14, 14}, ONES, ONES, ONES, {0, 0, 0}},
                                    {"7x7", 0, 1, 1, 576, 160, {1, 7, 7}, ONES, ONES, ONES, {0, 0, 0}},
                                    {"7x7, three bands", 0, 1, 1, 672, 192, {1, 7, 7}, ONES, ONES, ONES, {0, 0, 0}},
                                    {"a row", 0, 1, 1, 64, 256, {1, 1, 1000}, ONES, ONES, ONES, {0, 0, 0}}};
  for (size_t i = 0; i < OX_COUNT(odd); i++) {
    bconv_problem p;
    bconv_problem_init(&p, &odd[i]);
    for (size_t l = 0; level_next(&l); l++)
      for (size_t f = 0; f < OX_COUNT(forms); f++) {
        p.t.isa = test_levels[l].have, p.t.exact = false;
        if (!(forms[f]->cost_ns(&p.t) < INFINITY)) continue;
        ox_bconv_plan *plan = calloc(1, forms[f]->plan_bytes);
        plan->form = forms[f], plan->task = p.t;
        assert_true(forms[f]->plan(plan));
        int64_t n = plan->n_tiles[plan->n_stages - 1];
        if (n % 2) fail_msg("%s, %s, %s: %lld tiles", odd[i].name, forms[f]->name, test_levels[l].name, (long long)n);
        free(plan);
      }
    bconv_problem_deinit(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_named_shapes), cmocka_unit_test(test_pads_at_the_end), cmocka_unit_test(test_random_shapes),
      cmocka_unit_test(test_extremes),     cmocka_unit_test(test_scales),          cmocka_unit_test(test_even_tiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
