/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/transpose_chain.c - Transpose by the identity goes; two in a row become one. Shrinks the number of nodes.
 */
#include "opt/match.h"

/* The permutation of a Transpose, with its default; -1 if it is not known. */
static int perm_of(const ox_graph *g, ox_id node, int64_t *perm) {
  const ox_attr *a = ox_node_attr(&g->nodes[node], "perm");
  int rank = ox_shape_at(g, g->nodes[node].in[0])->rank;
  if (a && a->v.kind == OX_ATTR_INTS_KIND) {
    if (a->v.n > OX_MAX_RANK) return -1;
    for (size_t i = 0; i < a->v.n; i++) perm[i] = a->v.ints[i];
    return (int)a->v.n;
  }
  for (int i = 0; i < rank; i++) perm[i] = rank - 1 - i;
  return rank;
}

static const ox_pat one[] = {{.op = "Transpose"}};

/* Moving dimensions of 1 around the others moves no data either, but changes the shape: that is a Reshape's work. */
static bool is_identity(const ox_graph *g, const ox_match *m) {
  int64_t perm[OX_MAX_RANK];
  const ox_node *t = &g->nodes[m->node[0]];
  int n = perm_of(g, m->node[0], perm);
  if (n < 0) return false;
  for (int i = 0; i < n; i++)
    if (perm[i] != i) return false;
  return ox_graph_can_replace(g, t->out[0], t->in[0]);
}

static ox_status *bypass(ox_graph *g, const ox_match *m) { return ox_graph_bypass(g, m->node[0]); }

enum { INNER, OUTER };
static const ox_pat two[] = {
    [INNER] = {.op = "Transpose", .single_use = true}, [OUTER] = {.op = "Transpose", .in = {OX_FROM(INNER)}}};

static bool both_known(const ox_graph *g, const ox_match *m) {
  int64_t a[OX_MAX_RANK], b[OX_MAX_RANK];
  int n = perm_of(g, m->node[INNER], a);
  if (n < 0 || n != perm_of(g, m->node[OUTER], b)) return false;
  for (int i = 0; i < n; i++)
    if (a[i] < 0 || a[i] >= n || b[i] < 0 || b[i] >= n) return false;
  return true;
}

static ox_status *merge(ox_graph *g, const ox_match *m) {
  int64_t a[OX_MAX_RANK], b[OX_MAX_RANK], c[OX_MAX_RANK];
  int n = perm_of(g, m->node[INNER], a);
  perm_of(g, m->node[OUTER], b);
  for (int i = 0; i < n; i++) c[i] = a[b[i]];
  OX_TRY(ox_node_set_ints(g, m->node[OUTER], "perm", c, (size_t)n));
  return ox_node_set_input(g, m->node[OUTER], 0, g->nodes[m->node[INNER]].in[0]);
}

/* ---- there and back again: the first one may serve others ---- */

static const ox_pat back[] = {[INNER] = {.op = "Transpose"}, [OUTER] = {.op = "Transpose", .in = {OX_FROM(INNER)}}};

static bool back_guard(const ox_graph *g, const ox_match *m) {
  int64_t a[OX_MAX_RANK], b[OX_MAX_RANK];
  if (!both_known(g, m)) return false;
  int n = perm_of(g, m->node[INNER], a);
  perm_of(g, m->node[OUTER], b);
  for (int i = 0; i < n; i++)
    if (a[b[i]] != i) return false;
  return ox_graph_can_replace(g, g->nodes[m->node[OUTER]].out[0], g->nodes[m->node[INNER]].in[0]);
}

static ox_status *back_apply(ox_graph *g, const ox_match *m) {
  OX_TRY(ox_graph_replace_uses(g, g->nodes[m->node[OUTER]].out[0], g->nodes[m->node[INNER]].in[0]));
  ox_graph_remove_node(g, m->node[OUTER]);
  return NULL;
}

static const ox_rule rules[] = {
    {"transpose-back", OX_LEVEL_BASIC, OX_PATTERN(back), back_guard, back_apply, false},
    {"transpose-identity", OX_LEVEL_BASIC, OX_PATTERN(one), is_identity, bypass, false},
    {"transpose-transpose", OX_LEVEL_BASIC, OX_PATTERN(two), both_known, merge, false},
};
const ox_rule_set ox_rules_transpose_chain = {rules, OX_COUNT(rules)};
