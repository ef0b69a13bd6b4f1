/* SPDX-License-Identifier: Apache-2.0
 * ops/gqa_cache_test.c - GroupQueryAttention with caches that are quantized or keep a window, with norms and positions:
 * each against the plain operator on inputs that the test has rounded, cut or normalized itself. */
#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "onyx/onyx.h"
#include "support/check.h"
#include "support/one_node.h"

enum { B = 2, H = 4, HK = 2, D = 6, MOST = 24, ROWS = 12, ANGLES = 64 };

static float q[B * MOST * H * D], k[B * MOST * HK * D], v[B * MOST * HK * D], cosines[ANGLES * D / 2],
    sines[ANGLES * D / 2];

static double rnd(void) {
  static uint32_t seed = 5;
  return seed = seed * 1664525u + 1013904223u, (double)(seed >> 8) / (1 << 23) - 1;
}

static int setup(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(q); i++) q[i] = (float)rnd() * 2;
  for (size_t i = 0; i < OX_COUNT(k); i++) k[i] = (float)rnd() * 2, v[i] = (float)rnd() * 2;
  for (int i = 0; i < ANGLES * D / 2; i++) cosines[i] = cosf((float)i / 7), sines[i] = sinf((float)i / 7);
  return 0;
}

static void absent(one_node *n) { one_node_input(n, OX_F32, -1, NULL, NULL); }

/* Query, key, value and the past, one batch item's length after the other in |lens| (minus one). */
static void begin(one_node *n, int64_t batch, int64_t len, const float *key, const float *value, uint32_t cache,
                  int64_t rows, int64_t width, const void *past_k, const void *past_v, const int32_t *lens,
                  int32_t total) {
  one_node_init(n, "com.microsoft", "GroupQueryAttention", 1, 3);
  one_node_int(n, "num_heads", H), one_node_int(n, "kv_num_heads", HK);
  one_node_input(n, OX_F32, 3, (int64_t[]){batch, len, H * D}, q);
  one_node_input(n, OX_F32, 3, (int64_t[]){batch, len, HK * D}, key);
  one_node_input(n, OX_F32, 3, (int64_t[]){batch, len, HK * D}, value);
  one_node_input(n, cache, past_k ? 4 : -1, (int64_t[]){batch, HK, rows, width}, past_k);
  one_node_input(n, cache, past_v ? 4 : -1, (int64_t[]){batch, HK, rows, width}, past_v);
  one_node_input(n, OX_I32, 1, (int64_t[]){batch}, lens);
  one_node_input(n, OX_I32, 0, NULL, &total);
}

static void close_enough(const one_node *a, const one_node *b, const char *what, int step) {
  assert_int_equal(a->out[0].bytes, b->out[0].bytes);
  for (int64_t i = 0; i < ox_tensor_count(&a->out[0]); i++) {
    float got = ((const float *)a->out[0].data)[i], want = ((const float *)b->out[0].data)[i];
    if (!(fabsf(got - want) <= 1e-5f)) fail_msg("%s, %d: [%d] is %g, wanted %g", what, step, (int)i, got, want);
  }
}

/* ---- quantized ---- */
static const struct {
  uint32_t type;
  int bits;
} caches[] = {{OX_I8, 8}, {OX_U8, 4}, {OX_F8E4M3FN, 8}};

static float scale_of(int64_t channel) { return 0.02f * (float)(channel % 5 + 1); }

/* What element |i| of a row in the cache stands for. */
static double cached(uint32_t type, const uint8_t *row, int i, float scale) {
  double x;
  if (type == OX_U8) return ((row[i / 2] >> 4 * (i % 2) & 15) - 8) * (double)scale;
  ox_convert_select(0)->load_f64[type](row, (size_t)i, 1, &x);
  return x * (double)scale;
}

/* The nearest that a cache can hold. */
static float rounded(uint32_t type, float x, float scale) {
  double best = INFINITY;
  for (int c = 0; c < (type == OX_U8 ? 16 : 256); c++) {
    double y = cached(type, (uint8_t[]){(uint8_t)c}, 0, scale);
    if (isfinite(y) && fabs(y - (double)x) < fabs(best - (double)x)) best = y;
  }
  return (float)best;
}

static void check_quantized(uint32_t type, int bits, bool per_channel, int64_t len, int64_t first) {
  enum { N = B * HK * ROWS * D };
  static uint8_t past[2][N];
  static float plain[2][N], fresh[2][B * MOST * HK * D], scales[HK * D];
  int width = bits == 4 ? D / 2 : D;
  const int32_t lens[B] = {(int32_t)(first + len - 1), (int32_t)(first + len - 1)};
  for (int i = 0; i < HK * D; i++) scales[i] = scale_of(per_channel ? i : 0);
  for (int i = 0; i < 2; i++) {
    for (int at = 0; at < B * HK * ROWS * width; at++) past[i][at] = (uint8_t)((unsigned)(rnd() * 60 + 60) & 0x77);
    for (int at = 0; at < N; at++)
      plain[i][at] = (float)cached(type, &past[i][at / D * width], at % D, scales[at / D / ROWS % HK * D + at % D]);
    for (int at = 0; at < B * len * HK * D; at++) fresh[i][at] = rounded(type, (i ? v : k)[at], scales[at % (HK * D)]);
  }
  one_node a, b;
  begin(&a, B, len, k, v, type, ROWS, width, past[0], past[1], lens, lens[0] + 1);
  one_node_str(&a, "k_quant_type", per_channel ? "PER_CHANNEL" : "PER_TENSOR");
  one_node_str(&a, "v_quant_type", per_channel ? "PER_CHANNEL" : "PER_TENSOR");
  one_node_int(&a, "kv_cache_bit_width", bits);
  for (int i = 0; i < 5; i++) absent(&a);
  for (int i = 0; i < 2; i++)
    one_node_input(&a, OX_F32, per_channel ? 4 : 1, per_channel ? (int64_t[]){1, HK, 1, D} : (int64_t[]){1}, scales);
  CHECK_OK(one_node_run(&a));
  begin(&b, B, len, fresh[0], fresh[1], OX_F32, ROWS, D, plain[0], plain[1], lens, lens[0] + 1);
  CHECK_OK(one_node_run(&b));
  close_enough(&a, &b, ox_dtype_name(type), (int)len);
  for (int i = 1; i < 3; i++) {
    assert_int_equal(a.out[i].dtype, type);
    assert_int_equal(ox_tensor_count(&a.out[i]), B * HK * ROWS * width);
    for (int at = 0; at < N; at++) {
      if (at / D % ROWS >= first + len) continue;
      double got = cached(type, (const uint8_t *)a.out[i].data + at / D * width, at % D,
                          scales[at / D / ROWS % HK * D + at % D]);
      assert_true(fabs(got - (double)((const float *)b.out[i].data)[at]) < 1e-6);
    }
  }
  one_node_deinit(&a), one_node_deinit(&b);
}

static void test_quantized_caches(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(caches); i++)
    for (int per_channel = 0; per_channel < 2; per_channel++) {
      check_quantized(caches[i].type, caches[i].bits, per_channel, 1, 5);
      check_quantized(caches[i].type, caches[i].bits, per_channel, 7, 0);
      check_quantized(caches[i].type, caches[i].bits, per_channel, 3, 9);
    }
}

/* A cache of another type of floats: what it holds is rounded, and read as such. */
static void check_other_floats(uint32_t cache, int64_t len, int64_t first) {
  enum { N = B * HK * ROWS * D };
  static float plain[2][N], fresh[2][B * MOST * HK * D];
  static uint16_t past[2][N];
  const ox_convert *cv = ox_convert_select(0);
  const int32_t lens[B] = {(int32_t)(first + len - 1), (int32_t)(first + len - 1)};
  for (int i = 0; i < 2; i++) {
    for (int at = 0; at < N; at++) plain[i][at] = (float)rnd();
    cv->store_f32[cache](plain[i], past[i], 0, N, NULL), cv->load_f32[cache](past[i], 0, N, plain[i]);
    for (size_t at = 0; at < (size_t)(B * len * HK * D); at++) {
      uint16_t half;
      cv->store_f32[cache](&(i ? v : k)[at], &half, 0, 1, NULL), cv->load_f32[cache](&half, 0, 1, &fresh[i][at]);
    }
  }
  one_node a, b;
  begin(&a, B, len, k, v, cache, ROWS, D, past[0], past[1], lens, lens[0] + 1);
  CHECK_OK(one_node_run(&a));
  begin(&b, B, len, fresh[0], fresh[1], OX_F32, ROWS, D, plain[0], plain[1], lens, lens[0] + 1);
  CHECK_OK(one_node_run(&b));
  close_enough(&a, &b, ox_dtype_name(cache), (int)len);
  assert_int_equal(a.out[1].dtype, cache);
  for (int i = 1; i < 3; i++)
    for (size_t at = 0; at < N; at++) {
      float got;
      cv->load_f32[cache](a.out[i].data, at, 1, &got);
      assert_true((int64_t)at / D % ROWS >= first + len || got == ((const float *)b.out[i].data)[at]);
    }
  one_node_deinit(&a), one_node_deinit(&b);
}

static void test_caches_of_other_floats(void **state) {
  (void)state;
  check_other_floats(OX_F16, 1, 5), check_other_floats(OX_F16, 7, 0), check_other_floats(OX_BF16, 3, 9);
}

/* ---- a window ---- */
static int64_t resident(int64_t n, int64_t rows, int64_t window) {
  while (n > rows) n -= rows - window + 1;
  return n;
}

static void same_scores(const ox_tensor *a, const ox_tensor *b, int step) {
  assert_true(ox_shape_equal(&a->shape, &b->shape));
  for (int64_t i = 0; i < ox_tensor_count(a); i++) {
    float got = ((const float *)a->data)[i], want = ((const float *)b->data)[i];
    if (!(got == want || fabsf(got - want) <= 1e-5f))
      fail_msg("qk, %d: [%d] is %g, wanted %g", step, (int)i, (double)got, (double)want);
  }
}

/* Tokens in steps of |step|, with a cache of |rows| and with one for all of them, must give the same. */
static void check_window(int64_t window, int64_t rows, int64_t step, int qk) {
  static float slid[2][HK * ROWS * D], whole[2][HK * MOST * D], bias[H * MOST * MOST];
  memset(slid, 0, sizeof slid), memset(whole, 0, sizeof whole);
  for (size_t i = 0; i < OX_COUNT(bias); i++) bias[i] = (float)rnd();
  for (int64_t first = 0; first + step <= MOST; first += step) {
    one_node n[2];
    const int32_t total = (int32_t)(first + step), last = total - 1;
    const float *key = k + first * HK * D, *value = v + first * HK * D;
    for (int i = 0; i < 2; i++) {
      begin(&n[i], 1, step, key, value, OX_F32, i ? MOST : rows, D, i ? whole[0] : slid[0], i ? whole[1] : slid[1],
            &last, total);
      one_node_int(&n[i], "local_window_size", window), one_node_int(&n[i], "do_rotary", 1);
      if (qk) one_node_int(&n[i], "qk_output", qk), n[i].node.n_out = n[i].n_out = 4;
      if (!i) one_node_int(&n[i], "sliding_window_cache", 1);
      one_node_input(&n[i], OX_F32, 2, (int64_t[]){ANGLES, D / 2}, cosines);
      one_node_input(&n[i], OX_F32, 2, (int64_t[]){ANGLES, D / 2}, sines);
      absent(&n[i]);
      one_node_input(&n[i], OX_F32, 4, (int64_t[]){1, H, step, total}, bias);
      CHECK_OK(one_node_run(&n[i]));
    }
    close_enough(&n[0], &n[1], "window", (int)first);
    if (qk) same_scores(&n[0].out[3], &n[1].out[3], (int)first);
    int64_t stays = resident(total, rows, window);
    for (int i = 0; i < 2; i++) {
      for (int h = 0; h < HK; h++)
        assert_memory_equal((const float *)n[0].out[1 + i].data + h * rows * D,
                            (const float *)n[1].out[1 + i].data + (h * MOST + total - stays) * D,
                            (size_t)(stays * D) * sizeof(float));
      memcpy(slid[i], n[0].out[1 + i].data, n[0].out[1 + i].bytes);
      memcpy(whole[i], n[1].out[1 + i].data, n[1].out[1 + i].bytes);
    }
    one_node_deinit(&n[0]), one_node_deinit(&n[1]);
  }
}

static void test_a_window_gives_what_the_whole_cache_gives(void **state) {
  (void)state;
  for (int64_t window = 1; window < 6; window += 2)
    for (int64_t rows = window; rows < window + 4; rows++) {
      for (int qk = 0; qk < 3; qk++) {
        check_window(window, rows, 1, qk);
        check_window(window, rows, 4, qk);
        check_window(window, rows, 11, qk);
      }
    }
}

static void test_a_window_that_the_cache_cannot_hold_is_refused(void **state) {
  (void)state;
  static const float past[HK * 3 * D] = {0};
  for (int window = 0; window < 5; window += 4) {
    one_node n;
    begin(&n, 1, 1, k, v, OX_F32, 3, D, past, past, (int32_t[]){4}, 5);
    one_node_int(&n, "sliding_window_cache", 1), one_node_int(&n, "local_window_size", window);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "window");
    one_node_deinit(&n);
  }
}

/* ---- norms and positions ---- */
static void test_norms(void **state) {
  (void)state;
  static float nq[B * 5 * H * D], nk[B * 5 * HK * D], weight[2][D], plain[OX_COUNT(q)];
  one_node a, b;
  for (int i = 0; i < D; i++) weight[0][i] = (float)rnd() + 2, weight[1][i] = (float)rnd() - 2;
  for (int i = 0; i < 2; i++) {
    const float *x = i ? k : q;
    float *y = i ? nk : nq;
    for (int row = 0; row < B * 5 * (i ? HK : H); row++) {
      double sum = 0;
      for (int e = 0; e < D; e++) sum += pow((double)x[row * D + e], 2);
      for (int e = 0; e < D; e++)
        y[row * D + e] = (float)((double)x[row * D + e] / sqrt(sum / D + 0.5) * (double)weight[i][e]);
    }
  }
  const int32_t lens[B] = {4, 4};
  begin(&a, B, 5, k, v, OX_F32, 0, D, NULL, NULL, lens, 5);
  one_node_float(&a, "qk_norm_epsilon", 0.5f);
  for (int i = 0; i < 7; i++) absent(&a);
  for (int i = 0; i < 2; i++) one_node_input(&a, OX_F32, 1, (int64_t[]){D}, weight[i]);
  CHECK_OK(one_node_run(&a));
  memcpy(plain, q, sizeof q), memcpy(q, nq, sizeof nq);
  begin(&b, B, 5, nk, v, OX_F32, 0, D, NULL, NULL, lens, 5);
  memcpy(q, plain, sizeof q);
  CHECK_OK(one_node_run(&b));
  close_enough(&a, &b, "norms", 0);
  one_node_deinit(&a), one_node_deinit(&b);
}

/* A prompt takes the first position; later ones count on from it, in all batch items. */
static void test_positions_of_a_prompt(void **state) {
  static const int64_t odd[B * 3] = {7, 1, 50, 3, 0, 9}, even[B * 3] = {7, 8, 9, 7, 8, 9};
  const int32_t lens[B] = {2, 2};
  one_node n[2];
  (void)state;
  for (int i = 0; i < 2; i++) {
    begin(&n[i], B, 3, k, v, OX_F32, 0, D, NULL, NULL, lens, 3);
    one_node_int(&n[i], "do_rotary", 1);
    one_node_input(&n[i], OX_F32, 2, (int64_t[]){ANGLES, D / 2}, cosines);
    one_node_input(&n[i], OX_F32, 2, (int64_t[]){ANGLES, D / 2}, sines);
    one_node_input(&n[i], OX_I64, 2, (int64_t[]){B, 3}, i ? even : odd);
    CHECK_OK(one_node_run(&n[i]));
  }
  for (int i = 0; i < 3; i++) assert_memory_equal(n[0].out[i].data, n[1].out[i].data, n[0].out[i].bytes);
  const float *key = n[0].out[1].data; /* head 0 of item 0, token 1: rotated by position 8 */
  for (int i = 0; i < D / 2; i++) {
    float cs = cosines[8 * D / 2 + i], sn = sines[8 * D / 2 + i], x = k[HK * D + i], y = k[HK * D + i + D / 2];
    assert_true(fabsf(key[D + i] - (x * cs - y * sn)) < 1e-5f);
  }
  one_node_deinit(&n[0]), one_node_deinit(&n[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quantized_caches),
      cmocka_unit_test(test_caches_of_other_floats),
      cmocka_unit_test(test_a_window_gives_what_the_whole_cache_gives),
      cmocka_unit_test(test_a_window_that_the_cache_cannot_hold_is_refused),
      cmocka_unit_test(test_norms),
      cmocka_unit_test(test_positions_of_a_prompt),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
