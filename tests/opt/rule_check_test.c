/* SPDX-License-Identifier: Apache-2.0
 * opt/rule_check_test.c - sets of rules that are not well-formed are refused with the name of the rule. */
#include "support/custom_rules.h"

static const ox_rule good[] = {{OX_RULE("good", OX_OPTIMIZE_BASIC, cr_two_negs, NULL, cr_to_ceil)}};

static ox_status *check_rule(const ox_rule *r) {
  ox_rule_set set = {.struct_size = sizeof set, .rules = r, .n_rules = 1};
  return ox_rule_set_check(&set);
}

/* The rule with one thing changed. */
#define REFUSED(change, text)                               \
  do {                                                      \
    ox_rule r = good[0];                                    \
    change;                                                 \
    CHECK_FAILS(check_rule(&r), OX_INVALID_ARGUMENT, text); \
  } while (0)

static void test_rules(void **state) {
  (void)state;
  CHECK_OK(check_rule(good));
  REFUSED(r.struct_size = 8, "rules of 8 bytes");
  REFUSED(r.struct_size += 2, "bytes");
  REFUSED(r.name = NULL, "rule 0 has no name");
  REFUSED(r.name = "", "rule 0 has no name");
  REFUSED(r.level = OX_OPTIMIZE_NONE, "rule 'good': level 0");
  REFUSED(r.level = 4, "rule 'good': level 4");
  REFUSED(r.apply = NULL, "rule 'good': there is no apply");
  REFUSED(r.pat = NULL, "rule 'good': a pattern of 0 entries");
  REFUSED(r.n_pat = 0, "a pattern of 0 entries");
  REFUSED(r.n_pat = OX_PAT_NODES + 1, "a pattern of 13 entries");
  REFUSED(r.pat_row_bytes = 16, "entries of 16 bytes");
}

/* A pattern of two entries in which |change| of the first, p[0], or the second, p[1], is refused. */
#define REFUSED_PATTERN(change, text)                                             \
  do {                                                                            \
    ox_pat p[2] = {cr_two_negs[0], cr_two_negs[1]};                               \
    change;                                                                       \
    ox_rule r = good[0];                                                          \
    r.pat = p;                                                                    \
    CHECK_FAILS(check_rule(&r), OX_INVALID_ARGUMENT, "rule 'good': entry " text); \
  } while (0)

static void test_patterns(void **state) {
  (void)state;
  REFUSED_PATTERN(p[0].op = NULL, "0: operator ''");
  REFUSED_PATTERN(p[0].op = "", "0: operator ''");
  REFUSED_PATTERN(p[1].op = "Relu|", "1: operator 'Relu|'");
  REFUSED_PATTERN(p[1].op = "|Relu", "1: operator '|Relu'");
  REFUSED_PATTERN(p[1].op = "Relu||Neg", "1: operator 'Relu||Neg'");
  REFUSED_PATTERN(p[1].in[0].index = 1, "1, input 0: entry 1 is not an earlier one");
  REFUSED_PATTERN(p[1].in[0].index = 9, "1, input 0: entry 9 is not an earlier one");
  REFUSED_PATTERN(p[0].in[5] = ((ox_pat_in)OX_FROM(0)), "0, input 5: entry 0 is not an earlier one");
  REFUSED_PATTERN(p[0].in[1] = ((ox_pat_in)OX_ARG(8)), "0, input 1: argument 8");
  REFUSED_PATTERN(p[0].in[1] = ((ox_pat_in)OX_CONST(255)), "0, input 1: argument 255");
  REFUSED_PATTERN(p[0].in[1].kind = 5, "0, input 1 is of kind 5");
  REFUSED_PATTERN(p[1].in[0] = ((ox_pat_in)OX_ANY), "0: nothing leads to it");
  REFUSED_PATTERN(p[1].single_use = 1, "1: uses of the root");
  REFUSED_PATTERN(p[1].uses = 2, "1: uses of the root");
}

static ox_status *nothing(const ox_rewrite *g, uint32_t *out_changes) {
  (void)g, (void)out_changes;
  return NULL;
}

static void test_sets_and_passes(void **state) {
  (void)state;
  ox_pass pass[2] = {{sizeof(ox_pass), OX_OPTIMIZE_BASIC, "p", nothing, 0, 0},
                     {sizeof(ox_pass), OX_OPTIMIZE_BASIC, "q", nothing, 0, 0}};
  ox_rule_set set = {.struct_size = sizeof set, .passes = pass, .n_passes = 2};
  CHECK_OK(ox_rule_set_check(&set));
  CHECK_FAILS(ox_rule_set_check(NULL), OX_INVALID_ARGUMENT, "a set of rules of 0 bytes");
  pass[1].struct_size = 40;
  CHECK_FAILS(ox_rule_set_check(&set), OX_INVALID_ARGUMENT, "pass 1 has 40 bytes");
  pass[1].struct_size = sizeof(ox_pass), pass[1].run = NULL;
  CHECK_FAILS(ox_rule_set_check(&set), OX_INVALID_ARGUMENT, "pass 'q': there is no run");
  pass[0].name = "";
  CHECK_FAILS(ox_rule_set_check(&set), OX_INVALID_ARGUMENT, "pass 0 has no name");
  pass[0].name = "p", pass[0].level = 9;
  CHECK_FAILS(ox_rule_set_check(&set), OX_INVALID_ARGUMENT, "pass 'p': level 9");
  set.passes = NULL;
  CHECK_FAILS(ox_rule_set_check(&set), OX_INVALID_ARGUMENT, "2 passes that are not there");
  set.place = 4;
  CHECK_FAILS(ox_rule_set_check(&set), OX_INVALID_ARGUMENT, "at place 4");
  set.struct_size = 4;
  CHECK_FAILS(ox_rule_set_check(&set), OX_INVALID_ARGUMENT, "a set of rules of 4 bytes");
}

static void test_names_are_taken_once(void **state) {
  (void)state;
  static const char text[] = HEAD "(float[2] x) => (float[2] y) { y = Relu (x) }";
  static const struct {
    const char *first, *second, *pass, *text; /* NULL text: fine */
  } rows[] = {{"mine", "mine", "other", NULL},
              {"mine", "yours", "mine", "'mine': the name is taken"},
              {"identity", "mine", "other", "rule 'identity': the name is taken"},
              {"attention", "mine", "other", "rule 'attention': the name is taken"},
              {"fold", "mine", "other", "rule 'fold': the name is taken"},
              {"mine", "yours", "infer-const", "pass 'infer-const': the name is taken"}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_rule rules[2] = {good[0], good[0]};
    ox_pass pass = {sizeof pass, OX_OPTIMIZE_BASIC, rows[i].pass, nothing, 0, 0};
    ox_rule_set set = {.struct_size = sizeof set, .rules = rules, .n_rules = 2, .passes = &pass, .n_passes = 1};
    char ops[64];
    rules[0].name = rows[i].first, rules[1].name = rows[i].second;
    if (rows[i].text)
      CHECK_FAILS(cr_optimize(text, &set, NULL, ops), OX_INVALID_ARGUMENT, rows[i].text);
    else
      CHECK_OK(cr_optimize(text, &set, NULL, ops));
  }
}

static void test_a_set_may_be_handed_in_twice(void **state) {
  (void)state;
  ox_model *m = rg_read(HEAD "(float[2] x) => (float[2] y) { a = Identity (x) y = Relu (a) }");
  ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
  ox_rule_list lists[] = {o.rules[0], o.rules[1], o.rules[1], o.rules[0]};
  char ops[64];
  o.rules = lists, o.n_rules = OX_COUNT(lists);
  CHECK_OK(rg_optimize(m, &o));
  assert_string_equal(bg_ops(m->graph, ops), "Relu");
  ox_model_destroy(m);
}

static void test_the_rules_that_come_with_onyx_are_well_formed(void **state) {
  (void)state;
  ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
  for (uint32_t k = 0; k < o.n_rules; k++)
    for (size_t i = 0; i < o.rules[k].n; i++) CHECK_OK(ox_rule_set_check(o.rules[k].sets[i]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_sets_and_passes),
      cmocka_unit_test(test_names_are_taken_once),
      cmocka_unit_test(test_a_set_may_be_handed_in_twice),
      cmocka_unit_test(test_the_rules_that_come_with_onyx_are_well_formed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
