/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/identity.c - operators that hand their input on: Identity, Dropout at inference, Cast to the same type.
 * Each removes a node. */
#include "base/status.h"
#include "onyx/rewrite.h"

/* The output may be read as the input, unless that would need a new Identity. */
static int can_bypass(const ox_rewrite *g, ox_match *m) {
  ox_id x = ox_in(g, m->node[0], 0);
  return x != OX_NONE && ox_can_replace(g, ox_out(g, m->node[0], 0), x);
}

static ox_status *bypass(const ox_rewrite *g, const ox_match *m) { return ox_bypass(g, m->node[0]); }

static const ox_pat identity[] = {{.op = "Identity"}};

static const ox_pat dropout[] = {{.op = "Dropout"}};

static int dropout_off(const ox_rewrite *g, ox_match *m) {
  if (g->api->use_count(g, ox_out(g, m->node[0], 1))) return 0; /* the mask is read */
  if (ox_opset_of(g, "") < 7 && !ox_attr_i(g, m->node[0], "is_test", 0)) return 0;
  ox_id training = ox_in(g, m->node[0], 2);
  return (training == OX_NONE || ox_const_all(g, training, 0, 1)) && can_bypass(g, m);
}

static const ox_pat cast[] = {{.op = "Cast|CastLike"}};

static int same_type(const ox_rewrite *g, ox_match *m) {
  uint32_t from = ox_dtype_of(g, ox_in(g, m->node[0], 0)), to = ox_dtype_of(g, ox_out(g, m->node[0], 0));
  return from && from == to && can_bypass(g, m);
}

static const ox_rule rules[] = {
    {OX_RULE("identity", OX_OPTIMIZE_BASIC, identity, can_bypass, bypass)},
    {OX_RULE("dropout", OX_OPTIMIZE_BASIC, dropout, dropout_off, bypass)},
    {OX_RULE("cast-same-type", OX_OPTIMIZE_BASIC, cast, same_type, bypass)},
};
const ox_rule_set ox_rules_identity = OX_RULE_SET(rules);
