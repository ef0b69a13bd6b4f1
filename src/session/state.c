/* SPDX-License-Identifier: Apache-2.0
 * session/state.c - makes states and looks into them: see state.h. Runs with them: state_run.c. */
#include "session/state.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "exec/growing.h"

/* ---- pairs ---- */

/* The output called |name|; n_outputs: there is none. */
static uint32_t find_output(const ox_graph *g, const char *name) {
  ox_id v = ox_graph_find(g, name);
  return v != OX_NONE && g->values[v].is_output ? g->values[v].output_at : g->n_outputs;
}

/* The input called |name| among those without a default; OX_NONE: there is none. */
static uint32_t find_input(const ox_session *s, const char *name) {
  ox_id v = ox_graph_find(s->model->graph, name);
  return v == OX_NONE ? OX_NONE : s->input_at[v];
}

static const ox_graph_value *input_value(const ox_session *s, uint32_t in) {
  return &s->model->graph->values[s->inputs[in]];
}

static const ox_graph_value *output_value(const ox_session *s, uint32_t out) {
  return &s->model->graph->values[s->model->graph->outputs[out]];
}

static bool fits(const ox_session *s, uint32_t in, uint32_t out) {
  const ox_type *i = &input_value(s, in)->type, *o = &output_value(s, out)->type;
  return i->kind == OX_TENSOR && o->kind == OX_TENSOR && i->dtype != OX_STRING &&
         (!i->dtype || !o->dtype || i->dtype == o->dtype) &&
         (i->shape.rank < 0 || o->shape.rank < 0 || i->shape.rank == o->shape.rank);
}

static ox_status *add_pair(ox_state *st, uint32_t in, uint32_t out) {
  const ox_session *s = st->session;
  const char *input = input_value(s, in)->name, *output = output_value(s, out)->name;
  if (!fits(s, in, out))
    return ox_fail(OX_INVALID_ARGUMENT,
                   "output '%s' cannot be the next run's input '%s': they are not tensors of one type", output, input);
  for (uint32_t k = 0; k < st->n; k++)
    if (st->slots[k].in == in || strcmp(st->slots[k].output, output) == 0)
      return ox_fail(OX_INVALID_ARGUMENT, "output '%s' or input '%s' is in two pairs", output, input);
  st->slots[st->n++] = (ox_state_slot){.output = output, .input = input, .in = in, .out = out, .axis = -1};
  return NULL;
}

static ox_status *add_named(ox_state *st, const ox_state_pair *pairs, size_t n) {
  const ox_session *s = st->session;
  for (size_t i = 0; i < n; i++) {
    uint32_t in = find_input(s, pairs[i].input), out = find_output(s->model->graph, pairs[i].output);
    if (in == OX_NONE) return ox_fail(OX_INVALID_ARGUMENT, "the model has no input '%s'", pairs[i].input);
    if (out == s->model->graph->n_outputs)
      return ox_fail(OX_INVALID_ARGUMENT, "the model has no output '%s'", pairs[i].output);
    OX_TRY(add_pair(st, in, out));
  }
  return NULL;
}

/* What exporters call a state before and after a run: the first of these that is part of the input's name is replaced.
 */
static const struct {
  const char *before, *after;
} usual_names[] = {{"past_key_values", "present"}, {"past_key_values", "present_key_values"}, {"past", "present"}};

/* The output that the usual names make of input |in|; n_outputs: none. */
static ox_status *usual_output(ox_state *st, uint32_t in, uint32_t *out) {
  const ox_graph *g = st->session->model->graph;
  const char *name = input_value(st->session, in)->name;
  *out = g->n_outputs;
  for (size_t i = 0; i < OX_COUNT(usual_names) && *out == g->n_outputs; i++) {
    const char *at = strstr(name, usual_names[i].before);
    if (!at) continue;
    size_t bytes = strlen(name) + strlen(usual_names[i].after) + 1;
    char *other = ox_arena_alloc(&st->arena, bytes);
    if (!other) return ox_oom();
    snprintf(other, bytes, "%.*s%s%s", (int)(at - name), name, usual_names[i].after,
             at + strlen(usual_names[i].before));
    *out = find_output(g, other);
  }
  return NULL;
}

static ox_status *add_usual(ox_state *st) {
  const ox_session *s = st->session;
  for (uint32_t in = 0; in < s->n_inputs; in++) {
    uint32_t out;
    OX_TRY(usual_output(st, in, &out));
    if (out < s->model->graph->n_outputs && fits(s, in, out)) OX_TRY(add_pair(st, in, out));
  }
  if (st->n) return NULL;
  return ox_fail(OX_INVALID_ARGUMENT,
                 "no input and output of the model are a pair by their names, as 'past_key_values.0.key' and "
                 "'present.0.key' are: name the pairs");
}

/* ---- life ---- */

static ox_status *fill(ox_state *st, const ox_state_pair *pairs, size_t n) {
  const ox_graph *g = st->session->model->graph;
  st->slots = OX_ARENA_ARRAY(&st->arena, ox_state_slot, OX_MAX(n, st->session->n_inputs) + 1);
  st->rest = OX_ARENA_ARRAY(&st->arena, const char *, g->n_outputs + 1);
  if (!st->slots || !st->rest) return ox_oom();
  OX_TRY(pairs ? add_named(st, pairs, n) : add_usual(st));
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    bool paired = false;
    for (uint32_t k = 0; k < st->n; k++) paired |= strcmp(st->slots[k].output, output_value(st->session, i)->name) == 0;
    if (!paired) st->rest[st->n_rest++] = output_value(st->session, i)->name;
  }
  return ox_state_find_caches(st);
}

ox_status *ox_state_create(ox_session *s, const ox_state_pair *pairs, size_t n_pairs, ox_state **out_state) {
  ox_state *st = ox_new_zeroed(s->alloc, sizeof *st);
  *out_state = NULL;
  if (!st) return ox_oom();
  st->session = s, st->alloc = s->alloc;
  atomic_init(&st->busy, false);
  ox_arena_init(&st->arena, s->alloc);
  ox_status *status = fill(st, pairs, n_pairs);
  if (status)
    ox_state_release(st);
  else
    *out_state = st;
  return status;
}

void ox_state_release(ox_state *st) {
  if (!st) return;
  for (uint32_t i = 0; i < st->n; i++) ox_value_release(st->slots[i].held);
  ox_delete(st->alloc, st->lists, st->lists_bytes);
  ox_arena_deinit(&st->arena);
  ox_delete(st->alloc, st, sizeof *st);
}

/* ---- looking inside ---- */

int ox_state_pair_at(const ox_state *st, size_t i, ox_state_pair *out) {
  if (i >= st->n) return 0;
  *out = (ox_state_pair){st->slots[i].output, st->slots[i].input};
  return 1;
}

/* A plain value of the first |length| of what |x| has along |axis|. */
static ox_status *copy_of(const ox_state_slot *x, int axis, int64_t length, ox_value **out) {
  const ox_tensor *from = ox_value_get(x->held);
  ox_shape shape = from->shape;
  shape.dim[axis] = length;
  OX_TRY(ox_value_create(NULL, from->dtype, shape.dim, (size_t)shape.rank, out));
  ox_state_copy(x, axis, length, ox_value_data(*out), length);
  return NULL;
}

ox_status *ox_state_get(const ox_state *st, const char *input, ox_value **out_value) {
  *out_value = NULL;
  for (uint32_t i = 0; i < st->n; i++) {
    const ox_state_slot *x = &st->slots[i];
    if (strcmp(x->input, input) != 0) continue;
    if (!x->held) return ox_fail(OX_INVALID_ARGUMENT, "the state has nothing for input '%s' yet", input);
    if (x->room) return copy_of(x, OX_CACHE_ROWS, ox_value_get(x->held)->shape.dim[OX_CACHE_ROWS], out_value);
    return ox_value_create_copy(NULL, ox_value_get(x->held), out_value);
  }
  return ox_fail(OX_INVALID_ARGUMENT, "the state has no pair with input '%s'", input);
}

static int64_t length_of(const ox_state_slot *x) {
  return x->held && x->axis >= 0 ? ox_value_get(x->held)->shape.dim[x->axis] : -1;
}

int64_t ox_state_length(const ox_state *st) {
  for (uint32_t i = 0; i < st->n; i++)
    if (length_of(&st->slots[i]) >= 0) return length_of(&st->slots[i]);
  return 0;
}

/* ---- going back ---- */

/* The first |length| of what |x| has along its axis, in memory of its own. */
static ox_status *cut(const ox_state *st, const ox_state_slot *x, int64_t length, ox_value **out) {
  ox_tensor t = *ox_value_get(x->held);
  if (ox_dtype_bits(t.dtype) % 8)
    return ox_fail(OX_NOT_IMPLEMENTED, "'%s': %s cannot be cut", x->input, ox_dtype_name(t.dtype));
  t.shape.dim[x->axis] = length;
  (void)ox_tensor_size(&t); /* smaller than what there is */
  OX_TRY(ox_value_take(st->session->recycler, t.dtype, &t.shape, t.bytes, false, out));
  ox_state_copy(x, x->axis, length, ox_value_data(*out), length);
  return NULL;
}

static void empty(ox_state *st) {
  for (uint32_t i = 0; i < st->n; i++) {
    ox_value_release(st->slots[i].held);
    st->slots[i].held = NULL, st->slots[i].axis = -1, st->slots[i].room = 0;
  }
}

/* All are cut before the first takes the place of what was. */
static ox_status *cut_all(ox_state *st, int64_t length, ox_value **shorter) {
  for (uint32_t i = 0; i < st->n; i++)
    if (!st->slots[i].room && length_of(&st->slots[i]) > length) OX_TRY(cut(st, &st->slots[i], length, &shorter[i]));
  return NULL;
}

ox_status *ox_state_truncate(ox_state *st, int64_t length) {
  if (length == 0) return empty(st), NULL;
  if (length < 0 || length > ox_state_length(st))
    return ox_fail(OX_INVALID_ARGUMENT, "the state has %lld tokens: it cannot go back to %lld",
                   (long long)ox_state_length(st), (long long)length);
  size_t bytes = st->n * sizeof(ox_value *);
  ox_value **shorter = ox_new_zeroed(st->alloc, bytes);
  if (!shorter) return ox_oom();
  ox_status *status = cut_all(st, length, shorter);
  for (uint32_t i = 0; i < st->n; i++) {
    ox_state_slot *x = &st->slots[i];
    if (!status && x->room && length_of(x) > length) {
      ox_tensor *t = ox_value_tensor(x->held);
      t->shape.dim[x->axis] = length;
      (void)ox_tensor_size(t);
    }
    if (!shorter[i]) continue;
    ox_value_release(status ? shorter[i] : x->held);
    if (!status) x->held = shorter[i];
  }
  ox_delete(st->alloc, shorter, bytes);
  return status;
}

void ox_state_reserve(ox_state *st, int64_t length) { st->reserved = length; }
