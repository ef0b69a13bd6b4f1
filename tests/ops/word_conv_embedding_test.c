/* SPDX-License-Identifier: Apache-2.0
 * ops/word_conv_embedding_test.c - words of every length against doubles; ids and windows that do not fit. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
enum { WORDS = 6, LENGTH = 6, LETTERS = 7, SIZE = 5, FILTERS = 3 };
static const int32_t words[WORDS * LENGTH] = {1, 0, 2, 3, 0, 0, 1, 0, 0, 3, 0, 0, 3, 0, 0, 0, 0, 2,
                                              2, 2, 0, 1, 4, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5};

static void check(int64_t window) {
  one_node n;
  one_node_init(&n, "com.microsoft", "WordConvEmbedding", 1, 1);
  one_node_int(&n, "conv_window_size", window);
  one_node_input(&n, OX_I32, 2, DIMS(WORDS, LENGTH), words);
  const ox_tensor *w = typed_input(&n, OX_F32, 4, DIMS(FILTERS, 1, window, SIZE), 1);
  const ox_tensor *b = typed_input(&n, OX_F32, 1, DIMS(FILTERS), 1),
                  *t = typed_input(&n, OX_F32, 2, DIMS(LETTERS, SIZE), 1);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < WORDS * FILTERS; i++) {
    const int32_t *word = words + i / FILTERS * LENGTH;
    double best = -INFINITY;
    int64_t f = i % FILTERS, length = 0;
    for (int k = 0; k < LENGTH; k++) length += word[k] != 0;
    for (int64_t at = 0; at == 0 || at + window <= length; at++) {
      double sum = typed_at(b, f);
      for (int64_t k = 0; k < window * SIZE; k++)
        sum += typed_at(w, f * window * SIZE + k) * typed_at(t, word[at + k / SIZE] * SIZE + k % SIZE);
      best = fmax(best, tanh(sum));
    }
    typed_near(&n.out[0], i, word[0] ? best : 0, 2);
  }
  one_node_deinit(&n);
}

static void test_windows(void **state) {
  (void)state;
  for (int64_t window = 1; window <= LENGTH; window++) check(window);
}

static void test_what_does_not_fit(void **state) {
  (void)state;
  static const struct {
    int32_t id;
    int64_t window, biases, attr;
    const char *text;
  } rows[] = {{LETTERS, 2, FILTERS, 2, "character 7"},
              {-1, 2, FILTERS, 2, "character -1"},
              {1, LENGTH + 1, FILTERS, -1, "window of 7"},
              {1, 0, FILTERS, -1, "window of 0"},
              {1, 2, 2, 2, "input 2"},
              {1, 2, FILTERS, 3, "conv_window_size"}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    int32_t word[LENGTH] = {1, rows[i].id, 0, 0, 0, 0};
    one_node n;
    one_node_init(&n, "com.microsoft", "WordConvEmbedding", 1, 1);
    one_node_int(&n, "conv_window_size", rows[i].attr);
    one_node_input(&n, OX_I32, 2, DIMS(1, LENGTH), word);
    typed_input(&n, OX_F32, 4, DIMS(FILTERS, 1, rows[i].window, SIZE), 1);
    typed_input(&n, OX_F32, 1, DIMS(rows[i].biases), 1), typed_input(&n, OX_F32, 2, DIMS(LETTERS, SIZE), 1);
    CHECK_FAILS_WITH(one_node_run(&n), rows[i].text);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows),
      cmocka_unit_test(test_what_does_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
