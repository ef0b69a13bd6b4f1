/* SPDX-License-Identifier: Apache-2.0
 * cli/wrong_rules.c - a plug-in whose rules are wrong on purpose, each about operators of its own. */
#include "onyx/plugin.h"
#include "onyx/rewrite.h"

/* ---- another operator ---- */

static const ox_pat add[] = {{.op = "Add"}};
static ox_status *to_sub(const ox_rewrite *g, const ox_match *m) { return ox_become(g, m->node[0], NULL, "Sub"); }

static const ox_pat mul[] = {{.op = "Mul"}};
static ox_status *to_max(const ox_rewrite *g, const ox_match *m) { return ox_become(g, m->node[0], NULL, "Max"); }

/* ---- a fusion that forgets one of the two ---- */

enum { SQRT, FLOOR };
static const ox_pat floor_of_sqrt[] = {
    [SQRT] = {.op = "Sqrt", .single_use = 1}, [FLOOR] = {.op = "Floor", .in = {OX_FROM(SQRT)}}};
static ox_status *to_round(const ox_rewrite *g, const ox_match *m) {
  ox_status *st = ox_become(g, m->node[SQRT], NULL, "Round");
  return st ? st : ox_give_way(g, m->node[FLOOR], ox_out(g, m->node[SQRT], 0));
}

/* ---- the content of a constant ---- */

static const ox_pat sinh_of_constant[] = {{.op = "Sinh", .in = {OX_CONST(0)}}};
static ox_status *to_constant(const ox_rewrite *g, const ox_match *m) {
  ox_status *st = g->api->make_const(g, ox_out(g, m->node[0], 0), ox_const(g, m->arg[0]));
  return st ? st : ox_remove(g, m->node[0]);
}

/* ---- what cannot be run: seven elements out of however many ---- */

static const ox_pat cosh_[] = {{.op = "Cosh", .in = {OX_ARG(0)}}};
static ox_status *to_reshape(const ox_rewrite *g, const ox_match *m) {
  const int64_t seven = 7;
  ox_id in[] = {m->arg[0], OX_NONE};
  ox_status *st = ox_i64_const(g, &seven, 1, &in[1]);
  return st ? st : ox_remake(g, m->node[0], NULL, "Reshape", in, 2);
}

#define WRONG(name, pattern, apply) \
  { OX_RULE(name, OX_OPTIMIZE_BASIC, pattern, NULL, apply) }
static const ox_rule rules[] = {WRONG("add-to-sub", add, to_sub), WRONG("cosh-to-reshape", cosh_, to_reshape),
                                WRONG("floor-to-round", floor_of_sqrt, to_round), WRONG("mul-to-max", mul, to_max),
                                WRONG("sinh-to-constant", sinh_of_constant, to_constant)};
static const ox_rule_set set = {.struct_size = sizeof set,
                                .place = OX_RULES_BEFORE, /* before anything is folded */
                                .rules = rules,
                                .n_rules = sizeof rules / sizeof *rules};
static const ox_rule_set *const sets[] = {&set};
static const ox_plugin plugin = {.struct_size = sizeof plugin,
                                 .abi_major = OX_EP_ABI_MAJOR,
                                 .name = "wrong rules",
                                 .rule_sets = sets,
                                 .n_rule_sets = 1};

const ox_plugin *ox_plugin_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &plugin : NULL; }
