/* SPDX-License-Identifier: Apache-2.0
 * ops/ngram_hash_test.c - n-gram hashes against a search through the whole history, ONNX Runtime's answers for a few,
 * and packed requests against single ones. */
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { HEADS = 2, MOST = 4, HISTORY = MOST - 1, ALL = HEADS * HISTORY, N = 11 };
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
static const int64_t multipliers[] = {1000003, -999983, 2147483647, 77}, words[] = {7, 11, 13, 17, 19, 23};
static const int64_t offsets[] = {0, 10, 20, 30, 40, 50};

static void add_ids(one_node *n, uint32_t dtype, int rank, const int64_t *dims, const int64_t *v) {
  int32_t narrow[64];
  ox_shape s = ox_shape_of(rank, dims);
  for (int64_t i = 0; i < ox_shape_count(&s); i++) narrow[i] = (int32_t)v[i];
  one_node_input(n, dtype, rank, dims, dtype == OX_I32 ? (const void *)narrow : v);
}

static int64_t id_of(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_I32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

typedef struct {
  bool past, offsets, eos, resets, segments, past_segments;
} options;
static options options_of(int bits) {
  return (options){bits & 1, bits & 2, bits & 4, bits & 8, bits & 16, (bits & 16) && (bits & 32)};
}

/* One request with its history in front: |all| and |segment| have HISTORY + n entries. */
typedef struct {
  int64_t n, all[HISTORY + N];
  int32_t segment[HISTORY + N];
} request;

static int64_t expected(const request *r, options o, uint32_t dtype, int64_t t, int head) {
  int order = head / HEADS + 2;
  int64_t fill = o.eos ? 2 : 1, from = -HISTORY, mixed;
  uint64_t mix = 0;
  for (int64_t j = -HISTORY; j <= t; j++) {
    bool knows = o.segments && (o.past_segments ? j > -HISTORY : j > 0);
    if (knows && r->segment[HISTORY + j] != r->segment[HISTORY + j - 1]) from = j;
  }
  for (int64_t j = from; j < t && o.eos && o.resets; j++)
    if (r->all[HISTORY + j] == 2) from = j;
  for (int back = 0; back < order; back++)
    mix ^= (uint64_t)(t - back < from ? fill : r->all[HISTORY + t - back]) * (uint64_t)multipliers[back];
  mixed = dtype == OX_I32 ? (int32_t)(uint32_t)mix : (int64_t)mix;
  return (mixed % words[head] + words[head]) % words[head] + (o.offsets ? offsets[head] : 0);
}

static request made(int seed, int64_t n, options o) {
  request r = {.n = n};
  unsigned x = (unsigned)seed * 2654435761U + 12345;
  for (int64_t i = 0; i < HISTORY + n; i++) {
    x = x * 1664525U + 1013904223U;
    r.all[i] = x >> 29;
    r.segment[i] = (i ? r.segment[i - 1] : 0) + (int32_t)(x >> 27 & 1);
    if (i < HISTORY && !o.past) r.all[i] = o.eos ? 2 : 1;
  }
  return r;
}

static void add_parameters(one_node *n, uint32_t dtype, options o) {
  one_node_int(n, "max_ngram_size", MOST), one_node_int(n, "n_head_per_ngram", HEADS), one_node_int(n, "pad_id", 1);
  one_node_int(n, "reset_on_eos", o.resets);
  add_ids(n, dtype, 1, DIMS(MOST), multipliers);
  add_ids(n, dtype, 1, DIMS(ALL), words);
}

static void omit(one_node *n) { one_node_input(n, 0, -1, NULL, NULL); }

static void add_options(one_node *n, uint32_t dtype, options o, int64_t batch, const int64_t *past, int rank,
                        const int64_t *tokens, const int32_t *segments) {
  o.past ? add_ids(n, dtype, 2, DIMS(batch, HISTORY), past) : omit(n);
  o.offsets ? add_ids(n, dtype, 1, DIMS(ALL), offsets) : omit(n);
  o.eos ? add_ids(n, dtype, 0, NULL, DIMS(2)) : omit(n);
  o.segments ? one_node_input(n, OX_I32, rank, tokens, segments) : omit(n);
}

static void test_batches(void **state) {
  (void)state;
  for (int bits = 0; bits < 32; bits++)
    for (int64_t len = 0; len <= N; len += len < 4 ? 1 : 7) {
      uint32_t dtype = bits & 1 ? OX_I32 : OX_I64;
      options o = options_of(bits);
      request r[2] = {made(bits, len, o), made(bits + 100, len, o)};
      int64_t ids[2 * N], past[2 * HISTORY];
      int32_t segments[2 * N];
      for (int64_t i = 0; i < 2 * len; i++)
        ids[i] = r[i / len].all[HISTORY + i % len], segments[i] = r[i / len].segment[HISTORY + i % len];
      for (int i = 0; i < 2 * HISTORY; i++) past[i] = r[i / HISTORY].all[i % HISTORY];
      one_node n;
      one_node_init(&n, "com.microsoft", "NGramHashMapping", 1, 2);
      add_ids(&n, dtype, 2, DIMS(2, len), ids);
      add_parameters(&n, dtype, o);
      add_options(&n, dtype, o, 2, past, 2, DIMS(2, len), segments);
      n.run_tiles = 1;
      CHECK_OK(one_node_run(&n));
      for (int64_t i = 0; i < 2 * len * ALL; i++)
        assert_int_equal(id_of(&n.out[0], i), expected(&r[i / ALL / len], o, dtype, i / ALL % len, (int)(i % ALL)));
      for (int64_t i = 0; i < 2 * HISTORY; i++)
        assert_int_equal(id_of(&n.out[1], i), r[i / HISTORY].all[len + i % HISTORY]);
      one_node_deinit(&n);
    }
}

static void check_packed(const one_node *n, const request *r, options o, uint32_t dtype, const int32_t *captured) {
  for (int64_t b = 0, at = 0; b < 3; at += r[b].n, b++) {
    for (int64_t i = 0; i < r[b].n * ALL; i++)
      assert_int_equal(id_of(&n->out[0], at * ALL + i), expected(&r[b], o, dtype, i / ALL, (int)(i % ALL)));
    for (int64_t i = 0; i < HISTORY; i++) {
      assert_int_equal(id_of(&n->out[1], b * HISTORY + i), r[b].all[r[b].n + i]);
      int64_t from = r[b].n + i;
      int32_t want = from < HISTORY && !o.past_segments ? r[b].segment[HISTORY] : r[b].segment[from];
      assert_int_equal(((int32_t *)n->out[2].data)[b * HISTORY + i], want);
    }
    for (int64_t k = 0; k < 2; k++)
      for (int64_t i = 0; i < HISTORY; i++) {
        bool used = k < captured[b] && k < r[b].n;
        assert_int_equal(id_of(&n->out[3], (b * 2 + k) * HISTORY + i), used ? r[b].all[k + 1 + i] : 1);
      }
  }
}

static void test_packed_requests(void **state) {
  (void)state;
  static const int32_t at[] = {0, 1, 4, 11}, captured[] = {5, -1, 2};
  for (int bits = 16; bits < 64; bits++) {
    uint32_t dtype = bits & 1 ? OX_I32 : OX_I64;
    options o = options_of(bits);
    if (!o.segments) continue; /* there would be no third output */
    request r[3] = {made(bits, 1, o), made(bits + 100, 3, o), made(bits + 200, 7, o)};
    int64_t ids[N], past[3 * HISTORY];
    int32_t segments[N], past_segments[3 * HISTORY];
    for (int b = 0; b < 3; b++) {
      for (int64_t i = 0; i < r[b].n; i++)
        ids[at[b] + i] = r[b].all[HISTORY + i], segments[at[b] + i] = r[b].segment[HISTORY + i];
      for (int i = 0; i < HISTORY; i++)
        past[b * HISTORY + i] = r[b].all[i], past_segments[b * HISTORY + i] = r[b].segment[i];
    }
    one_node n;
    one_node_init(&n, "com.microsoft", "VarlenNGramHashMapping", 1, 4);
    one_node_int(&n, "state_update_capacity", 2);
    add_ids(&n, dtype, 1, DIMS(N), ids);
    add_parameters(&n, dtype, o);
    one_node_input(&n, OX_I32, 1, DIMS(4), at);
    add_options(&n, dtype, o, 3, past, 1, DIMS(N), segments);
    if (o.past_segments)
      one_node_input(&n, OX_I32, 2, DIMS(3, HISTORY), past_segments);
    else
      omit(&n);
    one_node_input(&n, OX_I32, 1, DIMS(3), captured);
    n.run_tiles = 1;
    CHECK_OK(one_node_run(&n));
    check_packed(&n, r, o, dtype, captured);
    one_node_deinit(&n);
  }
}

/* What ONNX Runtime 1.31 gives for these. */
static void test_recorded(void **state) {
  (void)state;
  static const int64_t ids[] = {5, 7, 2, 9, 2, 3}, past[] = {2, 8};
  static const int32_t segments[] = {0, 0, 1, 1, 1, 2};
  static const int32_t want[] = {0, 1, 2, 14, 0, 9, 2, 6, 6, 8, 1, 0, 0, 1, 6, 16, 2, 9, 3, 8, 5, 1, 2, 14};
  one_node n;
  one_node_init(&n, "com.microsoft", "NGramHashMapping", 1, 2);
  one_node_int(&n, "max_ngram_size", 3), one_node_int(&n, "n_head_per_ngram", 2), one_node_int(&n, "pad_id", 1);
  one_node_int(&n, "reset_on_eos", 1);
  add_ids(&n, OX_I32, 2, DIMS(1, 6), ids);
  add_ids(&n, OX_I32, 1, DIMS(3), multipliers), add_ids(&n, OX_I32, 1, DIMS(4), words);
  add_ids(&n, OX_I32, 2, DIMS(1, 2), past);
  omit(&n), omit(&n);
  one_node_input(&n, OX_I32, 2, DIMS(1, 6), segments);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, want, sizeof want);
  one_node_deinit(&n);
}

static void test_bad_content(void **state) {
  (void)state;
  static const int32_t bad[][3] = {{0, 0, 3}, {0, 2, 2}, {1, 2, 3}, {0, 4, 3}, {0, -1, 3}, {INT32_MIN, 1, 3}};
  static const int64_t ids[] = {1, 2, 3}, no_words[] = {7, 0};
  for (size_t i = 0; i <= OX_COUNT(bad); i++) {
    static const int32_t good[] = {0, 1, 3};
    one_node n;
    one_node_init(&n, "com.microsoft", "VarlenNGramHashMapping", 1, 1);
    one_node_int(&n, "max_ngram_size", 2), one_node_int(&n, "n_head_per_ngram", 2), one_node_int(&n, "pad_id", 1);
    add_ids(&n, OX_I64, 1, DIMS(3), ids), add_ids(&n, OX_I64, 1, DIMS(2), multipliers);
    add_ids(&n, OX_I64, 1, DIMS(2), i < OX_COUNT(bad) ? words : no_words);
    one_node_input(&n, OX_I32, 1, DIMS(3), i < OX_COUNT(bad) ? bad[i] : good);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT,
                i < OX_COUNT(bad) ? "cumulative_sequence_length" : "vocab_sizes[1] is 0");
    one_node_deinit(&n);
  }
}

static void test_bad_models(void **state) {
  (void)state;
  static const struct {
    int64_t most, heads, n_words;
    const char *text;
  } rows[] = {{1, 2, 2, "max_ngram_size"},         {2, 0, 2, "n_head_per_ngram"}, {2, OX_COUNT_MAX, 2, "input 2"},
              {INT64_MAX, 2, 2, "max_ngram_size"}, {2, 2, 3, "input 2"},          {5, 1, 4, "4 multipliers"}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "NGramHashMapping", 1, 1);
    one_node_int(&n, "max_ngram_size", rows[i].most), one_node_int(&n, "n_head_per_ngram", rows[i].heads);
    one_node_int(&n, "pad_id", 1);
    add_ids(&n, OX_I64, 2, DIMS(1, 1), words), add_ids(&n, OX_I64, 1, DIMS(4), multipliers);
    add_ids(&n, OX_I64, 1, DIMS(rows[i].n_words), words);
    CHECK_FAILS_WITH(one_node_run(&n), rows[i].text);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_batches),     cmocka_unit_test(test_packed_requests), cmocka_unit_test(test_recorded),
      cmocka_unit_test(test_bad_content), cmocka_unit_test(test_bad_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
