/* SPDX-License-Identifier: Apache-2.0
 * ops/relative_bias_test.c - RelativePositionBias, GatedRelativePositionBias and GemmaRotaryEmbedding against doubles.
 */
#include "support/typed.h"

/* ---- RelativePositionBias ---- */

/* Buckets as T5 has them: exact ones, then bounds that grow by the same factor up to |most|. */
static int64_t bucket(int64_t distance, int64_t buckets, int64_t most, bool both) {
  int64_t first = both && distance > 0 ? buckets / 2 : 0;
  if (both) buckets /= 2;
  double d = both ? fabs((double)distance) : distance < 0 ? -(double)distance : 0;
  double exact = (double)(buckets / 2);
  if (d < exact) return first + (int64_t)d;
  int64_t b = (int64_t)exact;
  while (b + 1 < buckets &&
         d >= exact * pow((double)most / exact, ((double)(b + 1) - exact) / ((double)buckets - exact)))
    b++;
  return first + b;
}

static void check_bias(uint32_t dtype, int64_t buckets, int64_t most, bool both, int64_t rows, int64_t columns) {
  enum { HEADS = 3 };
  one_node n;
  one_node_init(&n, "com.microsoft", "RelativePositionBias", 1, 1);
  one_node_int(&n, "max_distance", most), one_node_int(&n, "is_bidirectional", both);
  const ox_tensor *table = typed_input(&n, dtype, 2, (int64_t[]){buckets, HEADS}, 1);
  one_node_input(&n, OX_I64, 0, NULL, &rows), one_node_input(&n, OX_I64, 1, (int64_t[]){1}, &columns);
  CHECK_OK(one_node_run(&n));
  const ox_shape shape = ox_shape_of(4, (int64_t[]){1, HEADS, rows, columns});
  assert_true(ox_shape_equal(&n.out[0].shape, &shape));
  for (int64_t i = 0; i < HEADS * rows * columns; i++) {
    int64_t h = i / columns / rows, b = bucket(i % columns - i / columns % rows, buckets, most, both);
    assert_true(typed_at(&n.out[0], i) == typed_at(table, h * buckets + b)); /* the table lies head by head */
  }
  one_node_deinit(&n);
}

static void test_buckets(void **state) {
  (void)state;
  for (int both = 0; both < 2; both++) {
    check_bias(OX_F32, 32, 127, both, 150, 150);
    check_bias(OX_F16, 10, 50, both, 64, 64);
    check_bias(OX_F32, 4, 3, both, 1, 9);
    check_bias(OX_F32, 8, 20, both, 0, 0);
  }
}

/* ---- GatedRelativePositionBias ---- */

enum { B = 2, H = 3, S = 4, SIZE = 5, D = 8, HIDDEN = H * SIZE };

static void check_gate(uint32_t dtype, bool packed) {
  static const int32_t offset[B * S] = {0, 1, 2, 4, 5, 3, 6, 7}; /* five tokens */
  int64_t tokens = packed ? 5 : B * S;
  one_node n;
  one_node_init(&n, "com.microsoft", "GatedRelativePositionBias", 1, 1);
  one_node_int(&n, "num_heads", H);
  const ox_tensor *q = packed ? typed_input(&n, dtype, 2, (int64_t[]){tokens, HIDDEN}, 1)
                              : typed_input(&n, dtype, 3, (int64_t[]){B, S, HIDDEN}, 1);
  const ox_tensor *qb = typed_input(&n, dtype, 1, (int64_t[]){HIDDEN}, 1);
  const ox_tensor *rel = typed_input(&n, dtype, 4, (int64_t[]){1, H, S, S}, 1);
  const ox_tensor *w = typed_input(&n, dtype, 2, (int64_t[]){SIZE, D}, 1);
  const ox_tensor *bias = typed_input(&n, dtype, 1, (int64_t[]){D}, 1);
  const ox_tensor *eco = typed_input(&n, dtype, 4, (int64_t[]){1, H, 1, 1}, 1);
  if (packed) one_node_input(&n, OX_I32, 2, (int64_t[]){B, S}, offset);
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < B * H * S * S; i++) {
    int64_t h = i / S / S % H, place = i / S / S / H * S + i / S % S, row = packed ? -1 : place;
    for (int64_t t = 0; t < tokens && packed; t++) row = offset[t] == place ? t : row;
    double sum[2] = {0, 0};
    for (int64_t j = 0; j < D; j++) {
      sum[j / (D / 2)] += typed_at(bias, j);
      for (int64_t k = 0; k < SIZE; k++)
        sum[j / (D / 2)] += ((row < 0 ? 0 : typed_at(q, row * HIDDEN + h * SIZE + k)) + typed_at(qb, h * SIZE + k)) *
                            typed_at(w, k * D + j);
    }
    double u = 1 / (1 + exp(-sum[0])), r = 1 / (1 + exp(-sum[1]));
    typed_near(&n.out[0], i, (u * (r * typed_at(eco, h) - 1) + 2) * typed_at(rel, i % (H * S * S)), 2);
  }
  one_node_deinit(&n);
}

static void test_gates(void **state) {
  (void)state;
  for (int packed = 0; packed < 2; packed++) check_gate(OX_F32, packed), check_gate(OX_F16, packed);
}

/* ---- GemmaRotaryEmbedding ---- */

static void test_gemma(void **state) {
  (void)state;
  enum { LENGTH = 3, SIDE = 6 };
  static const int64_t heads[] = {4, 1};
  const ox_tensor *x[2], *turned[2];
  one_node n;
  one_node_init(&n, "com.microsoft", "GemmaRotaryEmbedding", 1, 2);
  const ox_tensor *emb = typed_input(&n, OX_F32, 3, (int64_t[]){B, LENGTH, SIDE}, 5);
  for (int o = 0; o < 2; o++) {
    const int64_t dims[] = {B, heads[o], LENGTH, SIDE};
    x[o] = typed_input(&n, OX_F16, 4, dims, 2), turned[o] = typed_input(&n, OX_F16, 4, dims, 2);
  }
  CHECK_OK(one_node_run(&n));
  for (int o = 0; o < 2; o++)
    for (int64_t i = 0; i < B * heads[o] * LENGTH * SIDE; i++) {
      int64_t b = i / SIDE / LENGTH / heads[o];
      double angle = typed_at(emb, (b * LENGTH + i / SIDE % LENGTH) * SIDE + i % SIDE);
      typed_near(&n.out[o], i, typed_at(x[o], i) * cos(angle) + typed_at(turned[o], i) * sin(angle), 4);
    }
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buckets),
      cmocka_unit_test(test_gates),
      cmocka_unit_test(test_gemma),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
