/* SPDX-License-Identifier: Apache-2.0
 * opt/rulebook.c - see rulebook.h. Rows of another build's size are copied into ours, what they lack is zero. */
#include "opt/rulebook.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

const char *const ox_builtin_passes[] = {"infer-const", "invariant", "hoist", "fold", "cse", "dce", NULL};

bool ox_opt_disabled(const ox_opt_options *o, const char *name) {
  for (uint32_t i = 0; i < o->n_disabled; i++)
    if (strcmp(o->disabled[i], name) == 0) return true;
  return false;
}

static bool is_builtin(const char *name) {
  for (size_t i = 0; ox_builtin_passes[i]; i++)
    if (strcmp(ox_builtin_passes[i], name) == 0) return true;
  return false;
}

/* ---- rows in this build's size ---- */

/* |row| itself, or a copy of |ours| bytes. NULL on out of memory. */
static const void *resized(ox_arena *a, const void *row, size_t theirs, size_t ours) {
  if (theirs >= ours) return row;
  void *copy = ox_arena_alloc(a, ours);
  return copy ? memcpy(copy, row, theirs) : NULL;
}

/* Entries must lie one after the other. */
static const ox_pat *resized_pattern(ox_arena *a, const ox_rule *r) {
  if (r->pat_row_bytes == sizeof(ox_pat)) return r->pat;
  ox_pat *copy = OX_ARENA_ARRAY(a, ox_pat, r->n_pat);
  for (uint32_t i = 0; copy && i < r->n_pat; i++)
    memcpy(&copy[i], (const char *)r->pat + (size_t)i * r->pat_row_bytes, OX_MIN(r->pat_row_bytes, sizeof *copy));
  return copy;
}

static ox_status *put_rule(ox_rulebook *b, const ox_rule_set *s, const void *at) {
  const ox_rule *r = resized(&b->arena, at, ((const ox_rule *)at)->struct_size, sizeof *r);
  const ox_pat *pat = r ? resized_pattern(&b->arena, r) : NULL;
  if (!pat) return ox_oom();
  if (pat != r->pat) {
    ox_rule *copy = ox_arena_copy(&b->arena, r, sizeof *r);
    if (!copy) return ox_oom();
    copy->pat = pat, copy->pat_row_bytes = sizeof *pat;
    r = copy;
  }
  b->rows[b->n] = (ox_book_row){.rule = r, .set = s, .name = r->name, .level = r->level, .late = r->late != 0};
  return NULL;
}

static ox_status *put_pass(ox_rulebook *b, const ox_rule_set *s, const void *at) {
  const ox_pass *p = resized(&b->arena, at, ((const ox_pass *)at)->struct_size, sizeof *p);
  if (!p) return ox_oom();
  b->rows[b->n] = (ox_book_row){.pass = p, .set = s, .name = p->name, .level = p->level, .late = p->late != 0};
  return NULL;
}

static ox_status *put_set(ox_rulebook *b, const ox_rule_set *s, const ox_opt_options *o) {
  for (size_t i = 0; i < s->n_rules + s->n_passes; i++) {
    if (i < s->n_rules)
      OX_TRY(put_rule(b, s, (const char *)s->rules + i * s->rules[0].struct_size));
    else
      OX_TRY(put_pass(b, s, (const char *)s->passes + (i - s->n_rules) * s->passes[0].struct_size));
    ox_book_row *row = &b->rows[b->n];
    row->order = b->n++, row->place = 1u << s->place, row->disabled = ox_opt_disabled(o, row->name);
  }
  return NULL;
}

/* ---- names ---- */

static int by_name(const void *a, const void *b) {
  const ox_book_row *x = a, *y = b;
  int c = strcmp(x->name, y->name);
  return c ? c : (x->order > y->order) - (x->order < y->order);
}

/* Rows of one name are variants of one rule, next to each other in one set. */
static ox_status *check_names(ox_rulebook *b) {
  qsort(b->rows, b->n, sizeof *b->rows, by_name);
  for (uint32_t i = 0; i < b->n; i++) {
    const ox_book_row *r = &b->rows[i], *was = i ? &b->rows[i - 1] : NULL;
    bool same = was && strcmp(was->name, r->name) == 0;
    if (is_builtin(r->name) || (same && (was->set != r->set || was->order + 1 != r->order || r->pass || was->pass)))
      return ox_fail(OX_INVALID_ARGUMENT, "%s '%s': the name is taken", r->rule ? "rule" : "pass", r->name);
  }
  return NULL;
}

bool ox_rulebook_knows(const ox_rulebook *b, const char *name) {
  if (is_builtin(name)) return true;
  for (uint32_t i = 0; i < b->n; i++)
    if (strcmp(b->rows[i].name, name) == 0) return true;
  return false;
}

/* ---- books ---- */

static int in_turn(const void *a, const void *b) {
  const ox_book_row *x = a, *y = b;
  if (x->level != y->level) return x->level < y->level ? -1 : 1;
  if (x->late != y->late) return x->late ? 1 : -1;
  return by_name(a, b);
}

/* Whether set |i| of list |k| was there before: two instances of a provider hand in the same ones. */
static bool seen_before(const ox_opt_options *o, uint32_t k, size_t i) {
  const ox_rule_set *s = o->rules[k].sets[i];
  for (uint32_t l = 0; l <= k; l++)
    for (size_t j = 0; j < (l < k ? o->rules[l].n : i); j++)
      if (o->rules[l].sets[j] == s) return true;
  return false;
}

ox_status *ox_rulebook_init(ox_rulebook *b, ox_alloc alloc, const ox_opt_options *o) {
  size_t n = 0;
  *b = (ox_rulebook){.n = 0};
  ox_arena_init(&b->arena, alloc);
  for (uint32_t k = 0; k < o->n_rules; k++)
    for (size_t i = 0; i < o->rules[k].n; i++) {
      const ox_rule_set *s = o->rules[k].sets[i];
      OX_TRY(ox_rule_set_check(s)); /* before its counts are believed */
      n += s->n_rules + s->n_passes;
    }
  b->rows = OX_ARENA_ARRAY(&b->arena, ox_book_row, n);
  if (!b->rows) return ox_oom();
  for (uint32_t k = 0; k < o->n_rules; k++)
    for (size_t i = 0; i < o->rules[k].n; i++)
      if (!seen_before(o, k, i)) OX_TRY(put_set(b, o->rules[k].sets[i], o));
  OX_TRY(check_names(b));
  qsort(b->rows, b->n, sizeof *b->rows, in_turn);
  return NULL;
}

void ox_rulebook_deinit(ox_rulebook *b) { ox_arena_deinit(&b->arena); }

static bool is_for(const ox_book_row *r, const char *owner) {
  return r->place != OX_AT_OWNED || !r->set->owner || (owner && strcmp(r->set->owner, owner) == 0);
}

bool ox_book_row_is_on(const ox_book_row *r, uint32_t places, uint32_t level, const char *owner) {
  return !r->disabled && r->level <= level && (r->place & places) && is_for(r, owner);
}

bool ox_rulebook_is_for(const ox_rulebook *b, const char *owner) {
  for (uint32_t i = 0; i < b->n; i++)
    if (b->rows[i].place == OX_AT_OWNED && is_for(&b->rows[i], owner)) return true;
  return false;
}
