/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_varlen_test.c - PackedAttention and PackedMultiHeadAttention against doubles, sequence by sequence. */
#include <string.h>

#include "support/typed.h"

enum { BATCH = 4, MOST = 6, HEADS = 2, D = 5, DV = 3, IN = 7, TOKENS = 11, KEYS = HEADS * D };
static const int32_t ends[BATCH + 1] = {0, 1, 7, 7, 11}, offsets[BATCH * MOST] = {0};

typedef enum form { PACKED, PACKED_SIZES, MULTI, MULTI_WHOLE } form;
typedef struct model {
  form form;
  bool bias, add, scale;
  int64_t dv;
  const ox_tensor *x[3], *b, *more;
} model;

/* Element |i| of head |h| of token |t|'s query (part 0), key or value. */
static double part_at(const model *m, int part, int64_t t, int64_t h, int64_t i) {
  int64_t d = part == 2 ? m->dv : D, n = HEADS * d, all = 2 * KEYS + HEADS * m->dv, col = part * KEYS + h * d + i;
  double sum = m->b ? typed_at(m->b, col) : 0;
  if (m->form == MULTI) return sum + typed_at(m->x[part], t * n + h * d + i);
  if (m->form == MULTI_WHOLE) return sum + typed_at(m->x[0], ((t * HEADS + h) * 3 + part) * D + i);
  for (int64_t k = 0; k < IN; k++) sum += typed_at(m->x[0], t * IN + k) * typed_at(m->x[1], k * all + col);
  return sum;
}

static void expect(const model *m, int64_t b, int64_t h, int64_t i, double *y) {
  double w[MOST], sum = 0, scale = m->scale ? (double)0.3f : 1 / sqrt(D);
  int64_t n = ends[b + 1] - ends[b];
  for (int64_t j = 0; j < n; j++) {
    w[j] = 0;
    for (int64_t k = 0; k < D; k++) w[j] += part_at(m, 0, ends[b] + i, h, k) * part_at(m, 1, ends[b] + j, h, k) * scale;
    if (m->add) w[j] += typed_at(m->more, (h * MOST + i) * MOST + j);
    sum += w[j] = exp(w[j]);
  }
  for (int64_t k = 0; k < m->dv; k++) {
    y[k] = 0;
    for (int64_t j = 0; j < n; j++) y[k] += w[j] / sum * part_at(m, 2, ends[b] + j, h, k);
  }
}

static void inputs(one_node *n, uint32_t dtype, model *m) {
  int64_t all = 2 * KEYS + HEADS * m->dv;
  if (m->form == PACKED || m->form == PACKED_SIZES) {
    m->x[0] = typed_input(n, dtype, 2, (int64_t[]){TOKENS, IN}, 1);
    m->x[1] = typed_input(n, dtype, 2, (int64_t[]){IN, all}, 1);
  } else if (m->form == MULTI) {
    for (int i = 0; i < 3; i++)
      m->x[i] = typed_input(n, dtype, 2, (int64_t[]){TOKENS, i == 2 ? HEADS * m->dv : KEYS}, 1);
  } else {
    m->x[0] = typed_input(n, dtype, 4, (int64_t[]){TOKENS, HEADS, 3, D}, 1);
    for (int i = 0; i < 2; i++) one_node_input(n, dtype, -1, NULL, NULL);
  }
  m->b = m->bias ? typed_input(n, dtype, 1, &all, 1) : NULL;
  if (!m->bias) one_node_input(n, dtype, -1, NULL, NULL);
}

static void check(model m, uint32_t dtype) {
  one_node n;
  bool packed = m.form <= PACKED_SIZES;
  const int64_t sizes[] = {KEYS, KEYS, HEADS * m.dv};
  one_node_init(&n, "com.microsoft", packed ? "PackedAttention" : "PackedMultiHeadAttention", 1, 1);
  one_node_int(&n, "num_heads", HEADS);
  if (m.scale) one_node_float(&n, "scale", 0.3f);
  if (m.form == PACKED_SIZES) one_node_ints(&n, "qkv_hidden_sizes", 3, sizes);
  inputs(&n, dtype, &m);
  one_node_input(&n, OX_I32, 2, (int64_t[]){BATCH, MOST}, offsets);
  one_node_input(&n, OX_I32, 1, (int64_t[]){BATCH + 1}, ends);
  if (m.add) m.more = typed_input(&n, dtype, 4, (int64_t[]){1, HEADS, MOST, MOST}, 1);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t b = 0; b < BATCH; b++)
    for (int64_t h = 0; h < HEADS; h++)
      for (int64_t i = 0; i < ends[b + 1] - ends[b]; i++) {
        double y[D];
        expect(&m, b, h, i, y);
        for (int64_t k = 0; k < m.dv; k++) typed_near(&n.out[0], ((ends[b] + i) * HEADS + h) * m.dv + k, y[k], 3);
      }
  one_node_deinit(&n);
}

static void test_every_form(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F16};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int bits = 0; bits < 8; bits++) {
      bool bias = bits & 1, add = bits & 2, scale = bits & 4;
      check((model){.form = PACKED, .bias = true, .add = add, .scale = scale, .dv = D}, types[t]);
      check((model){.form = PACKED_SIZES, .bias = true, .add = add, .scale = scale, .dv = DV}, types[t]);
      check((model){.form = MULTI, .bias = bias, .add = add, .scale = scale, .dv = DV}, types[t]);
      check((model){.form = MULTI_WHOLE, .bias = bias, .add = add, .scale = scale, .dv = D}, types[t]);
    }
}

static void test_wrong_lengths(void **state) {
  (void)state;
  static const int32_t wrong[][BATCH + 1] = {{0, 1, 7, 7, 10}, {1, 1, 7, 7, 11}, {0, 7, 1, 7, 11}, {0, 1, 4, 4, 11}};
  for (size_t i = 0; i < OX_COUNT(wrong); i++) {
    model m = {.form = MULTI, .dv = D};
    one_node n;
    one_node_init(&n, "com.microsoft", "PackedMultiHeadAttention", 1, 1);
    one_node_int(&n, "num_heads", HEADS);
    inputs(&n, OX_F32, &m);
    one_node_input(&n, OX_I32, 2, (int64_t[]){BATCH, MOST}, offsets);
    one_node_input(&n, OX_I32, 1, (int64_t[]){BATCH + 1}, wrong[i]);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "cumulative_sequence_length");
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_wrong_lengths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
