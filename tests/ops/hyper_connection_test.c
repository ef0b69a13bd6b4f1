/* SPDX-License-Identifier: Apache-2.0
 * ops/hyper_connection_test.c - both mixes against doubles: streams grouped and flat, gates of every form and type. */
#include <string.h>

#include "support/typed.h"

enum { B = 2, S = 3 };
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};
typedef enum { PER_STREAM, PER_STREAM_1, PER_FEATURE, FLAT_FEATURES } form;

static const ox_tensor *add_streams(one_node *n, uint32_t dtype, bool flat, int64_t c, int64_t h) {
  if (flat) one_node_int(n, "num_branches", c);
  return flat ? typed_input(n, dtype, 3, DIMS(B, S, c * h), 2) : typed_input(n, dtype, 4, DIMS(B, S, c, h), 2);
}

static const ox_tensor *add_gates(one_node *n, uint32_t dtype, form f, int64_t c, int64_t h) {
  switch (f) {
    case PER_STREAM:
      return typed_input(n, dtype, 3, DIMS(B, S, c), 1);
    case PER_STREAM_1:
      return typed_input(n, dtype, 4, DIMS(B, S, c, 1), 1);
    case PER_FEATURE:
      return typed_input(n, dtype, 4, DIMS(B, S, c, h), 1);
    default:
      return typed_input(n, dtype, 3, DIMS(B, S, c * h), 1);
  }
}

static double gate_at(const ox_tensor *g, form f, int64_t stream, int64_t i, int64_t h) {
  return typed_at(g, f >= PER_FEATURE ? stream * h + i : stream);
}

static void pre(uint32_t dtype, uint32_t gate_type, form f, bool flat, int64_t c, int64_t h) {
  one_node n;
  one_node_init(&n, "com.microsoft", "HyperConnectionPreMix", 1, 1);
  one_node_float(&n, "reduction_scale", 0.75f);
  const ox_tensor *x = add_streams(&n, dtype, flat, c, h), *g = add_gates(&n, gate_type, f, c, h);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].shape.rank, 3);
  assert_int_equal(n.out[0].shape.dim[2], h);
  for (int64_t i = 0; i < B * S * h; i++) {
    double sum = 0;
    for (int64_t k = i / h * c; k < (i / h + 1) * c; k++)
      sum += typed_at(x, k * h + i % h) * gate_at(g, f, k, i % h, h);
    typed_near(&n.out[0], i, 0.75 * sum, 4);
  }
  one_node_deinit(&n);
}

static void post(uint32_t dtype, uint32_t gate_type, form f, bool flat, bool mixed, int64_t c, int64_t h) {
  one_node n;
  one_node_init(&n, "com.microsoft", "HyperConnectionPostMix", 1, 1);
  const ox_tensor *x = add_streams(&n, dtype, flat, c, h), *block = typed_input(&n, dtype, 3, DIMS(B, S, h), 2);
  const ox_tensor *g = add_gates(&n, gate_type, f, c, h);
  const ox_tensor *mix = mixed ? typed_input(&n, gate_type, 4, DIMS(B, S, c, c), 1) : NULL;
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  assert_true(ox_shape_equal(&n.out[0].shape, &x->shape));
  for (int64_t i = 0; i < B * S * c * h; i++) {
    int64_t token = i / h / c, k = i / h % c, at = i % h;
    double sum = gate_at(g, f, token * c + k, at, h) * typed_at(block, token * h + at);
    for (int64_t b = 0; b < c; b++)
      sum += (mix ? typed_at(mix, (token * c + b) * c + k) : b == k) * typed_at(x, (token * c + b) * h + at);
    typed_near(&n.out[0], i, sum, 4);
  }
  one_node_deinit(&n);
}

static void test_every_form(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (size_t s = 0; s < OX_COUNT(types); s++)
      for (form f = PER_STREAM; f <= FLAT_FEATURES; f++)
        for (int flat = f == FLAT_FEATURES; flat < 2; flat++) {
          pre(types[t], types[s], f, flat, 4, 9);
          for (int mixed = 0; mixed < 2 && f != FLAT_FEATURES; mixed++) post(types[t], types[s], f, flat, mixed, 4, 9);
        }
}

static void test_edges(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{1, 1}, {1, 5}, {5, 1}, {3, 7001}, {4, 0}};
  for (size_t i = 0; i < OX_COUNT(shapes); i++)
    for (form f = PER_STREAM; f <= PER_FEATURE; f++) {
      pre(OX_F32, OX_F32, f, false, shapes[i][0], shapes[i][1]);
      pre(OX_F16, OX_F32, f, true, shapes[i][0], shapes[i][1]);
      post(OX_F32, OX_F32, f, false, true, shapes[i][0], shapes[i][1]);
      post(OX_F16, OX_BF16, f, true, false, shapes[i][0], shapes[i][1]);
    }
}

static void fails(const char *op, int64_t branches, int rank, const int64_t *streams, int gate_rank,
                  const int64_t *gates, const char *text) {
  one_node n;
  one_node_init(&n, "com.microsoft", op, 1, 1);
  one_node_int(&n, "num_branches", branches);
  typed_input(&n, OX_F32, rank, streams, 1);
  if (op[16] == 'o') typed_input(&n, OX_F32, 2, DIMS(2, 3), 1);
  typed_input(&n, OX_F32, gate_rank, gates, 1);
  CHECK_FAILS_WITH(one_node_run(&n), text);
  one_node_deinit(&n);
}

static void test_wrong_shapes(void **state) {
  (void)state;
  fails("HyperConnectionPreMix", 0, 1, DIMS(3), 1, DIMS(3), "rank 1");
  fails("HyperConnectionPreMix", 4, 2, DIMS(2, 6), 2, DIMS(2, 4), "4 branches");
  fails("HyperConnectionPreMix", -1, 2, DIMS(2, 6), 2, DIMS(2, 4), "num_branches");
  fails("HyperConnectionPreMix", 0, 3, DIMS(2, 4, 3), 2, DIMS(2, 3), "input 1");
  fails("HyperConnectionPreMix", 0, 3, DIMS(2, 4, 3), 2, DIMS(2, 12), "input 1");
  fails("HyperConnectionPostMix", 0, 3, DIMS(2, 4, 3), 3, DIMS(2, 4, 2), "input 2");
  fails("HyperConnectionPostMix", 0, 3, DIMS(2, 4, 5), 3, DIMS(2, 4, 5), "input 1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_edges),
      cmocka_unit_test(test_wrong_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
