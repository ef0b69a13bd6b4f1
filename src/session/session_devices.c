/* SPDX-License-Identifier: Apache-2.0
 * session/session_devices.c - see session_devices.h. */
#include "session/session_devices.h"

#include <string.h>

#include "base/macros.h"
#include "exec/placed.h"
#include "session/device_memory.h"

typedef struct place {
  ox_memory *memory; /* the caller's; NULL: the host's */
  ox_value *given;   /* to write into; NULL: the run makes it */
  ox_value *made;
} place;

typedef struct ox_call_devices {
  ox_placed placed; /* first, since its function finds the rest by it */
  ox_call *call;
  ox_placed_value *in, *out;
  ox_value **staged; /* per input: a copy on the host */
  place *places;     /* per output */
} ox_call_devices;

bool ox_run_has_devices(const ox_run_opts *opts, const ox_value *const *inputs, size_t n_inputs,
                        ox_value *const *outputs, size_t n_outputs) {
  bool any = opts && opts->output_memories;
  for (size_t i = 0; i < n_inputs && !any; i++) any = inputs[i] && ox_value_memory(inputs[i]);
  for (size_t i = 0; i < n_outputs && !any; i++) any = outputs[i] && ox_value_memory(outputs[i]);
  return any;
}

/* Memory for an output that the run makes in place. */
static ox_status *take(ox_placed *p, uint32_t index, uint32_t dtype, const ox_shape *shape, size_t bytes,
                       void **out_data) {
  ox_call_devices *d = (ox_call_devices *)p;
  const ox_graph *g = d->call->session->model->graph;
  const char *name = g->values[g->outputs[index]].name;
  place *to = &d->places[index];
  if (!to->given) {
    if (!to->made)
      OX_TRY(ox_status_note(
          ox_value_take_in(d->call->session->recycler, to->memory, dtype, shape, bytes, &to->made), "output '%s'",
          name));
    *out_data = ox_value_data(to->made);
    return NULL;
  }
  const ox_tensor *t = ox_value_get(to->given);
  char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
  if (t->kind != OX_TENSOR || t->dtype != dtype || !ox_shape_equal(&t->shape, shape))
    return ox_fail(OX_SHAPE_MISMATCH, "output '%s': the given value is %s%s, the result %s%s", name,
                   ox_dtype_name(t->dtype), ox_shape_text(&t->shape, a), ox_dtype_name(dtype), ox_shape_text(shape, b));
  *out_data = t->data;
  return NULL;
}

static ox_status *make(ox_call *c) {
  const ox_session *s = c->session;
  uint32_t n_out = s->model->graph->n_outputs, n_in = s->n_inputs;
  ox_call_devices *d = c->devices = ox_new_zeroed(s->alloc, sizeof *d);
  if (!d) return ox_oom();
  d->call = c;
  d->in = ox_new_zeroed(s->alloc, (n_in + 1) * sizeof *d->in);
  d->out = ox_new_zeroed(s->alloc, (n_out + 1) * sizeof *d->out);
  d->staged = ox_new_zeroed(s->alloc, (n_in + 1) * sizeof *d->staged);
  d->places = ox_new_zeroed(s->alloc, (n_out + 1) * sizeof *d->places);
  if (!d->in || !d->out || !d->staged || !d->places) return ox_oom();
  d->placed = (ox_placed){d->in, d->out, take};
  return NULL;
}

void ox_call_devices_free(ox_call *c) {
  const ox_session *s = c->session;
  ox_call_devices *d = c->devices;
  uint32_t n_out = s->model->graph->n_outputs, n_in = s->n_inputs;
  if (!d) return;
  ox_delete(s->alloc, d->in, (n_in + 1) * sizeof *d->in);
  ox_delete(s->alloc, d->out, (n_out + 1) * sizeof *d->out);
  ox_delete(s->alloc, d->staged, (n_in + 1) * sizeof *d->staged);
  ox_delete(s->alloc, d->places, (n_out + 1) * sizeof *d->places);
  ox_delete(s->alloc, d, sizeof *d);
  c->devices = NULL;
}

ox_status *ox_call_devices_begin(ox_call *c) {
  ox_status *st = c->devices ? NULL : make(c);
  if (st) {
    ox_call_devices_free(c);
    return st;
  }
  c->env.placed = &c->devices->placed;
  return NULL;
}

void ox_call_devices_end(ox_call *c) {
  ox_call_devices *d = c->devices;
  uint32_t n_out = c->session->model->graph->n_outputs, n_in = c->session->n_inputs;
  for (uint32_t i = 0; i < n_in; i++) ox_value_release(d->staged[i]);
  for (uint32_t i = 0; i < n_out; i++) ox_value_release(d->places[i].made);
  memset(d->in, 0, n_in * sizeof *d->in);
  memset(d->out, 0, n_out * sizeof *d->out);
  memset(d->staged, 0, n_in * sizeof *d->staged);
  memset(d->places, 0, n_out * sizeof *d->places);
  c->env.placed = NULL;
}

/* ---- inputs ---- */

static ox_status *stage(ox_call *c, uint32_t i, const ox_value *v) {
  const ox_tensor *t = ox_value_get(v);
  ox_value **copy = &c->devices->staged[i];
  OX_TRY(ox_value_take(c->session->recycler, t->dtype, &t->shape, t->bytes, false, copy));
  return ox_value_copy_to(v, *copy);
}

ox_status *ox_call_place_input(ox_call *c, uint32_t i, const ox_value *v, const ox_tensor **io, bool *out_there) {
  const ox_session *s = c->session;
  ox_memory *m = ox_value_memory(v);
  *out_there = false;
  if (!m) return NULL;
  ox_id id = s->inputs[i];
  uint32_t memory = ox_memory_in_plan(m, s->providers, s->n_providers);
  if (memory) c->devices->in[i] = (ox_placed_value){.memory = memory, .data = (*io)->data};
  if (ox_memory_host_accessible(m)) return NULL;
  *out_there = memory && ox_input_is_only_in(s->model->graph, id, memory);
  if (*out_there) return NULL;
  OX_TRY(ox_status_note(stage(c, i, v), "input '%s'", s->model->graph->values[id].name));
  *io = ox_value_get(c->devices->staged[i]);
  return NULL;
}

/* ---- outputs ---- */

void ox_call_place_output(ox_call *c, uint32_t i, ox_memory *m, ox_value *given) {
  const ox_session *s = c->session;
  c->devices->places[i] = (place){.memory = m, .given = given};
  c->devices->out[i].memory = m ? ox_memory_in_plan(m, s->providers, s->n_providers) : 0;
}

ox_status *ox_call_deliver(ox_call *c, uint32_t i, ox_value **out) {
  ox_call_devices *d = c->devices;
  place *p = &d->places[i];
  if (!p->memory) return NULL;
  const ox_tensor *t = *out ? ox_value_get(*out) : NULL;
  if (!d->out[i].done && (!t || t->kind != OX_TENSOR || t->dtype == OX_STRING)) {
    const ox_graph *g = c->session->model->graph;
    if (!p->given) return NULL; /* it stays on the host */
    return ox_fail(OX_INVALID_ARGUMENT, "output '%s' is no tensor of numbers: it cannot be written to a device",
                   g->values[g->outputs[i]].name);
  }
  if (!d->out[i].done) { /* it was made on the host, or on another device */
    void *data;
    OX_TRY(take(&d->placed, i, t->dtype, &t->shape, t->bytes, &data));
    OX_TRY(ox_memory_copy(p->memory, data, NULL, t->data, t->bytes));
  }
  ox_value_release(*out);
  *out = p->given ? p->given : p->made;
  c->out_given[i] = p->given != NULL;
  p->memory = NULL, p->made = NULL;
  return NULL;
}
