/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/qconv_fuse.c - channels-last QLinearConv takes in a residual QLinearAdd and the Max with a constant that
 * a Relu became: ai.onyx.FusedQLinearConv. Each removes a node. */
#include "base/status.h"
#include "onyx/rewrite.h"

static const char ms[] = "com.microsoft", onyx[] = "ai.onyx", fused[] = "FusedQLinearConv";
enum { CONV, AFTER };
enum { Y_SCALE = 6, Y_ZERO, BIAS, Z, N_IN = 14, N_LINEAR = 9 };

/* A QLinearConv or FusedQLinearConv may take more in. */
static int open_conv(const ox_rewrite *g, ox_id conv) {
  int linear = ox_is_of(g, conv, "QLinearConv", ms) && ox_attr_i(g, conv, "channels_last", 0);
  if (!linear && !ox_is_of(g, conv, fused, onyx)) return 0;
  return !ox_attr_of(g, conv, "least") && ox_op_serves(g, onyx, fused, ox_dtype_of(g, ox_in(g, conv, 0)));
}

/* ---- Max ---- */

#define THEN_MAX(conv_op, conv_domain)                                            \
  {                                                                               \
    [CONV] = {.op = conv_op, .domain = conv_domain, .single_use = 1}, [AFTER] = { \
      .op = "Max",                                                                \
      .in = {OX_FROM(CONV), OX_ARG(0)},                                           \
      .commutative = 1                                                            \
    }                                                                             \
  }
static const ox_pat max_linear[] = THEN_MAX("QLinearConv", ms);
static const ox_pat max_fused[] = THEN_MAX("FusedQLinearConv", onyx);

/* One number, which does not make the result's rank larger. */
static int max_guard(const ox_rewrite *g, ox_match *m) {
  double *least = OX_CAPTURE(m, double);
  return ox_n_in(g, m->node[AFTER]) == 2 && ox_const_scalar(g, m->arg[0], least) &&
         ox_shape_at(g, m->arg[0])->rank <= ox_shape_at(g, ox_out(g, m->node[CONV], 0))->rank &&
         open_conv(g, m->node[CONV]);
}

static ox_status *max_apply(const ox_rewrite *g, const ox_match *m) {
  ox_id conv = m->node[CONV];
  OX_TRY(ox_become(g, conv, onyx, fused));
  OX_TRY(ox_set_int(g, conv, "least", (int64_t)*OX_CAPTURED(m, double)));
  return ox_give_way(g, m->node[AFTER], ox_out(g, conv, 0));
}

/* ---- QLinearAdd ---- */

static const ox_pat add[] = {{.op = "QLinearAdd", .domain = ms}};

typedef struct residual {
  ox_id conv;
  uint32_t at; /* the operand of the sum that it makes */
} residual;

/* The sum's operand from slot |at| on comes from a convolution for this sum alone, quantized as the sum takes it. */
static int operand(const ox_rewrite *g, ox_id sum, uint32_t at, residual *r) {
  ox_id y = ox_in(g, sum, at), conv = ox_producer(g, y);
  r->conv = conv, r->at = at;
  return conv != OX_NONE && ox_uses(g, y) == 1 && !ox_is_output(g, y) && open_conv(g, conv) &&
         ox_in(g, conv, Z) == OX_NONE && ox_in(g, sum, at + 1) == ox_in(g, conv, Y_SCALE) &&
         ox_in(g, sum, at + 2) == ox_in(g, conv, Y_ZERO);
}

/* Both operands have the shape of the result. The one to take in is the later one's, which the other may depend on. */
static int add_guard(const ox_rewrite *g, ox_match *m) {
  residual *r = OX_CAPTURE(m, residual);
  ox_id sum = m->node[0];
  const ox_shape *a = ox_shape_at(g, ox_in(g, sum, 0)), *b = ox_shape_at(g, ox_in(g, sum, 3));
  if (ox_n_in(g, sum) != 8 || ox_in(g, sum, 7) == OX_NONE) return 0;
  return a->rank == 4 && ox_shape_named(a) && ox_same_shape(a, b) && (operand(g, sum, 0, r) || operand(g, sum, 3, r));
}

static ox_status *add_apply(const ox_rewrite *g, const ox_match *m) {
  const residual *r = OX_CAPTURED(m, residual);
  ox_id sum = m->node[0], in[N_IN];
  uint32_t z = 3 - r->at;
  for (uint32_t i = 0; i < N_LINEAR; i++) in[i] = ox_in(g, r->conv, i);
  for (uint32_t i = 0; i < 3; i++) in[Z + i] = ox_in(g, sum, z + i);
  in[Z + 3] = ox_in(g, sum, 6), in[Z + 4] = ox_in(g, sum, 7);
  OX_TRY(ox_remake(g, sum, onyx, fused, in, N_IN));
  OX_TRY(ox_copy_attrs(g, sum, r->conv));
  if (z == 0) OX_TRY(ox_set_int(g, sum, "z_first", 1));
  return ox_remove_unused(g, r->conv);
}

static const ox_rule rules[] = {
    {OX_RULE("qconv-max", OX_OPTIMIZE_ALL, max_linear, max_guard, max_apply), .late = 1},
    {OX_RULE("qconv-max", OX_OPTIMIZE_ALL, max_fused, max_guard, max_apply), .late = 1},
    {OX_RULE("qconv-add", OX_OPTIMIZE_ALL, add, add_guard, add_apply), .late = 1},
};
const ox_rule_set ox_cpu_rules_qconv_fuse = OX_OWNED_RULE_SET("cpu", rules);
