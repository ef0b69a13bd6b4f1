/* SPDX-License-Identifier: Apache-2.0
 * ops/scatter_test.c - updates that meet, reductions, errors; the same result whatever the tiles. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

static void run_elements(const char *reduction, int64_t tiles, const int32_t *want) {
  one_node n;
  one_node_init(&n, "", "ScatterElements", 18, 1);
  n.run_tiles = tiles;
  one_node_str(&n, "reduction", reduction);
  one_node_input(&n, OX_I32, 2, (int64_t[]){3, 2}, (int32_t[]){1, 2, 3, 4, 5, 6});
  one_node_input(&n, OX_I32, 2, (int64_t[]){3, 2}, (int32_t[]){0, -1, 0, 2, 1, 2});
  one_node_input(&n, OX_I32, 2, (int64_t[]){3, 2}, (int32_t[]){7, 8, 9, -3, INT32_MAX, 2});
  CHECK_OK(one_node_run(&n));
  if (memcmp(n.out[0].data, want, 6 * sizeof *want) != 0) fail_msg("reduction %s differs", reduction);
  one_node_deinit(&n);
}

static void test_reductions_in_order_of_the_indices(void **state) {
  (void)state;
  for (int64_t tiles = 0; tiles < 2; tiles++) {
    run_elements("none", tiles, (int32_t[]){9, 2, INT32_MAX, 4, 5, 2});
    run_elements("add", tiles, (int32_t[]){17, 2, INT32_MIN + 2, 4, 5, 13});
    run_elements("mul", tiles, (int32_t[]){63, 2, INT32_MAX - 2, 4, 5, -288});
    run_elements("min", tiles, (int32_t[]){1, 2, 3, 4, 5, -3});
    run_elements("max", tiles, (int32_t[]){9, 2, INT32_MAX, 4, 5, 8});
  }
}

static void test_slices_scattered_by_tuples(void **state) {
  (void)state;
  enum { ROW = 5000 };
  static float data[3 * ROW], updates[2 * ROW], want[3 * ROW];
  for (int i = 0; i < 3 * ROW; i++) want[i] = data[i] = (float)i;
  for (int i = 0; i < 2 * ROW; i++) updates[i] = (float)(i % 17), want[(i < ROW ? 2 * ROW : -ROW) + i] += updates[i];
  one_node n;
  one_node_init(&n, "", "ScatterND", 18, 1);
  n.run_tiles = 1;
  one_node_str(&n, "reduction", "add");
  one_node_input(&n, OX_F32, 2, (int64_t[]){3, ROW}, data);
  one_node_input(&n, OX_I64, 2, (int64_t[]){2, 1}, (int64_t[]){-1, 0});
  one_node_input(&n, OX_F32, 2, (int64_t[]){2, ROW}, updates);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, want, sizeof want);
  one_node_deinit(&n);
}

static void fails(const char *reduction, int64_t index, int64_t columns, ox_code code, const char *part) {
  one_node n;
  one_node_init(&n, "", "ScatterND", 18, 1);
  one_node_str(&n, "reduction", reduction);
  one_node_input(&n, OX_F32, 2, (int64_t[]){2, 3}, (float[6]){0});
  one_node_input(&n, OX_I64, 2, (int64_t[]){1, 1}, &index);
  one_node_input(&n, OX_F32, 2, (int64_t[]){1, columns}, (float[8]){0});
  CHECK_FAILS(one_node_run(&n), code, part);
  one_node_deinit(&n);
}

static void test_errors_say_what_is_wrong(void **state) {
  (void)state;
  fails("none", 2, 3, OX_INVALID_ARGUMENT, "index 2 at position 0 is outside [-2, 2)");
  fails("none", 0, 4, OX_SHAPE_MISMATCH, "updates have shape [1,4], wanted [1,3]");
  fails("xor", 0, 3, OX_INVALID_MODEL, "unknown reduction 'xor'");
}

/* Two updates meet at 0. */
static void run_both(const char *reduction, uint32_t dtype, const void *data, const void *updates, const void *want) {
  for (int nd = 0; nd < 2; nd++) {
    one_node n;
    one_node_init(&n, "", nd ? "ScatterND" : "ScatterElements", 18, 1);
    n.run_tiles = 1;
    one_node_str(&n, "reduction", reduction);
    one_node_input(&n, dtype, 1, (int64_t[]){3}, data);
    one_node_input(&n, OX_I64, nd ? 2 : 1, (int64_t[]){2, 1}, (int64_t[]){0, -3});
    one_node_input(&n, dtype, 1, (int64_t[]){2}, updates);
    CHECK_OK(one_node_run(&n));
    const ox_str *got = n.out[0].data, *strings = want;
    for (int i = 0; dtype == OX_STRING && i < 3; i++)
      if (got[i].n != strings[i].n || memcmp(got[i].p, strings[i].p, got[i].n) != 0) fail_msg("string %d", i);
    if (dtype != OX_STRING) assert_memory_equal(got, want, n.out[0].bytes);
    one_node_deinit(&n);
  }
}

static void no_reduction(const char *reduction, uint32_t dtype, const char *text) {
  double room[6] = {0};
  one_node n;
  one_node_init(&n, "", "ScatterElements", 18, 1);
  one_node_str(&n, "reduction", reduction);
  one_node_input(&n, dtype, 1, (int64_t[]){3}, room);
  one_node_input(&n, OX_I64, 1, (int64_t[]){1}, (int64_t[]){0});
  one_node_input(&n, dtype, 1, (int64_t[]){1}, room);
  CHECK_FAILS(one_node_run(&n), OX_NOT_IMPLEMENTED, text);
  one_node_deinit(&n);
}

static void test_reductions_of_what_are_no_real_numbers(void **state) {
  (void)state;
  const bool bits[3] = {0, 1, 0}, none[2] = {0, 0}, some[2] = {1, 0}, all[2] = {1, 1};
  run_both("add", OX_BOOL, bits, some, (bool[]){1, 1, 0});
  run_both("add", OX_BOOL, bits, none, bits);
  run_both("max", OX_BOOL, bits, all, (bool[]){1, 1, 0});
  run_both("mul", OX_BOOL, (bool[]){1, 1, 0}, some, bits);
  run_both("min", OX_BOOL, (bool[]){1, 1, 0}, all, (bool[]){1, 1, 0});
  const float c[6] = {1, 2, 3, 4, 5, 6}, u[4] = {0, 2, -1, 1};
  run_both("add", OX_C64, c, u, (float[]){0, 5, 3, 4, 5, 6});
  run_both("mul", OX_C64, c, u, (float[]){2, -6, 3, 4, 5, 6}); /* (1 + 2i) 2i = -4 + 2i; times -1 + i */
  run_both("none", OX_C64, c, u, (float[]){-1, 1, 3, 4, 5, 6});
  const double wide[6] = {1, 2, 3, 4, 5, 6}, wide_u[4] = {0, 2, -1, 1};
  run_both("add", OX_C128, wide, wide_u, (double[]){0, 5, 3, 4, 5, 6});
  run_both("mul", OX_C128, wide, wide_u, (double[]){2, -6, 3, 4, 5, 6});
  const ox_str words[3] = {{"a", 1}, {"", 0}, {"xyz", 3}}, more[2] = {{"", 0}, {"bc", 2}};
  run_both("add", OX_STRING, words, more, (ox_str[]){{"abc", 3}, {"", 0}, {"xyz", 3}});
  run_both("none", OX_STRING, words, more, (ox_str[]){{"bc", 2}, {"", 0}, {"xyz", 3}});
  run_both("max", OX_STRING, words, more, (ox_str[]){{"bc", 2}, {"", 0}, {"xyz", 3}});
  run_both("min", OX_STRING, words, more, (ox_str[]){{"", 0}, {"", 0}, {"xyz", 3}});
  no_reduction("min", OX_C64, "reduction 'min' of complex64");
  no_reduction("mul", OX_STRING, "reduction 'mul' of string");
}

static double reduced(const char *reduction, double a, double b) {
  if (strcmp(reduction, "add") == 0) return a + b;
  if (strcmp(reduction, "mul") == 0) return a * b;
  if (a != a || b != b) return NAN;
  return strcmp(reduction, "min") == 0 ? fmin(a, b) : fmax(a, b);
}

enum { ROWS = 3, UPDATES = 5, LONGEST = 67 };
typedef struct {
  double data[ROWS * LONGEST], updates[UPDATES * LONGEST], want[ROWS * LONGEST];
} slices;

static double small_number(uint32_t *seed, uint32_t dtype) {
  bool is_signed = ox_dtype_is_float(dtype) || dtype == OX_I8 || dtype == OX_I64;
  return dtype == OX_BOOL ? test_random(seed) >> 16 & 1 : (double)((test_random(seed) >> 16) % 3) - is_signed;
}

/* Small whole numbers, which all types hold and whose order of reduction does not matter, and NaN where there is one.
 */
static void fill_slices(slices *s, const char *reduction, uint32_t dtype, int64_t inner, const int64_t *index) {
  bool has_nan = ox_dtype_is_float(dtype);
  uint32_t seed = 5;
  for (int64_t i = 0; i < ROWS * inner; i++) s->want[i] = s->data[i] = small_number(&seed, dtype);
  for (int64_t i = 0; i < UPDATES * inner; i++) {
    double *to = &s->want[(index[i / inner] + ROWS) % ROWS * inner + i % inner], u = small_number(&seed, dtype);
    if (has_nan && i % 11 == 7) u = NAN;
    s->updates[i] = u, *to = reduced(reduction, *to, u);
    if (dtype == OX_BOOL) *to = *to != 0;
  }
}

static void run_slices(const char *op, const char *reduction, uint32_t dtype, int64_t inner) {
  static const int64_t index[UPDATES] = {1, -2, 1, 0, -2};
  static slices s;
  static int64_t spread[UPDATES * LONGEST];
  static double data[ROWS * LONGEST], updates[UPDATES * LONGEST], got[ROWS * LONGEST]; /* of any type, and as doubles */
  const ox_convert *cv = ox_convert_select(0);
  bool nd = strcmp(op, "ScatterND") == 0;
  one_node n;
  fill_slices(&s, reduction, dtype, inner, index);
  for (int64_t i = 0; i < UPDATES * inner; i++) spread[i] = index[i / inner];
  cv->store_f64[dtype](s.data, data, 0, (size_t)(ROWS * inner), NULL);
  cv->store_f64[dtype](s.updates, updates, 0, (size_t)(UPDATES * inner), NULL);
  one_node_init(&n, "", op, 18, 1);
  one_node_str(&n, "reduction", reduction);
  one_node_input(&n, dtype, 2, (int64_t[]){ROWS, inner}, data);
  one_node_input(&n, OX_I64, 2, (int64_t[]){UPDATES, nd ? 1 : inner}, nd ? index : spread);
  one_node_input(&n, dtype, 2, (int64_t[]){UPDATES, inner}, updates);
  CHECK_OK(one_node_run(&n));
  cv->load_f64[dtype](n.out[0].data, 0, (size_t)(ROWS * inner), got);
  for (int64_t i = 0; i < ROWS * inner; i++)
    if (got[i] != s.want[i] && !(got[i] != got[i] && s.want[i] != s.want[i]))
      fail_msg("%s, %s of %s, %d wide, element %d: %g, wanted %g", op, reduction, ox_dtype_name(dtype), (int)inner,
               (int)i, got[i], s.want[i]);
  one_node_deinit(&n);
}

static void test_slices_of_every_length_and_type(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_I8,  OX_I16, OX_I32,
                                   OX_I64, OX_U8,  OX_U16, OX_U32,  OX_U64, OX_BOOL};
  static const char *const reductions[] = {"add", "mul", "min", "max"};
  static const int64_t lengths[] = {1, 15, 16, 17, LONGEST};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (size_t r = 0; r < OX_COUNT(reductions); r++)
      for (size_t l = 0; l < OX_COUNT(lengths); l++) {
        run_slices("ScatterND", reductions[r], types[t], lengths[l]);
        run_slices("ScatterElements", reductions[r], types[t], lengths[l]);
      }
}

static void test_cache_wraps_around(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "", "TensorScatter", 24, 1);
  one_node_str(&n, "mode", "circular");
  one_node_input(&n, OX_I32, 3, (int64_t[]){2, 3, 1}, (int32_t[]){1, 2, 3, 4, 5, 6});
  one_node_input(&n, OX_I32, 3, (int64_t[]){2, 2, 1}, (int32_t[]){-1, -2, -3, -4});
  one_node_input(&n, OX_I64, 1, (int64_t[]){2}, (int64_t[]){2, 7});
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, ((int32_t[]){-2, 2, -1, 4, -3, -4}), 24);
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reductions_in_order_of_the_indices),
      cmocka_unit_test(test_slices_scattered_by_tuples),
      cmocka_unit_test(test_slices_of_every_length_and_type),
      cmocka_unit_test(test_reductions_of_what_are_no_real_numbers),
      cmocka_unit_test(test_errors_say_what_is_wrong),
      cmocka_unit_test(test_cache_wraps_around),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
