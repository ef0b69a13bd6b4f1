/* SPDX-License-Identifier: Apache-2.0
 * graph/trail.c - see trail.h. */
#include "graph/trail.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_NODES = 8, MOST_INPUTS = 3 };

typedef struct trail {
  const ox_graph *graph;
  ox_trail_shape *shape_of;
  const void *ctx;
  size_t n;
  char text[1200];
} trail;

static OX_PRINTF(2, 3) void say(trail *t, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(t->text + t->n, sizeof t->text - t->n, fmt, args);
  va_end(args);
  if (n > 0) t->n = OX_MIN(t->n + (size_t)n, sizeof t->text - 1);
}

static void say_value(trail *t, ox_id v) {
  char shape[OX_SHAPE_TEXT];
  say(t, "'%s' %s", t->graph->values[v].name, ox_shape_text(t->shape_of(t->ctx, v), shape));
}

/* What flows through the node: its first input that is no constant. */
static ox_id main_input(const ox_graph *g, const ox_node *n) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != OX_NONE && !g->values[n->in[i]].init) return n->in[i];
  return OX_NONE;
}

static void say_nodes(trail *t, ox_id v) {
  const ox_graph *g = t->graph;
  for (int i = 0; v != OX_NONE && g->values[v].producer != OX_NONE; i++) {
    const ox_node *n = &g->nodes[g->values[v].producer];
    if (i == MOST_NODES) {
      say(t, " of others");
      return;
    }
    say(t, "%s%s%s%s%s", i ? " of " : " is ", n->op, *n->name ? " '" : "", n->name, *n->name ? "'" : "");
    v = main_input(g, n);
    if (v != OX_NONE && g->values[v].producer == OX_NONE) say(t, " of "), say_value(t, v);
  }
}

ox_status *ox_trail_add(ox_status *st, const ox_graph *g, ox_id node, ox_trail_shape *shape_of, const void *ctx) {
  if (ox_status_code(st) != OX_SHAPE_MISMATCH) return st;
  trail t = {g, shape_of, ctx, 0, ""};
  const ox_node *n = &g->nodes[node];
  for (uint32_t i = 0, said = 0; i < n->n_in && said < MOST_INPUTS; i++) {
    ox_id v = n->in[i];
    if (v == OX_NONE || g->values[v].init) continue;
    say(&t, said++ ? "; " : "");
    say_value(&t, v);
    say_nodes(&t, v);
    if (g->values[v].producer == OX_NONE) say(&t, g->values[v].is_input ? " is an input" : " is from outside");
  }
  if (t.n == 0) return st;
  ox_status *longer = ox_fail(OX_SHAPE_MISMATCH, "%s (%s)", ox_status_message(st), t.text);
  ox_status_free(st);
  return longer;
}
