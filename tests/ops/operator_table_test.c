/* SPDX-License-Identifier: Apache-2.0
 * ops/operator_table_test.c - docs/operator-table.md says what the table of operators says. With the argument "print"
 * this program writes that file's content instead:
 *   build/tests/test.ops.operator_table print > docs/operator-table.md */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "ops/builtin.h"
#include "support/check.h"

typedef struct text {
  char *p;
  size_t n, room;
} text;

static void add(text *t, const char *s) {
  size_t n = strlen(s);
  if (t->n + n + 1 > t->room) {
    t->room = 2 * (t->n + n + 1);
    t->p = realloc(t->p, t->room);
    if (!t->p) abort();
  }
  memcpy(t->p + t->n, s, n + 1);
  t->n += n;
}

static void add_number(text *t, int64_t v) {
  char s[24];
  snprintf(s, sizeof s, "%lld", (long long)v);
  add(t, s);
}

/* ---- sets of types ---- */

static const struct {
  const char *name;
  uint32_t set;
} named[] = {{"all", OX_T_ALL},       {"number", OX_T_NUMBER},   {"float", OX_T_FLOAT},       {"int", OX_T_INT},
             {"signed", OX_T_SINT},   {"unsigned", OX_T_UINT},   {"float16s", OX_T_FLOAT16S}, {"complex", OX_T_COMPLEX},
             {"float8", OX_T_FLOAT8}, {"subbyte", OX_T_SUBBYTE}, {"float6", OX_T_FLOAT6}};

static void add_types(text *t, uint32_t set, const char *between) {
  const char *comma = "";
  for (size_t i = 0; i < OX_COUNT(named); i++)
    if ((set & named[i].set) == named[i].set) {
      add(t, comma), add(t, named[i].name);
      set &= ~named[i].set, comma = between;
    }
  for (uint32_t d = 1; d < 32; d++)
    if (set >> d & 1) add(t, comma), add(t, ox_dtype_name(d)), comma = between;
}

/* The set of input |i|; 0: anything. */
static uint32_t set_of(const ox_schema *s, uint32_t i) {
  if (i >= OX_TYPED_IN && s->more_types) return s->more_types[i - OX_TYPED_IN];
  uint32_t set = 0;
  for (uint32_t k = 0; k <= i && k < OX_TYPED_IN; k++) set = s->types[k] ? s->types[k] : set;
  return set;
}

/* Inputs that take the same types stand together: "float, int64 x2". */
static void add_sets(text *t, const ox_schema *s) {
  uint32_t n = s->max_in == OX_VARIADIC ? OX_TYPED_IN : s->max_in;
  for (uint32_t i = 0, k; i < n; i = k) {
    for (k = i + 1; k < n && set_of(s, k) == set_of(s, i);) k++;
    add(t, i ? "; " : "");
    if (set_of(s, i))
      add_types(t, set_of(s, i), " ");
    else
      add(t, "any");
    if (k - i > 1 && !(k == n && s->max_in == OX_VARIADIC)) add(t, " x"), add_number(t, k - i);
    if (k == n && s->max_in == OX_VARIADIC) add(t, " ...");
  }
}

static void add_count(text *t, uint32_t least, uint32_t most) {
  add_number(t, least);
  if (most == OX_VARIADIC) add(t, "+");
  if (most == OX_VARIADIC || most == least) return;
  add(t, "-"), add_number(t, most);
}

/* ---- rows ---- */

static void add_row(text *t, const ox_op *op) {
  const ox_schema *s = op->schema;
  bool outs = s->min_out || s->max_out;
  add(t, "| "), add(t, s->name), add(t, " | "), add_number(t, s->since), add(t, " | ");
  add_count(t, s->min_in, s->max_in);
  add(t, " | "), add_count(t, outs ? s->min_out : 1, outs ? s->max_out : 1), add(t, " | ");
  add_sets(t, s);
  add(t, " | ");
  if (s->traits & OX_VIEW)
    add(t, "view");
  else
    add(t, op->kernel && s->control ? "kernel, bodies" : op->kernel ? "kernel" : "bodies");
  add(t, " |\n");
}

static const char *domain_of(const ox_schema *s) { return s->domain ? s->domain : ""; }

static void add_domain(text *t, const char *domain, size_t rows, size_t operators) {
  add(t, "\n## "), add(t, *domain ? domain : "ai.onnx"), add(t, "\n\n");
  add_number(t, (int64_t)operators), add(t, " operators, "), add_number(t, (int64_t)rows);
  add(t, " rows.\n\n| operator | since | inputs | outputs | types of the inputs | runs as |\n");
  add(t, "| --- | --- | --- | --- | --- | --- |\n");
}

static char *table(void) {
  static const char head[] =
      "# Operators of Onyx\n\n"
      "What the table of operators (`src/ops/`, docs/operators.md) holds, written by\n"
      "`build/tests/test.ops.operator_table print`; the same program as a test compares. Operators of plug-ins and "
      "those\n"
      "that only the CPU provider's rules make (`ai.onyx`) are not in it. A row serves from the version under "
      "\"since\" to\n"
      "the next row of the name. A function of the standard has a row like any other operator.\n\n"
      "Runs as: **kernel**, computed by the CPU provider; **view**, another shape or type for the same bytes, or "
      "none;\n"
      "**bodies**, control flow that runs the graphs in its attributes.\n\n"
      "Types, by input: `; ` between inputs, `x2` for two that take the same, `...` for any number. Sets:\n\n";
  text t = {0};
  size_t n;
  const ox_op *const *rows = ox_registry_all(ox_ops_builtin(), &n);
  add(&t, head);
  for (size_t i = 1; i < OX_COUNT(named); i++) {
    add(&t, "- `"), add(&t, named[i].name), add(&t, "`: ");
    for (uint32_t d = 1, first = 1; d < 32; d++)
      if (named[i].set >> d & 1) add(&t, first ? "" : ", "), add(&t, ox_dtype_name(d)), first = 0;
    add(&t, "\n");
  }
  add(&t, "- `all`: every type but float6\n");
  for (size_t i = 0; i < n; i++) {
    const char *domain = domain_of(rows[i]->schema);
    if (i == 0 || strcmp(domain, domain_of(rows[i - 1]->schema)) != 0) {
      size_t end = i, operators = 0;
      for (; end < n && strcmp(domain, domain_of(rows[end]->schema)) == 0; end++)
        operators += end == i || strcmp(rows[end]->schema->name, rows[end - 1]->schema->name) != 0;
      add_domain(&t, domain, end - i, operators);
    }
    add_row(&t, rows[i]);
  }
  return t.p;
}

static void test_the_document_says_the_same(void **state) {
  (void)state;
  char *want = table(), line[32];
  FILE *f = fopen("docs/operator-table.md", "rb");
  assert_non_null(f);
  char *got = calloc(1, strlen(want) + 2);
  assert_non_null(got);
  fread(got, 1, strlen(want) + 1, f);
  fclose(f);
  size_t at = 0, number = 1;
  for (; got[at] && got[at] == want[at]; at++) number += want[at] == '\n';
  snprintf(line, sizeof line, "line %zu", number);
  if (got[at] != want[at])
    fail_msg("docs/operator-table.md differs from %s on: build/tests/test.ops.operator_table print", line);
  free(got), free(want);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "print") == 0) {
    char *t = table();
    fputs(t, stdout);
    free(t);
    return 0;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_document_says_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
