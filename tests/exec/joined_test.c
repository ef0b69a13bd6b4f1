/* SPDX-License-Identifier: Apache-2.0
 * exec/joined_test.c - what a Concat joins and a Split takes apart without a copy: results are those of the same net
 * whose values in between are outputs of the graph, too, and so have memory of their own; and the workspace is what
 * lives at once without copies. */
#include "exec/joined.h"

#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

enum { ROW = 32 * 4 /* bytes of a row of x */, ROWS = 4, ELEMENTS = ROWS * 32 };

#define NET(nodes, more)                                                                 \
  "<ir_version: 10, opset_import: [\"\" : 18]> g (float[4,32] x) => (float[M,32] y" more \
  ") "                                                                                   \
  "<int64[2] two = {2, 2}, int64[2] odd = {1, 3}, float half = {0.5}> { a = Exp (x) b = Neg (x) " nodes " }"

static const struct {
  const char *name, *own, *kept;
  size_t most; /* rows of workspace, b's included; 0: do not look */
} cases[] = {
#define CASE(name, nodes, kept, most) \
  { name, NET(nodes, ""), NET(nodes, kept), most }
#define V(name) ", float[M,32] " name
    CASE("two", "c = Concat <axis = 0> (a, b) y = Tanh (c)", V("a") V("b"), 8),
    CASE("the same twice", "c = Concat <axis = 0> (a, b, a) y = Tanh (c)", V("a") V("b"), 12),
    CASE("an input of the graph", "c = Concat <axis = 0> (x, b) y = Tanh (c)", V("a") V("b"), 0),
    CASE("of two, one after the other", "c = Concat <axis = 0> (a, b) d = Concat <axis = 0> (c, a) y = Tanh (d)",
         V("a") V("b") V("c"), 0),
    CASE("in two", "c = Concat <axis = 0> (a, b) d = Concat <axis = 0> (b, a) e = Add (c, d) y = Tanh (e)",
         V("a") V("b") V("c") V("d"), 0),
    CASE("another axis",
         "c = Concat <axis = 1> (a, b) d = Concat <axis = 0> (a, b) s = Shape (d)"
         " e = Reshape (c, s) f = Add (e, d) y = Tanh (f)",
         V("a") V("b") V("d"), 0),
    CASE("made in place", "p = Neg (a) q = Neg (p) c = Concat <axis = 0> (b, q) y = Tanh (c)", V("a") V("p") V("q"), 8),
    CASE("overwritten after",
         "c = Concat <axis = 0> (a, b) p = Neg (c) q = Add (p, c) r = Neg (a) s = Concat <axis = 0>"
         " (r, r) y = Add (q, s)",
         V("a") V("c") V("p"), 0),
    CASE("a part is read later", "c = Concat <axis = 0> (a, b) d = Neg (c) e = Concat <axis = 0> (a, a) y = Add (d, e)",
         V("a") V("b") V("c"), 0),
    CASE("apart", "p, q = Split <axis = 0> (a, two) r = Neg (q) s = Add (p, r) y = Tanh (s)", V("p") V("q"), 0),
    CASE("apart, where lines are cut",
         "p, q = Split <axis = 0> (a, odd) r = Neg (q) s = Add (r, half)"
         " t = Concat <axis = 0> (p, s) y = Tanh (t)",
         V("p") V("q"), 0),
    CASE("apart, and joined with more",
         "p, q = Split <axis = 0> (a, two) r = Neg (q) s = Mul (r, half) c = Concat <axis = 0> (p, q, r, s) y = Tanh "
         "(c)",
         V("p") V("q") V("r"), 12),
    CASE("apart, and joined in another order",
         "p, q = Split <axis = 0> (a, two) r = Neg (q) c = Concat <axis = 0> (q, r, p) y = Tanh (c)", V("p") V("q"), 0),
    CASE("half of it is joined",
         "p, q = Split <axis = 0> (a, two) r = Neg (q) c = Concat <axis = 0> (p, r)"
         " d = Add (c, a) y = Tanh (d)",
         V("p") V("q") V("r"), 0),
    CASE("a part is overwritten while the other lives",
         "p, q = Split <axis = 0> (a, two) r = Neg (p) s = Exp (r)"
         " t = Add (s, q) y = Add (t, q)",
         V("p") V("q"), 0),
};

typedef struct opened {
  ox_env *env;
  ox_session *s;
  ox_value *x;
} opened;

static void open_net(opened *o, const char *text) {
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.n_threads = 1;
  CHECK_OK(ox_env_create(NULL, &o->env));
  o->x = ramp_value(o->env, -1, 0.01f, 2, (int64_t[]){ROWS, 32});
  CHECK_OK(text_session(o->env, text, &so, &o->s));
}

static void close_net(opened *o) {
  ox_value_release(o->x);
  ox_session_release(o->s);
  ox_env_release(o->env);
}

static size_t run(const char *text, float *out) {
  opened o;
  ox_value *y = NULL;
  open_net(&o, text);
  CHECK_OK(ox_session_run(o.s, NULL, &(const char *){"x"}, (const ox_value *[]){o.x}, 1, &(const char *){"y"}, &y, 1));
  size_t bytes = ox_value_get(y)->bytes;
  assert_true(bytes <= 4 * ELEMENTS * sizeof *out);
  memcpy(out, ox_value_data(y), bytes);
  ox_value_release(y);
  close_net(&o);
  return bytes;
}

static void test_results_are_those_of_values_kept(void **state) {
  (void)state;
  static float own[4 * ELEMENTS], kept[4 * ELEMENTS];
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    size_t bytes = run(cases[i].own, own);
    assert_int_equal(run(cases[i].kept, kept), bytes);
    for (size_t k = 0; k < bytes / sizeof *own; k++)
      if (memcmp(&own[k], &kept[k], sizeof *own) != 0)
        fail_msg("%s: [%zu] is %g, wanted %g", cases[i].name, k, (double)own[k], (double)kept[k]);
  }
}

static void test_nothing_lives_twice(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    opened o;
    size_t bytes;
    if (!cases[i].most) continue;
    open_net(&o, cases[i].own);
    ox_shape shape = {.rank = 2, .dim = {ROWS, 32}};
    CHECK_OK(ox_session_plan(o.s, &shape, 1, &bytes));
    if (bytes > cases[i].most * ROW + 2 * OX_PAD_BYTES)
      fail_msg("%s: %zu bytes, wanted %zu rows of %d", cases[i].name, bytes, cases[i].most, ROW);
    close_net(&o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_values_kept),
                                     cmocka_unit_test(test_nothing_lives_twice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
