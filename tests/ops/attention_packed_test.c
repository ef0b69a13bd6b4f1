/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_packed_test.c - Attention is MultiHeadAttention behind a product; its cache continues a sequence. */
#include <math.h>
#include <string.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_is_a_product_and_multi_head_attention),
      cmocka_unit_test(test_the_cache_continues_a_sequence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
