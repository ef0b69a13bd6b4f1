/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_nbits_test.c - few-bit weights against weights dequantized by the definition: every width, every kind of
 * zero point, ragged sizes, floats and quantized rows, packed at load or not, on every instruction set. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "kern/nbits/nbits.h"
#include "ops/matmul/nbits_source.h"
#include "support/check.h"
#include "support/one_node.h"

static uint32_t seed = 9;
static uint32_t draw(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}
static void put_bits(uint8_t *p, size_t at, size_t n, uint32_t x) {
  for (size_t i = 0; i < n; i++)
    if (x >> i & 1) p[(at + i) / 8] |= (uint8_t)(1u << (at + i) % 8);
}

enum { NO_ZERO, PACKED_ZERO, FLOAT_ZERO };
typedef struct nbits_case {
  int64_t m, n, k, bits, block, level;
  int zero;
  bool bias, constant, group;
} nbits_case;

/* What rows become if the kernel makes bytes of them: by blocks, each with a scale of its own. */
static void round_to_bytes(double *x, size_t m, size_t k, size_t block) {
  for (size_t row = 0; row < m; row++)
    for (size_t first = 0; first < k; first += block) {
      double *from = x + row * k + first, top = 0;
      size_t n = OX_MIN(block, k - first);
      for (size_t i = 0; i < n; i++) top = fmax(top, fabs(from[i]));
      for (size_t i = 0; i < n; i++) from[i] = nearbyint(from[i] / top * 127) * top / 127;
    }
}

/* |got| is |x| times the transposed |w|, plus |bias| if the case has one. */
static void check_product(const nbits_case *t, const float *got, const double *x, const double *w, const float *bias) {
  size_t m = (size_t)t->m, n = (size_t)t->n, k = (size_t)t->k;
  for (size_t i = 0; i < m * n; i++) {
    double want = t->bias ? (double)bias[i % n] : 0, size = 1;
    for (size_t e = 0; e < k; e++) {
      want += x[i / n * k + e] * w[i % n * k + e];
      size += fabs(w[i % n * k + e]);
    }
    /* a float at the middle between two bytes may go either way; the result itself is rounded to a float */
    double off = fabs((double)got[i] - want);
    if (!(off <= (t->level == 4 ? 1e-3 : 1e-6) * size + fabs(want) * 0x1p-24))
      fail_msg("bits %d block %d k %d level %d zero %d: [%d] is %.9g, wanted %.9g", (int)t->bits, (int)t->block, (int)k,
               (int)t->level, t->zero, (int)i, (double)got[i], want);
  }
}

/* Whether rows become bytes. */
static bool quantizes(const nbits_case *t, const ox_nbits_variant *v) {
  const size_t packed = t->bits <= 2 ? 2 : t->bits <= 4 ? 4 : 8;
  return t->level == 4 && t->constant && !t->group && (packed <= v->byte_bits || (size_t)t->m < v->many);
}

static void check_case(const nbits_case *t, const ox_nbits_variant *v) {
  size_t m = (size_t)t->m, n = (size_t)t->n, k = (size_t)t->k, bits = (size_t)t->bits, block = (size_t)t->block;
  size_t blocks = (k + block - 1) / block, blob = block * bits / 8, zrow = (blocks * bits + 7) / 8;
  uint8_t *b = calloc(n * blocks, blob), *z = calloc(n, zrow + 1);
  float *a = calloc(m * k, 4), *s = calloc(n * blocks, 4), *zf = calloc(n * blocks, 4), *bias = calloc(n, 4);
  double *w = calloc(n * k, sizeof *w), *x = calloc(m * k, sizeof *x);
  int32_t *group = calloc(k, 4);
  for (size_t i = 0; i < n * blocks; i++) {
    uint32_t q = draw(1u << bits);
    s[i] = (float)(draw(100) + 1) * 1e-3f;
    zf[i] = t->zero == NO_ZERO ? (float)(1u << (bits - 1)) : t->zero == FLOAT_ZERO ? (float)q + 0.25f : (float)q;
    put_bits(z + i / blocks * zrow, i % blocks * bits, bits, q);
  }
  for (size_t i = 0; i < k; i++)
    group[i] = (int32_t)(t->group ? (k % block ? k - 1 - i : i * 5 % k) / block : i / block);
  for (size_t i = 0; i < n * k; i++) {
    uint32_t q = draw(1u << bits);
    size_t at = i / k * blocks + (size_t)group[i % k];
    put_bits(b + (i / k * blocks + i % k / block) * blob, i % k % block * bits, bits, q);
    w[i] = ((double)q - (double)zf[at]) * (double)s[at];
  }
  for (size_t i = 0; i < m * k; i++) a[i] = (float)draw(2001) * 1e-3f - 1.0f, x[i] = (double)a[i];
  if (quantizes(t, v)) round_to_bytes(x, m, k, block);
  for (size_t i = 0; i < n; i++) bias[i] = (float)draw(100);
  one_node o;
  one_node_init(&o, "com.microsoft", "MatMulNBits", 1, 1);
  o.isa = ox_isa_implied(v->needs), o.run_tiles = 1;
  one_node_int(&o, "K", t->k), one_node_int(&o, "N", t->n), one_node_int(&o, "bits", t->bits);
  one_node_int(&o, "block_size", t->block), one_node_int(&o, "accuracy_level", t->level);
  void (*add)(one_node *, uint32_t, int, const int64_t *, const void *) = t->constant ? one_node_const : one_node_input;
  one_node_input(&o, OX_F32, 3, (int64_t[]){1, t->m, t->k}, a);
  add(&o, OX_U8, 3, (int64_t[]){t->n, (int64_t)blocks, (int64_t)blob}, b);
  add(&o, OX_F32, 1, (int64_t[]){(int64_t)(n * blocks)}, s);
  if (t->zero == PACKED_ZERO)
    add(&o, OX_U8, 1, (int64_t[]){(int64_t)(n * zrow)}, z);
  else if (t->zero == FLOAT_ZERO)
    add(&o, OX_F32, 2, (int64_t[]){t->n, (int64_t)blocks}, zf);
  else
    one_node_input(&o, OX_UNDEFINED, -1, NULL, NULL);
  if (t->group)
    one_node_input(&o, OX_I32, 1, &t->k, group);
  else
    one_node_input(&o, OX_UNDEFINED, -1, NULL, NULL);
  if (t->bias) one_node_input(&o, OX_F32, 1, &t->n, bias);
  CHECK_OK(one_node_run(&o));
  check_product(t, o.out[0].data, x, w, bias);
  one_node_deinit(&o);
  void *all[] = {b, z, a, s, zf, bias, w, x, group};
  for (size_t i = 0; i < OX_COUNT(all); i++) free(all[i]);
}

/* Three blocks; the one in the middle has |odd| at |at|. No byte stands for that, so its scale does. */
static void check_not_finite(const ox_nbits_variant *v, float odd, size_t at) {
  enum { BLOCK = 32 };
  float a[3 * BLOCK], scale[3], sum[3];
  int8_t q[3 * BLOCK];
  for (size_t i = 0; i < OX_COUNT(a); i++) a[i] = (float)(i % BLOCK) * 4 + 3; /* up to 127 */
  a[BLOCK + at] = odd;
  v->quantize(a, BLOCK, 3, q, scale, sum);
  assert_true(isnan(scale[1]) && sum[1] == 0);
  for (size_t i = 0; i < OX_COUNT(a); i++) assert_int_equal(q[i], i / BLOCK == 1 ? 0 : i % BLOCK * 4 + 3);
  for (size_t b = 0; b < 3; b += 2) assert_true(scale[b] == 1 && sum[b] == BLOCK * 65);
}

/* Parts add up to the row, within a unit of each block's largest magnitude / (127 * 2^14). */
static void check_parts(const ox_nbits_variant *v) {
  enum { BLOCK = 32, BLOCKS = 4, N = BLOCK * BLOCKS };
  float a[N], scale[2 * BLOCKS], sum[2 * BLOCKS];
  int8_t q[OX_NBITS_PARTS * N];
  const ox_nbits_parts parts = {q, scale, sum, N};
  for (int i = 0; i < N; i++) a[i] = i / BLOCK == 2 ? 0 : ((float)draw(2001) - 1000) * (i / BLOCK ? 1e-20f : 3e35f);
  a[1] = -3e38f, a[2] = 3e38f; /* the ends of the first part */
  assert_true(v->split(a, BLOCK, BLOCKS, &parts));
  for (int b = 0; b < BLOCKS; b++) {
    double high = 0, low = 0;
    for (int i = b * BLOCK; i < (b + 1) * BLOCK; i++) {
      int rest = q[N + i] * 128 + q[2 * N + i];
      double x = (double)scale[2 * b] * q[i] + (double)scale[2 * b + 1] * rest, off = fabs(x - (double)a[i]);
      if (!(off <= (double)scale[2 * b + 1])) fail_msg("%s: [%d] is %g, wanted %g", v->name, i, x, (double)a[i]);
      high += q[i], low += rest;
    }
    assert_true((double)sum[2 * b] == high && (double)sum[2 * b + 1] == low);
  }
  static const float odd[] = {INFINITY, -INFINITY, NAN, 0x1p-100f, 1e-40f};
  for (size_t i = 0; i < OX_COUNT(odd) * BLOCK; i++) {
    for (int j = 0; j < BLOCK; j++) a[3 * BLOCK + j] = i / BLOCK < 3 ? 1 : 0;
    a[3 * BLOCK + i % BLOCK] = odd[i / BLOCK];
    assert_false(v->split(a, BLOCK, BLOCKS, &parts));
  }
}

/* |n| panels by a split row, against doubles. */
static void check_split_run(const ox_nbits_variant *v, uint32_t bits, ox_nbits_zero zero, size_t n) {
  enum { BLOCK = 64, BLOCKS = 3, K = BLOCK * BLOCKS, MOST = 16 * OX_NBITS_SPLIT_ABREAST };
  const ox_nbits_format f = {
      .bits = bits, .middle = (float)(1 << (bits - 1)), .block = BLOCK, .blocks = BLOCKS, .zero = zero};
  const size_t record = ox_nbits_record(&f, v->lanes), panel = record * BLOCKS;
  static uint8_t w[OX_NBITS_SPLIT_ABREAST * BLOCKS * 16 * (BLOCK + 8) + 64];
  float a[K], scale[2 * BLOCKS], sum[2 * BLOCKS], bias[16], got[OX_NBITS_SPLIT_ABREAST][16];
  double want[MOST], size[MOST];
  int8_t q[OX_NBITS_PARTS * K];
  const ox_nbits_parts parts = {q, scale, sum, K};
  ox_nbits_tile t[OX_NBITS_SPLIT_ABREAST];
  for (int i = 0; i < K; i++) a[i] = ((float)draw(2001) - 1000) * 1e-2f;
  for (size_t i = 0; i < 16; i++) bias[i] = (float)draw(9);
  for (size_t j = 0; j < n * v->lanes; j++) {
    want[j] = (double)bias[j % v->lanes], size[j] = 1;
    for (size_t b = 0; b < BLOCKS; b++) {
      uint8_t values[BLOCK];
      float s = (float)(draw(9) + 1) * 0.125f, z = (float)draw(1u << bits) + (zero == OX_NBITS_FLOATS ? 0.5f : 0);
      if (zero == OX_NBITS_MIDDLE) z = f.middle;
      for (size_t i = 0; i < BLOCK; i++) {
        values[i] = (uint8_t)draw(1u << bits);
        want[j] += (double)a[b * BLOCK + i] * (double)s * ((double)values[i] - (double)z);
        size[j] += 10 * (double)s * (double)(1 << bits);
      }
      ox_nbits_pack(&f, v->lanes, j % v->lanes, values, s, z, w + j / v->lanes * panel + b * record);
    }
  }
  assert_true(v->split(a, BLOCK, BLOCKS, &parts));
  for (size_t i = 0; i < n; i++)
    t[i] = (ox_nbits_tile){.f = f, .w = w + i * panel, .n = v->lanes, .bias = bias, .c = got[i]};
  v->run_split(t, n, &parts);
  for (size_t j = 0; j < n * v->lanes; j++) {
    double off = fabs((double)got[j / v->lanes][j % v->lanes] - want[j]);
    if (!(off <= 2e-7 * size[j]))
      fail_msg("%s, %u bits: column %d of %d is off by %g of %g", v->name, bits, (int)j, (int)n, off, size[j]);
  }
}

/* A row of floats with |odd| among them: what a sum of floats makes of it. */
static void check_odd_row(uint32_t isa, float odd) {
  enum { K = 64, N = 33, BLOCK = 32 };
  float a[K], s[N * K / BLOCK];
  uint8_t b[N * K / 2];
  for (int i = 0; i < K; i++) a[i] = i == 40 ? odd : fabsf(odd) < 1 ? 0 : (float)(i % 7);
  for (size_t i = 0; i < OX_COUNT(s); i++) s[i] = 0.5f;
  for (size_t i = 0; i < sizeof b; i++) b[i] = (uint8_t)draw(256);
  one_node o;
  one_node_init(&o, "com.microsoft", "MatMulNBits", 1, 1);
  o.isa = ox_isa_implied(isa), o.run_tiles = 1;
  one_node_int(&o, "K", K), one_node_int(&o, "N", N), one_node_int(&o, "bits", 4),
      one_node_int(&o, "block_size", BLOCK);
  one_node_input(&o, OX_F32, 2, (int64_t[]){1, K}, a);
  one_node_const(&o, OX_U8, 3, (int64_t[]){N, K / BLOCK, BLOCK / 2}, b);
  one_node_const(&o, OX_F32, 1, (int64_t[]){N * K / BLOCK}, s);
  CHECK_OK(one_node_run(&o));
  for (int j = 0; j < N; j++) {
    float want = 0, got = ((const float *)o.out[0].data)[j];
    for (int i = 0; i < K; i++) want += a[i] * (0.5f * (float)((b[j * K / 2 + i / 2] >> i % 2 * 4 & 15) - 8));
    if (isnan(want) ? !isnan(got) : got != want)
      fail_msg("%g: [%d] is %g, wanted %g", (double)odd, j, (double)got, (double)want);
  }
  one_node_deinit(&o);
}

static void check_isa(void **state) {
  const ox_nbits_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  static const float odd[] = {INFINITY, -INFINITY, NAN};
  for (size_t i = 0; i < OX_COUNT(odd); i++)
    for (size_t at = 0; at < 32; at++) check_not_finite(v, odd[i], at);
  check_parts(v);
  for (int zero = OX_NBITS_MIDDLE; zero <= OX_NBITS_FLOATS; zero++)
    for (uint32_t packed = 2; packed <= 8; packed *= 2)
      for (size_t n = 1; n <= OX_NBITS_SPLIT_ABREAST && (packed <= 4 || v->byte_bits != 4);
           n += OX_NBITS_SPLIT_ABREAST - 1)
        check_split_run(v, packed, (ox_nbits_zero)zero, n);
  for (size_t i = 0; i < OX_COUNT(odd); i++) check_odd_row(v->needs, odd[i]);
  check_odd_row(v->needs, 0x1p-130f);
  static const int64_t bits[] = {2, 3, 4, 5, 8}, blocks[] = {16, 32, 128}, ks[] = {16, 64, 100, 260},
                       ms[] = {1, 2, 3, 4, 9, 12, 5, 20, 31, 7};
  for (uint32_t i = 0; i < 150; i++) {
    nbits_case t = {ms[i % 10],    1 + draw(40), ks[draw(4)], bits[i / 5 % 5], blocks[draw(3)],
                    i % 2 ? 4 : 0, (int)draw(3), i & 1,       i % 8 != 7,      i % 16 == 15};
    check_case(&t, v);
  }
  /* one row, by several panels at a time, some left over, and the last of them narrow */
  for (uint32_t i = 0; i < 120; i++) {
    nbits_case t = {1,
                    20 + draw(150),
                    ks[draw(4)],
                    i % 3 ? 4 : bits[i / 3 % 5],
                    blocks[i % 4 % 3],
                    i % 8 < 4 ? 4 : 0,
                    (int)draw(3),
                    i & 1,
                    true,
                    false};
    check_case(&t, v);
  }
  /* groups of columns from all over, as many as a block has; for many rows, too */
  for (uint32_t i = 0; i < 20; i++) {
    nbits_case t = {i % 4 == 3 ? 33 : 1 + draw(14),
                    1 + draw(40),
                    128 << draw(2),
                    bits[i % 5],
                    blocks[draw(3)],
                    i % 5 == 4 ? 4 : 0,
                    i % 3,
                    i & 1,
                    true,
                    true};
    check_case(&t, v);
  }
  /* many rows, and k in several blocks of the product of floats */
  static const int64_t tall_ks[] = {16, 100, 700, 1300};
  for (uint32_t i = 0; i < 30; i++) {
    nbits_case t = {31 + draw(40), 1 + draw(70), tall_ks[draw(4)], bits[i % 5], blocks[draw(3)], 0, i % 3, i & 1,
                    true,          false};
    check_case(&t, v);
  }
  /* enough of everything for Strassen's algorithm, and a few rows or columns beyond its tiles */
  static const int64_t seven[][3] = {{100, 768, 768}, {131, 650, 1000}, {300, 900, 602}};
  for (uint32_t i = 0; i < OX_COUNT(seven); i++) {
    nbits_case t = {seven[i][0], seven[i][1], seven[i][2], bits[2 + i], blocks[i], 0, (int)i % 3, i & 1, true, false};
    check_case(&t, v);
  }
}

/* Blocks of an even and of an odd number of words, with nothing behind the last one. */
static void test_packing_reads_no_more_than_the_weights(void **state) {
  enum { LANES = 8, BLOCKS = 3, MOST = 40 };
  (void)state;
  for (size_t block = 8; block <= MOST; block += 8) {
    const size_t blob = block / 2, n = LANES * BLOCKS;
    float s[LANES * BLOCKS];
    uint8_t *b = malloc(n * blob), values[MOST];
    assert_non_null(b);
    for (size_t i = 0; i < n * blob; i++) b[i] = (uint8_t)draw(256);
    for (size_t i = 0; i < n; i++) s[i] = (float)(i + 1);
    const ox_tensor scales = {.dtype = OX_F32, .data = s};
    const ox_nbits_source w = {
        .b = b, .scales = &scales, .n = LANES, .block = block, .blocks = BLOCKS, .bits = 4, .blob = blob, .share = 1};
    const ox_nbits_format f = ox_nbits_format_of(4, block, BLOCKS, NULL);
    const size_t record = ox_nbits_record(&f, LANES);
    uint8_t *got = calloc(BLOCKS, record), *want = calloc(BLOCKS, record);
    assert_true(got && want);
    ox_nbits_pack_panel(&w, &f, NULL, LANES, 0, got);
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < block; j++) values[j] = (uint8_t)ox_nbits_bits(b + i * blob, 4 * j, 4);
      ox_nbits_pack(&f, LANES, i / BLOCKS, values, s[i], 8, want + i % BLOCKS * record);
    }
    assert_memory_equal(got, want, BLOCKS * record);
    free(b), free(got), free(want);
  }
}

static void test_bad_sizes_are_refused(void **state) {
  (void)state;
  float a[32] = {0};
  one_node n;
  one_node_init(&n, "com.microsoft", "MatMulNBits", 1, 1);
  one_node_int(&n, "K", 32), one_node_int(&n, "N", 2), one_node_int(&n, "block_size", 32);
  one_node_input(&n, OX_F32, 2, (int64_t[]){1, 32}, a), one_node_input(&n, OX_U8, 1, (int64_t[]){31}, a);
  one_node_input(&n, OX_F32, 1, (int64_t[]){2}, a);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "input 1 has 31 elements, wanted 32");
  one_node_deinit(&n);
}

int main(void) {
  static ox_nbits_variant variants[] = {
#define OX_NBITS(...) OX_NBITS_ROW(__VA_ARGS__),
#include "kern/nbits/nbits_variants.inc"
#undef OX_NBITS
  };
  struct CMUnitTest tests[OX_COUNT(variants) + 2];
  for (size_t i = 0; i < OX_COUNT(variants); i++)
    tests[i] = (struct CMUnitTest){variants[i].name, check_isa, NULL, NULL, &variants[i]};
  tests[OX_COUNT(variants)] = (struct CMUnitTest)cmocka_unit_test(test_bad_sizes_are_refused);
  tests[OX_COUNT(variants) + 1] = (struct CMUnitTest)cmocka_unit_test(test_packing_reads_no_more_than_the_weights);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
