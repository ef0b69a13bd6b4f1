/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/conv_fuse.c - Conv takes in a residual Add and the activation behind it: com.microsoft.FusedConv(X, W,
 * B, Z) = activation(conv + Z). Each removes a node. */
#include "base/status.h"
#include "ep/cpu/activation.h"

static const char ms[] = "com.microsoft";
enum { X, W, B, Z };
enum { FLOATS = OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_T_FLOAT16S };
enum { CONV, AFTER };

/* Conv of the standard or a FusedConv; the latter's row decides about the type. */
static int conv_open(const ox_rewrite *g, ox_id conv) {
  return ox_activation_free(g, conv) && ox_op_serves(g, ms, "FusedConv", ox_dtype_of(g, ox_out(g, conv, 0)));
}

/* The user's output becomes the convolution's. */
static ox_status *take_over(const ox_rewrite *g, ox_id conv, ox_id after) {
  OX_TRY(ox_become(g, conv, ms, "FusedConv"));
  return ox_give_way(g, after, ox_out(g, conv, 0));
}

/* ---- activation ---- */

#define CONV_THEN(conv_domain)                                                                              \
  {                                                                                                         \
    [CONV] = {.op = "Conv|FusedConv", .domain = conv_domain, .single_use = 1, .types = FLOATS}, [AFTER] = { \
      .activation = 1,                                                                                      \
      .in = {OX_FROM(CONV)}                                                                                 \
    }                                                                                                       \
  }
static const ox_pat act_plain[] = CONV_THEN(NULL);
static const ox_pat act_fused[] = CONV_THEN(ms);

static int act_guard(const ox_rewrite *g, ox_match *m) {
  return ox_activation_of(g, m->node[AFTER], OX_CAPTURE(m, ox_activation)) && conv_open(g, m->node[CONV]);
}

static ox_status *act_apply(const ox_rewrite *g, const ox_match *m) {
  OX_TRY(ox_activation_set(g, m->node[CONV], OX_CAPTURED(m, ox_activation)));
  return take_over(g, m->node[CONV], m->node[AFTER]);
}

/* ---- residual ---- */

static const ox_pat add[] = {[CONV] = {.op = "Conv", .single_use = 1, .types = FLOATS},
                             [AFTER] = {.op = "Add", .in = {OX_FROM(CONV), OX_ARG(0)}, .commutative = 1}};

/* Z must have the very shape of the result: FusedConv does not broadcast. */
static int add_guard(const ox_rewrite *g, ox_match *m) {
  const ox_shape *y = ox_shape_at(g, ox_out(g, m->node[CONV], 0)), *z = ox_shape_at(g, m->arg[0]);
  return y->rank >= 3 && ox_shape_named(y) && ox_same_shape(y, z) && ox_n_in(g, m->node[CONV]) <= 3 &&
         conv_open(g, m->node[CONV]);
}

static ox_status *add_apply(const ox_rewrite *g, const ox_match *m) {
  OX_TRY(ox_set_in(g, m->node[CONV], Z, m->arg[0]));
  return take_over(g, m->node[CONV], m->node[AFTER]);
}

static const ox_rule rules[] = {
    {OX_RULE("conv-activation", OX_OPTIMIZE_EXTENDED, act_plain, act_guard, act_apply), .late = 1},
    {OX_RULE("conv-activation", OX_OPTIMIZE_EXTENDED, act_fused, act_guard, act_apply), .late = 1},
    {OX_RULE("conv-add", OX_OPTIMIZE_EXTENDED, add, add_guard, add_apply), .late = 1},
};
const ox_rule_set ox_cpu_rules_conv_fuse = OX_OWNED_RULE_SET("cpu", rules);
