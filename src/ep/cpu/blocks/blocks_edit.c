/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_edit.c - rewrites the chosen nodes, producers first: each reads its operands in blocks and makes
 * fresh values in blocks. The values that the model knows come from FromBlocks, where they are still read. */
#include "base/status.h"
#include "ep/cpu/blocks/blocks_pass.h"

static const char own[] = "ai.onyx";

/* ---- sizes ---- */

int64_t ox_blocks_channels(const ox_rewrite *g, ox_id v) {
  const ox_shape *s = ox_shape_at(g, v);
  return ox_dtype_of(g, v) == OX_F32 && s->rank >= 3 && s->rank <= 5 && s->dim[1] > 1 ? s->dim[1] : 0;
}

double ox_blocks_elements(const ox_rewrite *g, ox_id v, bool in_blocks) {
  enum { USUAL = 28 };
  const ox_shape *s = ox_shape_at(g, v);
  double n = s->rank > 0 && s->dim[0] > 0 ? (double)s->dim[0] : 1;
  if (s->rank > 1) n *= (double)(in_blocks ? OX_ROUND_UP(s->dim[1], OX_BLOCKS_LANES) : s->dim[1]);
  for (int i = 2; i < s->rank; i++) n *= s->dim[i] >= 0 ? (double)s->dim[i] : USUAL;
  return n;
}

double ox_blocks_waste(const ox_rewrite *g, ox_id v) {
  return OX_BLOCKS_NS * (ox_blocks_elements(g, v, true) - ox_blocks_elements(g, v, false));
}

/* ---- turning ---- */

ox_status *ox_blocks_unsqueeze(const ox_rewrite *g, ox_id v, int64_t axis, ox_id *out) {
  ox_id in[2] = {v}, node;
  bool by_attr = ox_opset_of(g, "") < 13;
  if (!by_attr) OX_TRY(ox_i64_const(g, &axis, 1, &in[1]));
  OX_TRY(g->api->add_value(g, NULL, NULL, out));
  OX_TRY(g->api->add_node(g, NULL, "Unsqueeze", "", in, by_attr ? 1 : 2, out, 1, &node));
  if (by_attr) OX_TRY(ox_set_ints(g, node, "axes", &axis, 1));
  return g->api->infer(g, node);
}

/* One pixel, and no lane unused: the same bytes in another shape. */
static bool is_view(const ox_shape *s) {
  return s->rank >= 2 && s->dim[1] % OX_BLOCKS_LANES == 0 && ox_elements_of(s, 2, s->rank) == 1;
}

/* Makes |out|, which has no producer, of |v|, as [N, channels, 1 ...] or in blocks. */
static ox_status *reshape(const ox_rewrite *g, ox_id v, const int64_t *dims, int rank, ox_id out) {
  ox_id in[2] = {v}, node;
  OX_TRY(ox_i64_const(g, dims, rank, &in[1]));
  return g->api->add_node(g, NULL, "Reshape", "", in, 2, &out, 1, &node);
}

ox_status *ox_blocks_to(const ox_rewrite *g, ox_id v, ox_id *out) {
  ox_id node;
  ox_shape s = *ox_shape_at(g, v), blocks = s;
  if (!is_view(&s) || ox_opset_of(g, "") < 5) return ox_emit(g, own, "ToBlocks", &v, 1, &node, out);
  blocks.dim[1] /= OX_BLOCKS_LANES, blocks.dim[blocks.rank++] = OX_BLOCKS_LANES;
  OX_TRY(g->api->add_tensor(g, NULL, OX_F32, &blocks, out));
  blocks.dim[0] = 0; /* as it is */
  return reshape(g, v, blocks.dim, blocks.rank, *out);
}

/* |plain|, which has lost its producer, is made of |blocks|. */
static ox_status *turn_back(const ox_rewrite *g, ox_id blocks, ox_id plain) {
  ox_id node;
  ox_shape s = *ox_shape_at(g, plain);
  if (is_view(&s) && ox_opset_of(g, "") >= 5) {
    s.dim[0] = 0;
    return reshape(g, blocks, s.dim, s.rank, plain);
  }
  OX_TRY(g->api->add_node(g, own, "FromBlocks", "", &blocks, 1, &plain, 1, &node));
  return ox_set_int(g, node, "channels", s.dim[1]);
}

/* ---- nodes ---- */

static ox_status *set_inputs(ox_blocks_work *w, ox_id node) {
  const ox_rewrite *g = w->g;
  uint64_t in = w->use[node].in;
  for (uint32_t i = 0; i < ox_n_in(g, node); i++) {
    ox_id v = ox_in(g, node, i);
    if (!(in >> i & 1)) continue;
    if (w->blocked[v] == OX_NONE) OX_TRY(ox_blocks_to(g, v, &w->blocked[v]));
    OX_TRY(ox_set_in(g, node, i, w->blocked[v]));
  }
  return NULL;
}

/* Whether anybody reads |v| as it was: nodes that are still to be edited do not. */
static bool read_outside(const ox_blocks_work *w, ox_id v) {
  const ox_rewrite *g = w->g;
  uint32_t later = 0, n = g->api->user_count(g, v);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t slot = 0;
    ox_id user = g->api->user(g, v, i, &slot);
    later += user < w->n_nodes && slot < 64 && w->use[user].op && (w->use[user].in >> slot & 1);
  }
  return ox_uses(g, v) > later;
}

static ox_status *set_outputs(ox_blocks_work *w, ox_id node) {
  const ox_rewrite *g = w->g;
  uint64_t out = w->use[node].out;
  ox_id was[64];
  for (uint32_t i = 0; i < ox_n_out(g, node) && i < 64; i++) {
    was[i] = ox_out(g, node, i);
    if (!(out >> i & 1)) continue;
    OX_TRY(g->api->add_value(g, NULL, NULL, &w->blocked[was[i]]));
    OX_TRY(g->api->set_out(g, node, i, w->blocked[was[i]]));
  }
  OX_TRY(g->api->infer(g, node));
  for (uint32_t i = 0; i < ox_n_out(g, node) && i < 64; i++)
    if ((out >> i & 1) && read_outside(w, was[i])) OX_TRY(turn_back(g, w->blocked[was[i]], was[i]));
  return NULL;
}

ox_status *ox_blocks_edit(ox_blocks_work *w) {
  for (ox_id v = 0; v < w->n_values; v++) w->blocked[v] = OX_NONE;
  for (uint32_t k = 0; k < w->n_order; k++) {
    ox_id node = w->order[k];
    const ox_blocks_use *u = &w->use[node];
    if (!u->op) continue;
    if (u->op->edit) OX_TRY(u->op->edit(w->g, node, u));
    OX_TRY(set_inputs(w, node));
    OX_TRY(set_outputs(w, node));
  }
  return NULL;
}
