/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_packed_test.c - Attention is MultiHeadAttention behind a product; its cache continues a sequence. */
#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/one_node.h"

enum { B = 2, S = 9, IN = 7, H = 2, D = 4, HID = H * D };
static float x[B * S * IN], w[IN * 3 * HID], bias[3 * HID];

static void fill(float *p, size_t n, int seed) {
  for (size_t i = 0; i < n; i++) p[i] = (float)((int)((i * 7919 + (size_t)seed * 13) % 509) - 254) / 300;
}

static void fill_all(void) { fill(x, OX_COUNT(x), 1), fill(w, OX_COUNT(w), 2), fill(bias, OX_COUNT(bias), 3); }

static void attend(one_node *n, const float *in, int64_t len, const ox_tensor *past, bool constant) {
  one_node_init(n, "com.microsoft", "Attention", 1, 2);
  one_node_int(n, "num_heads", H);
  one_node_int(n, "unidirectional", 1);
  one_node_input(n, OX_F32, 3, (int64_t[]){B, len, IN}, in);
  if (constant)
    one_node_const(n, OX_F32, 2, (int64_t[]){IN, 3 * HID}, w);
  else
    one_node_input(n, OX_F32, 2, (int64_t[]){IN, 3 * HID}, w);
  one_node_input(n, OX_F32, 1, (int64_t[]){3 * HID}, bias);
  one_node_input(n, OX_I32, -1, NULL, NULL);
  if (past) one_node_value(n, past);
  CHECK_OK(one_node_run(n));
}

static void test_is_a_product_and_multi_head_attention(void **state) {
  (void)state;
  static float q[B * S * HID], k[B * S * HID], v[B * S * HID], *const to[] = {q, k, v};
  fill_all();
  for (int r = 0; r < B * S; r++)
    for (int j = 0; j < 3 * HID; j++) {
      double sum = bias[j];
      for (int i = 0; i < IN; i++) sum += (double)x[r * IN + i] * w[i * 3 * HID + j];
      to[j / HID][r * HID + j % HID] = (float)sum;
    }
  one_node m;
  one_node_init(&m, "com.microsoft", "MultiHeadAttention", 1, 1);
  one_node_int(&m, "num_heads", H);
  one_node_int(&m, "unidirectional", 1);
  for (int i = 0; i < 3; i++) one_node_input(&m, OX_F32, 3, (int64_t[]){B, S, HID}, to[i]);
  CHECK_OK(one_node_run(&m));
  for (int constant = 0; constant < 2; constant++) {
    one_node n;
    attend(&n, x, S, NULL, constant);
    for (int i = 0; i < B * S * HID; i++)
      assert_true(fabsf(((float *)n.out[0].data)[i] - ((float *)m.out[0].data)[i]) < 1e-5f);
    one_node_deinit(&n);
  }
  one_node_deinit(&m);
}

static void test_the_cache_continues_a_sequence(void **state) {
  (void)state;
  enum { FIRST = 5 };
  float head[B * FIRST * IN], tail[B * (S - FIRST) * IN];
  one_node whole, a, b;
  fill_all();
  for (int i = 0; i < B; i++) {
    memcpy(head + i * FIRST * IN, x + i * S * IN, FIRST * IN * sizeof *x);
    memcpy(tail + i * (S - FIRST) * IN, x + (i * S + FIRST) * IN, (S - FIRST) * IN * sizeof *x);
  }
  attend(&whole, x, S, NULL, true);
  attend(&a, head, FIRST, NULL, true);
  attend(&b, tail, S - FIRST, &a.out[1], true);
  for (int i = 0; i < B * (S - FIRST) * HID; i++) {
    int batch = i / ((S - FIRST) * HID), rest = i % ((S - FIRST) * HID);
    float want = ((float *)whole.out[0].data)[(batch * S + FIRST) * HID + rest];
    assert_true(fabsf(((float *)b.out[0].data)[i] - want) < 1e-5f);
  }
  assert_int_equal(b.out[1].shape.dim[3], S);
  for (size_t i = 0; i < b.out[1].bytes / sizeof(float); i++)
    assert_true(fabsf(((float *)b.out[1].data)[i] - ((float *)whole.out[1].data)[i]) < 1e-5f);
  one_node_deinit(&whole), one_node_deinit(&a), one_node_deinit(&b);
}

/* QAttention is Attention on the numbers that the bytes stand for, in floats and in halves. */
static void check_bytes(uint32_t dtype, bool constant) {
  static uint8_t xb[B * S * IN];
  static int8_t wb[IN * 3 * HID];
  const float scale[2] = {0.02f, 0.01f};
  const uint8_t x_zero = 128, w_zero = 0;
  uint32_t narrow[3 * HID], scales[2][1];
  one_node n, whole;
  fill_all();
  for (size_t i = 0; i < OX_COUNT(xb); i++) xb[i] = (uint8_t)(i * 37 % 251), x[i] = (float)(xb[i] - 128) * scale[0];
  for (size_t i = 0; i < OX_COUNT(wb); i++) wb[i] = (int8_t)(i * 91 % 201 - 100), w[i] = (float)wb[i] * scale[1];
  ox_convert_select(0)->store_f32[dtype](bias, narrow, 0, 3 * HID, NULL);
  for (int i = 0; i < 2; i++) ox_convert_select(0)->store_f32[dtype](&scale[i], scales[i], 0, 1, NULL);
  attend(&whole, x, S, NULL, true);
  one_node_init(&n, "com.microsoft", "QAttention", 1, 1);
  one_node_int(&n, "num_heads", H), one_node_int(&n, "unidirectional", 1);
  one_node_input(&n, OX_U8, 3, (int64_t[]){B, S, IN}, xb);
  (constant ? one_node_const : one_node_input)(&n, OX_I8, 2, (int64_t[]){IN, 3 * HID}, wb);
  one_node_input(&n, dtype, 1, (int64_t[]){3 * HID}, narrow);
  for (int i = 0; i < 2; i++) one_node_input(&n, dtype, 0, NULL, scales[i]);
  one_node_input(&n, OX_I32, -1, NULL, NULL);
  one_node_input(&n, OX_U8, 0, NULL, &x_zero), one_node_input(&n, OX_I8, 0, NULL, &w_zero);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].dtype, dtype);
  for (size_t i = 0; i < B * S * HID; i++) {
    double got, want = (double)((float *)whole.out[0].data)[i];
    ox_convert_select(0)->load_f64[dtype](n.out[0].data, i, 1, &got);
    if (!(fabs(got - want) <= (dtype == OX_F32 ? 1e-4 : 2e-2) * fmax(1, fabs(want))))
      fail_msg("%s: [%zu] is %g, wanted %g", ox_dtype_name(dtype), i, got, want);
  }
  one_node_deinit(&n), one_node_deinit(&whole);
}

static void test_bytes(void **state) {
  (void)state;
  for (int constant = 0; constant < 2; constant++) check_bytes(OX_F32, constant), check_bytes(OX_F16, constant);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_is_a_product_and_multi_head_attention),
      cmocka_unit_test(test_the_cache_continues_a_sequence),
      cmocka_unit_test(test_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
