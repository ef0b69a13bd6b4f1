/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_write.c - models, functions, graphs, nodes and attributes of the textual syntax. */
#include <string.h>

#include "onnx/proto/proto_write.h"
#include "onnx/text.h"
#include "onnx/text/c_locale.h"
#include "onnx/text/text_out.h"
#include "onnx/text/text_parse.h"

static void put_graph(ox_text_out *o, const ox_graph *g);

static ox_str str_of(const char *s) { return (ox_str){s, strlen(s)}; }

/* ---- attributes ---- */

static void put_list_item(ox_text_out *o, const ox_model *m, const ox_attr *a, size_t i) {
  switch (a->v.kind) {
    case OX_ATTR_FLOATS_KIND:
      ox_text_put_float(o, a->v.floats[i]);
      break;
    case OX_ATTR_INTS_KIND:
      ox_text_put(o, "%lld", (long long)a->v.ints[i]);
      break;
    case OX_ATTR_STRINGS_KIND:
      ox_text_put_quoted(o, a->v.strings[i]);
      break;
    case OX_ATTR_TENSORS_KIND:
    case OX_ATTR_SPARSES_KIND:
      ox_text_put_tensor(o, &a->v.tensor[i], NULL);
      break;
    case OX_ATTR_GRAPHS_KIND:
      put_graph(o, a->graphs[i]);
      break;
    default:
      ox_text_put_type(o, m, &a->types[i]);
      break;
  }
}

static void put_value(ox_text_out *o, const ox_model *m, const ox_attr *a) {
  switch (a->v.kind) {
    case OX_ATTR_FLOAT_KIND:
      ox_text_put_float(o, a->v.f);
      return;
    case OX_ATTR_INT_KIND:
      ox_text_put(o, "%lld", (long long)a->v.i);
      return;
    case OX_ATTR_STRING_KIND:
      ox_text_put_quoted(o, a->v.s);
      return;
    case OX_ATTR_TENSOR_KIND:
    case OX_ATTR_SPARSE_KIND:
      ox_text_put_tensor(o, a->v.tensor, NULL);
      return;
    case OX_ATTR_GRAPH_KIND:
      put_graph(o, a->graph);
      return;
    case OX_ATTR_TYPE_KIND:
      ox_text_put_type(o, m, a->types);
      return;
    default:
      break;
  }
  ox_text_put(o, "[");
  for (size_t i = 0; i < a->v.n; i++) {
    if (i) ox_text_put(o, ", ");
    put_list_item(o, m, a, i);
  }
  ox_text_put(o, "]");
}

static void put_attr(ox_text_out *o, const ox_model *m, const ox_attr *a) {
  bool is_list = a->v.kind >= OX_ATTR_FLOATS_KIND && a->v.kind != OX_ATTR_SPARSE_KIND && a->v.kind != OX_ATTR_TYPE_KIND;
  ox_text_put_name(o, a->name);
  if (a->v.kind && (a->ref || (is_list && !a->v.n))) ox_text_put(o, ": %s", ox_text_attr_kind_name(a->v.kind));
  ox_text_put(o, a->ref ? " = @" : " = ");
  if (a->ref) {
    ox_text_put_name(o, a->ref);
  } else {
    put_value(o, m, a);
  }
}

/* ---- nodes ---- */

static void put_ids(ox_text_out *o, const ox_graph *g, const ox_id *ids, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (i) ox_text_put(o, ", ");
    ox_text_put_name(o, ids[i] == OX_NONE ? "" : ox_graph_value_name(g, ids[i]));
  }
}

/* A domain whose parts are all identifiers is written as it is, any other in quotes. */
static void put_domain(ox_text_out *o, const char *domain) {
  bool plain = true;
  for (const char *p = domain; plain; p++) {
    size_t n = strcspn(p, ".");
    plain = ox_text_is_ident(p, n);
    p += n;
    if (!*p) break;
  }
  if (plain) {
    ox_text_puts(o, domain, strlen(domain));
  } else {
    ox_text_put_quoted(o, str_of(domain));
  }
}

static void put_op(ox_text_out *o, const ox_node *n) {
  if (*n->domain) {
    put_domain(o, n->domain);
    ox_text_put(o, ".");
  }
  if (ox_text_is_ident(n->op, strlen(n->op))) {
    ox_text_puts(o, n->op, strlen(n->op));
  } else {
    ox_text_put_quoted(o, str_of(n->op));
  }
  if (!n->overload || !*n->overload) return;
  ox_text_put(o, ":");
  ox_text_put_name(o, n->overload);
}

static void put_node(ox_text_out *o, const ox_graph *g, const ox_node *n) {
  ox_text_line(o);
  if (*n->name) {
    ox_text_put(o, "[");
    ox_text_put_name(o, n->name);
    ox_text_put(o, "] ");
  }
  put_ids(o, g, n->out, n->n_out);
  ox_text_put(o, n->n_out ? " = " : "= ");
  put_op(o, n);
  for (uint32_t i = 0; i < n->n_attrs; i++) {
    ox_text_put(o, i ? ", " : " <");
    put_attr(o, g->model, &n->attrs[i]);
  }
  ox_text_put(o, n->n_attrs ? "> (" : " (");
  put_ids(o, g, n->in, n->n_in);
  ox_text_put(o, ")");
}

static void put_nodes(ox_text_out *o, const ox_graph *g) {
  ox_alloc alloc = g->model->alloc;
  ox_id *order = NULL;
  uint32_t n = 0;
  if (o->st) return;
  o->st = ox_graph_order(g, alloc, &order, &n);
  ox_text_put(o, "{");
  o->indent++;
  for (uint32_t i = 0; i < n; i++) {
    if (!o->st) o->st = ox_check_version(g->model, ox_graph_node(g, order[i]));
    put_node(o, g, ox_graph_node(g, order[i]));
  }
  o->indent--;
  ox_text_line(o);
  ox_text_put(o, "}");
  ox_delete(alloc, order, g->n_nodes * sizeof *order);
}

/* ---- graphs ---- */

static void put_value_info(ox_text_out *o, const ox_graph *g, ox_id v) {
  const ox_type *t = &ox_graph_value_at(g, v)->type;
  if (ox_text_can_type(t)) {
    ox_text_put_type(o, g->model, t);
    ox_text_put(o, " ");
  }
  ox_text_put_name(o, ox_graph_value_name(g, v));
}

static void put_inputs(ox_text_out *o, const ox_graph *g) {
  ox_text_put(o, " (");
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    const ox_graph_value *value = ox_graph_value_at(g, g->inputs[i]);
    if (i) ox_text_put(o, ", ");
    if (value->init) {
      ox_text_put_tensor(o, ox_graph_init(g, g->inputs[i]), value->name);
    } else {
      put_value_info(o, g, g->inputs[i]);
    }
  }
  ox_text_put(o, ") => (");
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    if (i) ox_text_put(o, ", ");
    put_value_info(o, g, g->outputs[i]);
  }
  ox_text_put(o, ")");
}

/* <constants, and types of inner values>; in a function, the types of all values. */
static void put_values(ox_text_out *o, const ox_graph *g, bool in_function) {
  bool any = false;
  for (ox_id v = 0; v < g->n_values; v++) {
    const ox_graph_value *value = ox_graph_value_at(g, v);
    bool listed = (value->is_input || value->is_output) && !in_function;
    bool constant = value->init && !value->is_input;
    bool typed = !listed && !value->init && value->outer == OX_NONE && ox_text_can_type(&value->type) &&
                 (value->producer != OX_NONE || in_function);
    if (value->dead || (!constant && !typed)) continue;
    ox_text_put(o, any ? "," : " <");
    any = true;
    o->indent++;
    ox_text_line(o);
    o->indent--;
    if (constant) {
      ox_text_put_tensor(o, ox_graph_init(g, v), value->name);
    } else {
      put_value_info(o, g, v);
    }
  }
  if (any) ox_text_put(o, ">");
  ox_text_line(o);
}

static void put_graph(ox_text_out *o, const ox_graph *g) {
  ox_text_put_name(o, *g->name ? g->name : "graph");
  put_inputs(o, g);
  put_values(o, g, false);
  put_nodes(o, g);
}

/* ---- headers ---- */

static void put_opsets(ox_text_out *o, const ox_opset *opsets, uint32_t n) {
  ox_text_put(o, "opset_import: [");
  for (uint32_t i = 0; i < n; i++) {
    if (i) ox_text_put(o, ", ");
    ox_text_put_quoted(o, str_of(opsets[i].domain));
    ox_text_put(o, " : %lld", (long long)opsets[i].version);
  }
  ox_text_put(o, "]");
}

static void put_string_row(ox_text_out *o, const char *key, const char *s) {
  if (!s || !*s) return;
  ox_text_put(o, ", %s: ", key);
  ox_text_put_quoted(o, str_of(s));
}

static void put_names(ox_text_out *o, const char *const *names, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (i) ox_text_put(o, ", ");
    ox_text_put_name(o, names[i]);
  }
}

static void put_function(ox_text_out *o, const ox_function *fn) {
  ox_text_put(o, "\n<");
  put_opsets(o, fn->opsets, fn->n_opsets);
  put_string_row(o, "domain", fn->domain);
  put_string_row(o, "overload", fn->overload);
  ox_text_put(o, ">\n");
  ox_text_put_name(o, fn->name);
  if (fn->n_attr_names || fn->n_attr_defaults) {
    ox_text_put(o, " <");
    put_names(o, fn->attr_names, fn->n_attr_names);
    for (uint32_t i = 0; i < fn->n_attr_defaults; i++) {
      if (i || fn->n_attr_names) ox_text_put(o, ", ");
      put_attr(o, fn->body->model, &fn->attr_defaults[i]);
    }
    ox_text_put(o, ">");
  }
  ox_text_put(o, " (");
  put_names(o, fn->inputs, fn->n_inputs);
  ox_text_put(o, ") => (");
  put_names(o, fn->outputs, fn->n_outputs);
  ox_text_put(o, ")");
  put_values(o, fn->body, true);
  put_nodes(o, fn->body);
  ox_text_put(o, "\n");
}

static void put_model(ox_text_out *o, const ox_model *m) {
  ox_text_put(o, "<ir_version: %lld, ", (long long)m->ir_version);
  put_opsets(o, m->opsets, m->n_opsets);
  put_string_row(o, "producer_name", m->producer_name);
  put_string_row(o, "producer_version", m->producer_version);
  put_string_row(o, "domain", m->domain);
  if (m->model_version) ox_text_put(o, ", model_version: %lld", (long long)m->model_version);
  put_string_row(o, "doc_string", m->doc);
  for (uint32_t i = 0; i < m->n_props; i++) {
    ox_text_put(o, i ? ", " : ", metadata_props: [");
    ox_text_put_quoted(o, str_of(m->props[i].key));
    ox_text_put(o, ": ");
    ox_text_put_quoted(o, str_of(m->props[i].value));
  }
  ox_text_put(o, m->n_props ? "]>\n" : ">\n");
  put_graph(o, m->graph);
  ox_text_put(o, "\n");
  for (uint32_t i = 0; i < m->n_functions; i++) put_function(o, &m->functions[i]);
}

ox_status *ox_text_write_short(const ox_model *m, size_t max_elements, ox_sink sink) {
  ox_text_out o = {.sink = sink, .max_elements = max_elements};
  ox_c_locale c;
  if (!ox_c_locale_enter(&c)) return ox_oom();
  put_model(&o, m);
  ox_text_flush(&o);
  ox_c_locale_leave(&c);
  return o.st;
}

ox_status *ox_text_write(const ox_model *m, ox_sink sink) { return ox_text_write_short(m, 0, sink); }
