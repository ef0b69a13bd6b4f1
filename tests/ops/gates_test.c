/* SPDX-License-Identifier: Apache-2.0
 * ops/gates_test.c - ScaledSiLU, GatedAdd and LinearAttentionGate in every type against doubles; shapes that are wrong.
 */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};

/* |v| as |dtype| holds it. */
static double rounded(uint32_t dtype, double v) {
  uint8_t bytes[8];
  ox_tensor t = {.dtype = dtype, .data = bytes};
  ox_convert_select(0)->store_f64[dtype](&v, bytes, 0, 1, NULL);
  return typed_at(&t, 0);
}

static void silu(uint32_t dtype, uint32_t scale_type, int64_t rows, int64_t columns) {
  one_node n;
  one_node_init(&n, "com.microsoft", "ScaledSiLU", 1, 1);
  one_node_float(&n, "alpha", 1.75f);
  const ox_tensor *x = typed_input(&n, dtype, 2, DIMS(rows, columns), 6), *s = NULL;
  if (scale_type) s = typed_input(&n, scale_type, 0, NULL, 2);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < rows * columns; i++) {
    double z = rounded(dtype, (s ? typed_at(s, 0) : 1.75) * typed_at(x, i)), g = rounded(dtype, 1 / (1 + exp(-z)));
    typed_near(&n.out[0], i, z * g, 1);
  }
  one_node_deinit(&n);
}

static void test_scaled_silu(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++) {
    silu(types[t], 0, 0, 3), silu(types[t], 0, 1, 1), silu(types[t], 0, 17, 1031);
    for (size_t s = 0; s < OX_COUNT(types); s++) silu(types[t], types[s], 3, 5);
  }
}

static void gated_add(uint32_t dtype, int rank, const int64_t *dims) {
  one_node n;
  ox_shape gates = ox_shape_of(rank, dims);
  gates.dim[rank - 1] = 1;
  one_node_init(&n, "com.microsoft", "GatedAdd", 1, 1);
  const ox_tensor *x = typed_input(&n, dtype, rank, dims, 3), *y = typed_input(&n, dtype, rank, dims, 3);
  const ox_tensor *g = typed_input(&n, dtype, rank, gates.dim, 2);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < ox_shape_count(&x->shape); i++)
    typed_near(&n.out[0], i, typed_at(x, i) + rounded(dtype, typed_at(y, i) * typed_at(g, i / dims[rank - 1])), 1);
  one_node_deinit(&n);
}

static void test_gated_add(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++) {
    gated_add(types[t], 1, DIMS(1)), gated_add(types[t], 1, DIMS(7)), gated_add(types[t], 2, DIMS(0, 4));
    gated_add(types[t], 2, DIMS(4, 0)), gated_add(types[t], 3, DIMS(2, 3, 1111)), gated_add(types[t], 2, DIMS(9000, 1));
  }
}

static void decay(uint32_t dtype, const int64_t *dims, bool beta, double scale) {
  one_node n;
  one_node_init(&n, "com.microsoft", "LinearAttentionGate", 1, beta ? 2 : 1);
  const ox_tensor *a = typed_input(&n, dtype, 3, dims, scale);
  const ox_tensor *bias = typed_input(&n, OX_F32, 1, dims + 2, 1), *s = typed_input(&n, OX_F32, 1, dims + 2, 2);
  const ox_tensor *b = beta ? typed_input(&n, dtype, 3, dims, scale) : NULL;
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < ox_shape_count(&a->shape); i++) {
    double v = typed_at(a, i) + typed_at(bias, i % dims[2]), soft = v > 0 ? v + log1p(exp(-v)) : log1p(exp(v));
    typed_near(&n.out[0], i, typed_at(s, i % dims[2]) * soft, 2);
    if (beta) typed_near(&n.out[1], i, 1 / (1 + exp(-typed_at(b, i))), 1);
  }
  one_node_deinit(&n);
}

static void test_linear_attention_gate(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int beta = 0; beta < 2; beta++) {
      decay(types[t], DIMS(1, 1, 1), beta, 3), decay(types[t], DIMS(2, 0, 3), beta, 3);
      decay(types[t], DIMS(2, 7, 700), beta, 3), decay(types[t], DIMS(3, 1000, 5), beta, 200);
    }
}

static void fails(const char *op, int n_out, int rank, const int64_t *a, const int64_t *b, int last_rank,
                  const int64_t *last, ox_code code, const char *text) {
  one_node n;
  one_node_init(&n, "com.microsoft", op, 1, (uint32_t)n_out);
  typed_input(&n, OX_F32, rank, a, 1);
  if (b) typed_input(&n, OX_F32, last_rank == 1 ? 1 : rank, b, 1);
  typed_input(&n, OX_F32, last_rank, last, 1);
  CHECK_FAILS(one_node_run(&n), code, text);
  one_node_deinit(&n);
}

static void test_wrong_shapes(void **state) {
  (void)state;
  fails("ScaledSiLU", 1, 1, DIMS(3), NULL, 1, DIMS(2), OX_SHAPE_MISMATCH, "scale");
  fails("GatedAdd", 1, 2, DIMS(2, 3), DIMS(2, 1), 2, DIMS(2, 1), OX_SHAPE_MISMATCH, "input 1");
  fails("GatedAdd", 1, 2, DIMS(2, 3), DIMS(2, 3), 2, DIMS(2, 3), OX_SHAPE_MISMATCH, "input 2");
  fails("GatedAdd", 1, 0, NULL, DIMS(1), 0, NULL, OX_INVALID_MODEL, "no dimensions");
  fails("LinearAttentionGate", 1, 2, DIMS(2, 3), DIMS(3), 1, DIMS(3), OX_SHAPE_MISMATCH, "rank 2");
  fails("LinearAttentionGate", 1, 3, DIMS(1, 2, 3), DIMS(3), 1, DIMS(2), OX_SHAPE_MISMATCH, "input 2");
  fails("LinearAttentionGate", 2, 3, DIMS(1, 2, 3), DIMS(3), 1, DIMS(3), OX_INVALID_MODEL, "beta");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scaled_silu),
      cmocka_unit_test(test_gated_add),
      cmocka_unit_test(test_linear_attention_gate),
      cmocka_unit_test(test_wrong_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
