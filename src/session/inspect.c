/* SPDX-License-Identifier: Apache-2.0
 * session/inspect.c - what a session tells about its model and its runs. */
#include <stdio.h>
#include <string.h>

#include "onnx/text.h"
#include "onnx/write.h"
#include "session/caller_sink.h"
#include "session/dump.h"
#include "session/session.h"

size_t ox_session_input_count(const ox_session *s) { return s->n_inputs; }
size_t ox_session_output_count(const ox_session *s) { return s->model->graph->n_outputs; }

void ox_session_describe(const ox_session *s, ox_id v, ox_value_info *out) {
  const ox_graph_value *value = &s->model->graph->values[v];
  const ox_type *t = &value->type;
  bool has_default = value->is_input && value->init;
  *out = (ox_value_info){.name = value->name, .kind = t->kind, .dtype = t->dtype, .optional = t->optional || has_default,
                         .rank = t->shape.rank, .type = t};
  const ox_type *elem = t;
  while (!out->dtype && elem->elem) elem = elem->elem, out->dtype = elem->dtype;
  for (int d = 0; d < t->shape.rank; d++) out->dims[d] = t->shape.dim[d] < 0 ? -1 : t->shape.dim[d];
  for (elem = t; elem->elem;) elem = elem->elem;
  for (int d = 0; d < elem->shape.rank; d++) out->dim_names[d] = ox_model_symbol_name(s->model, elem->shape.dim[d]);
}

ox_status *ox_session_input(const ox_session *s, size_t i, ox_value_info *out_info) {
  if (i >= s->n_inputs)
    return ox_fail(OX_INVALID_ARGUMENT, "there is no input %zu: the model has %u", i, s->n_inputs);
  ox_session_describe(s, s->inputs[i], out_info);
  return NULL;
}

ox_status *ox_session_output(const ox_session *s, size_t i, ox_value_info *out_info) {
  const ox_graph *g = s->model->graph;
  if (i >= g->n_outputs)
    return ox_fail(OX_INVALID_ARGUMENT, "there is no output %zu: the model has %u", i, g->n_outputs);
  ox_session_describe(s, g->outputs[i], out_info);
  return NULL;
}

size_t ox_session_default_count(const ox_session *s) { return s->n_defaults; }

ox_status *ox_session_default(const ox_session *s, size_t i, ox_value_info *out_info) {
  if (i >= s->n_defaults)
    return ox_fail(OX_INVALID_ARGUMENT, "there is no default %zu: the model has %u", i, s->n_defaults);
  *out_info = s->defaults[i];
  return NULL;
}

static const char *text_of(const char *s) { return s ? s : ""; }

void ox_session_fill_metadata(ox_session *s) {
  const ox_model *m = s->model;
  snprintf(s->ir_version, sizeof s->ir_version, "%lld", (long long)m->ir_version);
  if (m->has_model_version)
    snprintf(s->model_version, sizeof s->model_version, "%lld", (long long)m->model_version);
  snprintf(s->opset, sizeof s->opset, "%lld", (long long)ox_model_opset(m, ""));
  const ox_prop known[OX_KNOWN_KEYS] = {{"producer_name", text_of(m->producer_name)},
                                        {"producer_version", text_of(m->producer_version)},
                                        {"domain", text_of(m->domain)},
                                        {"doc_string", text_of(m->doc)},
                                        {"graph_name", text_of(m->graph->name)},
                                        {"ir_version", s->ir_version},
                                        {"model_version", s->model_version},
                                        {"opset", s->opset},
                                        {"graph_doc_string", text_of(m->graph_doc)}};
  memcpy(s->known, known, sizeof known);
}

void ox_session_metadata(const ox_session *s, size_t i, const char **out_key, const char **out_value) {
  static const ox_prop none = {NULL, NULL};
  const ox_prop *prop = &none;
  if (i < OX_KNOWN_KEYS) {
    prop = &s->known[i];
  } else if (i - OX_KNOWN_KEYS < s->model->n_props) {
    prop = &s->model->props[i - OX_KNOWN_KEYS];
  }
  *out_key = prop->key, *out_value = prop->value;
}

int64_t ox_session_opset(const ox_session *s, const char *domain) { return ox_model_opset(s->model, domain); }

/* ---- profile ---- */

void ox_session_profile_start(ox_session *s) {
  ox_profile_clear(s->profile);
  s->profiling = true;
}

void ox_session_profile_stop(ox_session *s) { s->profiling = false; }

int ox_session_profile_event(const ox_session *s, size_t i, ox_node_time *out) {
  const ox_profile_event *events;
  if (i >= ox_profile_events(s->profile, &events)) return 0;
  const ox_profile_event *e = &events[i];
  *out = (ox_node_time){.name = e->name,
                        .op = e->op,
                        .provider = e->provider,
                        .start_us = (double)e->start_ns / 1e3,
                        .duration_us = (double)e->duration_ns / 1e3,
                        .output_bytes = e->out_bytes,
                        .flops = e->flops,
                        .constant_bytes = e->constant_bytes,
                        .index = e->index,
                        .n_in = e->n_in,
                        .n_out = e->n_out,
                        .in = e->tensors,
                        .out = e->tensors + e->n_in};
  return 1;
}

const char *ox_session_profile_form(const ox_session *s, size_t i) {
  const ox_profile_event *events;
  return i < ox_profile_events(s->profile, &events) ? events[i].form : NULL;
}

ox_status *ox_session_profile_write(const ox_session *s, const char *path) {
  return ox_profile_write_trace(s->profile, path);
}

/* ---- structure ---- */

ox_status *ox_session_write(const ox_session *s, uint32_t format,
                            int (*write)(void *ctx, const void *bytes, size_t n), void *ctx) {
  ox_caller_sink caller = {write, ctx};
  ox_sink sink = ox_caller_sink_of(&caller);
  switch (format) {
    case OX_WRITE_MODEL:
      return ox_model_write(s->model, sink);
    case OX_WRITE_TEXT:
      return ox_text_write(s->model, sink);
    case OX_WRITE_TEXT_SHORT:
      return ox_text_write_short(s->model, OX_SHORT_ELEMENTS, sink);
    default:
      return ox_fail(OX_INVALID_ARGUMENT, "format is %u, the most is %d", format, OX_WRITE_TEXT_SHORT);
  }
}

int ox_session_is_random(const ox_session *s) { return s->plan->has_random; }

int ox_session_output_is_random(const ox_session *s, size_t i) {
  return s->random && i < s->model->graph->n_outputs && s->random[i];
}

void ox_session_applied(const ox_session *s, size_t i, const char **out_rule, uint64_t *out_n) {
  *out_rule = i < s->n_applied ? s->applied[i].rule : NULL;
  *out_n = i < s->n_applied ? s->applied[i].n : 0;
}

void ox_session_size(const ox_session *s, uint64_t *out_parameters, uint64_t *out_bytes, uint64_t *out_nodes) {
  const ox_graph *g = s->model->graph;
  *out_parameters = *out_bytes = 0, *out_nodes = s->plan->n_units;
  for (ox_id v = 0; v < g->n_values; v++) {
    const ox_tensor *t = g->values[v].init;
    if (!t || t->kind != OX_TENSOR) continue;
    *out_parameters += (uint64_t)ox_shape_count(&t->shape), *out_bytes += t->bytes;
  }
}
