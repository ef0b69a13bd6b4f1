/* SPDX-License-Identifier: Apache-2.0
 * opt/every_rule_test.c - each registered rule and pass is named in a table of rg_row: in a graph that it must be
 * applied to, and as "!name" in one that it must leave alone. The tables are read as text, from the folder that tests
 * run in. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "ep/cpu/cpu_rules.h"
#include "opt/opt.h"
#include "support/check.h"

static char tables[1 << 20];

/* Appends the rows of |path|: what follows the table's head. */
static void read_table(const char *path) {
  static char text[1 << 18];
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  const char *rows = strstr(text, "static const rg_row rows[] = {"), *end = rows ? strstr(rows, "\n};") : NULL;
  if (!end) fail_msg("%s has no table of rg_row", path);
  assert_true(strlen(tables) + (size_t)(end - rows) < sizeof tables);
  strncat(tables, rows, (size_t)(end - rows));
}

static void read_folder(const char *dir) {
  DIR *d = opendir(dir);
  if (!d) fail_msg("%s is not there: tests run in the source's root", dir);
  for (struct dirent *e; (e = readdir(d));) {
    char path[512];
    if (!strstr(e->d_name, "_test.c")) continue;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    read_table(path);
  }
  closedir(d);
}

static uint32_t check_set(const ox_rule_set *s) {
  uint32_t missing = 0;
  for (size_t i = 0; i < s->n_rules + s->n_passes; i++) {
    const char *name = i < s->n_rules ? s->rules[i].name : s->passes[i - s->n_rules].name;
    char yes[80], no[80];
    snprintf(yes, sizeof yes, "\"%s\"", name), snprintf(no, sizeof no, "\"!%s\"", name);
    if (!strstr(tables, yes)) print_message("no graph that %s must be applied to\n", yes), missing++;
    if (!strstr(tables, no)) print_message("no graph that %s must leave alone\n", yes), missing++;
  }
  return missing;
}

static void test_every_rule_has_a_graph_to_change_and_one_to_leave_alone(void **state) {
  (void)state;
  uint32_t missing = 0;
  read_folder("tests/opt/rules"), read_folder("tests/ep/cpu_rules");
  for (size_t i = 0; i < ox_standard_rules.n; i++) missing += check_set(ox_standard_rules.sets[i]);
  for (size_t i = 0; i < OX_N_CPU_RULE_SETS; i++) missing += check_set(ox_cpu_rule_sets[i]);
  assert_true(ox_standard_rules.n > 0);
  if (missing) fail_msg("%u graphs are missing", missing);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_rule_has_a_graph_to_change_and_one_to_leave_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
