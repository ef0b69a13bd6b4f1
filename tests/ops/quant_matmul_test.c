/* SPDX-License-Identifier: Apache-2.0
 * ops/quant_matmul_test.c - quantized products against naive integers: batches, parameters per row and column, results
 * of all types, 8-bit floats, run-time quantization. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { M = 5, K = 70, N = 37, BATCH = 2 };
static uint8_t a[BATCH * M * K], b[BATCH * K * N], az[BATCH * M], bz[BATCH * N];
static float as[M], bs[N], bias[N];

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
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul_integer),
      cmocka_unit_test(test_qlinear_matmul),
      cmocka_unit_test(test_qlinear_matmul_of_small_floats),
      cmocka_unit_test(test_float_results),
      cmocka_unit_test(test_dynamic_quantization_is_close_to_floats),
      cmocka_unit_test(test_matmul_integer16),
  };
  fill();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
