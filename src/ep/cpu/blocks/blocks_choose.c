/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/blocks/blocks_choose.c - which nodes compute in blocks. At first all that can do; then nodes at the border
 * fall back as long as that makes the whole cheaper, then whole regions that do not pay. Each node falls back once, and
 * what that means to a neighbour changes at most three times per value, so this is linear. */
#include <string.h>

#include "base/status.h"
#include "ep/cpu/blocks/blocks_pass.h"

/* What is known of a value. Only slots that could be in blocks count as |in_blocks|. */
typedef struct value_state {
  uint32_t in_blocks, outside; /* uses */
  float turn_ns;
  bool made_in_blocks, seen;
} value_state;

typedef struct chooser {
  ox_blocks_work *w;
  value_state *v;
  ox_id *queue; /* a ring; each node is in it once at most */
  uint8_t *queued;
  uint32_t head, n_queued;
} chooser;

/* ---- costs ---- */

enum { RESHAPE_COPIES = 5 /* the opset from which Reshape takes its shape as an input */ };

/* |node|, a Transpose, moves axis |from| to |to|, past the others. */
static bool moves_axis(const ox_rewrite *g, ox_id node, int rank, int from, int to) {
  const ox_attr_view *p = ox_attr_ints(g, node, "perm");
  if (rank < 3 || rank >= OX_MAX_RANK || !p || p->n != (size_t)rank || p->ints[to] != from) return false;
  for (int i = 0, axis = 0; i < rank; i++) {
    if (i == to) continue;
    axis += axis == from;
    if (p->ints[i] != axis++) return false;
  }
  return true;
}

bool ox_blocks_are_whole(const ox_rewrite *g, int64_t channels) {
  return channels > 0 && channels % OX_BLOCKS_LANES == 0 && ox_opset_of(g, "") >= RESHAPE_COPIES;
}

bool ox_blocks_from_last(const ox_rewrite *g, ox_id node) {
  if (!ox_is(g, node, "Transpose")) return false;
  const ox_shape *x = ox_shape_at(g, ox_in(g, node, 0));
  return x->rank >= 3 && ox_blocks_are_whole(g, x->dim[x->rank - 1]) && moves_axis(g, node, x->rank, x->rank - 1, 1);
}

bool ox_blocks_to_last(const ox_rewrite *g, ox_id node) {
  if (!ox_is(g, node, "Transpose")) return false;
  const ox_shape *x = ox_shape_at(g, ox_in(g, node, 0));
  return x->rank >= 3 && x->dim[1] > 0 && moves_axis(g, node, x->rank, 1, x->rank - 1);
}

/* Nodes that turn |v| between channels last and first do so with blocks instead. */
static bool turns_anyway(const ox_rewrite *g, ox_id v) {
  ox_id producer = ox_producer(g, v);
  if (ox_uses(g, v) != 1 || ox_is_output(g, v)) return false;
  return (producer != OX_NONE && ox_blocks_from_last(g, producer)) || ox_blocks_to_last(g, g->api->user(g, v, 0, NULL));
}

/* A node costs some time even if it has nothing to do. */
static float turn_ns(const ox_rewrite *g, ox_id v) {
  if (ox_const_type(g, v) || turns_anyway(g, v)) return 0;
  return (float)(200 + OX_BLOCKS_NS * ox_blocks_elements(g, v, true));
}

static float cost_of(const value_state *v) {
  return (v->made_in_blocks ? v->outside > 0 : v->in_blocks > 0) ? v->turn_ns : 0;
}

static void look_at(chooser *c, ox_id id) {
  value_state *v = &c->v[id];
  if (v->seen) return;
  v->seen = true, v->turn_ns = turn_ns(c->w->g, id), v->outside = ox_uses(c->w->g, id);
}

/* Adds |node| in blocks to the values around it, or takes it away. */
static void enter(chooser *c, ox_id node, bool in_blocks) {
  const ox_rewrite *g = c->w->g;
  const ox_blocks_use *u = &c->w->use[node];
  for (uint32_t i = 0; i < ox_n_in(g, node); i++)
    if (u->in >> i & 1) {
      value_state *v = &c->v[ox_in(g, node, i)];
      v->in_blocks += in_blocks ? 1 : UINT32_MAX, v->outside += in_blocks ? UINT32_MAX : 1;
    }
  for (uint32_t i = 0; i < ox_n_out(g, node); i++)
    if (i < 64 && u->out >> i & 1) c->v[ox_out(g, node, i)].made_in_blocks = in_blocks;
}

/* The cost of all values around |node|; an operand that it reads twice counts once. */
static double around(const chooser *c, ox_id node) {
  const ox_rewrite *g = c->w->g;
  const ox_blocks_use *u = &c->w->use[node];
  double sum = 0;
  for (uint32_t i = 0; i < ox_n_in(g, node); i++) {
    bool again = false;
    for (uint32_t k = 0; k < i && !again && i < 8; k++)
      again = (u->in >> k & 1) && ox_in(g, node, k) == ox_in(g, node, i);
    if ((u->in >> i & 1) && !again) sum += cost_of(&c->v[ox_in(g, node, i)]);
  }
  for (uint32_t i = 0; i < ox_n_out(g, node) && i < 64; i++)
    if (u->out >> i & 1) sum += cost_of(&c->v[ox_out(g, node, i)]);
  return sum;
}

/* ---- falling back ---- */

static void push(chooser *c, ox_id node) {
  if (node == OX_NONE || node >= c->w->n_nodes || !c->w->use[node].op || c->queued[node]) return;
  c->queue[(c->head + c->n_queued++) % c->w->n_nodes] = node;
  c->queued[node] = 1;
}

static void push_around(chooser *c, ox_id v) {
  const ox_rewrite *g = c->w->g;
  push(c, ox_producer(g, v));
  for (uint32_t i = 0; i < g->api->user_count(g, v); i++) push(c, g->api->user(g, v, i, NULL));
}

/* Whether anything changed for another node: the first use outside, the last or last but one in blocks. */
static bool matters(const value_state *v) { return v->outside <= 1 || v->in_blocks <= 1; }

static void fall_back(chooser *c, ox_id node) {
  const ox_rewrite *g = c->w->g;
  ox_blocks_use *u = &c->w->use[node];
  enter(c, node, false);
  for (uint32_t i = 0; i < ox_n_in(g, node); i++)
    if ((u->in >> i & 1) && matters(&c->v[ox_in(g, node, i)])) push_around(c, ox_in(g, node, i));
  for (uint32_t i = 0; i < ox_n_out(g, node) && i < 64; i++)
    if (u->out >> i & 1) push_around(c, ox_out(g, node, i));
  u->op = NULL;
}

/* What does as well outside does it there: borders move towards convolutions, and meet where there is none. */
static void settle_borders(chooser *c) {
  while (c->n_queued) {
    ox_id node = c->queue[c->head];
    const ox_blocks_use *u = &c->w->use[node];
    c->head = (c->head + 1) % c->w->n_nodes, c->n_queued--, c->queued[node] = 0;
    if (!u->op) continue;
    double inside = around(c, node);
    enter(c, node, false);
    double outside = around(c, node);
    enter(c, node, true);
    if (outside + (double)u->gain <= inside) fall_back(c, node);
  }
}

/* ---- regions ---- */

static ox_id root_of(ox_id *parent, ox_id i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* Nodes that share a value in blocks belong together. |mark| keeps one node of each value. */
static void join(const chooser *c, ox_id *parent, ox_id *mark, double *gain) {
  const ox_rewrite *g = c->w->g;
  for (uint32_t k = 0; k < c->w->n_order; k++) {
    ox_id node = c->w->order[k];
    const ox_blocks_use *u = &c->w->use[node];
    if (!u->op) continue;
    for (uint32_t side = 0; side < 2; side++)
      for (uint32_t i = 0, n = side ? ox_n_out(g, node) : ox_n_in(g, node); i < n && i < 64; i++) {
        if (!((side ? u->out : u->in) >> i & 1)) continue;
        ox_id v = side ? ox_out(g, node, i) : ox_in(g, node, i);
        if (ox_const_type(g, v)) continue;
        if (mark[v] == OX_NONE)
          mark[v] = node;
        else
          parent[root_of(parent, mark[v])] = root_of(parent, node);
      }
  }
  for (uint32_t k = 0; k < c->w->n_order; k++)
    if (c->w->use[c->w->order[k]].op) gain[root_of(parent, c->w->order[k])] += (double)c->w->use[c->w->order[k]].gain;
  for (ox_id v = 0; v < c->w->n_values; v++)
    if (mark[v] != OX_NONE) gain[root_of(parent, mark[v])] -= (double)cost_of(&c->v[v]);
}

/* Regions that cost more than they save stay as they are. */
static ox_status *drop_regions(chooser *c, uint32_t *out_n) {
  const ox_rewrite *g = c->w->g;
  uint32_t n = c->w->n_nodes;
  ox_id *parent = g->api->scratch(g, (size_t)n * sizeof *parent + 1);
  ox_id *mark = g->api->scratch(g, (size_t)c->w->n_values * sizeof *mark + 1);
  double *gain = g->api->scratch(g, (size_t)n * sizeof *gain + 1);
  if (!parent || !mark || !gain) return ox_no_memory(g);
  for (ox_id i = 0; i < n; i++) parent[i] = i;
  memset(mark, 0xff, (size_t)c->w->n_values * sizeof *mark); /* OX_NONE */
  join(c, parent, mark, gain);
  *out_n = 0;
  for (ox_id i = 0; i < n; i++) {
    if (!c->w->use[i].op) continue;
    if (gain[root_of(parent, i)] > 0)
      ++*out_n;
    else
      c->w->use[i].op = NULL;
  }
  return NULL;
}

ox_status *ox_blocks_choose(ox_blocks_work *w, uint32_t *out_n) {
  const ox_rewrite *g = w->g;
  chooser c = {.w = w,
               .v = g->api->scratch(g, (size_t)w->n_values * sizeof(value_state) + 1),
               .queue = g->api->scratch(g, (size_t)w->n_nodes * sizeof(ox_id) + 1),
               .queued = g->api->scratch(g, (size_t)w->n_nodes + 1)};
  if (!c.v || !c.queue || !c.queued) return ox_no_memory(g);
  for (uint32_t k = 0; k < w->n_order; k++) {
    ox_id node = w->order[k];
    const ox_blocks_use *u = &w->use[node];
    if (!u->op) continue;
    for (uint32_t i = 0; i < ox_n_in(g, node); i++)
      if (u->in >> i & 1) look_at(&c, ox_in(g, node, i));
    for (uint32_t i = 0; i < ox_n_out(g, node) && i < 64; i++)
      if (u->out >> i & 1) look_at(&c, ox_out(g, node, i));
    enter(&c, node, true);
    push(&c, node);
  }
  settle_borders(&c);
  return drop_regions(&c, out_n);
}
