/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/transpose_chain.c - Transpose by the identity goes; two in a row become one. Shrinks the number of nodes.
 */
#include "base/status.h"
#include "onyx/rewrite.h"

/* A permutation; n < 0: it is not known. */
typedef struct perm {
  int n;
  int64_t at[OX_MAX_RANK];
} perm;

/* That of a Transpose, with its default. */
static perm perm_of(const ox_rewrite *g, ox_id node) {
  const ox_attr_view *a = ox_attr_ints(g, node, "perm");
  perm p = {.n = ox_shape_at(g, ox_in(g, node, 0))->rank};
  if (a) p.n = a->n <= OX_MAX_RANK ? (int)a->n : -1;
  for (int i = 0; i < p.n; i++) p.at[i] = a ? a->ints[i] : p.n - 1 - i;
  return p;
}

static int is_identity(const perm *p) {
  for (int i = 0; i < p->n; i++)
    if (p->at[i] != i) return 0;
  return p->n >= 0;
}

static const ox_pat one[] = {{.op = "Transpose"}};

/* Moving dimensions of 1 around the others moves no data either, but changes the shape: that is a Reshape's work. */
static int one_guard(const ox_rewrite *g, ox_match *m) {
  perm p = perm_of(g, m->node[0]);
  return is_identity(&p) && ox_can_replace(g, ox_out(g, m->node[0], 0), ox_in(g, m->node[0], 0));
}

static ox_status *bypass(const ox_rewrite *g, const ox_match *m) { return ox_bypass(g, m->node[0]); }

enum { INNER, OUTER };
static const ox_pat two[] = {
    [INNER] = {.op = "Transpose", .single_use = 1}, [OUTER] = {.op = "Transpose", .in = {OX_FROM(INNER)}}};

/* Both in one. */
static int combined(const ox_rewrite *g, const ox_match *m, perm *out) {
  perm a = perm_of(g, m->node[INNER]), b = perm_of(g, m->node[OUTER]);
  out->n = a.n;
  if (a.n < 0 || a.n != b.n) return 0;
  for (int i = 0; i < a.n; i++) {
    if (a.at[i] < 0 || a.at[i] >= a.n || b.at[i] < 0 || b.at[i] >= a.n) return 0;
    out->at[i] = a.at[b.at[i]];
  }
  return 1;
}

static int two_guard(const ox_rewrite *g, ox_match *m) { return combined(g, m, OX_CAPTURE(m, perm)); }

static ox_status *two_apply(const ox_rewrite *g, const ox_match *m) {
  const perm *p = OX_CAPTURED(m, perm);
  OX_TRY(ox_set_ints(g, m->node[OUTER], "perm", p->at, (size_t)p->n));
  return ox_set_in(g, m->node[OUTER], 0, ox_in(g, m->node[INNER], 0));
}

/* ---- there and back again: the first one may serve others ---- */

static const ox_pat back[] = {[INNER] = {.op = "Transpose"}, [OUTER] = {.op = "Transpose", .in = {OX_FROM(INNER)}}};

static int back_guard(const ox_rewrite *g, ox_match *m) {
  perm p;
  return combined(g, m, &p) && is_identity(&p) &&
         ox_can_replace(g, ox_out(g, m->node[OUTER], 0), ox_in(g, m->node[INNER], 0));
}

static ox_status *back_apply(const ox_rewrite *g, const ox_match *m) {
  return ox_give_way(g, m->node[OUTER], ox_in(g, m->node[INNER], 0));
}

static const ox_rule rules[] = {
    {OX_RULE("transpose-back", OX_OPTIMIZE_BASIC, back, back_guard, back_apply)},
    {OX_RULE("transpose-identity", OX_OPTIMIZE_BASIC, one, one_guard, bypass)},
    {OX_RULE("transpose-transpose", OX_OPTIMIZE_BASIC, two, two_guard, two_apply)},
};
const ox_rule_set ox_rules_transpose_chain = OX_RULE_SET(rules);
