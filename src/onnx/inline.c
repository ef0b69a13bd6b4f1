/* SPDX-License-Identifier: Apache-2.0
 * onnx/inline.c - finds function calls, checks that they do not recurse, and expands them. */
#include "onnx/inline.h"

#include <string.h>

#include "onnx/inline_clone.h"

/* The nodes and values are those that all expansions together add. */
enum { MAX_CALL_DEPTH = 256, MAX_NODES = 1 << 19, MAX_VALUES = 1 << 20 };

typedef struct inliner {
  ox_model *m;
  ox_map by_key;    /* "domain\nname\noverload" to index */
  uint8_t *state;   /* of each function: UNSEEN, OPEN, FINE */
  ox_arena scratch; /* for one key at a time */
  ox_inline_budget budget;
} inliner;

enum { UNSEEN = 0, OPEN = 1, FINE = 2 };

static const char *key_of(ox_arena *arena, const char *domain, const char *name, const char *overload) {
  if (!overload) overload = "";
  size_t d = strlen(domain), n = strlen(name), o = strlen(overload);
  char *key = ox_arena_alloc(arena, d + n + o + 3);
  if (!key) return NULL;
  memcpy(key, domain, d);
  key[d] = '\n';
  memcpy(key + d + 1, name, n);
  key[d + 1 + n] = '\n';
  memcpy(key + d + n + 2, overload, o);
  return key;
}

/* The index of the function that |n| calls, or OX_NONE. */
static ox_status *callee(inliner *il, const ox_node *n, uint32_t *out_index) {
  *out_index = OX_NONE;
  ox_arena_reset(&il->scratch);
  const char *key = key_of(&il->scratch, n->domain, n->op, n->overload);
  if (!key) return ox_oom();
  *out_index = ox_map_find(&il->by_key, key);
  return NULL;
}

/* ---- no recursion ---- */

static ox_status *check_function(inliner *il, uint32_t index, uint32_t depth);

static ox_status *check_calls(inliner *il, const ox_graph *g, uint32_t depth) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    const ox_node *n = &g->nodes[i];
    const ox_graph *b;
    uint32_t index;
    if (n->dead) continue;
    OX_TRY(callee(il, n, &index));
    if (index != OX_NONE) OX_TRY(check_function(il, index, depth));
    for (uint32_t k = 0; (b = ox_node_body(n, k)); k++) OX_TRY(check_calls(il, b, depth));
  }
  return NULL;
}

static ox_status *check_function(inliner *il, uint32_t index, uint32_t depth) {
  const ox_function *fn = &il->m->functions[index];
  if (il->state[index] == FINE) return NULL;
  if (il->state[index] == OPEN) return ox_fail(OX_INVALID_MODEL, "function '%s' calls itself", fn->name);
  if (depth >= MAX_CALL_DEPTH)
    return ox_fail(OX_LIMIT, "functions call each other deeper than %d levels", MAX_CALL_DEPTH);
  il->state[index] = OPEN;
  OX_TRY(check_calls(il, fn->body, depth + 1));
  il->state[index] = FINE;
  return NULL;
}

/* ---- expansion ---- */

/* The nodes of the function write to the call's outputs. An output that is an input or a constant of the function gets
 * an Identity. */
static ox_status *map_outputs(const ox_fn_call *call, const ox_id *out, uint32_t n_out, ox_id *map) {
  const ox_graph *body = call->fn->body;
  for (uint32_t i = 0; i < body->n_outputs && i < n_out; i++) {
    ox_id v = body->outputs[i];
    if (out[i] == OX_NONE) continue;
    if (map[v] == OX_NONE && ox_graph_value_at(body, v)->producer != OX_NONE) {
      map[v] = out[i];
      continue;
    }
    ox_id node, from = map[v];
    if (from == OX_NONE && ox_graph_value_at(body, v)->init) {
      OX_TRY(ox_clone_value(body, v, call->graph, &from));
      map[v] = from;
    }
    if (from == OX_NONE)
      return ox_fail(OX_INVALID_MODEL, "output '%s' of function '%s' is an omitted input", call->fn->outputs[i],
                     call->fn->name);
    OX_TRY(ox_graph_add_node(call->graph, "Identity", "", call->name, &from, 1, &out[i], 1, &node));
  }
  return NULL;
}

static ox_status *expand(const ox_fn_call *call, ox_id node, ox_id *map) {
  ox_graph *g = call->graph;
  const ox_graph *body = call->fn->body;
  const ox_node *n = ox_graph_node(g, node);
  uint32_t n_out = n->n_out;
  ox_id *out = ox_arena_copy(&g->model->arena, n->out, n_out * sizeof *out);
  if (!out) return ox_oom();
  memset(map, 0xff, body->n_values * sizeof *map);
  for (uint32_t i = 0; i < n->n_in; i++) map[body->inputs[i]] = n->in[i];
  for (uint32_t i = 0; i < n_out; i++) OX_TRY(ox_node_set_output(g, node, i, OX_NONE));
  OX_TRY(map_outputs(call, out, n_out, map));
  for (ox_id v = 0; v < body->n_values; v++) { /* all values before all nodes: bodies inside may read any */
    const ox_graph_value *value = ox_graph_value_at(body, v);
    if (map[v] == OX_NONE && !value->is_input && !value->dead) OX_TRY(ox_clone_value(body, v, g, &map[v]));
  }
  OX_TRY(ox_watch_check(g->model->watch));
  for (ox_id i = 0; i < body->n_nodes; i++)
    if (!body->nodes[i].dead) OX_TRY(ox_clone_node(call, body, &body->nodes[i], g, map));
  ox_graph_remove_node(g, node);
  return NULL;
}

/* Replaces |node| of |g| by the body of |fn|; calls in it stay calls. */
static ox_status *replace(inliner *il, ox_graph *g, ox_id node, const ox_function *fn) {
  const ox_node *n = ox_graph_node(g, node);
  const ox_graph *body = fn->body;
  if (n->n_in > body->n_inputs || n->n_out > body->n_outputs)
    return ox_fail(OX_INVALID_MODEL, "node '%s' calls function '%s' with %u inputs and %u outputs; it has %u and %u",
                   n->name, fn->name, n->n_in, n->n_out, body->n_inputs, body->n_outputs);
  for (uint32_t i = 0; i < fn->n_opsets; i++)
    if (!ox_model_opset(g->model, fn->opsets[i].domain))
      OX_TRY(ox_model_set_opset(g->model, fn->opsets[i].domain, fn->opsets[i].version));
  OX_TRY(ox_inline_charge(&il->budget, body));
  ox_fn_call call = {.budget = &il->budget, .fn = fn, .graph = g, .name = n->name, .attrs = n->attrs, .n_attrs = n->n_attrs};
  size_t bytes = (size_t)body->n_values * sizeof(ox_id);
  ox_id *map = ox_new(g->model->alloc, bytes);
  if (!map) return ox_oom();
  ox_status *st = expand(&call, node, map);
  ox_delete(g->model->alloc, map, bytes);
  return st;
}

/* Expansions append nodes, which this loop reaches in turn. */
static ox_status *inline_graph(inliner *il, ox_graph *g) {
  for (ox_id i = 0; i < g->n_nodes; i++) {
    uint32_t index;
    ox_graph *b;
    if (g->nodes[i].dead) continue;
    OX_TRY(callee(il, &g->nodes[i], &index));
    if (index == OX_NONE) {
      for (uint32_t k = 0; (b = ox_node_body(&g->nodes[i], k)); k++) OX_TRY(inline_graph(il, b));
      continue;
    }
    OX_TRY(check_function(il, index, 0));
    const ox_function *fn = &il->m->functions[index];
    OX_TRY(ox_status_note(replace(il, g, i, fn), "expanding function '%s'", fn->name));
  }
  return NULL;
}

static ox_status *index_functions(inliner *il) {
  for (uint32_t i = 0; i < il->m->n_functions; i++) {
    const ox_function *fn = &il->m->functions[i];
    const char *key = key_of(&il->m->arena, fn->domain, fn->name, fn->overload);
    if (!key) return ox_oom();
    if (ox_map_find(&il->by_key, key) != OX_NONE)
      return ox_fail(OX_INVALID_MODEL, "function '%s' of domain '%s' is defined twice", fn->name, fn->domain);
    if (!ox_map_put(&il->by_key, key, i)) return ox_oom();
  }
  return NULL;
}

ox_status *ox_model_inline(ox_model *m) {
  if (!m->n_functions) return NULL;
  ox_status *st = NULL;
  inliner il = {.m = m, .budget = {MAX_NODES, MAX_VALUES}, .state = ox_new_zeroed(m->alloc, m->n_functions)};
  ox_map_init(&il.by_key, m->alloc);
  ox_arena_init(&il.scratch, m->alloc);
  if (!il.state) {
    st = ox_oom();
    goto done;
  }
  OX_TRY_TO(done, st, index_functions(&il));
  OX_TRY_TO(done, st, inline_graph(&il, m->graph));
  for (uint32_t i = 0; i < m->n_functions; i++) m->functions[i].body->dead = true;
done:
  ox_arena_deinit(&il.scratch);
  ox_map_deinit(&il.by_key);
  ox_delete(m->alloc, il.state, m->n_functions);
  if (!st) m->n_functions = 0;
  return st;
}
