/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_block_float_test.c - products with weights in small floats against doubles; their values are listed. */
#include "support/typed.h"

static const double e2m1[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

/* The value of an e4m3fn byte. */
static double e4m3(uint8_t b) {
  int exponent = b >> 3 & 15, mantissa = b & 7;
  double v = exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
  return b & 128 ? -v : v;
}

/* The nearest e4m3fn value, ties to an even mantissa. */
static double rounded(double x) {
  int best = 0;
  for (int b = 0; b < 256; b++) {
    if ((b & 127) == 127) continue; /* NaN */
    double off = fabs(e4m3((uint8_t)b) - x), least = fabs(e4m3((uint8_t)best) - x);
    if (off < least || (off == least && !(b & 1))) best = b;
  }
  return e4m3((uint8_t)best);
}

enum { ROWS = 6, MOST_N = 20, MOST_K = 64 };
typedef struct form {
  bool four, scale_a, bias;
  int64_t n, k, block;
} form;

static void check(const form *f, uint32_t dtype) {
  static uint8_t b[MOST_N * MOST_K], s[MOST_N * MOST_K];
  static float scales[MOST_N * MOST_K];
  const float global = 0.37f, a_scale = 0.013f;
  int64_t blocks = OX_CEIL_DIV(f->k, f->block);
  for (int64_t i = 0; i < MOST_N * MOST_K; i++) {
    b[i] = (uint8_t)(i * 37 + i / 256), s[i] = (uint8_t)(40 + i * 7 % 30), scales[i] = (float)(i * 7 % 30 + 1) / 200;
    if (!f->four && (b[i] & 127) >= 0x70) b[i] &= 0x8f; /* neither NaN nor so large that halves overflow */
  }
  one_node n;
  one_node_init(&n, "com.microsoft", f->four ? "MatMulBlockQuantizedFp4Weight" : "MatMulBlockQuantizedFp8Weight", 1, 1);
  one_node_int(&n, "block_size", f->block);
  const ox_tensor *x = typed_input(&n, dtype, 3, (int64_t[]){2, ROWS / 2, f->k}, 1), *bias = NULL;
  one_node_input(&n, f->four ? OX_U8 : OX_F8E4M3FN, 2, (int64_t[]){f->n, f->four ? f->k / 2 : f->k}, b);
  one_node_input(&n, f->four ? OX_U8 : OX_F32, 2, (int64_t[]){f->n, blocks}, f->four ? (const void *)s : scales);
  if (f->four) one_node_input(&n, OX_F32, 0, NULL, &global);
  one_node_input(&n, OX_F32, f->scale_a ? 0 : -1, NULL, f->scale_a ? &a_scale : NULL);
  if (f->bias) bias = typed_input(&n, dtype, 1, &f->n, 1);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < ROWS * f->n; i++) {
    int64_t r = i / f->n, j = i % f->n;
    double sum = bias ? typed_at(bias, j) : 0, size = 1;
    for (int64_t k = 0; k < f->k; k++) {
      double v = typed_at(x, r * f->k + k), w;
      if (f->four) {
        w = e2m1[b[(j * f->k + k) / 2] >> 4 * (k % 2) & 15] * e4m3(s[j * blocks + k / f->block]) * (double)global;
      } else {
        w = e4m3(b[j * f->k + k]) * (double)scales[j * blocks + k / f->block];
        if (f->scale_a) v = rounded(v / (double)a_scale) * (double)a_scale;
      }
      sum += v * w, size += fabs(v * w);
    }
    double got = typed_at(&n.out[0], i); /* weights of four bits are rounded to the type, too */
    if (!(fabs(got - sum) <= 2 * typed_step(dtype) * size)) fail_msg("[%d] is %g, wanted %g", (int)i, got, sum);
  }
  one_node_deinit(&n);
}

static void test_products(void **state) {
  (void)state;
  static const form forms[] = {{false, false, false, 1, 1, 128}, {false, false, true, 20, 50, 16},
                               {false, true, true, 17, 64, 32},  {true, false, true, 20, 50, 16},
                               {true, true, false, 16, 64, 32},  {true, false, false, 3, 2, 16}};
  for (size_t i = 0; i < OX_COUNT(forms); i++) check(&forms[i], OX_F16), check(&forms[i], OX_BF16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
