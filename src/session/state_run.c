/* SPDX-License-Identifier: Apache-2.0
 * session/state_run.c - a run with a state: the inputs of its pairs join the caller's, the outputs stay. */
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"
#include "session/state.h"

/* What the session is run with: the caller's values, then those of the pairs. */
typedef struct {
  const char **in_names, **out_names;
  const ox_value **in;
  ox_value **out;
  ox_memory **memories;
  size_t n_in, n_out; /* the caller's */
} lists;

static ox_status *make_lists(ox_state *st, size_t n_in, size_t n_out, lists *l) {
  size_t in, out, items, bytes;
  if (!ox_add_ok(n_in, st->n, &in) || !ox_add_ok(n_out, st->n, &out) || !ox_mul_ok(in, 2, &items) ||
      !ox_mul_ok(out, 3, &bytes) || !ox_add_ok(items, bytes, &items) || !ox_mul_ok(items, sizeof(void *), &bytes))
    return ox_oom();
  if (bytes > st->lists_bytes) {
    void *room = ox_new(st->alloc, bytes);
    if (!room) return ox_oom();
    ox_delete(st->alloc, st->lists, st->lists_bytes);
    st->lists = room, st->lists_bytes = bytes;
  }
  memset(st->lists, 0, bytes);
  *l = (lists){.in_names = st->lists, .n_out = n_out};
  l->in = (const ox_value **)(l->in_names + in), l->out_names = (const char **)(l->in + in);
  l->out = (ox_value **)(l->out_names + out), l->memories = (ox_memory **)(l->out + out);
  return NULL;
}

/* ---- inputs ---- */

/* The value that the run was given for a pair's input; NULL: none. */
static const ox_value *given_for(const lists *l, const char *input) {
  for (size_t i = 0; i < l->n_in; i++)
    if (strcmp(l->in_names[i], input) == 0) return l->in[i];
  return NULL;
}

/* What the dimension called |name| is in the values that the run was given; -1: in none. */
static int64_t given_dim(const ox_session *s, const lists *l, const char *name) {
  for (size_t i = 0; i < s->n_inputs; i++) {
    ox_value_info info;
    ox_session_describe(s, s->inputs[i], &info);
    const ox_value *v = given_for(l, info.name);
    if (!v || ox_value_get(v)->kind != OX_TENSOR || ox_value_get(v)->shape.rank != info.rank) continue;
    for (int d = 0; d < info.rank; d++)
      if (info.dim_names[d] && strcmp(info.dim_names[d], name) == 0) return ox_value_get(v)->shape.dim[d];
  }
  return -1;
}

/* Zeros, of the first shape that the declared one allows. */
static ox_status *begin_with_zeros(ox_state *st, const lists *l, ox_state_slot *x) {
  ox_value_info info;
  ox_tensor t = {.kind = OX_TENSOR};
  int open = 0;
  ox_session_describe(st->session, st->session->inputs[x->in], &info);
  if (info.optional) return NULL;
  t.dtype = info.dtype, t.shape.rank = info.rank;
  for (int d = 0; d < info.rank; d++) {
    t.shape.dim[d] = info.dims[d] >= 0   ? info.dims[d]
                     : info.dim_names[d] ? given_dim(st->session, l, info.dim_names[d])
                                         : -1;
    open += t.shape.dim[d] < 0;
    t.shape.dim[d] = OX_MAX(t.shape.dim[d], 0);
  }
  if (info.rank < 0 || !info.dtype || open > 1)
    return ox_fail(OX_INVALID_ARGUMENT,
                   "the state is empty, and the model leaves open what input '%s' is at first: give it to this run",
                   x->input);
  if (!ox_tensor_size(&t)) return ox_fail(OX_LIMIT, "input '%s' is too large", x->input);
  OX_TRY(ox_status_note(ox_value_take(st->session->recycler, t.dtype, &t.shape, t.bytes, false, &x->held), "input '%s'",
                        x->input));
  if (t.bytes) memset(ox_value_data(x->held), 0, t.bytes);
  return NULL;
}

static bool is_pair(const ox_state *st, const char *input) {
  for (uint32_t i = 0; i < st->n; i++)
    if (strcmp(st->slots[i].input, input) == 0) return true;
  return false;
}

/* The pairs' values behind the caller's |n|. */
static ox_status *list_inputs(ox_state *st, const char *const *names, const ox_value *const *values, size_t n, lists *l,
                              size_t *out_n) {
  for (size_t i = 0; i < n; i++)
    if (values[i] || !is_pair(st, names[i])) l->in_names[l->n_in] = names[i], l->in[l->n_in++] = values[i];
  *out_n = l->n_in;
  for (uint32_t i = 0; i < st->n; i++) {
    ox_state_slot *x = &st->slots[i];
    if (given_for(l, x->input)) continue;
    x->begins = !x->held;
    if (!x->held) OX_TRY(begin_with_zeros(st, l, x));
    if (!x->held) continue;
    l->in_names[*out_n] = x->input, l->in[(*out_n)++] = x->held;
  }
  return NULL;
}

/* ---- outputs ---- */

static ox_status *list_outputs(ox_state *st, const ox_run_opts *o, const char *const *names, ox_value *const *values,
                               lists *l) {
  if (!names && l->n_out > st->n_rest)
    return ox_fail(OX_INVALID_ARGUMENT, "%zu outputs asked for, the model has %u beside the state's", l->n_out,
                   st->n_rest);
  for (size_t i = 0; i < l->n_out; i++) {
    l->out_names[i] = names ? names[i] : st->rest[i], l->out[i] = values[i];
    l->memories[i] = o->output_memories ? o->output_memories[i] : NULL;
    for (uint32_t k = 0; names && k < st->n; k++)
      if (strcmp(names[i], st->slots[k].output) == 0)
        return ox_fail(OX_INVALID_ARGUMENT, "output '%s' stays in the state: ox_state_get copies it", names[i]);
  }
  for (uint32_t k = 0; k < st->n; k++) l->out_names[l->n_out + k] = st->slots[k].output;
  return NULL;
}

/* The axis along which |after| is longer than |before|, and otherwise the same; -1: there is none. */
static int32_t longer_axis(const ox_shape *before, const ox_shape *after) {
  int32_t axis = -1;
  if (before->rank != after->rank) return -1;
  for (int d = 0; d < after->rank; d++) {
    if (after->dim[d] == before->dim[d]) continue;
    if (axis >= 0 || after->dim[d] < before->dim[d]) return -1;
    axis = d;
  }
  return axis;
}

/* The outputs of a run that went well take the places of what the state had. */
static void keep(ox_state *st, const lists *l) {
  for (uint32_t k = 0; k < st->n; k++) {
    ox_state_slot *x = &st->slots[k];
    if (x->grows) {
      ox_tensor *t = ox_value_tensor(x->held);
      x->axis = longer_axis(&t->shape, &x->after);
      t->shape = x->after;
      (void)ox_tensor_size(t);
      continue;
    }
    const ox_value *before = given_for(l, x->input);
    ox_value *after = l->out[l->n_out + k];
    if (!before) before = x->held;
    x->axis = before ? longer_axis(&ox_value_get(before)->shape, &ox_value_get(after)->shape) : -1;
    ox_value_release(x->held);
    x->held = after, x->room = 0;
  }
}

/* What a run began with that failed. */
static void forget(ox_state *st) {
  for (uint32_t k = 0; k < st->n; k++) {
    ox_state_slot *x = &st->slots[k];
    if (!x->begins) continue;
    ox_value_release(x->held);
    x->held = NULL, x->room = 0;
  }
}

static ox_status *run(ox_state *st, const ox_run_opts *o, const ox_run_values *v) {
  ox_run_opts with = *o;
  lists l = {.n_in = 0};
  size_t n_in;
  OX_TRY(make_lists(st, v->n_inputs, v->n_outputs, &l));
  OX_TRY(list_outputs(st, o, v->output_names, v->outputs, &l));
  OX_TRY(list_inputs(st, v->input_names, v->inputs, v->n_inputs, &l, &n_in));
  if (o->output_memories) with.output_memories = l.memories;
  const ox_run_values all = {l.in_names, l.in, n_in, l.out_names, l.out, l.n_out + st->n};
  OX_TRY(ox_session_run_given(st->session, &with, &all));
  for (size_t i = 0; i < l.n_out; i++) v->outputs[i] = l.out[i];
  keep(st, &l);
  return NULL;
}

ox_status *ox_state_run(ox_session *s, const ox_run_opts *o, const ox_run_values *v) {
  ox_state *st = o->state;
  bool idle = false;
  if (st->session != s) return ox_fail(OX_INVALID_ARGUMENT, "the state is another session's");
  if (!atomic_compare_exchange_strong_explicit(&st->busy, &idle, true, memory_order_acquire, memory_order_relaxed))
    return ox_fail(OX_INVALID_ARGUMENT, "another run with this state is under way");
  for (uint32_t k = 0; k < st->n; k++) st->slots[k].begins = st->slots[k].grows = false;
  ox_status *status = run(st, o, v);
  if (status) forget(st);
  atomic_store_explicit(&st->busy, false, memory_order_release); /* pairs with the acquire above */
  return status;
}
