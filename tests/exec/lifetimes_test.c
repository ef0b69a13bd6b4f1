/* SPDX-License-Identifier: Apache-2.0
 * exec/lifetimes_test.c - an output overwrites an input only where nobody reads that any more: results are those of
 * the same net whose inputs are outputs of the graph, too. */
#include "exec/lifetimes.h"

#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

enum { ELEMENTS = 4 * 9 * 16 };

#define NET(nodes, more)                                                                                              \
  "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onyx\" : 1]> g (float[1,4,3,3,16] x) => (float[1,4,3,3,16] y" more \
  ") { n = Constant <value_float = 4096.0> () o = Constant <value_float = 1.0> () "                                   \
  "z = Constant <value_float = 0.0> () r = Range (z, n, o) s = Sin (r) d = Constant <value_ints = [64, 64, 1, 1]> ()" \
  " w = Reshape (s, d) e = Tanh (x) f = Neg (x) " nodes " y = Neg (v) }"
#define KEPT ", float[1,4,3,3,16] e, float[1,4,3,3,16] f"

static const struct {
  const char *name, *own, *kept;
} cases[] = {
#define CASE(name, nodes) \
  { name, NET(nodes, ""), NET(nodes, KEPT) }
    CASE("a residual", "v = ai.onyx.BlockConv (e, w, , f)"),
    CASE("the residual is X, which all panels read", "v = ai.onyx.BlockConv (e, w, , e)"),
    CASE("the residual has another reader", "u = ai.onyx.BlockConv (e, w, , f) v = Add (u, f)"),
    CASE("either operand", "v = Add (e, f)"),
    CASE("the same one twice", "v = Mul (e, e)"),
};

static void run(ox_env *env, const char *text, float *out) {
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.n_threads = 1;
  ox_session *s;
  ox_value *x = ramp_value(env, -1, 0.003f, 5, (int64_t[]){1, 4, 3, 3, 16}), *y = NULL;
  CHECK_OK(text_session(env, text, &so, &s));
  CHECK_OK(ox_session_run(s, NULL, &(const char *){"x"}, (const ox_value *[]){x}, 1, &(const char *){"y"}, &y, 1));
  memcpy(out, ox_value_data(y), ELEMENTS * sizeof *out);
  ox_value_release(y), ox_value_release(x);
  ox_session_release(s);
}

static void test_results_are_those_of_values_kept(void **state) {
  (void)state;
  static float own[ELEMENTS], kept[ELEMENTS];
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    run(env, cases[i].own, own), run(env, cases[i].kept, kept);
    for (size_t k = 0; k < ELEMENTS; k++)
      if (memcmp(&own[k], &kept[k], sizeof *own) != 0)
        fail_msg("%s: [%zu] is %g, wanted %g", cases[i].name, k, (double)own[k], (double)kept[k]);
  }
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_values_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
