/* SPDX-License-Identifier: Apache-2.0
 * opt/rule_check.c - whether a set of rules and passes is what onyx/rule.h asks for: they may come from a plug-in. */
#include <string.h>

#include "base/macros.h"
#include "opt/opt.h"

#define SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
/* What 1.0 had: a row may be longer or, if it was compiled then, as short. */
enum {
  SET_SIZE = SIZE_UP_TO(ox_rule_set, n_passes),
  RULE_SIZE = SIZE_UP_TO(ox_rule, apply),
  PASS_SIZE = SIZE_UP_TO(ox_pass, run),
  PAT_SIZE = SIZE_UP_TO(ox_pat, unknown)
};
_Static_assert(SET_SIZE == 8 + 5 * sizeof(void *), "1.0 is frozen");
_Static_assert(RULE_SIZE == 16 + 4 * sizeof(void *), "1.0 is frozen");
_Static_assert(PASS_SIZE == 8 + 2 * sizeof(void *), "1.0 is frozen");
_Static_assert(PAT_SIZE == 32 + 2 * sizeof(void *), "1.0 is frozen");
_Static_assert(offsetof(ox_match, captured) == 4 * (OX_PAT_NODES + OX_PAT_ARGS), "matches only grow at their end");

static const ox_pat *entry(const ox_rule *r, uint32_t i) {
  return (const ox_pat *)(const void *)((const char *)r->pat + (size_t)i * r->pat_row_bytes);
}

static ox_status *check_input(const ox_rule *r, uint32_t i, uint32_t k, uint32_t *reached) {
  const ox_pat_in *in = &entry(r, i)->in[k];
  switch (in->kind) {
    case OX_PAT_ANY:
    case OX_PAT_ABSENT:
      return NULL;
    case OX_PAT_FROM:
      *reached |= 1u << (in->index % 32);
      return in->index < i
                 ? NULL
                 : ox_fail(OX_INVALID_ARGUMENT, "entry %u, input %u: entry %u is not an earlier one", i, k, in->index);
    case OX_PAT_ARG:
    case OX_PAT_CONST:
      return in->index < OX_PAT_ARGS ? NULL
                                     : ox_fail(OX_INVALID_ARGUMENT, "entry %u, input %u: argument %u, the most is %d",
                                               i, k, in->index, OX_PAT_ARGS - 1);
    default:
      return ox_fail(OX_INVALID_ARGUMENT, "entry %u, input %u is of kind %u", i, k, in->kind);
  }
}

static ox_status *check_pattern(const ox_rule *r) {
  uint32_t reached = 0;
  if (!r->pat || !r->n_pat || r->n_pat > OX_PAT_NODES)
    return ox_fail(OX_INVALID_ARGUMENT, "a pattern of %u entries, there are 1 to %d", r->pat ? r->n_pat : 0,
                   OX_PAT_NODES);
  if (r->pat_row_bytes < (uint32_t)PAT_SIZE || r->pat_row_bytes % sizeof(void *))
    return ox_fail(OX_INVALID_ARGUMENT, "entries of %u bytes, the least is %d", r->pat_row_bytes, PAT_SIZE);
  for (uint32_t i = 0; i < r->n_pat; i++) {
    const ox_pat *p = entry(r, i);
    bool activation = r->pat_row_bytes >= SIZE_UP_TO(ox_pat, activation) && p->activation;
    if (activation && (p->op || p->domain))
      return ox_fail(OX_INVALID_ARGUMENT, "entry %u: an activation of operator '%s'", i, p->op ? p->op : "");
    if (!activation && (!p->op || !*p->op || *p->op == '|' || strstr(p->op, "||") || p->op[strlen(p->op) - 1] == '|'))
      return ox_fail(OX_INVALID_ARGUMENT, "entry %u: operator '%s'", i, p->op ? p->op : "");
    if (i + 1 == r->n_pat && (p->single_use || p->uses))
      return ox_fail(OX_INVALID_ARGUMENT, "entry %u: uses of the root cannot be in the pattern", i);
    for (uint32_t k = 0; k < OX_PAT_INS; k++) OX_TRY(check_input(r, i, k, &reached));
  }
  for (uint32_t i = 0; i + 1 < r->n_pat; i++)
    if (!(reached >> i & 1)) return ox_fail(OX_INVALID_ARGUMENT, "entry %u: nothing leads to it", i);
  return NULL;
}

static ox_status *check_level(uint32_t level) {
  if (level >= OX_OPTIMIZE_BASIC && level <= OX_OPTIMIZE_ALL) return NULL;
  return ox_fail(OX_INVALID_ARGUMENT, "level %u, there are %d to %d", level, OX_OPTIMIZE_BASIC, OX_OPTIMIZE_ALL);
}

static ox_status *check_rule(const ox_rule *r) {
  OX_TRY(check_level(r->level));
  if (!r->apply) return ox_fail(OX_INVALID_ARGUMENT, "there is no apply");
  return check_pattern(r);
}

static ox_status *check_pass(const ox_pass *p) {
  OX_TRY(check_level(p->level));
  return p->run ? NULL : ox_fail(OX_INVALID_ARGUMENT, "there is no run");
}

/* Row |i| of a table whose rows begin with their size; each must say the same as the first. */
static ox_status *check_size(const char *what, const void *rows, size_t i, uint32_t least, const void **out_row) {
  uint32_t first, size;
  memcpy(&first, rows, sizeof first);
  *out_row = (const char *)rows + i * first;
  if (first < least || first % sizeof(void *))
    return ox_fail(OX_INVALID_ARGUMENT, "%ss of %u bytes, the least is %u", what, first, least);
  memcpy(&size, *out_row, sizeof size);
  return size == first ? NULL
                       : ox_fail(OX_INVALID_ARGUMENT, "%s %zu has %u bytes, the first one %u", what, i, size, first);
}

static ox_status *check_rows(const ox_rule_set *s) {
  const void *row;
  for (size_t i = 0; i < s->n_rules; i++) {
    OX_TRY(check_size("rule", s->rules, i, RULE_SIZE, &row));
    const ox_rule *r = row;
    if (!r->name || !*r->name) return ox_fail(OX_INVALID_ARGUMENT, "rule %zu has no name", i);
    OX_TRY(ox_status_note(check_rule(r), "rule '%s'", r->name));
  }
  for (size_t i = 0; i < s->n_passes; i++) {
    OX_TRY(check_size("pass", s->passes, i, PASS_SIZE, &row));
    const ox_pass *p = row;
    if (!p->name || !*p->name) return ox_fail(OX_INVALID_ARGUMENT, "pass %zu has no name", i);
    OX_TRY(ox_status_note(check_pass(p), "pass '%s'", p->name));
  }
  return NULL;
}

ox_status *ox_rule_set_check(const ox_rule_set *s) {
  if (!s || s->struct_size < (uint32_t)SET_SIZE)
    return ox_fail(OX_INVALID_ARGUMENT, "a set of rules of %u bytes, the least is %u", s ? s->struct_size : 0,
                   SET_SIZE);
  if (s->place > OX_RULES_OWNED) return ox_fail(OX_INVALID_ARGUMENT, "a set of rules at place %u", s->place);
  if ((s->n_rules && !s->rules) || (s->n_passes && !s->passes))
    return ox_fail(OX_INVALID_ARGUMENT, "a set of %zu rules and %zu passes that are not there", s->n_rules,
                   s->n_passes);
  return check_rows(s);
}
