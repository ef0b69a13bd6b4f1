/* SPDX-License-Identifier: Apache-2.0
 * ops/qlinear_test.c - QLinearAdd and QLinearMul give the bytes of their formulas however operands broadcast: rows of
 * both, one byte for a short or a long run, blocks that are gathered, on every instruction set. */
#include <math.h>

#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

typedef struct row {
  const char *name;
  int rank_a, rank_b;
  int64_t a[3], b[3], out[3];
} row;

static const row rows[] = {
    {"one byte", 1, 1, {1}, {1}, {1, 1, 1}},
    {"scalars", 0, 0, {0}, {0}, {1, 1, 1}},
    {"none", 2, 1, {0, 5}, {1}, {1, 0, 5}},
    {"the same shape", 3, 3, {2, 3, 700}, {2, 3, 700}, {2, 3, 700}},
    {"a scalar behind", 3, 0, {2, 3, 700}, {0}, {2, 3, 700}},
    {"a scalar in front", 0, 3, {0}, {2, 3, 700}, {2, 3, 700}},
    {"a scalar, more than a tile", 2, 1, {2, 33000}, {1}, {1, 2, 33000}},
    {"channels", 3, 3, {1, 5, 513}, {1, 5, 1}, {1, 5, 513}},
    {"channels of a block", 3, 3, {1, 5, 512}, {1, 5, 1}, {1, 5, 512}},
    {"short channels", 3, 3, {1, 5, 1}, {1, 5, 300}, {1, 5, 300}},
    {"shorter channels", 3, 3, {2, 9, 255}, {1, 9, 1}, {2, 9, 255}},
    {"rows", 2, 1, {70, 64}, {64}, {1, 70, 64}},
    {"short rows", 2, 1, {70, 63}, {63}, {1, 70, 63}},
    {"both ways", 3, 3, {1, 4, 600}, {3, 1, 600}, {3, 4, 600}},
    {"outer product", 3, 3, {2, 3, 1}, {1, 1, 601}, {2, 3, 601}},
};

/* The flat index of the operand's element for output (i, j, k). */
static int64_t at(int rank, const int64_t *dim, int64_t i, int64_t j, int64_t k) {
  const int64_t index[3] = {i, j, k};
  int64_t flat = 0;
  for (int d = 0; d < rank; d++) flat = flat * dim[d] + (dim[d] == 1 ? 0 : index[3 - rank + d]);
  return flat;
}

static const float a_scale = 0.0231f, b_scale = 0.0317f, y_scale = 0.0493f;
enum { A_ZERO = 121, B_ZERO = 7, Y_ZERO = 130 };

/* Of bytes as they are without a sign. */
static int wanted(bool is_product, int u, int v, int low) {
  int az = A_ZERO + low, bz = B_ZERO + low, yz = Y_ZERO + low;
  volatile float fa = a_scale / y_scale, fb = b_scale / y_scale, less = fb * (float)bz;
  volatile float rest = (float)yz - fmaf(fa, (float)az, less), r = fmaf((float)u, fa, fmaf((float)v, fb, rest));
  if (is_product) {
    volatile float ratio = a_scale * b_scale, p;
    ratio = ratio / y_scale, p = (float)((u - az) * (v - bz)) * ratio, r = p + (float)yz;
  }
  return (int)fminf(fmaxf(rintf(r), (float)low), (float)(low + 255));
}

static void check_row(const row *r, bool is_product, uint32_t type, size_t level) {
  static uint8_t a[70000], b[5000];
  int low = type == OX_I8 ? -128 : 0;
  uint8_t az = (uint8_t)(A_ZERO + low), bz = (uint8_t)(B_ZERO + low), yz = (uint8_t)(Y_ZERO + low);
  uint32_t seed = 5;
  for (size_t i = 0; i < sizeof a; i++) a[i] = (uint8_t)(test_random(&seed) >> 8);
  for (size_t i = 0; i < sizeof b; i++) b[i] = (uint8_t)(test_random(&seed) >> 8);
  one_node o;
  one_node_init(&o, "com.microsoft", is_product ? "QLinearMul" : "QLinearAdd", 1, 1);
  o.isa = test_levels[level].have;
  one_node_input(&o, type, r->rank_a, r->a, a);
  one_node_const(&o, OX_F32, 0, NULL, &a_scale), one_node_const(&o, type, 0, NULL, &az);
  one_node_input(&o, type, r->rank_b, r->b, b);
  one_node_const(&o, OX_F32, 0, NULL, &b_scale), one_node_const(&o, type, 0, NULL, &bz);
  one_node_const(&o, OX_F32, 0, NULL, &y_scale), one_node_const(&o, type, 0, NULL, &yz);
  CHECK_OK(one_node_run(&o));
  const uint8_t *y = o.out[0].data;
#define VALUE(byte) (low ? (int)(int8_t)(byte) : (int)(byte))
  for (int64_t i = 0; i < r->out[0]; i++)
    for (int64_t j = 0; j < r->out[1]; j++)
      for (int64_t k = 0; k < r->out[2]; k++, y++) {
        uint8_t u = a[at(r->rank_a, r->a, i, j, k)], v = b[at(r->rank_b, r->b, i, j, k)];
        int want = wanted(is_product, VALUE(u), VALUE(v), low);
        if (VALUE(*y) != want)
          fail_msg("%s, %s of %s, %s: [%d,%d,%d], %d and %d, is %d, wanted %d", test_levels[level].name,
                   is_product ? "product" : "sum", low ? "int8" : "uint8", r->name, (int)i, (int)j, (int)k, VALUE(u),
                   VALUE(v), VALUE(*y), want);
      }
  one_node_deinit(&o);
}

static void test_pairs_of_bytes(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(rows); i++)
      for (int how = 0; how < 4; how++) check_row(&rows[i], how & 1, how & 2 ? OX_I8 : OX_U8, l);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs_of_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
