/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_test.c - MatMul, Gemm and their fused forms against naive loops: ranks, broadcasts, transposes, types. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

static uint32_t seed = 7;
static double value(uint32_t type) {
  seed = seed * 1664525u + 1013904223u;
  int v = (int)(seed >> 8) % 2001 - 1000;
  return ox_dtype_is_float(type) ? v * 1e-3 : v;
}
static double load_as(uint32_t type, const void *p, int64_t i) {
  switch (type) {
    case OX_F32:
      return (double)((const float *)p)[i];
    case OX_F64:
      return ((const double *)p)[i];
    case OX_F16:
      return (double)ox_f16_to_f32(((const uint16_t *)p)[i]);
    case OX_BF16:
      return (double)ox_bf16_to_f32(((const uint16_t *)p)[i]);
    case OX_I32:
    case OX_U32:
      return ((const int32_t *)p)[i];
    default:
      return (double)((const int64_t *)p)[i];
  }
}
static void store_as(uint32_t type, void *p, int64_t i, double v) {
  switch (type) {
    case OX_F32:
      ((float *)p)[i] = (float)v;
      break;
    case OX_F64:
      ((double *)p)[i] = v;
      break;
    case OX_F16:
      ((uint16_t *)p)[i] = ox_f16_from_f32((float)v);
      break;
    case OX_BF16:
      ((uint16_t *)p)[i] = ox_bf16_from_f32((float)v);
      break;
    case OX_I32:
    case OX_U32:
      ((int32_t *)p)[i] = (int32_t)v;
      break;
    default:
      ((int64_t *)p)[i] = (int64_t)v;
  }
}
static double tolerance(uint32_t type) {
  return type == OX_F32 ? 1e-5 : type == OX_F64 ? 1e-12 : type == OX_F16 ? 4e-3 : type == OX_BF16 ? 3e-2 : 0;
}

static ox_tensor random_tensor(uint32_t type, int rank, const int64_t *dims) {
  ox_shape s = ox_shape_of(rank, dims);
  int64_t n = ox_shape_count(&s);
  void *p = calloc((size_t)n + 1, 8);
  for (int64_t i = 0; i < n; i++) store_as(type, p, i, value(type));
  return ox_tensor_view(type, &s, p);
}

/* Offset of the element of |s| that broadcasts to batch |index| of |out|'s first |rank| dimensions. */
static int64_t broadcast_offset(const ox_shape *s, int tail, const ox_shape *out, int rank, int64_t index) {
  int64_t at = 0, step = 1;
  for (int d = s->rank - tail; d < s->rank; d++) step *= s->dim[d];
  for (int i = 0; i < rank; i++) {
    int own = s->rank - tail - 1 - i;
    int64_t n = out->dim[rank - 1 - i];
    if (own >= 0) {
      if (s->dim[own] != 1) at += index % n * step;
      step *= s->dim[own];
    }
    index /= n;
  }
  return at;
}

typedef struct shape_case {
  int ra, rb, ro;
  int64_t a[5], b[5], o[5];
} shape_case;

static void check_case(const shape_case *t, uint32_t type, uint32_t b_type, bool constant, int64_t run_tiles,
                       const char *op, bool extra) {
  ox_tensor a = random_tensor(type, t->ra, t->a), b = random_tensor(b_type, t->rb, t->b);
  ox_tensor bias = random_tensor(type, 1, &t->o[t->ro - 1]), res = random_tensor(type, t->ro, t->o);
  one_node n;
  one_node_init(&n, extra ? "ai.onyx" : "", op, extra ? 1 : 13, 1);
  n.run_tiles = run_tiles;
  one_node_value(&n, &a), one_node_value(&n, &b);
  n.constant[1] = constant;
  if (extra) one_node_value(&n, &bias), one_node_value(&n, &res), one_node_str(&n, "activation", "Relu");
  CHECK_OK(one_node_run(&n));
  ox_shape want = ox_shape_of(t->ro, t->o);
  assert_true(ox_shape_equal(&n.out[0].shape, &want));
  bool a1 = t->ra == 1, b1 = t->rb == 1;
  int rank = t->ro - !a1 - !b1;
  int64_t m = a1 ? 1 : t->a[t->ra - 2], k = t->a[t->ra - 1], cols = b1 ? 1 : t->b[t->rb - 1];
  int64_t batches = ox_shape_span(&want, 0, rank);
  for (int64_t z = 0; z < batches; z++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < cols; j++) {
        double sum = 0;
        int64_t ao = broadcast_offset(&a.shape, a1 ? 1 : 2, &want, rank, z) + i * k;
        int64_t bo = broadcast_offset(&b.shape, b1 ? 1 : 2, &want, rank, z) + j, at = (z * m + i) * cols + j;
        for (int64_t q = 0; q < k; q++) sum += load_as(type, a.data, ao + q) * load_as(b_type, b.data, bo + q * cols);
        if (extra) {
          sum += load_as(type, bias.data, j) + load_as(type, res.data, at);
          if (sum < 0) sum = 0;
        }
        double got = load_as(type, n.out[0].data, at);
        if (!(fabs(got - sum) <= tolerance(type) * (1 + fabs(sum)) * 2))
          fail_msg("%s %s case %d: element %d is %g, wanted %g", op, ox_dtype_name(type), (int)t->a[0], (int)at, got,
                   sum);
      }
  one_node_deinit(&n);
  free(a.data), free(b.data), free(bias.data), free(res.data);
}

static const shape_case cases[] = {
    {2, 2, 2, {3, 4}, {4, 5}, {3, 5}},
    {1, 1, 0, {7}, {7}, {1}},
    {1, 2, 1, {7}, {7, 3}, {3}},
    {2, 1, 1, {5, 7}, {7}, {5}},
    {3, 1, 2, {2, 5, 7}, {7}, {2, 5}},
    {1, 3, 2, {7}, {2, 7, 3}, {2, 3}},
    {3, 2, 3, {2, 13, 33}, {33, 40}, {2, 13, 40}},
    {2, 3, 3, {13, 33}, {2, 33, 40}, {2, 13, 40}},
    {4, 4, 4, {2, 1, 6, 9}, {1, 3, 9, 8}, {2, 3, 6, 8}},
    {4, 3, 4, {2, 3, 1, 9}, {3, 9, 70}, {2, 3, 1, 70}},
    {3, 3, 3, {4, 1, 300}, {1, 300, 50}, {4, 1, 50}},
    {3, 3, 3, {3, 1, 70}, {3, 70, 128}, {3, 1, 128}}, /* single rows: by wide panels, and by narrow ones */
    {3, 3, 3, {3, 1, 70}, {3, 70, 65}, {3, 1, 65}},
    {3, 3, 3, {2, 3, 40}, {2, 40, 510}, {2, 3, 510}},
    {3, 3, 3, {70, 3, 5}, {70, 5, 2}, {70, 3, 2}},
    {2, 2, 2, {200, 400}, {400, 150}, {200, 150}},
    {3, 3, 3, {2, 0, 4}, {2, 4, 3}, {2, 0, 3}},
    {2, 2, 2, {3, 0}, {0, 5}, {3, 5}},
    {2, 2, 2, {9, 40}, {40, 1}, {9, 1}},
    {3, 3, 3, {2, 9, 40}, {2, 40, 1}, {2, 9, 1}},
};

static void test_matmul_broadcasts(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_I32, OX_U32, OX_I64, OX_U64};
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (int constant = 0; constant < 2; constant++) {
        check_case(&cases[i], types[t], types[t], constant, constant, "MatMul", false);
        bool extra = cases[i].ra > 1 && cases[i].rb > 1 && types[t] <= OX_BF16 && ox_dtype_is_float(types[t]);
        if (extra) check_case(&cases[i], types[t], types[t], constant, 1, "Linear", true);
      }
}

/* float32 by constant weights of 16 bits, which are widened in registers; what else differs is refused. */
static void test_linear_of_narrow_weights(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F16, OX_BF16};
  uint16_t w[6] = {0};
  double x[6] = {0};
  one_node n;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      if (cases[i].ra > 1 && cases[i].rb > 1) check_case(&cases[i], OX_F32, types[t], true, 1, "Linear", true);
  for (int i = 0; i < 3; i++) {
    one_node_init(&n, "ai.onyx", "Linear", 1, 1);
    one_node_input(&n, i == 0 ? OX_F32 : OX_F64, 2, (int64_t[]){2, 3}, x);
    one_node_input(&n, OX_F16, 2, (int64_t[]){3, 2}, w);
    n.constant[1] = i == 2;
    CHECK_FAILS(one_node_run(&n), OX_NOT_IMPLEMENTED, "by float16");
    one_node_deinit(&n);
  }
}

static void test_matmul_refuses_what_does_not_fit(void **state) {
  (void)state;
  float x[16] = {0};
  one_node n;
  one_node_init(&n, "", "MatMul", 13, 1);
  one_node_input(&n, OX_F32, 2, (int64_t[]){2, 3}, x), one_node_input(&n, OX_F32, 2, (int64_t[]){2, 3}, x);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "do not fit");
  one_node_deinit(&n);
  one_node_init(&n, "", "MatMul", 13, 1);
  one_node_input(&n, OX_F32, 0, NULL, x), one_node_input(&n, OX_F32, 2, (int64_t[]){2, 3}, x);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "scalar");
  one_node_deinit(&n);
}

static void check_gemm(uint32_t type, bool ta, bool tb, bool constant, int c_rank, const int64_t *c_dims, float alpha,
                       float beta) {
  enum { M = 14, N = 37, K = 21 };
  ox_tensor a = random_tensor(type, 2, ta ? (int64_t[]){K, M} : (int64_t[]){M, K});
  ox_tensor b = random_tensor(type, 2, tb ? (int64_t[]){N, K} : (int64_t[]){K, N});
  ox_tensor c = random_tensor(type, c_rank, c_dims);
  one_node n;
  one_node_init(&n, "", "Gemm", 13, 1);
  one_node_int(&n, "transA", ta), one_node_int(&n, "transB", tb);
  one_node_float(&n, "alpha", alpha), one_node_float(&n, "beta", beta);
  one_node_value(&n, &a), one_node_value(&n, &b), one_node_value(&n, &c);
  n.constant[1] = constant;
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int k = 0; k < K; k++)
        sum += load_as(type, a.data, ta ? k * M + i : i * K + k) * load_as(type, b.data, tb ? j * K + k : k * N + j);
      int row = c_rank == 2 && c_dims[0] > 1 ? i : 0, col = c_rank && c_dims[c_rank - 1] > 1 ? j : 0;
      int64_t at = (int64_t)row * (c_rank ? c_dims[c_rank - 1] : 1) + col;
      double want = (double)alpha * sum + (double)beta * load_as(type, c.data, at);
      double got = load_as(type, n.out[0].data, i * N + j);
      if (!ox_dtype_is_float(type)) want = trunc(want);
      if (!(fabs(want - got) <= tolerance(type) * (2 + fabs(want))))
        fail_msg("Gemm (%d,%d): %g, wanted %g", i, j, got, want);
    }
  one_node_deinit(&n);
  free(a.data), free(b.data), free(c.data);
}

static void test_gemm_broadcasts_c(void **state) {
  (void)state;
  static const struct {
    int rank;
    int64_t dims[2];
  } cs[] = {{0, {0}}, {1, {1}}, {1, {37}}, {2, {1, 37}}, {2, {14, 1}}, {2, {14, 37}}, {2, {1, 1}}};
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_I32, OX_U64};
  for (size_t i = 0; i < OX_COUNT(cs); i++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (int flags = 0; flags < 8; flags++) {
        bool unit = i & 1 || types[t] == OX_U64; /* negative sums wrap: exact only without scales */
        check_gemm(types[t], flags & 1, flags & 2, flags & 4, cs[i].rank, cs[i].dims, unit ? 1.0f : 0.5f,
                   unit ? 1.0f : 2.0f);
        if (types[t] == OX_F64) /* whose C is added in vectors without scales */
          check_gemm(types[t], flags & 1, flags & 2, flags & 4, cs[i].rank, cs[i].dims, 1.0f, unit ? 2.0f : 1.0f);
      }
}

static void test_fused_matmul_transposes(void **state) {
  (void)state;
  float a[2 * 3 * 4], b[2 * 4 * 5];
  for (int i = 0; i < 24; i++) a[i] = (float)(i % 7) - 3;
  for (int i = 0; i < 40; i++) b[i] = (float)(i % 5) - 2;
  for (int flags = 0; flags < 4; flags++) { /* A as [batch, 3, 4], [batch, 4, 3], [3, batch, 4] and [4, batch, 3] */
    bool ta = flags & 1, tba = flags & 2;
    int64_t s[3] = {2, ta ? 4 : 3, ta ? 3 : 4};
    if (tba) s[0] = s[1], s[1] = 2;
    one_node n;
    one_node_init(&n, "com.microsoft", "FusedMatMul", 1, 1);
    one_node_int(&n, "transA", ta), one_node_int(&n, "transBatchA", tba), one_node_float(&n, "alpha", 0.5f);
    one_node_input(&n, OX_F32, 3, s, a), one_node_const(&n, OX_F32, 3, (int64_t[]){2, 4, 5}, b);
    CHECK_OK(one_node_run(&n));
    for (int z = 0; z < 2; z++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 5; j++) {
          float sum = 0;
          for (int k = 0; k < 4; k++) {
            int row = ta ? k : i, col = ta ? i : k;
            sum += a[tba ? (row * 2 + z) * s[2] + col : (z * s[1] + row) * s[2] + col] * b[(z * 4 + k) * 5 + j];
          }
          assert_float_equal(((float *)n.out[0].data)[(z * 3 + i) * 5 + j], 0.5f * sum, 1e-6f);
        }
    one_node_deinit(&n);
  }
}

/* ---- GemmFastGelu, FusedMatMulActivation ---- */

typedef double act_fn(double x);
static double act_gelu(double x) {
  return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}
static double act_relu(double x) { return x > 0 ? x : 0; }
static double act_leaky(double x) { return x > 0 ? x : 0.25 * x; }
static double act_leaky_usual(double x) { return x > 0 ? x : (double)0.01f * x; }
static double act_hard(double x) { return fmin(fmax(0.5 * x + (double)0.1f, 0), 1); }

static void check_act(uint32_t type, const char *op, const char *name, act_fn *act, const float *params, bool bias) {
  enum { M = 5, K = 7, N = 9 };
  one_node n;
  one_node_init(&n, "com.microsoft", op, 1, 1);
  if (name) one_node_str(&n, "activation", name), one_node_float(&n, "alpha", 0.5f);
  if (params) one_node_float(&n, "activation_alpha", params[0]), one_node_float(&n, "activation_beta", params[1]);
  ox_tensor a = random_tensor(type, 2, (int64_t[]){M, K}), b = random_tensor(type, 2, (int64_t[]){K, N});
  ox_tensor c = random_tensor(type, 1, (int64_t[]){N});
  one_node_input(&n, type, 2, a.shape.dim, a.data), one_node_const(&n, type, 2, b.shape.dim, b.data);
  if (bias) one_node_input(&n, type, 1, c.shape.dim, c.data);
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < M * N; i++) {
    double sum = 0;
    for (int64_t k = 0; k < K; k++) sum += load_as(type, a.data, i / N * K + k) * load_as(type, b.data, k * N + i % N);
    double want = act((name ? 0.5 : 1) * sum + (bias ? load_as(type, c.data, i % N) : 0));
    double got = load_as(type, n.out[0].data, i);
    if (!(fabs(got - want) <= tolerance(type) * fmax(1, fabs(want))))
      fail_msg("%s %s: [%d] is %g, wanted %g", op, name ? name : "", (int)i, got, want);
  }
  free(a.data), free(b.data), free(c.data);
  one_node_deinit(&n);
}

static void test_activations(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int bias = 0; bias < 2; bias++) check_act(types[t], "GemmFastGelu", NULL, act_gelu, NULL, bias);
  static const char op[] = "FusedMatMulActivation";
  check_act(OX_F32, op, "Relu", act_relu, NULL, false);
  check_act(OX_F64, op, "LeakyRelu", act_leaky_usual, NULL, false);
  check_act(OX_F16, op, "LeakyRelu", act_leaky, (float[]){0.25f, 0}, false);
  check_act(OX_F32, op, "HardSigmoid", act_hard, (float[]){0.5f, 0.1f}, false);
  one_node n;
  one_node_init(&n, "com.microsoft", op, 1, 1);
  one_node_str(&n, "activation", "Frown");
  ox_tensor a = random_tensor(OX_F32, 2, (int64_t[]){2, 2});
  for (int i = 0; i < 2; i++) one_node_input(&n, OX_F32, 2, a.shape.dim, a.data);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "Frown");
  free(a.data);
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul_broadcasts),
      cmocka_unit_test(test_linear_of_narrow_weights),
      cmocka_unit_test(test_matmul_refuses_what_does_not_fit),
      cmocka_unit_test(test_gemm_broadcasts_c),
      cmocka_unit_test(test_fused_matmul_transposes),
      cmocka_unit_test(test_activations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
