/* SPDX-License-Identifier: Apache-2.0
 * ops/reshape_test.c - shape inference of the views, with symbols and without. */
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

enum { A = -2, B = -3, NO = -1 }; /* two symbols, and a dimension of which nothing is known */

typedef struct list {
  int n;
  int64_t v[6];
} list;

/* |op| on a shape and a list of integers (n < 0: omitted). */
static ox_status *infer(const char *op, int version, void *attrs, list in, list param, ox_type *out) {
  ox_shape s = ox_shape_of(in.n, in.v), p = {.rank = 1, .dim = {param.n}};
  ox_type x = ox_type_tensor(OX_F32, &s), y = ox_type_tensor(OX_I64, &p);
  ox_tensor t = ox_tensor_view(OX_I64, &p, param.v);
  ox_infer_ctx c = {.struct_size = sizeof c,
                    .op = op,
                    .attrs = attrs,
                    .op_version = (uint32_t)version,
                    .n_in = param.n < 0 ? 1 : 2,
                    .n_out = 1,
                    .in = (const ox_type *[]){&x, &y},
                    .in_data = (const ox_tensor *[]){NULL, &t},
                    .out = out};
  *out = ox_type_unknown();
  return ox_registry_find(ox_ops_builtin(), "", op, version)->schema->infer(&c);
}

static const struct {
  const char *op;
  list in, param, want;
} cases[] = {
    {"Reshape", {3, {2, 3, 4}}, {2, {4, 6}}, {2, {4, 6}}},
    {"Reshape", {3, {2, 3, 4}}, {2, {0, -1}}, {2, {2, 12}}},
    {"Reshape", {3, {A, 128, 768}}, {4, {0, 0, 12, 64}}, {4, {A, 128, 12, 64}}},
    {"Reshape", {3, {A, 128, 768}}, {4, {-1, 128, 12, 64}}, {4, {A, 128, 12, 64}}},
    {"Reshape", {4, {A, B, 12, 64}}, {3, {0, 0, -1}}, {3, {A, B, 768}}},
    {"Reshape", {3, {A, B, 768}}, {2, {-1, 768}}, {2, {NO, 768}}},
    {"Reshape", {2, {NO, 4}}, {1, {-1}}, {1, {NO}}},
    {"Reshape", {2, {0, 3}}, {2, {-1, 5}}, {2, {0, 5}}},
    {"Reshape", {0, {0}}, {2, {1, 1}}, {2, {1, 1}}},
    {"Reshape", {2, {1, 1}}, {0, {0}}, {0, {0}}},
    {"Squeeze", {3, {1, A, 1}}, {1, {-1}}, {2, {1, A}}},
    {"Squeeze", {3, {1, 5, 1}}, {-1, {0}}, {1, {5}}},
    {"Squeeze", {2, {A, 3}}, {1, {0}}, {1, {3}}},
    {"Unsqueeze", {2, {A, 3}}, {2, {0, -1}}, {4, {1, A, 3, 1}}},
    {"Unsqueeze", {0, {0}}, {1, {0}}, {1, {1}}},
};

static void test_shapes(void **state) {
  (void)state;
  struct {
    int64_t allowzero;
  } attrs = {0};
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    ox_type out;
    ox_shape want = ox_shape_of(cases[i].want.n, cases[i].want.v);
    char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
    CHECK_OK(infer(cases[i].op, 21, cases[i].op[0] == 'R' ? &attrs : NULL, cases[i].in, cases[i].param, &out));
    if (!ox_shape_equal(&out.shape, &want))
      fail_msg("case %zu: got %s, wanted %s", i, ox_shape_text(&out.shape, a), ox_shape_text(&want, b));
  }
}

static void test_zero_means_zero_if_allowed(void **state) {
  (void)state;
  struct {
    int64_t allowzero;
  } attrs = {1};
  ox_type out;
  CHECK_OK(infer("Reshape", 21, &attrs, (list){3, {2, 0, 3}}, (list){2, {0, 7}}, &out));
  assert_int_equal(out.shape.dim[0], 0);
  CHECK_FAILS(infer("Reshape", 21, &attrs, (list){2, {0, 3}}, (list){2, {0, -1}}, &out), OX_INVALID_MODEL, "allowzero");
}

static void test_what_does_not_fit_is_refused(void **state) {
  (void)state;
  struct {
    int64_t allowzero;
  } attrs = {0};
  ox_type out;
  CHECK_FAILS(infer("Reshape", 21, &attrs, (list){2, {2, 3}}, (list){1, {7}}, &out), OX_SHAPE_MISMATCH,
              "[2,3] does not fit into [7]");
  CHECK_FAILS(infer("Reshape", 21, &attrs, (list){2, {2, 3}}, (list){2, {4, -1}}, &out), OX_SHAPE_MISMATCH,
              "does not fit");
  CHECK_FAILS(infer("Reshape", 21, &attrs, (list){2, {2, 3}}, (list){2, {-1, -1}}, &out), OX_INVALID_MODEL, "both -1");
  CHECK_FAILS(infer("Reshape", 21, &attrs, (list){1, {6}}, (list){2, {3, 0}}, &out), OX_SHAPE_MISMATCH, "rank 1");
  CHECK_FAILS(infer("Squeeze", 21, NULL, (list){2, {2, 3}}, (list){1, {1}}, &out), OX_SHAPE_MISMATCH, "wanted 1");
  CHECK_FAILS(infer("Squeeze", 21, NULL, (list){2, {1, 1}}, (list){2, {0, -2}}, &out), OX_INVALID_MODEL, "given twice");
  CHECK_FAILS(infer("Unsqueeze", 21, NULL, (list){1, {3}}, (list){1, {2}}, &out), OX_INVALID_MODEL, "outside rank 2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_zero_means_zero_if_allowed),
      cmocka_unit_test(test_what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
