/* SPDX-License-Identifier: Apache-2.0
 * ops/quant_matmul_test.c - quantized products against naive integers: batches, parameters per row and column, results
 * of all types, 8-bit floats, run-time quantization. */
#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/one_node.h"

enum { M = 5, K = 70, N = 37, BATCH = 2 };
static uint8_t a[BATCH * M * K], b[BATCH * K * N], az[BATCH * M], bz[BATCH * N];
static float as[BATCH * M], bs[BATCH * N], bias[N];

static void fill(void) {
  uint32_t seed = 1;
#define FILL(x, v)                           \
  for (size_t i = 0; i < OX_COUNT(x); i++) { \
    seed = seed * 1664525u + 1013904223u;    \
    uint32_t r = seed >> 10;                 \
    x[i] = v;                                \
  }
  FILL(a, (uint8_t)r)
  FILL(b, (uint8_t)r)
  FILL(az, (uint8_t)r)
  FILL(bz, (uint8_t)r)
  FILL(as, (float)(r % 100 + 1) * 1e-3f)
  FILL(bs, (float)(r % 100 + 1) * 1e-3f)
  FILL(bias, (float)(r % 100) * 1e-1f)
}

static int byte_of(uint8_t x, uint32_t type) { return type == OX_I8 && x > 127 ? x - 256 : x; }

static int32_t sum_at(uint32_t ta, uint32_t tb, int z, int bm, int i, int j, int za, int zb) {
  int32_t sum = 0;
  for (int k = 0; k < K; k++)
    sum += (byte_of(a[(z * M + i) * K + k], ta) - za) * (byte_of(b[(bm * K + k) * N + j], tb) - zb);
  return sum;
}

static void test_matmul_integer(void **state) {
  (void)state;
  for (int f = 0; f < 32; f++) {
    uint32_t ta = f & 1 ? OX_I8 : OX_U8, tb = f & 2 ? OX_I8 : OX_U8;
    bool per_row = f & 4, per_col = f & 4, constant = f & 8, wide_b = f & 16;
    one_node n;
    one_node_init(&n, "", "MatMulInteger", 10, 1);
    n.run_tiles = 1, n.isa = f & 1 ? ox_isa_host() : 0;
    one_node_input(&n, ta, 3, (int64_t[]){BATCH, M, K}, a);
    (constant ? one_node_const : one_node_input)(&n, tb, 3, (int64_t[]){wide_b ? BATCH : 1, K, N}, b);
    one_node_input(&n, ta, per_row ? 3 : 0, (int64_t[]){BATCH, M, 1}, az);
    one_node_input(&n, tb, per_col ? 1 : 0, (int64_t[]){N}, bz);
    CHECK_OK(one_node_run(&n));
    for (int z = 0; z < BATCH; z++)
      for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
          int32_t want = sum_at(ta, tb, z, wide_b ? z : 0, i, j, byte_of(az[per_row ? z * M + i : 0], ta),
                                byte_of(bz[per_col ? j : 0], tb));
          assert_int_equal(((int32_t *)n.out[0].data)[(z * M + i) * N + j], want);
        }
    one_node_deinit(&n);
  }
}

static void test_qlinear_matmul(void **state) {
  (void)state;
  float ys = 0.8f;
  for (int f = 0; f < 8; f++) {
    uint32_t t = f & 1 ? OX_I8 : OX_U8;
    bool per_col = f & 2, per_row = f & 4;
    one_node n;
    one_node_init(&n, "", "QLinearMatMul", 21, 1);
    one_node_input(&n, t, 2, (int64_t[]){M, K}, a), one_node_input(&n, OX_F32, per_row, (int64_t[]){M}, as);
    one_node_input(&n, t, per_row, (int64_t[]){M}, az), one_node_const(&n, OX_I8, 2, (int64_t[]){K, N}, b);
    one_node_input(&n, OX_F32, per_col, (int64_t[]){N}, bs), one_node_input(&n, OX_I8, per_col, (int64_t[]){N}, bz);
    one_node_input(&n, OX_F32, 0, NULL, &ys), one_node_input(&n, t, 0, NULL, az + 3);
    CHECK_OK(one_node_run(&n));
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        int32_t sum =
            sum_at(t, OX_I8, 0, 0, i, j, byte_of(az[per_row ? i : 0], t), byte_of(bz[per_col ? j : 0], OX_I8));
        double y =
            (double)sum * (double)as[per_row ? i : 0] * (double)bs[per_col ? j : 0] / (double)ys + byte_of(az[3], t);
        double least = t == OX_I8 ? -128 : 0, got = byte_of(((uint8_t *)n.out[0].data)[i * N + j], t);
        y = fmin(fmax(y, least), least + 255);
        if (!(fabs(got - y) <= 0.501)) fail_msg("(%d,%d): %g, wanted %g", i, j, got, y);
      }
    one_node_deinit(&n);
  }
}

static void test_qlinear_matmul_of_small_floats(
    void **state) { /* e4m3fn: 0x38 is 1, 0x40 is 2, 0xb8 is -1, 0x30 is 0.5 */
  (void)state;
  uint8_t x[4] = {0x38, 0x40, 0xb8, 0x30}, zero = 0, wanted[4] = {0x30, 0x40, 0xb0, 0xb4}; /* 0.5, 2, -0.5, -0.75 */
  uint8_t eye[4] = {0x38, 0x40, 0, 0x38}; /* [[1, 2], [0, 1]]: x eye = [[1, 4], [-1, -1.5]] */
  float one = 1, two = 2;
  one_node n;
  one_node_init(&n, "", "QLinearMatMul", 21, 1);
  one_node_input(&n, OX_F8E4M3FN, 2, (int64_t[]){2, 2}, x), one_node_input(&n, OX_F32, 0, NULL, &one);
  one_node_input(&n, OX_F8E4M3FN, 0, NULL, &zero), one_node_input(&n, OX_F8E4M3FN, 2, (int64_t[]){2, 2}, eye);
  one_node_input(&n, OX_F32, 0, NULL, &one), one_node_input(&n, OX_F8E4M3FN, 0, NULL, &zero);
  one_node_input(&n, OX_F32, 0, NULL, &two), one_node_input(&n, OX_F8E4M3FN, 0, NULL, &zero);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, wanted, 4);
  one_node_deinit(&n);
}

static const uint32_t small_types[] = {OX_U8, OX_I8, OX_F8E4M3FN, OX_F8E4M3FNUZ, OX_F8E5M2, OX_F8E5M2FNUZ};

static double small_value(uint32_t type, uint8_t x) {
  double v;
  ox_convert_select(0)->load_f64[type](&x, 0, 1, &v);
  return v;
}

/* How far |x| is from the nearest finite value of |type|. */
static double distance(uint32_t type, double x) {
  double least = INFINITY;
  for (int i = 0; i < 256; i++) {
    double v = small_value(type, (uint8_t)i);
    if (isfinite(v)) least = fmin(least, fabs(v - x));
  }
  return least;
}

/* Bytes of finite values of |type|, of floats such that sums stay near the range of every type. */
static void fill_small(uint32_t type, uint8_t *x, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n;) {
    seed = seed * 1664525u + 1013904223u;
    uint8_t bits = (uint8_t)(seed >> 11);
    double v = small_value(type, bits);
    if (isfinite(v) && (type == OX_U8 || type == OX_I8 || fabs(v) <= 16)) x[i++] = bits;
  }
}

enum { SM = 3, SK = 7, SN = 5 };

/* |per|: 0 a parameter for all, 1 one for each row and column, 2 for each of every matrix. */
static void check_small(uint32_t ta, uint32_t tb, uint32_t ty, int per, bool constant) {
  static uint8_t xa[BATCH * SM * SK], xb[BATCH * SK * SN], za[BATCH * SM], zb[BATCH * SN], zy[1];
  const float ys = 0.7f;
  one_node n;
  fill_small(ta, xa, sizeof xa, ta), fill_small(tb, xb, sizeof xb, tb + 7), fill_small(ta, za, sizeof za, ta + 1);
  fill_small(tb, zb, sizeof zb, tb + 2), fill_small(ty, zy, 1, ty);
  int rank = per == 2 ? 3 : per;
  const int64_t *row = per == 2 ? (int64_t[]){BATCH, SM, 1} : (int64_t[]){SM};
  const int64_t *col = per == 2 ? (int64_t[]){BATCH, 1, SN} : (int64_t[]){SN};
  one_node_init(&n, "", "QLinearMatMul", 21, 1);
  n.run_tiles = 1;
  one_node_input(&n, ta, 3, (int64_t[]){BATCH, SM, SK}, xa), one_node_input(&n, OX_F32, rank, row, as);
  one_node_input(&n, ta, rank, row, za);
  (constant ? one_node_const : one_node_input)(&n, tb, 3, (int64_t[]){BATCH, SK, SN}, xb);
  one_node_input(&n, OX_F32, rank, col, bs), one_node_input(&n, tb, rank, col, zb);
  one_node_input(&n, OX_F32, 0, NULL, &ys), one_node_input(&n, ty, 0, NULL, zy);
  CHECK_OK(ox_status_note(one_node_run(&n), "%s, %s, %s", ox_dtype_name(ta), ox_dtype_name(tb), ox_dtype_name(ty)));
  assert_int_equal(n.out[0].dtype, ty);
  for (int at = 0; at < BATCH * SM * SN; at++) {
    int z = at / (SM * SN), i = at / SN % SM, j = at % SN;
    int r = per == 2 ? z * SM + i : per ? i : 0, c = per == 2 ? z * SN + j : per ? j : 0;
    double sum = 0, zero = small_value(ty, *zy), got = small_value(ty, ((const uint8_t *)n.out[0].data)[at]);
    for (int k = 0; k < SK; k++)
      sum += (small_value(ta, xa[(z * SM + i) * SK + k]) - small_value(ta, za[r])) *
             (small_value(tb, xb[(z * SK + k) * SN + j]) - small_value(tb, zb[c]));
    double y = sum * ((double)as[r] * (double)bs[c] / (double)ys);
    double want = (ty == OX_U8 || ty == OX_I8 ? rint(y) : y) + zero;
    if (!(fabs(got - want) <= distance(ty, want) + 1e-9 * fabs(want)))
      fail_msg("%s, %s, %s, per %d, constant %d, [%d]: %g, wanted %g", ox_dtype_name(ta), ox_dtype_name(tb),
               ox_dtype_name(ty), per, constant, at, got, want);
  }
  one_node_deinit(&n);
}

static void test_qlinear_matmul_of_all_types(void **state) {
  (void)state;
  for (size_t i = 0; i < 6 * 6 * 6; i++)
    for (int per = 0; per < 3; per++)
      for (int constant = 0; constant < 2; constant++)
        check_small(small_types[i % 6], small_types[i / 6 % 6], small_types[i / 36], per, constant != 0);
}

static void test_parameters_that_do_not_fit_are_refused(void **state) {
  (void)state;
  for (int which = 0; which < 6; which++) {
    static const int64_t wrong[] = {2};
    uint32_t t = which % 2 ? OX_F8E4M3FN : OX_U8;
    int bad = which / 2; /* A's scale, B's zero point, the result's scale */
    one_node n;
    one_node_init(&n, "", "QLinearMatMul", 21, 1);
    one_node_input(&n, t, 2, (int64_t[]){SM, SK}, a), one_node_input(&n, OX_F32, bad == 0, wrong, as);
    one_node_input(&n, t, 0, NULL, az), one_node_input(&n, t, 2, (int64_t[]){SK, SN}, b);
    one_node_input(&n, OX_F32, 0, NULL, bs), one_node_input(&n, t, bad == 1, wrong, bz);
    one_node_input(&n, OX_F32, bad == 2, wrong, as), one_node_input(&n, t, 0, NULL, az);
    CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "2 elements");
    one_node_deinit(&n);
  }
}

static void test_float_results(void **state) {
  (void)state;
  for (int f = 0; f < 4; f++) {
    bool per_col = f & 1, constant = f & 2;
    one_node n;
    one_node_init(&n, "com.microsoft", "MatMulIntegerToFloat", 1, 1);
    one_node_input(&n, OX_U8, 2, (int64_t[]){M, K}, a);
    (constant ? one_node_const : one_node_input)(&n, OX_I8, 2, (int64_t[]){K, N}, b);
    one_node_input(&n, OX_F32, 0, NULL, as), one_node_input(&n, OX_F32, per_col, (int64_t[]){N}, bs);
    one_node_input(&n, OX_U8, 0, NULL, az), one_node_input(&n, OX_I8, per_col, (int64_t[]){N}, bz);
    one_node_input(&n, OX_F32, 1, (int64_t[]){N}, bias);
    CHECK_OK(one_node_run(&n));
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        int32_t sum = sum_at(OX_U8, OX_I8, 0, 0, i, j, az[0], byte_of(bz[per_col ? j : 0], OX_I8));
        double want = (double)sum * (double)as[0] * (double)bs[per_col ? j : 0] + (double)bias[j];
        assert_true(fabs((double)((float *)n.out[0].data)[i * N + j] - want) <= 1e-5 * (1 + fabs(want)));
      }
    one_node_deinit(&n);
  }
}

static void test_half_results(void **state) {
  (void)state;
  for (int f = 0; f < 4; f++) {
    bool per_col = f & 1, constant = f & 2;
    uint16_t scale[1 + N], add[N];
    const ox_convert *cv = ox_convert_select(0);
    cv->store_f32[OX_F16](as, scale, 0, 1, NULL), cv->store_f32[OX_F16](bs, scale + 1, 0, N, NULL);
    cv->store_f32[OX_F16](bias, add, 0, N, NULL);
    one_node n;
    one_node_init(&n, "com.microsoft", "MatMulIntegerToFloat", 1, 1);
    one_node_input(&n, OX_U8, 2, (int64_t[]){M, K}, a);
    (constant ? one_node_const : one_node_input)(&n, OX_I8, 2, (int64_t[]){K, N}, b);
    one_node_input(&n, OX_F16, 0, NULL, scale), one_node_input(&n, OX_F16, per_col, (int64_t[]){N}, scale + 1);
    one_node_input(&n, OX_U8, 0, NULL, az), one_node_input(&n, OX_I8, per_col, (int64_t[]){N}, bz);
    one_node_input(&n, OX_F16, 1, (int64_t[]){N}, add);
    CHECK_OK(one_node_run(&n));
    assert_int_equal(n.out[0].dtype, OX_F16);
    for (size_t i = 0; i < M * N; i++) {
      size_t j = i % N;
      double p[3], got;
      cv->load_f64[OX_F16](scale, 0, 1, p), cv->load_f64[OX_F16](scale, per_col ? 1 + j : 1, 1, p + 1);
      cv->load_f64[OX_F16](add, j, 1, p + 2), cv->load_f64[OX_F16](n.out[0].data, i, 1, &got);
      int32_t sum = sum_at(OX_U8, OX_I8, 0, 0, (int)(i / N), (int)j, az[0], byte_of(bz[per_col ? j : 0], OX_I8));
      double want = sum * p[0] * p[1] + p[2];
      assert_true(fabs(got - want) <= 1e-3 * (1 + fabs(want)));
    }
    one_node_deinit(&n);
  }
}

static void test_dynamic_quantization_is_close_to_floats(void **state) {
  (void)state;
  float x[M * K], scale = 0.01f;
  for (int i = 0; i < M * K; i++) x[i] = (float)a[i] * 0.01f - 1.0f;
  one_node n;
  one_node_init(&n, "com.microsoft", "DynamicQuantizeMatMul", 1, 1);
  one_node_input(&n, OX_F32, 2, (int64_t[]){M, K}, x), one_node_const(&n, OX_I8, 2, (int64_t[]){K, N}, b);
  one_node_input(&n, OX_F32, 0, NULL, &scale), one_node_input(&n, OX_UNDEFINED, -1, NULL, NULL);
  one_node_input(&n, OX_F32, 1, (int64_t[]){N}, bias);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      double want = (double)bias[j], size = 0;
      for (int k = 0; k < K; k++) {
        double w = byte_of(b[k * N + j], OX_I8) * (double)scale;
        want += (double)x[i * K + k] * w, size += fabs(w);
      }
      assert_true(fabs((double)((float *)n.out[0].data)[i * N + j] - want) <= size * 2.56 / 255);
    }
  one_node_deinit(&n);
}

static void test_matmul_integer16(void **state) {
  (void)state;
  int16_t x[6] = {1, -2, 30000, 4, 5, 32767}, y[6] = {7, 8, -9, 10, 32767, -32768};
  one_node n;
  one_node_init(&n, "com.microsoft", "MatMulInteger16", 1, 1);
  one_node_input(&n, OX_I16, 2, (int64_t[]){2, 3}, x), one_node_input(&n, OX_I16, 2, (int64_t[]){3, 2}, y);
  CHECK_OK(one_node_run(&n));
  const int32_t want[4] = {7 + 18 + 30000 * 32767, 8 - 20 - 30000 * 32768, 28 - 45 + 32767 * 32767,
                           32 + 50 - 32767 * 32768};
  assert_memory_equal(n.out[0].data, want, sizeof want);
  one_node_deinit(&n);
  const uint16_t ux[3] = {65535, 1, 2}, uy[3] = {65535, 40000, 7};
  one_node_init(&n, "com.microsoft", "MatMulInteger16", 1, 1);
  one_node_input(&n, OX_U16, 2, (int64_t[]){1, 3}, ux), one_node_input(&n, OX_U16, 2, (int64_t[]){3, 1}, uy);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].dtype, OX_U32);
  assert_true(*(const uint32_t *)n.out[0].data == 65535u * 65535u + 40000u + 14u);
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul_integer),
      cmocka_unit_test(test_qlinear_matmul),
      cmocka_unit_test(test_qlinear_matmul_of_small_floats),
      cmocka_unit_test(test_qlinear_matmul_of_all_types),
      cmocka_unit_test(test_parameters_that_do_not_fit_are_refused),
      cmocka_unit_test(test_float_results),
      cmocka_unit_test(test_dynamic_quantization_is_close_to_floats),
      cmocka_unit_test(test_matmul_integer16),
      cmocka_unit_test(test_half_results),
  };
  fill();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
