/* SPDX-License-Identifier: Apache-2.0
 * ops/conv_transpose_test.c - ConvTranspose of few channels and more gives what sums in double do, and
 * ConvTransposeWithDynamicPads what ConvTranspose does with those pads. */
#include <math.h>
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
typedef struct row {
  int axes;
  int64_t x[5], w[5], pads[6], strides[3], group;
  bool bias, constant;
} row;
static const row rows[] = {
    {2, {2, 2, 4, 5}, {2, 3, 3, 3}, {1, 0, 1, 1}, {2, 2}, 1, true, false},
    {2, {2, 2, 4, 5}, {2, 3, 3, 3}, {1, 0, 1, 1}, {2, 1}, 1, false, true},
    {2, {1, 4, 7, 3}, {4, 3, 2, 2}, {-1, 0, 0, 2}, {1, 1}, 2, true, true},
    {1, {1, 2, 7}, {2, 3, 3}, {1, 0}, {3}, 1, true, false},
    {3, {1, 2, 4, 4, 3}, {2, 3, 3, 3, 2}, {1, 0, 1, 0, 0, 1}, {1, 2, 1}, 1, true, true},
};

static void run_one(one_node *n, const row *r, uint32_t dtype, bool dynamic) {
  one_node_init(n, dynamic ? "com.microsoft" : "", dynamic ? "ConvTransposeWithDynamicPads" : "ConvTranspose",
                dynamic ? 1 : 11, 1);
  one_node_ints(n, "strides", (size_t)r->axes, r->strides), one_node_int(n, "group", r->group);
  typed_input(n, dtype, r->axes + 2, r->x, 2);
  typed_input(n, dtype, r->axes + 2, r->w, 2);
  n->constant[1] = r->constant;
  if (!dynamic) one_node_ints(n, "pads", 2 * (size_t)r->axes, r->pads);
  if (dynamic) one_node_input(n, OX_I64, 1, DIMS(2 * r->axes), r->pads);
  int64_t filters = r->w[1] * r->group;
  uint8_t bias[64];
  const double v[] = {1, -2, 0.5, 3, 4, -5};
  ox_convert_select(0)->store_f64[dtype](v, bias, 0, (size_t)filters, NULL);
  if (r->bias) one_node_input(n, dtype, 1, &filters, bias);
  CHECK_OK(one_node_run(n));
}

static void test_pads_as_input(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F16, OX_F64};
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (size_t t = 0; t < OX_COUNT(types); t++) {
      one_node a, b;
      run_one(&a, &rows[i], types[t], false), run_one(&b, &rows[i], types[t], true);
      assert_true(ox_shape_equal(&a.out[0].shape, &b.out[0].shape));
      assert_memory_equal(a.out[0].data, b.out[0].data, a.out[0].bytes);
      one_node_deinit(&a), one_node_deinit(&b);
    }
}

/* ---- few channels and more, beside sums in double ---- */

typedef struct geometry {
  int axes;
  int64_t batch, ic, in[3], kernel[3], strides[3], dilations[3], pads[6], extra[3];
} geometry;
static const geometry geometries[] = {
    {2, 1, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {0, 0}},
    {2, 2, 7, {5, 19}, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}},
    {2, 1, 5, {9, 33}, {9, 9}, {3, 3}, {1, 1}, {4, 4, 4, 4}, {2, 2}},
    {2, 3, 4, {1, 1}, {4, 4}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {0, 0}},
    {2, 1, 3, {4, 5}, {3, 2}, {2, 4}, {3, 2}, {1, 0, 2, 3}, {1, 3}},
    {2, 1, 3, {6, 2}, {2, 3}, {5, 4}, {1, 1}, {0, 0, 0, 0}, {2, 1}},
    {2, 1, 2, {5, 6}, {3, 3}, {1, 2}, {1, 1}, {3, 4, 2, 1}, {0, 1}},
    {1, 2, 6, {40}, {16}, {8}, {1}, {0, 0}, {0}},
    {3, 1, 2, {2, 3, 4}, {2, 3, 3}, {2, 1, 2}, {1, 2, 1}, {0, 1, 0, 1, 1, 1}, {1, 0, 1}},
    {2, 1, 2, {5, 6}, {3, 4}, {2, 3}, {1, 5}, {-1, -2, -3, 0}, {1, 0}},
    {2, 1, 2, {4, 7}, {5, 16}, {3, 8}, {1, 1}, {2, -5, -1, 7}, {0, 3}},
    {1, 2, 2, {5}, {20}, {18}, {1}, {3, 4}, {2}},
    {2, 1, 2, {3, 5}, {4, 40}, {2, 33}, {1, 1}, {0, 5, 1, 2}, {1, 0}},
    /* windows that do not overlap */
    {2, 2, 3, {5, 21}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}},
    {2, 1, 3, {5, 21}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 1, 1}, {0, 0}},
    {2, 1, 3, {5, 21}, {2, 2}, {2, 2}, {1, 1}, {1, 1, 0, 2}, {1, 1}},
    {2, 1, 3, {5, 7}, {2, 1}, {2, 3}, {1, 2}, {-1, -2, -3, -1}, {0, 2}},
    {2, 1, 3, {5, 9}, {2, 2}, {3, 2}, {1, 1}, {-1, -1, 0, -2}, {1, 0}},
    {1, 2, 3, {11}, {8}, {8}, {1}, {3, 4}, {0}},
    {3, 1, 2, {2, 3, 9}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, {0, 0, 0}},
};

static void give(one_node *n, uint32_t dtype, int rank, const int64_t *dims, const double *v, bool constant) {
  static float f[1 << 14];
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= dims[i];
  assert_true(count <= 1 << 14);
  for (int64_t i = 0; i < count; i++) f[i] = (float)v[i];
  const void *data = dtype == OX_F32 ? (const void *)f : v;
  if (constant)
    one_node_const(n, dtype, rank, dims, data);
  else
    one_node_input(n, dtype, rank, dims, data);
}

static void run_geometry(one_node *n, const geometry *g, int64_t oc, uint32_t dtype, bool constant, bool odd) {
  static double x[1 << 14], w[1 << 14], b[16];
  int64_t xd[5] = {g->batch, g->ic}, wd[5] = {g->ic, oc};
  size_t axes = (size_t)g->axes;
  for (int a = 0; a < g->axes; a++) xd[a + 2] = g->in[a], wd[a + 2] = g->kernel[a];
  for (int i = 0; i < 1 << 14; i++) x[i] = (i * 37 % 64 - 31) / 8.0, w[i] = (i * 29 % 32 - 15) / 4.0;
  for (int i = 0; i < 16; i++) b[i] = i - 3.5;
  if (odd) x[g->batch * g->ic - 1] = (double)NAN, x[0] = (double)INFINITY;
  one_node_init(n, "", "ConvTranspose", 11, 1);
  one_node_ints(n, "strides", axes, g->strides), one_node_ints(n, "dilations", axes, g->dilations);
  one_node_ints(n, "pads", 2 * axes, g->pads), one_node_ints(n, "output_padding", axes, g->extra);
  give(n, dtype, g->axes + 2, xd, x, false), give(n, dtype, g->axes + 2, wd, w, constant);
  give(n, dtype, 1, &oc, b, constant);
  CHECK_OK(one_node_run(n));
}

static void test_beside_double(void **state) {
  (void)state;
  static const int64_t channels[] = {1, 3, 10, 11};
  for (size_t i = 0; i < OX_COUNT(geometries); i++)
    for (size_t c = 0; c < OX_COUNT(channels); c++)
      for (int how = 0; how < 4; how++) {
        one_node a, b;
        run_geometry(&a, &geometries[i], channels[c], OX_F32, how & 1, how & 2);
        run_geometry(&b, &geometries[i], channels[c], OX_F64, false, how & 2);
        assert_true(ox_shape_equal(&a.out[0].shape, &b.out[0].shape));
        for (int64_t k = 0; k < ox_shape_count(&a.out[0].shape); k++) {
          double got = (double)((const float *)a.out[0].data)[k], want = ((const double *)b.out[0].data)[k];
          bool same = isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= 1e-4;
          if (!same)
            fail_msg("geometry %zu, %d channels: [%d] is %g, wanted %g", i, (int)channels[c], (int)k, got, want);
        }
        one_node_deinit(&a), one_node_deinit(&b);
      }
}

static void test_wrong_pads(void **state) {
  (void)state;
  static const int64_t pads[40] = {0, 9, 0, 9};
  static const struct {
    int64_t n;
    const char *text;
  } bad[] = {{3, "pads has 3"}, {40, "Pads"}, {4, "padding leaves"}};
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "ConvTransposeWithDynamicPads", 1, 1);
    typed_input(&n, OX_F32, 4, DIMS(1, 1, 3, 3), 1), typed_input(&n, OX_F32, 4, DIMS(1, 1, 2, 2), 1);
    one_node_input(&n, OX_I64, 1, &bad[i].n, pads);
    CHECK_FAILS_WITH(one_node_run(&n), bad[i].text);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pads_as_input),
      cmocka_unit_test(test_beside_double),
      cmocka_unit_test(test_wrong_pads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
