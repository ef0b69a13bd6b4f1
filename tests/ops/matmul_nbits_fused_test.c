/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_nbits_fused_test.c - MatMulNBitsMlp and MatMulNBitsQkv against doubles: constant weights and others, few
 * rows and more than a tile has. */
#include <string.h>

#include "support/levels.h"
#include "support/typed.h"

enum { MOST = 150 * 128 };
typedef struct form {
  bool mlp, norm, skip, bias;
  int bits;
  int64_t rows, k, block, n[3]; /* n: columns of each product; two of MLP */
} form;

typedef struct product {
  const uint8_t *b;
  const ox_tensor *scales, *bias;
} product;

static double weight(const form *f, const product *p, int64_t n, int64_t k) {
  int64_t blocks = (f->k + f->block - 1) / f->block, bit = k % f->block * f->bits;
  const uint8_t *blob = p->b + (n * blocks + k / f->block) * f->block * f->bits / 8;
  int code = blob[bit / 8] >> bit % 8 & ((1 << f->bits) - 1);
  return (code - (1 << (f->bits - 1))) * typed_at(p->scales, n * blocks + k / f->block);
}

/* Row |r| of what is multiplied. */
static void row_of(const form *f, const ox_tensor *x, const ox_tensor *skip, const ox_tensor *norm, double epsilon,
                   int64_t r, double *y) {
  double squares = 0;
  for (int64_t k = 0; k < f->k; k++) {
    y[k] = typed_at(x, r * f->k + k) + (skip ? typed_at(skip, r * f->k + k) : 0);
    squares += y[k] * y[k] / (double)f->k;
  }
  for (int64_t k = 0; k < f->k && norm; k++) y[k] = y[k] / sqrt(squares + epsilon) * typed_at(norm, k);
}

static const ox_tensor *maybe(one_node *n, bool given, uint32_t dtype, int rank, const int64_t *dims) {
  if (!given) one_node_input(n, dtype, -1, NULL, NULL);
  return given ? typed_input(n, dtype, rank, dims, 1) : NULL;
}

static void close_to(const ox_tensor *t, int64_t i, double want, double size) {
  double got = typed_at(t, i);
  if (!(fabs(got - want) <= 3 * typed_step(t->dtype) * size))
    fail_msg("%s [%d] is %g, wanted %g", ox_dtype_name(t->dtype), (int)i, got, want);
}

static void check(const form *f, uint32_t dtype, bool constant, uint32_t isa) {
  static uint8_t bytes[3][MOST];
  product p[3];
  int64_t blocks = (f->k + f->block - 1) / f->block, dims[] = {1, f->rows, f->k};
  int products = f->mlp ? 2 : 3;
  one_node n;
  one_node_init(&n, "com.microsoft", f->mlp ? "MatMulNBitsMlp" : "MatMulNBitsQkv", 1, f->mlp ? 2 : 4);
  one_node_int(&n, "K", f->k), one_node_int(&n, "bits", f->bits), one_node_int(&n, "block_size", f->block);
  one_node_int(&n, f->mlp ? "N" : "Nq", f->n[0]);
  if (f->mlp)
    one_node_str(&n, "activation", "silu");
  else
    one_node_int(&n, "Nkv", f->n[1]);
  const ox_tensor *x = typed_input(&n, dtype, 3, dims, 1), *skip = maybe(&n, f->skip, dtype, 3, dims);
  const ox_tensor *norm = maybe(&n, f->norm, dtype, 1, dims + 2);
  for (int i = 0; i < products; i++) {
    for (int at = 0; at < MOST; at++) bytes[i][at] = (uint8_t)(at * 37 + at / 256 + i * 11);
    p[i].b = bytes[i];
    one_node_input(&n, OX_U8, 3, (int64_t[]){f->n[i], blocks, f->block * f->bits / 8}, bytes[i]);
    p[i].scales = typed_input(&n, dtype, 2, (int64_t[]){f->n[i], blocks}, 0.1);
    n.constant[n.n_in - 2] = n.constant[n.n_in - 1] = constant;
    p[i].bias = maybe(&n, f->bias, dtype, 1, &f->n[i]);
  }
  n.run_tiles = 1, n.isa = isa;
  CHECK_OK(one_node_run(&n));
  for (int64_t r = 0; r < f->rows; r++) {
    double row[256];
    row_of(f, x, skip, NULL, 0, r, row);
    for (int64_t k = 0; k < f->k; k++) typed_near(&n.out[f->mlp ? 1 : 3], r * f->k + k, row[k], 1);
    row_of(f, x, skip, norm, f->mlp ? 1e-5 : 1e-6, r, row);
    for (int i = 0; i < products; i++)
      for (int64_t j = 0; j < f->n[i]; j++) {
        double sum[2] = {0}, size = 1;
        for (int m = 0; m < 2; m++) {
          const product *q = &p[f->mlp ? m : i];
          sum[m] = q->bias ? typed_at(q->bias, j) : 0;
          for (int64_t k = 0; k < f->k; k++)
            sum[m] += row[k] * weight(f, q, j, k), size += fabs(row[k] * weight(f, q, j, k));
        }
        if (f->mlp && i == 0)
          close_to(&n.out[0], r * f->n[0] + j, sum[0] / (1 + exp(-sum[0])) * sum[1],
                   size * (1 + fabs(sum[0]) + fabs(sum[1])));
        if (!f->mlp) close_to(&n.out[i], r * f->n[i] + j, sum[0], size);
      }
  }
  one_node_deinit(&n);
}

static void test_every_form(void **state) {
  (void)state;
  static const form forms[] = {
      {true, false, false, false, 4, 6, 32, 32, {1, 1, 0}},   {true, true, true, true, 4, 1, 50, 32, {20, 20, 0}},
      {true, true, false, false, 8, 6, 33, 16, {17, 17, 0}},  {true, false, false, true, 4, 130, 64, 32, {70, 70, 0}},
      {true, true, true, false, 2, 3, 100, 512, {9, 9, 0}},   {false, true, false, true, 4, 6, 64, 32, {20, 5, 5}},
      {false, true, true, false, 2, 2, 70, 64, {16, 17, 17}}, {false, false, false, true, 8, 1, 64, 32, {150, 65, 65}},
      {false, true, false, false, 4, 0, 64, 32, {4, 4, 4}}};
  static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < 2 * OX_COUNT(forms); i++)
      for (size_t t = 0; t < OX_COUNT(types); t++) check(&forms[i / 2], types[t], i % 2, test_levels[l].have);
}

static void test_wrong_models(void **state) {
  (void)state;
  static const uint8_t b[2 * 16] = {0};
  one_node n;
  one_node_init(&n, "com.microsoft", "MatMulNBitsMlp", 1, 1);
  one_node_int(&n, "K", 32), one_node_int(&n, "N", 2), one_node_int(&n, "block_size", 32);
  one_node_str(&n, "activation", "silu");
  typed_input(&n, OX_F32, 2, (int64_t[]){1, 32}, 1);
  for (int i = 0; i < 2; i++) one_node_input(&n, OX_F32, -1, NULL, NULL);
  for (int i = 0; i < 2; i++) {
    one_node_input(&n, OX_U8, 1, (int64_t[]){31 + i}, b), typed_input(&n, OX_F32, 1, (int64_t[]){2}, 1);
    one_node_input(&n, OX_F32, -1, NULL, NULL);
  }
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "input 3 has 31 elements, wanted 32");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_wrong_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
