/* SPDX-License-Identifier: Apache-2.0
 * session/shared_cache_test.c - a cache in one buffer of the caller's, bound as what is before and what is after a run:
 * the same bits as with two buffers, and rows that no key fills stay as they are. */
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

enum { BATCH = 2, HEADS = 2, ROWS = 24, WIDTH = 8, STEPS = 18, MOST = 8, ABOVE = 77 };

#define MODEL(inputs)                                                                                              \
  "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]> g (float[2,2,24,8] past_k, float[2,2,24,8] " \
  "past_v, " inputs ") => (float[2,S,X] y, float[2,2,24,8] present_k, float[2,2,24,8] present_v) "
#define QKV "float[2,S,32] q, float[2,S,16] k, float[2,S,16] v, int32[2] lens, int32 total"
#define GQA "com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2"

static const struct {
  const char *name, *text;
  bool slides; /* rows move */
} models[] = {
    {"GroupQueryAttention", MODEL(QKV) "{ y, present_k, present_v = " GQA "> (q, k, v, past_k, past_v, lens, total) }",
     false},
    {"a window of it",
     MODEL(QKV) "{ y, present_k, present_v = " GQA ", local_window_size = 9> (q, k, v, past_k, past_v, lens, total) }",
     false},
    {"a window of the cache",
     MODEL(QKV) "{ y, present_k, present_v = " GQA
                ", local_window_size = 6, sliding_window_cache = 1> (q, k, v, past_k, past_v, lens, total) }",
     true},
    {"MultiHeadAttention",
     MODEL("float[2,S,16] q, float[2,S,16] k, float[2,S,16] v, int32[1] past_len") "{ y, present_k, present_v = "
                                                                                   "com.microsoft.MultiHeadAttention "
                                                                                   "<num_heads = 2> (q, k, v, , , , "
                                                                                   "past_k, past_v, past_len) }",
     false},
};

static ox_value *make_input(const ox_value_info *info, int64_t past, int64_t fresh) {
  ox_value *v;
  int64_t dims[OX_MAX_RANK];
  for (int d = 0; d < info->rank; d++) dims[d] = info->dims[d] >= 0 ? info->dims[d] : fresh;
  CHECK_OK(ox_value_create(NULL, info->dtype, dims, (size_t)info->rank, &v));
  const ox_tensor *t = ox_value_get(v);
  for (int64_t i = 0; i < ox_tensor_count(t); i++) {
    if (t->dtype == OX_F32) ((float *)t->data)[i] = (float)((past * 131 + i * 7919) % 1009 - 504) / 400;
    if (t->dtype != OX_I32) continue;
    bool total = strcmp(info->name, "total") == 0, len = strcmp(info->name, "past_len") == 0;
    ((int32_t *)t->data)[i] = (int32_t)(total ? past + fresh : len ? past : past + fresh - 1);
  }
  return v;
}

/* One step from |from| to |to|, two caches each. Returns the result. */
static ox_value *step(ox_session *s, int64_t past, int64_t fresh, ox_value *const *from, ox_value *const *to) {
  const char *names[MOST];
  ox_value *in[MOST], *out[3] = {NULL, to[0], to[1]};
  size_t n = ox_session_input_count(s);
  for (size_t i = 0; i < n; i++) {
    ox_value_info info;
    CHECK_OK(ox_session_input(s, i, &info));
    names[i] = info.name;
    in[i] = i < 2 ? ox_value_retain(from[i]) : make_input(&info, past, fresh);
  }
  CHECK_OK(ox_session_run(s, NULL, names, (const ox_value *const *)in, n, NULL, out, 3));
  for (size_t i = 0; i < n; i++) ox_value_release(in[i]);
  return out[0];
}

/* Rows up to |n| of each head are those of |want|, and those after are as they were. */
static void check_cache(const ox_value *want, const ox_value *got, int64_t n, bool rest) {
  const float *a = ox_value_get(want)->data, *b = ox_value_get(got)->data;
  for (int64_t i = 0; i < (int64_t)BATCH * HEADS * ROWS * WIDTH; i++) {
    bool filled = i / WIDTH % ROWS < n;
    if (filled && memcmp(&a[i], &b[i], sizeof *a) != 0) fail_msg("element %d: %g, wanted %g", (int)i, b[i], a[i]);
    if (!filled && rest && b[i] != ABOVE) fail_msg("element %d: %g, but no key is there", (int)i, b[i]);
  }
}

static void test_one_buffer(void **state) {
  (void)state;
  const int64_t shape[] = {BATCH, HEADS, ROWS, WIDTH};
  for (size_t m = 0; m < OX_COUNT(models); m++) {
    ox_env *env;
    ox_session *s;
    ox_value *one[2], *two[2][2];
    print_message("%s\n", models[m].name);
    CHECK_OK(ox_env_create(NULL, &env));
    CHECK_OK(text_session(env, models[m].text, NULL, &s));
    for (int i = 0; i < 2; i++) {
      one[i] = ramp_value(NULL, ABOVE, 0, 4, shape);
      for (int k = 0; k < 2; k++) two[k][i] = ramp_value(NULL, ABOVE, 0, 4, shape);
    }
    for (int64_t t = 0, past = 0; t < STEPS; t++) {
      int64_t fresh = t ? 1 : 5;
      ox_value *want = step(s, past, fresh, two[t % 2], two[(t + 1) % 2]), *got = step(s, past, fresh, one, one);
      const ox_tensor *a = ox_value_get(want), *b = ox_value_get(got);
      assert_int_equal(a->bytes, b->bytes);
      assert_memory_equal(a->data, b->data, a->bytes);
      ox_value_release(want), ox_value_release(got);
      past += fresh;
      int64_t kept = models[m].slides ? 6 : past;
      for (int i = 0; i < 2; i++) check_cache(two[(t + 1) % 2][i], one[i], OX_MIN(kept, past), !models[m].slides);
    }
    for (int i = 0; i < 2; i++) ox_value_release(one[i]), ox_value_release(two[0][i]), ox_value_release(two[1][i]);
    ox_session_release(s);
    ox_env_release(env);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_buffer)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
