/* SPDX-License-Identifier: Apache-2.0
 * ops/known_test.c - what operators do to partly known integer contents, seen from the shapes and constants that come
 * of them. x is float[N, 3, M, 8], s its shape [N, 3, M, 8], z its first two dimensions. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "opt/opt.h"
#include "support/check.h"
#include "support/run_graph.h"

static const struct {
  int opset;
  const char *body, *want; /* y's type, "?" for a dimension of which nothing is known; or its content */
} cases[] = {
    /* y = Reshape(x, list) shows what is known of a list */
    {17, "y = Reshape(x, s)", "[N,3,M,8]"},
    {14, "t = Shape(x) y = Reshape(x, t)", "[N,3,M,8]"},
    {17, "t = Shape<start = 1, end = -1>(x) y = Expand(one, t)", "[3,M]"},
    {17, "t = Shape<start = 3, end = 1>(x) y = Expand(one, t)", "[1]"},
    {17, "t = Shape<start = -9, end = 9>(x) y = Expand(one, t)", "[N,3,M,8]"},
    /* Gather */
    {17, "t = Gather(s, last_first) y = Expand(one, t)", "[8,N]"},
    {17, "d = Gather(s, at2) t = Unsqueeze(d, zero) y = Expand(one, t)", "[M]"},
    {17, "y = Gather(s, at1)", "= 3"},
    /* Concat, also of lists of which only the length is known */
    {17, "t = Concat<axis = 0>(z, four) y = Reshape(x, t)", "[N,3,4]"},
    {17, "t = Concat<axis = -1>(four, other) y = Expand(one, t)", "[4,?,?]"},
    {17, "t = Concat<axis = 0>(four, any) y = Expand(one, t)", "?"},
    /* Slice, both forms */
    {9, "t = Slice<starts = [1], ends = [-1]>(s) y = Expand(one, t)", "[3,M]"},
    {9, "t = Slice<starts = [-3], ends = [100], axes = [0]>(s) y = Expand(one, t)", "[3,M,8]"},
    {17, "t = Slice(s, four, four) y = Expand(one, t)", "[1]"},
    {17, "t = Slice(s, one_i, four, zero) y = Expand(one, t)", "[3,M,8]"},
    {17, "t = Slice(s, zero, four, zero, two) y = Expand(one, t)", "[?,?]"}, /* steps other than 1 are left alone */
    /* Squeeze and Unsqueeze of both ages, Reshape, Identity, Cast */
    {11, "t = Unsqueeze<axes = [0]>(scalar) y = Expand(one, t)", "[5]"},
    {17, "d = Squeeze(four) y = Identity(d)", "= 4"},
    {11, "d = Squeeze<axes = [0]>(four) y = Identity(d)", "= 4"},
    {17, "t = Reshape(z, minus) y = Expand(one, t)", "[N,3]"},
    {17, "q = Shape<start = 4>(x) y = Reshape(four, q)", "= 4"},
    {17, "h = Cast<to = 6>(s) b = Cast<to = 7>(h) y = Expand(one, b)", "[N,3,M,8]"},
    {17, "h = Cast<to = 1>(s) b = Cast<to = 7>(h) y = Expand(one, b)", "[?,?,?,?]"},
    {17, "t = Cast<to = 6>(big) y = Identity(t)", "int32[1]"}, /* does not fit */
    /* arithmetic: symbols meet their neutral elements only */
    {17, "y = Add(four, two)", "= 6"},
    {17, "y = Sub(two, four)", "= -2"},
    {17, "y = Mul(four, two)", "= 8"},
    {17, "y = Div(four, two)", "= 2"},
    {17, "y = Div(four, zero)", "= 0"},
    {17, "y = Add(big, big)", "= -2"},
    {17, "t = Mul(z, one_i) y = Expand(one, t)", "[N,3]"},
    {17, "t = Mul(one_i, z) y = Expand(one, t)", "[N,3]"},
    {17, "t = Add(zero, z) y = Expand(one, t)", "[N,3]"},
    {17, "t = Div(z, one_i) y = Expand(one, t)", "[N,3]"},
    {17, "t = Sub(zero, z) y = Expand(one, t)", "[?,?]"}, /* -3 is no dimension */
    {17, "t = Add(z, two) y = Expand(one, t)", "[?,5]"},
    {6, "t = Add(z, two) y = Reshape(x, t)", "[?,5]"},
    {17, "y = Size(four)", "= 1"},
    {17, "n = Size(x) t = Unsqueeze(n, zero) y = Expand(one, t)", "[?]"},
    /* refine: 0 copies, -1 is what is left, symbols cancel */
    {17, "t = Concat<axis = 0>(copy_rest, two) y = Reshape(x, t)", "[N,?,2]"},
    {17, "k = Slice(s, two, four) t = Concat<axis = 0>(minus, k) y = Reshape(x, t)", "[?,M,8]"},
    {17, "k = Slice(s, two, four) t = Concat<axis = 0>(three_rest, k) y = Reshape(x, t)", "[3,N,M,8]"},
    {17, "t = Concat<axis = 0>(z, rests) y = Reshape(x, t)", "[N,3,?,?]"},
    {17, "y = ConstantOfShape(z)", "[N,3]"},
    {17, "t = Concat<axis = 0>(four, other) y = ConstantOfShape(t)", "[4,?,?]"},
    {17, "t = Concat<axis = 0>(z, four) y = Expand(three, t)", "[N,3,4]"},
};

static void describe(const ox_model *m, ox_id v, char *to, size_t room) {
  const ox_graph_value *value = &m->graph->values[v];
  const ox_shape *s = &value->type.shape;
  const ox_tensor *t = value->init;
  if (t && ox_shape_count(&t->shape) == 1 && t->dtype == OX_I64) {
    snprintf(to, room, "= %lld", (long long)*(const int64_t *)t->data);
    return;
  }
  size_t at = 0;
  if (value->type.dtype != OX_F32) at += (size_t)snprintf(to, room, "%s", ox_dtype_name(value->type.dtype));
  at += (size_t)snprintf(to + at, room - at, s->rank < 0 ? "?" : "[");
  for (int i = 0; i < s->rank; i++) {
    const char *symbol = ox_model_symbol_name(m, s->dim[i]), *comma = i ? "," : "";
    if (s->dim[i] >= 0)
      at += (size_t)snprintf(to + at, room - at, "%s%lld", comma, (long long)s->dim[i]);
    else
      at += (size_t)snprintf(to + at, room - at, "%s%s", comma, symbol ? symbol : "?");
  }
  if (s->rank >= 0) snprintf(to + at, room - at, "]");
}

static void test_cases(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    char text[2048], got[128];
    snprintf(
        text, sizeof text,
        "<ir_version: 8, opset_import: [\"\" : %d]>"
        "g (float[N, 3, M, 8] x, int64[2] other, int64[A] any) => (kept)"
        "<float[1] one = {1}, float[3, 1] three = {1, 2, 3}, int64[1] zero = {0}, int64[1] one_i = {1},"
        " int64[1] two = {2}, int64[2] first_two = {0, 1}, int64[2] last_first = {-1, 0}, int64 at1 = {1},"
        " int64 at2 = {2}, int64[1] minus = {-1}, int64[2] copy_rest = {0, -1}, int64[2] three_rest = {3, -1},"
        " int64[2] rests = {-1, -1}, int64[1] four = {4}, int64 scalar = {5}, int64[1] big = {9223372036854775807}>"
        "{ s = Shape(x) z = Gather(s, first_two) %s kept = Identity(y) }",
        cases[i].opset, cases[i].body);
    ox_model *m = rg_read(text);
    ox_status *st = ox_infer_graph(m->graph, NULL, false);
    if (st) fail_msg("%s: %s", cases[i].body, ox_status_message(st));
    st = ox_infer_graph(m->graph, NULL, true);
    if (st) fail_msg("%s: %s", cases[i].body, ox_status_message(st));
    describe(m, ox_graph_find(m->graph, "y"), got, sizeof got);
    if (strcmp(got, cases[i].want) != 0)
      print_error("%s: y is %s, wanted %s\n", cases[i].body, got, cases[i].want), bad++;
    ox_model_destroy(m);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
