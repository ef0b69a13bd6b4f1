/* SPDX-License-Identifier: Apache-2.0
 * ops/rms_gates_test.c - GatedRMSNorm, BranchwiseRMSNorm and EngramGate in every type against doubles. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};

static double inverse(const ox_tensor *x, int64_t at, int64_t n, double epsilon) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += typed_at(x, at + i) * typed_at(x, at + i);
  return 1 / sqrt(sum / (double)n + (double)(float)epsilon);
}

static void gated(uint32_t dtype, const char *activation, const int64_t *dims, int64_t group) {
  one_node n;
  one_node_init(&n, "com.microsoft", "GatedRMSNorm", 1, 1);
  if (activation) one_node_str(&n, "activation", activation);
  one_node_float(&n, "epsilon", 0.01f);
  const ox_tensor *x = typed_input(&n, dtype, 3, dims, 2), *s = typed_input(&n, dtype, 1, &group, 2);
  const ox_tensor *g = typed_input(&n, dtype, 3, dims, 5);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  double factor = 0;
  for (int64_t i = 0; i < ox_shape_count(&x->shape); i++) {
    if (i % group == 0) factor = inverse(x, i, group, 0.01);
    double z = typed_at(g, i), gate = 1 / (1 + exp(-z));
    if (!activation || activation[1] != 'i' || activation[2] == 'l') gate *= z;
    typed_near(&n.out[0], i, typed_at(x, i) * factor * typed_at(s, i % group) * gate, 2);
  }
  one_node_deinit(&n);
}

static void test_gated_rms_norm(void **state) {
  (void)state;
  static const char *const activations[] = {NULL, "silu", "swish", "sigmoid"};
  for (size_t t = 0; t < OX_COUNT(types); t++) {
    for (size_t a = 0; a < OX_COUNT(activations); a++) gated(types[t], activations[a], DIMS(2, 3, 12), 4);
    gated(types[t], NULL, DIMS(1, 1, 1), 1), gated(types[t], NULL, DIMS(2, 0, 4), 4);
    gated(types[t], NULL, DIMS(1, 40, 1026), 513);
  }
}

/* |scale_rank| 0: none. */
static void branchwise(uint32_t dtype, uint32_t scale_type, bool flat, int64_t branches, int64_t h, int scale_rank,
                       bool shared) {
  enum { TOKENS = 6 };
  one_node n;
  int64_t all = branches * h;
  one_node_init(&n, "com.microsoft", "BranchwiseRMSNorm", 1, 1);
  if (flat) one_node_int(&n, "num_branches", branches);
  const ox_tensor *x =
      flat ? typed_input(&n, dtype, 3, DIMS(2, 3, all), 2) : typed_input(&n, dtype, 4, DIMS(2, 3, branches, h), 2);
  const ox_tensor *s = NULL;
  if (scale_rank)
    s = scale_rank == 2 ? typed_input(&n, scale_type, 2, DIMS(branches, h), 2)
                        : typed_input(&n, scale_type, 1, shared ? &h : &all, 2);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  double factor = 0;
  for (int64_t i = 0; i < TOKENS * all; i++) {
    if (i % h == 0) factor = inverse(x, i, h, 1e-5);
    typed_near(&n.out[0], i, typed_at(x, i) * factor * (s ? typed_at(s, i % (shared ? h : all)) : 1), 2);
  }
  one_node_deinit(&n);
}

static void test_branchwise_rms_norm(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int flat = 0; flat < 2; flat++) {
      branchwise(types[t], 0, flat, 4, 9, 0, false), branchwise(types[t], 0, flat, 1, 1, 0, false);
      for (size_t s = 0; s < OX_COUNT(types); s++) {
        branchwise(types[t], types[s], flat, 4, 9, 2, false), branchwise(types[t], types[s], flat, 4, 9, 1, false);
        branchwise(types[t], types[s], flat, 4, 9, 1, true), branchwise(types[t], types[s], flat, 3, 5001, 2, false);
      }
    }
}

static void engram(uint32_t dtype, const int64_t *dims, bool normed, double size) {
  one_node n;
  int64_t h = dims[3], all = dims[2] * h;
  one_node_init(&n, "com.microsoft", "EngramGate", 1, normed ? 2 : 1);
  one_node_float(&n, "epsilon", 0.25f);
  const ox_tensor *k = typed_input(&n, dtype, 4, dims, size), *q = typed_input(&n, dtype, 4, dims, size);
  const ox_tensor *v = typed_input(&n, dtype, 3, DIMS(dims[0], dims[1], h), 3);
  const ox_tensor *ks = typed_input(&n, dtype, 2, dims + 2, 2), *qs = typed_input(&n, dtype, 2, dims + 2, 2);
  const ox_tensor *os = normed ? typed_input(&n, dtype, 2, dims + 2, 2) : NULL;
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t at = 0; at < ox_shape_count(&k->shape); at += h) {
    int64_t token = at / all, row = at % all;
    double dot = 0, squares = 0, gate;
    for (int64_t i = 0; i < h; i++)
      dot += typed_at(k, at + i) * typed_at(ks, row + i) * typed_at(q, at + i) * typed_at(qs, row + i);
    dot *= inverse(k, at, h, 0.25) * inverse(q, at, h, 0.25) / sqrt((double)h);
    gate = dot == 0 ? 0.5 : 1 / (1 + exp(-copysign(sqrt(fmax(fabs(dot), 1e-6)), dot)));
    for (int64_t i = 0; i < h; i++) {
      typed_near(&n.out[0], at + i, gate * typed_at(v, token * h + i), 2);
      squares += pow(gate * typed_at(v, token * h + i), 2);
    }
    for (int64_t i = 0; i < h && normed; i++)
      typed_near(&n.out[1], at + i,
                 gate * typed_at(v, token * h + i) / sqrt(squares / (double)h + 0.25) * typed_at(os, row + i), 2);
  }
  one_node_deinit(&n);
}

static void test_engram_gate(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int normed = 0; normed < 2; normed++) {
      engram(types[t], DIMS(1, 1, 1, 1), normed, 1), engram(types[t], DIMS(2, 3, 4, 9), normed, 2);
      engram(types[t], DIMS(2, 3, 4, 9), normed, 0), engram(types[t], DIMS(1, 5, 2, 4099), normed, 2);
      engram(types[t], DIMS(1, 0, 2, 3), normed, 2);
    }
}

static void test_wrong_models(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "com.microsoft", "GatedRMSNorm", 1, 1);
  one_node_str(&n, "activation", "relu");
  for (int i = 0; i < 3; i++) typed_input(&n, OX_F32, 1, DIMS(4), 1);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "relu");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "GatedRMSNorm", 1, 1);
  typed_input(&n, OX_F32, 1, DIMS(4), 1), typed_input(&n, OX_F32, 1, DIMS(3), 1),
      typed_input(&n, OX_F32, 1, DIMS(4), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "rows of 4");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "GatedRMSNorm", 1, 1);
  typed_input(&n, OX_F32, 1, DIMS(4), 1), typed_input(&n, OX_F32, 1, DIMS(0), 1),
      typed_input(&n, OX_F32, 1, DIMS(4), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "rows of 4");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "BranchwiseRMSNorm", 1, 1);
  one_node_int(&n, "num_branches", 3);
  typed_input(&n, OX_F32, 1, DIMS(4), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "3 branches");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "BranchwiseRMSNorm", 1, 1);
  typed_input(&n, OX_F32, 2, DIMS(4, 3), 1), typed_input(&n, OX_F32, 1, DIMS(4), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "input 1");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "EngramGate", 1, 2);
  for (int i = 0; i < 2; i++) typed_input(&n, OX_F32, 4, DIMS(1, 1, 1, 2), 1);
  typed_input(&n, OX_F32, 3, DIMS(1, 1, 2), 1);
  for (int i = 0; i < 2; i++) typed_input(&n, OX_F32, 2, DIMS(1, 2), 1);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "conv_norm_scale");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gated_rms_norm),
      cmocka_unit_test(test_branchwise_rms_norm),
      cmocka_unit_test(test_engram_gate),
      cmocka_unit_test(test_wrong_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
