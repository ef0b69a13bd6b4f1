/* SPDX-License-Identifier: Apache-2.0
 * ops/complex_mul_test.c - complex products with broadcasting, against doubles. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* Where the pair |at| of |y| lies in |s|. */
static int64_t pair_of(const ox_shape *y, const ox_shape *s, int64_t at) {
  int64_t from = 0, step = 1;
  for (int d = y->rank - 2, k = s->rank - 2; k >= 0; d--, k--) {
    from += s->dim[k] == 1 ? 0 : at % y->dim[d] * step;
    step *= s->dim[k], at /= y->dim[d];
  }
  return from;
}

static void product(uint32_t dtype, bool conjugate, int ra, const int64_t *da, int rb, const int64_t *db) {
  one_node n;
  one_node_init(&n, "com.microsoft", conjugate ? "ComplexMulConj" : "ComplexMul", 1, 1);
  const ox_tensor *a = typed_input(&n, dtype, ra, da, 3), *b = typed_input(&n, dtype, rb, db, 3);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < ox_shape_count(&n.out[0].shape) / 2; i++) {
    int64_t p = 2 * pair_of(&n.out[0].shape, &a->shape, i), q = 2 * pair_of(&n.out[0].shape, &b->shape, i);
    double re = typed_at(b, q), im = conjugate ? -typed_at(b, q + 1) : typed_at(b, q + 1);
    typed_near(&n.out[0], 2 * i, typed_at(a, p) * re - typed_at(a, p + 1) * im, 1);
    typed_near(&n.out[0], 2 * i + 1, typed_at(a, p) * im + typed_at(a, p + 1) * re, 1);
  }
  one_node_deinit(&n);
}

static void test_products(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F16, OX_F32, OX_F64};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int conjugate = 0; conjugate < 2; conjugate++) {
      product(types[t], conjugate, 1, DIMS(2), 1, DIMS(2));
      product(types[t], conjugate, 3, DIMS(3, 5, 2), 3, DIMS(3, 5, 2));
      product(types[t], conjugate, 3, DIMS(3, 5, 2), 2, DIMS(5, 2));
      product(types[t], conjugate, 2, DIMS(1, 2), 3, DIMS(3, 5, 2));
      product(types[t], conjugate, 3, DIMS(3, 1, 2), 3, DIMS(1, 5, 2));
      product(types[t], conjugate, 2, DIMS(0, 2), 2, DIMS(1, 2));
      product(types[t], conjugate, 2, DIMS(9001, 2), 2, DIMS(9001, 2));
    }
}

/* Data begins anywhere that suits one number, as constants in a mapped file do; a sanitizer sees the difference. */
static void test_pairs_between_alignments(void **state) {
  (void)state;
  static const float a[] = {0, 1, 2, 3, -4}, b[] = {0, 5, 6}, want[] = {-7, 16, 39, -2};
  _Alignas(16) float at[2][8];
  for (int spreads = 0; spreads < 2; spreads++) { /* the one or the other */
    one_node n;
    ox_shape two = ox_shape_of(2, DIMS(2, 2)), one = ox_shape_of(1, DIMS(2));
    memcpy(at[0], a, sizeof a), memcpy(at[1], b, sizeof b);
    ox_tensor in[] = {ox_tensor_view(OX_F32, &two, at[0] + 1), ox_tensor_view(OX_F32, &one, at[1] + 1)};
    one_node_init(&n, "com.microsoft", "ComplexMul", 1, 1);
    one_node_value(&n, &in[spreads]), one_node_value(&n, &in[!spreads]);
    CHECK_OK(one_node_run(&n));
    assert_memory_equal(n.out[0].data, want, sizeof want);
    one_node_deinit(&n);
  }
}

static void test_no_pairs(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "com.microsoft", "ComplexMul", 1, 1);
  typed_input(&n, OX_F32, 2, DIMS(2, 3), 1), typed_input(&n, OX_F32, 2, DIMS(2, 2), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "pairs");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "ComplexMul", 1, 1);
  typed_input(&n, OX_F32, 2, DIMS(2, 2), 1), typed_input(&n, OX_F32, 0, NULL, 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "pairs");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_pairs_between_alignments),
      cmocka_unit_test(test_no_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
