/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/pad_conv.c - zeros padded around the spatial dimensions become the padding of the convolution behind.
 * Removes a node. */
#include <string.h>

#include "opt/match.h"

enum { PAD, CONV };
static const ox_pat pattern[] = {
    [PAD] = {.op = "Pad", .single_use = true}, [CONV] = {.op = "Conv", .in = {OX_FROM(PAD)}}};

/* Begins, then ends, of every dimension. */
static bool pads_of(const ox_graph *g, ox_id pad, int rank, int64_t *pads) {
  const ox_node *n = &g->nodes[pad];
  int count;
  double value = 0;
  ox_id fill = ox_in(g, pad, 2);
  if (!ox_attr_is(n, "mode", "constant", true) || ox_attr_f(n, "value", 0) != 0 || ox_in(g, pad, 3) != OX_NONE)
    return false;
  if (fill != OX_NONE && (!ox_const_scalar(g, fill, &value) || value != 0)) return false;
  if (!ox_list_of(g, pad, "pads", 1, pads, 2 * OX_MAX_RANK, &count) || count != 2 * rank) return false;
  for (int i = 0; i < count; i++)
    if (pads[i] < 0 || (i % rank < 2 && pads[i])) return false;
  return true;
}

static bool guard(const ox_graph *g, const ox_match *m) {
  const ox_node *conv = &g->nodes[m->node[CONV]];
  const ox_attr *own = ox_node_attr(conv, "pads");
  int64_t pads[2 * OX_MAX_RANK];
  int rank = ox_shape_at(g, g->nodes[m->node[PAD]].in[0])->rank;
  if (rank < 3 || !pads_of(g, m->node[PAD], rank, pads)) return false;
  if (!ox_attr_is(conv, "auto_pad", "NOTSET", true) && !ox_attr_is(conv, "auto_pad", "VALID", false)) return false;
  return !own || ox_attr_is(conv, "auto_pad", "VALID", false) ||
         (own->v.kind == OX_ATTR_INTS_KIND && own->v.n == 2 * (size_t)(rank - 2));
}

static ox_status *apply(ox_graph *g, const ox_match *m) {
  ox_id conv = m->node[CONV];
  bool valid = ox_attr_is(&g->nodes[conv], "auto_pad", "VALID", false);
  const ox_attr *own = valid ? NULL : ox_node_attr(&g->nodes[conv], "pads");
  ox_id x = g->nodes[m->node[PAD]].in[0];
  int64_t pads[2 * OX_MAX_RANK], sum[2 * OX_MAX_RANK];
  int rank = ox_shape_at(g, x)->rank, axes = rank - 2;
  pads_of(g, m->node[PAD], rank, pads);
  for (int i = 0; i < axes; i++) {
    sum[i] = pads[2 + i] + (own ? own->v.ints[i] : 0);
    sum[axes + i] = pads[rank + 2 + i] + (own ? own->v.ints[axes + i] : 0);
  }
  ox_node_remove_attr(g, conv, "auto_pad");
  OX_TRY(ox_node_set_ints(g, conv, "pads", sum, 2 * (size_t)axes));
  return ox_node_set_input(g, conv, 0, x);
}

static const ox_rule rules[] = {{"pad-conv", OX_LEVEL_EXTENDED, OX_PATTERN(pattern), guard, apply, false}};
const ox_rule_set ox_rules_pad_conv = {rules, OX_COUNT(rules)};
