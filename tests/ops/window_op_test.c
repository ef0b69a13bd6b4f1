/* SPDX-License-Identifier: Apache-2.0
 * ops/window_op_test.c - windows of every type: integers are the real values cut off, so only what is a whole one is 1.
 */
#include <math.h>

#include "onyx/onyx.h"
#include "support/check.h"
#include "support/one_node.h"

static const struct {
  const char *op;
  double a[3];
} windows[] = {
    {"HannWindow", {0.5, 0.5, 0}},
    {"HammingWindow", {25.0 / 46, 21.0 / 46, 0}},
    {"BlackmanWindow", {0.42, 0.5, 0.08}},
};

static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_I8,  OX_U8,
                                 OX_I16, OX_U16, OX_I32, OX_U32,  OX_I64, OX_U64};

static void run(one_node *n, const char *op, int64_t size, int periodic, uint32_t dtype) {
  one_node_init(n, NULL, op, 17, 1);
  one_node_int(n, "periodic", periodic);
  one_node_int(n, "output_datatype", dtype);
  one_node_input(n, OX_I64, 0, NULL, &size);
  CHECK_OK(one_node_run(n));
}

static void test_every_type(void **state) {
  static const int64_t sizes[] = {0, 1, 2, 3, 8, 9, 32, 33, 1000, 1001};
  (void)state;
  for (size_t w = 0; w < OX_COUNT(windows); w++)
    for (size_t s = 0; s < OX_COUNT(sizes); s++)
      for (int bits = 0; bits < 2 * (int)OX_COUNT(types); bits++) {
        uint32_t dtype = types[bits / 2];
        int64_t size = sizes[s], turn = bits % 2 ? size : size - 1;
        double tolerance = dtype == OX_F64 ? 1e-15 : dtype == OX_F32 ? 1e-7 : dtype == OX_F16 ? 5e-4 : 4e-3;
        one_node n;
        if (!turn) continue;
        run(&n, windows[w].op, size, bits % 2, dtype);
        assert_int_equal(ox_tensor_count(&n.out[0]), size);
        for (int64_t i = 0; i < size; i++) {
          const double *a = windows[w].a;
          double x = 2 * acos(-1) * (double)i / (double)turn, got = ox_tensor_element(&n.out[0], i);
          bool is_real = OX_BIT(dtype) & OX_T_FLOAT;
          double want = is_real ? a[0] - a[1] * cos(x) + a[2] * cos(2 * x) : 2 * i == turn; /* the middle */
          if (!(fabs(got - want) <= (is_real ? tolerance : 0)))
            fail_msg("%s of %d, periodic %d, %s: [%d] is %g, wanted %g", windows[w].op, (int)size, bits % 2,
                     ox_dtype_name(dtype), (int)i, got, want);
        }
        one_node_deinit(&n);
      }
}

static void test_a_symmetric_window_of_one_has_no_turn(void **state) {
  (void)state;
  for (size_t w = 0; w < OX_COUNT(windows); w++) {
    one_node n;
    run(&n, windows[w].op, 1, 0, OX_F32);
    assert_true(isnan(ox_tensor_element(&n.out[0], 0)));
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_type),
      cmocka_unit_test(test_a_symmetric_window_of_one_has_no_turn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
