/* SPDX-License-Identifier: Apache-2.0
 * ops/group_query_attention_test.c - a prompt taken at once and token by token gives the same; windows, rotary and
 * lengths that lie. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { H = 4, HK = 2, D = 8, S = 40, ROW = (H + 2 * HK) * D };
static float qkv[S * ROW], cosines[S * D / 2], sines[S * D / 2];

static void fill(void) {
  for (int i = 0; i < S * ROW; i++) qkv[i] = (float)(i * 7919 % 1009 - 504) / 400;
  for (int i = 0; i < S * D / 2; i++) cosines[i] = cosf((float)i / 9), sines[i] = sinf((float)i / 9);
}

/* Runs |len| tokens from |first| on, behind |first| rows of a cache. */
static void run(one_node *n, int64_t first, int64_t len, int window, int pairs, const float *past_k,
                const float *past_v) {
  one_node_init(n, "com.microsoft", "GroupQueryAttention", 1, 3);
  one_node_int(n, "num_heads", H);
  one_node_int(n, "kv_num_heads", HK);
  one_node_int(n, "do_rotary", 1);
  one_node_int(n, "rotary_interleaved", pairs);
  one_node_int(n, "local_window_size", window);
  one_node_input(n, OX_F32, 3, (int64_t[]){1, len, ROW}, qkv + first * ROW);
  one_node_input(n, OX_F32, -1, NULL, NULL);
  one_node_input(n, OX_F32, -1, NULL, NULL);
  one_node_input(n, OX_F32, first ? 4 : -1, (int64_t[]){1, HK, first, D}, past_k);
  one_node_input(n, OX_F32, first ? 4 : -1, (int64_t[]){1, HK, first, D}, past_v);
  one_node_input(n, OX_I32, 1, (int64_t[]){1}, (int32_t[]){(int32_t)(first + len - 1)});
  one_node_input(n, OX_I32, 0, NULL, (int32_t[]){(int32_t)(first + len)});
  one_node_input(n, OX_F32, 2, (int64_t[]){S, D / 2}, cosines);
  one_node_input(n, OX_F32, 2, (int64_t[]){S, D / 2}, sines);
  CHECK_OK(one_node_run(n));
}

static void test_prompt_equals_decoding(void **state) {
  (void)state;
  fill();
  for (int window = -1; window < 10; window += 7)
    for (int pairs = 0; pairs < 2; pairs++) {
      one_node whole, step[2];
      const float *past_k = NULL, *past_v = NULL;
      run(&whole, 0, S, window, pairs, NULL, NULL);
      for (int64_t t = 0; t < S; t++) {
        one_node *n = &step[t % 2];
        run(n, t, 1, window, pairs, past_k, past_v);
        if (t) one_node_deinit(&step[(t + 1) % 2]);
        past_k = n->out[1].data, past_v = n->out[2].data;
        for (int i = 0; i < H * D; i++) {
          float got = ((float *)n->out[0].data)[i], want = ((float *)whole.out[0].data)[t * H * D + i];
          if (!(fabsf(got - want) < 1e-5f))
            fail_msg("window %d, token %d: got %g, wanted %g", window, (int)t, got, want);
        }
      }
      assert_memory_equal(past_k, whole.out[1].data, whole.out[1].bytes);
      one_node_deinit(&step[(S - 1) % 2]);
      one_node_deinit(&whole);
    }
}

static void test_lengths_that_lie_are_refused(void **state) {
  (void)state;
  static const int32_t lens[] = {-2, 5, 100, INT32_MAX, INT32_MIN}, totals[] = {4, 4, 4, -1, INT32_MAX};
  for (size_t i = 0; i < OX_COUNT(lens); i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "GroupQueryAttention", 1, 1);
    one_node_int(&n, "num_heads", H);
    one_node_int(&n, "kv_num_heads", HK);
    one_node_input(&n, OX_F32, 3, (int64_t[]){1, 2, ROW}, qkv);
    for (int k = 0; k < 4; k++) one_node_input(&n, OX_F32, -1, NULL, NULL);
    one_node_input(&n, OX_I32, 1, (int64_t[]){1}, &lens[i]);
    one_node_input(&n, OX_I32, 0, NULL, &totals[i]);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "");
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_prompt_equals_decoding),
      cmocka_unit_test(test_lengths_that_lie_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
