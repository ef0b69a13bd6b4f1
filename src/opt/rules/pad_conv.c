/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/pad_conv.c - zeros padded around the spatial dimensions become the padding of the convolution behind.
 * Removes a node. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { PAD, CONV };
static const ox_pat pattern[] = {[PAD] = {.op = "Pad", .single_use = 1}, [CONV] = {.op = "Conv", .in = {OX_FROM(PAD)}}};

/* What the convolution pads then: begins, then ends. */
typedef struct pads {
  int axes;
  int64_t v[2 * OX_MAX_RANK];
} pads;

/* Begins, then ends, of every dimension. */
static int pads_of(const ox_rewrite *g, ox_id pad, int rank, int64_t *v) {
  int count;
  double value = 0;
  ox_id fill = ox_in(g, pad, 2);
  if (!ox_attr_is(g, pad, "mode", "constant", 1) || ox_attr_f(g, pad, "value", 0) != 0 || ox_in(g, pad, 3) != OX_NONE)
    return 0;
  if (fill != OX_NONE && (!ox_const_scalar(g, fill, &value) || value != 0)) return 0;
  if (!ox_list_of(g, pad, "pads", 1, v, 2 * OX_MAX_RANK, &count) || count != 2 * rank) return 0;
  for (int i = 0; i < count; i++)
    if (v[i] < 0 || v[i] > INT32_MAX || (i % rank < 2 && v[i])) return 0;
  return 1;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  pads *sum = OX_CAPTURE(m, pads);
  ox_id conv = m->node[CONV];
  int64_t front[2 * OX_MAX_RANK];
  int rank = ox_shape_at(g, ox_in(g, m->node[PAD], 0))->rank, axes = rank - 2;
  if (rank < 3 || !pads_of(g, m->node[PAD], rank, front)) return 0;
  int valid = ox_attr_is(g, conv, "auto_pad", "VALID", 0);
  if (!valid && !ox_attr_is(g, conv, "auto_pad", "NOTSET", 1)) return 0;
  const ox_attr_view *own = valid ? NULL : ox_attr_of(g, conv, "pads");
  if (own && (own->kind != OX_ATTR_INTS_KIND || own->n != 2 * (size_t)axes)) return 0;
  for (int i = 0; own && i < 2 * axes; i++)
    if (own->ints[i] < INT32_MIN || own->ints[i] > INT32_MAX) return 0;
  sum->axes = axes;
  for (int i = 0; i < axes; i++) {
    sum->v[i] = front[2 + i] + (own ? own->ints[i] : 0);
    sum->v[axes + i] = front[rank + 2 + i] + (own ? own->ints[axes + i] : 0);
  }
  return 1;
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const pads *sum = OX_CAPTURED(m, pads);
  OX_TRY(ox_drop_attr(g, m->node[CONV], "auto_pad"));
  OX_TRY(ox_set_ints(g, m->node[CONV], "pads", sum->v, 2 * (size_t)sum->axes));
  return ox_set_in(g, m->node[CONV], 0, ox_in(g, m->node[PAD], 0));
}

static const ox_rule rules[] = {{OX_RULE("pad-conv", OX_OPTIMIZE_EXTENDED, pattern, guard, apply)}};
const ox_rule_set ox_rules_pad_conv = OX_RULE_SET(rules);
