/* SPDX-License-Identifier: Apache-2.0
 * ops/gather_quantized_test.c - GatherBlockQuantized beside a plain loop; zero points that do not fit the scales. */
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { ROWS = 4, COLUMNS = 48, BLOCK = 16, BLOCKS = COLUMNS / BLOCK };

/* Four rows of 48 values in blocks of 16, so three scales a row; of them rows 3, 0, -1. */
typedef struct {
  const char *name;
  uint32_t dtype; /* of the data and the zero points */
  int64_t bits;
  int zero_rank;
  int64_t zero[3];
} row;

static const row good[] = {
    {"4 bits", OX_U4, 4, 2, {ROWS, BLOCKS}},
    {"4 bits in bytes: half of the last one is padding", OX_U8, 4, 2, {ROWS, (BLOCKS + 1) / 2}},
    {"8 bits", OX_U8, 8, 2, {ROWS, BLOCKS}},
    {"none", OX_U8, 8, -1, {0}},
    {"2 bits in bytes", OX_U8, 2, -1, {0}},
};
static const row bad[] = {
    {"a row of as many", OX_U4, 4, 2, {1, ROWS *BLOCKS}}, {"as many in another order", OX_U8, 8, 2, {BLOCKS, ROWS}},
    {"one axis", OX_U8, 8, 1, {ROWS * BLOCKS}},           {"one number", OX_U8, 8, 0, {0}},
    {"one more axis", OX_U8, 8, 3, {1, ROWS, BLOCKS}},    {"not packed", OX_U8, 4, 2, {ROWS, BLOCKS}},
    {"too few", OX_U8, 8, 2, {ROWS, BLOCKS - 1}},         {"too many", OX_U8, 8, 2, {ROWS, BLOCKS + 1}},
};

static unsigned value_at(const row *r, const uint8_t *data, int64_t at) {
  int64_t together = 8 / r->bits;
  return data[at / together] >> at % together * r->bits & ((1u << r->bits) - 1);
}

static ox_status *run(const row *r, one_node *n, const uint8_t *data, const uint8_t *zero, const float *scale) {
  static const int64_t index[] = {3, 0, -1};
  int64_t together = r->dtype == OX_U8 ? 8 / r->bits : 1;
  one_node_init(n, "com.microsoft", "GatherBlockQuantized", 1, 1);
  one_node_int(n, "bits", r->bits), one_node_int(n, "block_size", BLOCK);
  one_node_input(n, r->dtype, 2, (int64_t[]){ROWS, COLUMNS / together}, data);
  one_node_input(n, OX_I64, 1, (int64_t[]){OX_COUNT(index)}, index);
  one_node_input(n, OX_F32, 2, (int64_t[]){ROWS, BLOCKS}, scale);
  if (r->zero_rank >= 0) one_node_input(n, r->dtype, r->zero_rank, r->zero, zero);
  return one_node_run(n);
}

static void test_values(void **state) {
  (void)state;
  uint8_t data[ROWS * COLUMNS], zero[ROWS * COLUMNS];
  float scale[ROWS * BLOCKS];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 37), zero[i] = (uint8_t)(i * 91 + 5);
  for (size_t i = 0; i < OX_COUNT(scale); i++) scale[i] = 0.25f * (float)(i + 1);
  for (size_t k = 0; k < OX_COUNT(good); k++) {
    const row *r = &good[k];
    int64_t pad = r->dtype == OX_U8 && r->bits == 4 ? BLOCKS + 1 : BLOCKS; /* zero points of a row */
    one_node n;
    CHECK_OK(run(r, &n, data, zero, scale));
    for (int64_t i = 0; i < 3 * COLUMNS; i++) {
      static const int64_t from[] = {3, 0, 3};
      int64_t line = from[i / COLUMNS], column = i % COLUMNS, block = column / BLOCK;
      unsigned z = r->zero_rank < 0 ? 1u << (r->bits - 1) : value_at(r, zero, line * pad + block);
      float want = ((float)value_at(r, data, line * COLUMNS + column) - (float)z) * scale[line * BLOCKS + block];
      float got = ((const float *)n.out[0].data)[i];
      if (got != want) fail_msg("%s: [%d] is %g, wanted %g", r->name, (int)i, got, want);
    }
    one_node_deinit(&n);
  }
}

static void test_zero_points_that_do_not_fit(void **state) {
  (void)state;
  uint8_t data[ROWS * COLUMNS] = {0}, zero[ROWS * COLUMNS] = {0};
  float scale[ROWS * BLOCKS] = {0};
  for (size_t k = 0; k < OX_COUNT(bad); k++) {
    one_node n;
    ox_status *st = run(&bad[k], &n, data, zero, scale);
    if (!st || ox_status_code(st) != OX_SHAPE_MISMATCH) fail_msg("%s: %s", bad[k].name, ox_status_message(st));
    ox_status_free(st);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_zero_points_that_do_not_fit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
