/* SPDX-License-Identifier: Apache-2.0
 * exec/declared_test.c - values that are other at run time than the model says, nodes that may not run and would be
 * refused, outputs that are left out: an error that names them, or the right result. */
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 9, opset_import: [\"\" : 18, \"com.microsoft\" : 1]> g (float[4] x, bool c) => "
#define LIE \
  "l = If (c) <then_branch = t () => (a) { a = Identity (x) }, else_branch = e () => (b) { b = Cast <to = 8> (x) }> "
#define WIDER \
  "l = If (c) <then_branch = t () => (a) { a = Identity (x) }, else_branch = e () => (b) { b = Cast <to = 11> (x) }> "

static const struct {
  const char *text;
  int flag; /* input c */
  ox_code at_load, at_run;
  const char *says;
} rows[] = {
    {HEAD "(float[n] y) { " LIE " y = Softmax (l) }", 1, OX_OK, OX_OK, ""},
    {HEAD "(float[n] y) { " LIE " y = Softmax (l) }", 0, OX_OK, OX_INVALID_MODEL, "string"},
    {HEAD "(float[n] y) <float[4] l> { " LIE " y = Relu (l) }", 0, OX_OK, OX_INVALID_MODEL, "input 0"},
    /* a branch that its operator refuses counts only if it runs */
    {HEAD "(float[n] y) { y = If (c) <then_branch = t () => (a) { a = Neg (x) }, else_branch = e () => (b) { "
          "b = Softmax <axis = 7> (x) }> }",
     1, OX_OK, OX_OK, ""},
    {HEAD "(float[n] y) { y = If (c) <then_branch = t () => (a) { a = Neg (x) }, else_branch = e () => (b) { "
          "b = Softmax <axis = 7> (x) }> }",
     0, OX_OK, OX_INVALID_MODEL, "axis 7 is outside rank 1"},
    {HEAD "(float[n] y) { y = If (c) <then_branch = t (float[4] q) => (a) { a = Neg (q) }, else_branch = e () => (b) { "
          "b = Neg (x) }> }",
     1, OX_INVALID_MODEL, OX_OK, "inputs of its own"},
    /* items of a sequence */
    {HEAD "(float[n] y) { e = SequenceEmpty <dtype = 1> () i = Cast <to = 7> (x) s = SequenceInsert (e, i) "
          "z = Constant <value_int = 0> () y = SequenceAt (s, z) }",
     1, OX_INVALID_MODEL, OX_OK, "input 0 is float32, but input 1 is int64"},
    {HEAD "(float[n] y) { " LIE " e = SequenceConstruct (x) s = SequenceInsert (e, l) "
          "z = Constant <value_int = 0> () y = SequenceAt (s, z) }",
     0, OX_OK, OX_INVALID_MODEL, "but is string"},
    {HEAD "(float[n] y) { e = SequenceConstruct (x) s = SequenceInsert (e, e) z = Constant <value_int = 0> () "
          "y = SequenceAt (s, z) }",
     1, OX_INVALID_MODEL, OX_OK, "input 1 is no tensor"},
    /* inputs of one type variable */
    {HEAD "(float[n] y) { d = Cast <to = 11> (x) y = MatMul (d, x) }", 1, OX_INVALID_MODEL, OX_OK,
     "input 0 is float64, but input 1 is float32"},
    {HEAD "(float[n] y) { " WIDER " y = MatMul (l, x) }", 1, OX_OK, OX_OK, ""},
    {HEAD "(float[n] y) { " WIDER " y = MatMul (l, x) }", 0, OX_OK, OX_INVALID_MODEL, "is float64"},
    /* an output that its operator requires, left out */
    {HEAD "(int64[n] y) { k = Constant <value_ints = [2]> () \"\", y = TopK (x, k) }", 1, OX_OK, OX_OK, ""},
    {HEAD "(float[n] y) { \"\" = Neg (x) y = Abs (x) }", 1, OX_OK, OX_OK, ""},
};

static ox_status *load_and_run(size_t row, uint32_t level, ox_code *out_where) {
  ox_env *env;
  ox_session *s = NULL;
  ox_value *out = NULL, *flag;
  const char *names[] = {"x", "c"};
  ox_session_opts o;
  ox_session_opts_init(&o);
  o.optimize = level;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_value_create(env, OX_BOOL, NULL, 0, &flag));
  *(uint8_t *)ox_value_data(flag) = (uint8_t)rows[row].flag;
  ox_value *x = ramp_value(env, 1, 1, 1, (const int64_t[]){4});
  const ox_value *inputs[] = {x, flag};
  ox_status *st = text_session(env, rows[row].text, &o, &s);
  *out_where = st ? rows[row].at_load : rows[row].at_run;
  if (!st) st = ox_session_run(s, NULL, names, inputs, ox_session_input_count(s), NULL, &out, 1);
  ox_value_release(out);
  ox_value_release(x);
  ox_value_release(flag);
  ox_session_release(s);
  ox_env_release(env);
  return st;
}

static void test_rows_at_every_level(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (uint32_t level = OX_OPTIMIZE_NONE; level <= OX_OPTIMIZE_ALL; level++) {
      ox_code want;
      ox_status *st = load_and_run(i, level, &want);
      if (ox_status_code(st) != want || (st && !strstr(ox_status_message(st), rows[i].says)))
        fail_msg("row %zu, level %u: %s", i, level, st ? ox_status_message(st) : "no error");
      ox_status_free(st);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_at_every_level)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
