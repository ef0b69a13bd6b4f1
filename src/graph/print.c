/* SPDX-License-Identifier: Apache-2.0
 * graph/print.c - a dump for debugging and test failures: one line per input, constant, node and output. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "graph/graph.h"

enum { LINE = 480 };

typedef struct line {
  char text[LINE];
  size_t n;
} line;

/* Appends; what does not fit is cut off. */
static OX_PRINTF(2, 3) void add(line *l, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(l->text + l->n, LINE - l->n, fmt, args);
  va_end(args);
  if (n > 0) l->n = OX_MIN(l->n + (size_t)n, LINE - 1);
}

static void add_value(line *l, const ox_graph *g, ox_id v) {
  char shape[OX_SHAPE_TEXT];
  if (v == OX_NONE) {
    add(l, "_");
    return;
  }
  const ox_type *t = &g->values[v].type;
  add(l, "%s", g->values[v].name);
  if (t->dtype || t->shape.rank >= 0) add(l, ":%s%s", ox_dtype_name(t->dtype), ox_shape_text(&t->shape, shape));
}

static void add_attr(line *l, const ox_attr *a) {
  char shape[OX_SHAPE_TEXT];
  add(l, " %s=", a->name);
  switch (a->v.kind) {
    case OX_ATTR_INT_KIND:
      add(l, "%lld", (long long)a->v.i);
      break;
    case OX_ATTR_FLOAT_KIND:
      add(l, "%.9g", (double)a->v.f);
      break;
    case OX_ATTR_STRING_KIND:
      add(l, "\"%.*s\"", (int)OX_MIN(a->v.s.n, LINE), a->v.s.p);
      break;
    case OX_ATTR_TENSOR_KIND:
      add(l, "%s%s", ox_dtype_name(a->v.tensor->dtype), ox_shape_text(&a->v.tensor->shape, shape));
      break;
    case OX_ATTR_INTS_KIND:
      for (size_t i = 0; i < a->v.n; i++) add(l, "%s%lld", i ? "," : "[", (long long)a->v.ints[i]);
      add(l, a->v.n ? "]" : "[]");
      break;
    case OX_ATTR_FLOATS_KIND:
      for (size_t i = 0; i < a->v.n; i++) add(l, "%s%.9g", i ? "," : "[", (double)a->v.floats[i]);
      add(l, a->v.n ? "]" : "[]");
      break;
    default:
      add(l, "...");
      break;
  }
}

static void print_values(const ox_graph *g, int depth, void (*put)(void *ctx, const char *text), void *ctx) {
  for (ox_id v = 0; v < g->n_values; v++) {
    const ox_graph_value *value = &g->values[v];
    const char *what = value->dead               ? NULL
                       : value->is_input         ? "input"
                       : value->init             ? "const"
                       : value->outer != OX_NONE ? "outer"
                                                 : NULL;
    if (!what) continue;
    line l = {.n = 0};
    add(&l, "%*s%s ", depth * 2, "", what);
    add_value(&l, g, v);
    put(ctx, l.text);
  }
}

static void print_graph(const ox_graph *g, int depth, void (*put)(void *ctx, const char *text), void *ctx) {
  print_values(g, depth, put, ctx);
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    if (n->dead) continue;
    line l = {.n = 0};
    add(&l, "%*s%u: ", depth * 2, "", i);
    for (uint32_t k = 0; k < n->n_out; k++) add(&l, k ? ", " : ""), add_value(&l, g, n->out[k]);
    add(&l, " = %s%s%s(", n->domain, *n->domain ? "." : "", n->op);
    for (uint32_t k = 0; k < n->n_in; k++)
      add(&l, "%s%s", k ? ", " : "", n->in[k] == OX_NONE ? "_" : g->values[n->in[k]].name);
    add(&l, ")");
    for (uint32_t k = 0; k < n->n_attrs; k++) add_attr(&l, &n->attrs[k]);
    if (*n->name) add(&l, " # %s", n->name);
    put(ctx, l.text);
    ox_graph *b;
    for (uint32_t k = 0; (b = ox_node_body(n, k)); k++) print_graph(b, depth + 1, put, ctx);
  }
  for (uint32_t k = 0; k < g->n_outputs; k++) {
    line l = {.n = 0};
    add(&l, "%*soutput ", depth * 2, "");
    add_value(&l, g, g->outputs[k]);
    put(ctx, l.text);
  }
}

void ox_graph_print(const ox_graph *g, void (*put)(void *ctx, const char *text), void *ctx) {
  print_graph(g, 0, put, ctx);
}
