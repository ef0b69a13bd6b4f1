/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_bnb4_test.c - MatMulBnb4 against weights that are looked up one by one: both kinds of codes, both orders,
 * blocks that end within rows and bytes, ragged sizes, on every instruction set. */
#include <math.h>
#include <stdlib.h>

#include "onyx/onyx.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

/* Of the quantizer's description: sign, then what is left of FP4; quantiles of NF4. */
static double code(int nf, int q) {
  static const double fp[8] = {0, 0.0625 / 12, 8.0 / 12, 1, 4.0 / 12, 0.5, 2.0 / 12, 0.25};
  static const double quantiles[16] = {
      -1,         -0.69619280, -0.52507305, -0.39491749, -0.28444138, -0.18477343, -0.09105004, 0,
      0.07958030, 0.16093020,  0.24611230,  0.33791524,  0.44070983,  0.56261700,  0.72295684,  1};
  return nf ? quantiles[q] : q < 8 ? fp[q] : -fp[q - 8];
}

typedef struct form {
  int64_t m, n, k, block; /* weights are n x k */
  int nf, trans;
} form;

static const form forms[] = {{1, 1, 1, 1, 0, 1},
                             {1, 16, 64, 64, 1, 1},
                             {9, 17, 33, 16, 0, 1},
                             {3, 5, 7, 3, 1, 1},
                             {64, 40, 100, 32, 1, 1},
                             {2, 18, 35, 64, 0, 0},
                             {8, 33, 15, 5, 1, 0},
                             {5, 1, 20, 128, 0, 0},
                             /* whole blocks in a row: packed, if their codes are whole words */
                             {1, 70, 128, 64, 0, 1},
                             {4, 9, 512, 512, 1, 1},
                             {20, 150, 96, 8, 0, 1},
                             {130, 65, 64, 32, 1, 1},
                             {2, 9, 8, 4, 0, 1}};

/* The same numbers in a type of 16 bits, to which they are rounded. */
static void *halves_of(float *x, int64_t n) {
  uint16_t *h = calloc((size_t)n + 16, sizeof *h);
  for (int64_t i = 0; i < n; i++) h[i] = ox_f16_from_f32(x[i]), x[i] = ox_f16_to_f32(h[i]);
  return h;
}

static void check_form(const form *f, bool half, uint32_t isa, const char *level) {
  int64_t all = f->n * f->k, inner = f->trans ? f->k : f->n, outer = f->trans ? f->n : f->k;
  int64_t blocks = (all + f->block - 1) / f->block;
  uint8_t *b = calloc((size_t)all / 2 + 1, 1);
  float *x = calloc((size_t)(f->m * inner), 4), *scale = calloc((size_t)blocks, 4);
  uint32_t seed = 7;
#define DRAW ((seed = seed * 1664525u + 1013904223u) >> 10)
  for (int64_t i = 0; i < (all + 1) / 2; i++) b[i] = (uint8_t)DRAW;
  for (int64_t i = 0; i < f->m * inner; i++) x[i] = (float)(DRAW % 200) * 0.01f - 1;
  for (int64_t i = 0; i < blocks; i++) scale[i] = (float)(DRAW % 100 + 1) * 0.02f;
  void *half_x = half ? halves_of(x, f->m * inner) : NULL, *half_scale = half ? halves_of(scale, blocks) : NULL;
  uint32_t dtype = half ? OX_F16 : OX_F32;
  one_node o;
  one_node_init(&o, "com.microsoft", "MatMulBnb4", 1, 1);
  o.isa = isa, o.run_tiles = f->m % 2;
  one_node_int(&o, "K", f->k), one_node_int(&o, "N", f->n), one_node_int(&o, "block_size", f->block);
  one_node_int(&o, "quant_type", f->nf), one_node_int(&o, "transB", f->trans);
  one_node_input(&o, dtype, 2, (int64_t[]){f->m, inner}, half ? half_x : x);
  one_node_const(&o, OX_U8, 1, (int64_t[]){(all + 1) / 2}, b);
  one_node_const(&o, dtype, 1, &blocks, half ? half_scale : scale);
  CHECK_OK(one_node_run(&o));
  for (int64_t r = 0; r < f->m; r++)
    for (int64_t j = 0; j < outer; j++) {
      double want = 0, size = 0, got = ox_tensor_element(&o.out[0], r * outer + j);
      for (int64_t e = 0; e < inner; e++) {
        int64_t at = f->trans ? j * f->k + e : e * f->k + j;
        double w = code(f->nf, at % 2 ? b[at / 2] & 15 : b[at / 2] >> 4) * (double)scale[at / f->block];
        want += w * (double)x[r * inner + e], size += fabs(w);
      }
      if (!(fabs(got - want) <= 1e-6 * size + (half ? fabs(want) * 0x1p-11 : 0)))
        fail_msg("%s, %d x %d, block %d: (%d, %d) is %g, wanted %g", level, (int)f->n, (int)f->k, (int)f->block, (int)r,
                 (int)j, got, want);
    }
  one_node_deinit(&o);
  free(b), free(x), free(scale), free(half_x), free(half_scale);
}

static void test_products(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < 2 * OX_COUNT(forms); i++)
      check_form(&forms[i / 2], i % 2, test_levels[l].have, test_levels[l].name);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
