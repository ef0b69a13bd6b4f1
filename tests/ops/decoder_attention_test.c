/* SPDX-License-Identifier: Apache-2.0
 * ops/decoder_attention_test.c - DecoderAttention against doubles: to itself and across, with a cache and without. */
#include <string.h>

#include "support/typed.h"

enum { LEN = 3, KEYS = 5, PAST = 2, BATCH = 2, HEADS = 2, D = 3, HIDDEN = HEADS * D };

typedef struct model {
  bool cross, use_past, layer_state, masked;
  const ox_tensor *q, *k, *wq, *wkv, *bias, *cache[2];
} model;

/* Element |col| of a row's query (part 0), key or value. */
static double part_at(const model *m, const ox_tensor *x, int part, int64_t row, int64_t col) {
  double sum = typed_at(m->bias, part * HIDDEN + col);
  for (int64_t k = 0; k < HIDDEN; k++)
    sum += typed_at(x, row * HIDDEN + k) *
           (part ? typed_at(m->wkv, k * 2 * HIDDEN + (part - 1) * HIDDEN + col) : typed_at(m->wq, k * HIDDEN + col));
  return sum;
}

static int64_t n_keys(const model *m) {
  bool cached = m->use_past && m->layer_state;
  return (cached ? PAST : 0) + (!m->cross ? LEN : cached ? 0 : KEYS);
}

/* Of key or value |j| of a head. */
static double row_at(const model *m, int part, int64_t b, int64_t h, int64_t j, int64_t i) {
  int64_t past = m->use_past && m->layer_state ? PAST : 0;
  if (j < past) return typed_at(m->cache[part - 1], ((b * HEADS + h) * PAST + j) * D + i);
  return part_at(m, m->cross ? m->k : m->q, part, (j - past) * BATCH + b, h * D + i);
}

static void check_head(const one_node *n, const model *m, const uint8_t *mask, int64_t b, int64_t h) {
  int64_t keys = n_keys(m), at = b * HEADS + h;
  for (int64_t i = 0; i < LEN; i++) {
    double w[KEYS + PAST], sum = 0;
    for (int64_t j = 0; j < keys; j++) {
      w[j] = m->masked && mask[b * keys + j] ? -10000 : 0;
      for (int64_t l = 0; l < D; l++)
        w[j] += part_at(m, m->q, 0, i * BATCH + b, h * D + l) * row_at(m, 1, b, h, j, l) / sqrt(D);
      sum += w[j] = exp(w[j]);
    }
    for (int64_t l = 0; l < D; l++) {
      double y = 0;
      for (int64_t j = 0; j < keys; j++) y += w[j] / sum * row_at(m, 2, b, h, j, l);
      typed_near(&n->out[0], (i * BATCH + b) * HIDDEN + h * D + l, y, 4);
    }
  }
  for (int part = 1; part < 3; part++) {
    assert_int_equal(n->out[part].shape.dim[2], keys);
    for (int64_t j = 0; j < keys * D; j++)
      typed_near(&n->out[part], at * keys * D + j, row_at(m, part, b, h, j / D, j % D), 2);
  }
}

static void check(model m, uint32_t dtype) {
  static const uint8_t mask[BATCH * (KEYS + PAST)] = {0, 1, 0, 0, 0, 0, 1};
  const uint8_t flags[] = {m.cross, m.use_past, m.layer_state, m.masked};
  one_node n;
  one_node_init(&n, "com.microsoft", "DecoderAttention", 1, 3);
  one_node_int(&n, "num_heads", HEADS);
  m.q = typed_input(&n, dtype, 3, (int64_t[]){LEN, BATCH, HIDDEN}, 1);
  m.k = typed_input(&n, dtype, 3, (int64_t[]){KEYS, BATCH, HIDDEN}, 1);
  m.wq = typed_input(&n, dtype, 2, (int64_t[]){HIDDEN, HIDDEN}, 1);
  m.wkv = typed_input(&n, dtype, 2, (int64_t[]){HIDDEN, 2 * HIDDEN}, 1);
  m.bias = typed_input(&n, dtype, 1, (int64_t[]){3 * HIDDEN}, 1);
  one_node_input(&n, OX_BOOL, m.masked ? 2 : -1, (int64_t[]){BATCH, n_keys(&m)}, m.masked ? mask : NULL);
  for (int i = 0; i < 2; i++)
    if (m.use_past)
      m.cache[i] = typed_input(&n, dtype, 4, (int64_t[]){BATCH, HEADS, PAST, D}, 1);
    else
      one_node_input(&n, dtype, -1, NULL, NULL);
  for (int i = 0; i < 4; i++) one_node_input(&n, OX_BOOL, i % 2, (int64_t[]){1}, &flags[i]);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < BATCH * HEADS; i++) check_head(&n, &m, mask, i / HEADS, i % HEADS);
  one_node_deinit(&n);
}

static void test_every_form(void **state) {
  (void)state;
  for (int bits = 0; bits < 16; bits++) {
    model m = {.cross = bits & 1, .use_past = bits & 2, .layer_state = bits & 4, .masked = bits & 8};
    check(m, OX_F32), check(m, OX_F16);
  }
}

static void test_a_missing_cache(void **state) {
  (void)state;
  static const uint8_t yes = 1, no = 0;
  one_node n;
  one_node_init(&n, "com.microsoft", "DecoderAttention", 1, 1);
  one_node_int(&n, "num_heads", 1);
  for (int i = 0; i < 2; i++) typed_input(&n, OX_F32, 3, (int64_t[]){1, 1, 2}, 1);
  typed_input(&n, OX_F32, 2, (int64_t[]){2, 2}, 1), typed_input(&n, OX_F32, 2, (int64_t[]){2, 4}, 1);
  typed_input(&n, OX_F32, 1, (int64_t[]){6}, 1);
  for (int i = 0; i < 3; i++) one_node_input(&n, i ? OX_F32 : OX_BOOL, -1, NULL, NULL);
  for (int i = 0; i < 4; i++) one_node_input(&n, OX_BOOL, 0, NULL, i == 3 ? &no : &yes);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "is not there");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_a_missing_cache),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
