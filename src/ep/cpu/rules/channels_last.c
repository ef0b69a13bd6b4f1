/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/channels_last.c - integer convolutions compute channels last, whatever their operands' layout. Made
 * visible as Transposes, the turns between convolutions cancel, and element-wise operators and QLinearConcat in between
 * move above them, maxima over windows too.
 */
#include "base/status.h"
#include "onyx/rewrite.h"

static const char ms[] = "com.microsoft";
static const int64_t to_last[4] = {0, 2, 3, 1}, to_first[4] = {0, 3, 1, 2};

/* A fresh value like |v|, of 4 dimensions permuted. */
static ox_status *add_turned(const ox_rewrite *g, ox_id v, const int64_t *perm, ox_id *out) {
  const ox_shape *s = ox_shape_at(g, v);
  ox_shape turned = {.rank = 4};
  for (int i = 0; i < 4; i++) turned.dim[i] = s->rank == 4 ? s->dim[perm[i]] : -1;
  return g->api->add_tensor(g, NULL, ox_dtype_of(g, v), &turned, out);
}

static ox_status *transpose(const ox_rewrite *g, ox_id v, const int64_t *perm, ox_id *out) {
  ox_id node;
  OX_TRY(add_turned(g, v, perm, out));
  OX_TRY(g->api->add_node(g, NULL, "Transpose", "", &v, 1, out, 1, &node));
  return ox_set_ints(g, node, "perm", perm, 4);
}

/* |node|'s output 0 moves to a fresh value; |node| is copied to produce it, as |op|, and becomes its Transpose by
 * |to_first|. */
static ox_status *turn_output(const ox_rewrite *g, ox_id node, const char *domain, const char *op, const ox_id *in,
                              ox_id *out_copy) {
  ox_id v;
  OX_TRY(add_turned(g, ox_out(g, node, 0), to_last, &v));
  OX_TRY(g->api->add_node(g, domain, op, ox_name_of(g, node), in, ox_n_in(g, node), &v, 1, out_copy));
  OX_TRY(ox_copy_attrs(g, *out_copy, node));
  OX_TRY(ox_remake(g, node, NULL, "Transpose", &v, 1));
  return ox_set_ints(g, node, "perm", to_first, 4);
}

/* ---- convolutions ---- */

enum { MAX_IN = 50 };
static const ox_pat conv[] = {{.op = "QLinearConv"}};

/* A convolution between other operators turned its operands itself: a Transpose costs no more. */
static int conv_guard(const ox_rewrite *g, ox_match *m) {
  ox_id x = ox_in(g, m->node[0], 0);
  return ox_shape_at(g, x)->rank == 4 && ox_n_in(g, m->node[0]) <= MAX_IN &&
         ox_op_serves(g, ms, "QLinearConv", ox_dtype_of(g, x));
}

static ox_status *conv_apply(const ox_rewrite *g, const ox_match *m) {
  ox_id node = m->node[0], in[MAX_IN], copy;
  for (uint32_t i = 0; i < ox_n_in(g, node); i++) in[i] = ox_in(g, node, i);
  OX_TRY(transpose(g, in[0], to_last, &in[0]));
  OX_TRY(turn_output(g, node, ms, "QLinearConv", in, &copy));
  return ox_set_int(g, copy, "channels_last", 1);
}

/* ---- element-wise operators move above the turn back ---- */

static const ox_pat wise[] = {{.op = "Max|Min|Relu|Clip"}};
static const ox_pat wise_ms[] = {
    {.op = "QLinearAdd|QLinearMul|QLinearSigmoid|QLinearLeakyRelu|QLinearConcat", .domain = ms}};

typedef struct operands {
  ox_id in[MAX_IN];   /* before the turn */
  ox_id turn[MAX_IN]; /* the Transpose, or OX_NONE */
} operands;

/* Transposed by |to_first|. */
static int turned_back(const ox_rewrite *g, ox_id t) {
  const ox_attr_view *p = ox_attr_ints(g, t, "perm");
  return p && p->n == 4 && memcmp(p->ints, to_first, sizeof to_first) == 0;
}

/* One number, which fits any layout. */
static int lone(const ox_rewrite *g, ox_id v) {
  const ox_shape *s = ox_shape_at(g, v);
  return s->rank == 0 || (s->rank == 1 && s->dim[0] == 1);
}

/* Every operand is turned back or one number, and one at least is turned back. */
static int wise_guard(const ox_rewrite *g, ox_match *m) {
  operands *o = OX_CAPTURE(m, operands);
  ox_id node = m->node[0];
  uint32_t n_turned = 0, n_in = ox_n_in(g, node);
  if (n_in > MAX_IN || ox_n_out(g, node) != 1 || ox_is_output(g, ox_out(g, node, 0))) return 0;
  for (uint32_t i = 0; i < n_in; i++) {
    ox_id v = ox_in(g, node, i);
    o->in[i] = v, o->turn[i] = OX_NONE;
    if (v == OX_NONE || lone(g, v)) continue;
    o->turn[i] = ox_up(g, v, "Transpose");
    if (!turned_back(g, o->turn[i])) return 0;
    o->in[i] = ox_in(g, o->turn[i], 0), n_turned++;
  }
  return n_turned > 0;
}

/* The first dimension's place is its own, channels become the last. */
static ox_status *turn_axis(const ox_rewrite *g, ox_id node) {
  int64_t axis = ox_attr_i(g, node, "axis", 0);
  return ox_set_int(g, node, "axis", to_first[axis < 0 ? axis + 4 : axis]);
}

static ox_status *wise_apply(const ox_rewrite *g, const ox_match *m) {
  const operands *o = OX_CAPTURED(m, operands);
  uint32_t n_in = ox_n_in(g, m->node[0]);
  ox_id copy;
  OX_TRY(turn_output(g, m->node[0], ox_domain_of(g, m->node[0]), ox_op_of(g, m->node[0]), o->in, &copy));
  if (ox_is_of(g, copy, "QLinearConcat", ms)) OX_TRY(turn_axis(g, copy));
  for (uint32_t i = 0; i < n_in; i++) OX_TRY(ox_remove_unused(g, o->turn[i]));
  return NULL;
}

/* ---- maxima and means over windows do so, too ---- */

static const ox_pat pool[] = {{.op = "MaxPool", .types = OX_BIT(OX_U8) | OX_BIT(OX_I8)}};
static const ox_pat mean[] = {{.op = "QLinearAveragePool", .domain = ms}};

static int below_turn(const ox_rewrite *g, ox_id node) {
  ox_id turn = ox_up(g, ox_in(g, node, 0), "Transpose");
  return turn != OX_NONE && turned_back(g, turn) && ox_one_output(g, node) && !ox_is_output(g, ox_out(g, node, 0));
}

static int pool_guard(const ox_rewrite *g, ox_match *m) {
  return below_turn(g, m->node[0]) && ox_op_serves(g, ms, "NhwcMaxPool", ox_dtype_of(g, ox_in(g, m->node[0], 0)));
}

static ox_status *pool_apply(const ox_rewrite *g, const ox_match *m) {
  ox_id turn = ox_up(g, ox_in(g, m->node[0], 0), "Transpose"), in = ox_in(g, turn, 0), copy;
  OX_TRY(turn_output(g, m->node[0], ms, "NhwcMaxPool", &in, &copy));
  OX_TRY(ox_drop_attr(g, copy, "storage_order"));
  return ox_remove_unused(g, turn);
}

static int mean_guard(const ox_rewrite *g, ox_match *m) {
  return ox_n_in(g, m->node[0]) <= MAX_IN && !ox_attr_i(g, m->node[0], "channels_last", 0) && below_turn(g, m->node[0]);
}

static ox_status *mean_apply(const ox_rewrite *g, const ox_match *m) {
  ox_id node = m->node[0], in[MAX_IN], turn = ox_up(g, ox_in(g, node, 0), "Transpose"), copy;
  for (uint32_t i = 0; i < ox_n_in(g, node); i++) in[i] = ox_in(g, node, i);
  in[0] = ox_in(g, turn, 0);
  OX_TRY(turn_output(g, node, ms, "QLinearAveragePool", in, &copy));
  OX_TRY(ox_set_int(g, copy, "channels_last", 1));
  return ox_remove_unused(g, turn);
}

static const ox_rule rules[] = {
    {OX_RULE("channels-last-conv", OX_OPTIMIZE_ALL, conv, conv_guard, conv_apply), .late = 1},
    {OX_RULE("channels-last-move", OX_OPTIMIZE_ALL, wise, wise_guard, wise_apply), .late = 1},
    {OX_RULE("channels-last-move", OX_OPTIMIZE_ALL, wise_ms, wise_guard, wise_apply), .late = 1},
    {OX_RULE("channels-last-move", OX_OPTIMIZE_ALL, pool, pool_guard, pool_apply), .late = 1},
    {OX_RULE("channels-last-move", OX_OPTIMIZE_ALL, mean, mean_guard, mean_apply), .late = 1},
};
const ox_rule_set ox_cpu_rules_channels_last = OX_OWNED_RULE_SET("cpu", rules);
