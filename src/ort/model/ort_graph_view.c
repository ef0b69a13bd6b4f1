/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_graph_view.c - see ort_graph_view.h. A body is built before the node that has it, as what it reads of
 * the enclosing graph makes the node's implicit inputs. */
#include "ort/model/ort_graph_view.h"

#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_since.h"
#include "ort/ort_api.h"
#include "ort/custom/ort_kernel.h"
#include "ort/ort_status.h"

typedef struct ort_builder {
  const ox_ep_host *host;
  const ox_graph_view *view;
  OrtGraph *graph;
  OrtValueInfo **by_id; /* of the view's values */
  size_t room;
} ort_builder;

/* ---- values ---- */

/* The names of the dimensions of the innermost tensor type. */
static void name_dims(const ort_builder *b, const ox_type *t, const char **names) {
  while (t->kind != OX_TENSOR && t->kind != OX_SPARSE && t->elem != NULL) t = t->elem;
  for (int32_t d = 0; d < t->shape.rank; d++) names[d] = b->host->dim_name(b->view, t->shape.dim[d]);
}

static OrtStatus *type_of(const ort_builder *b, uint32_t id, OrtTypeInfo **out) {
  const ox_type *t = b->host->value_full_type(b->view, id);
  const char *names[OX_MAX_RANK] = {NULL};
  *out = NULL;
  if (t == NULL || (t->kind == OX_TENSOR && t->dtype == OX_UNDEFINED)) return NULL;
  name_dims(b, t, names);
  return ort_type_info_of_type(t, names, out);
}

static OrtStatus *locate(const ort_builder *b, OrtValueInfo *v) {
  uint64_t offset = 0;
  const char *path = b->host->value_file(b->view, v->id, &offset);
  return path != NULL ? ort_CreateExternalInitializerInfo(path, (int64_t)offset, v->lent.tensor->bytes, &v->external)
                      : NULL;
}

static OrtStatus *fill_value(const ort_builder *b, OrtValueInfo *v) {
  v->outer = b->host->value_outer(b->view, v->id) != UINT32_MAX;
  ORT_TRY(type_of(b, v->id, &v->type));
  const ox_tensor *constant = b->host->value_const(b->view, v->id);
  if (constant == NULL) return NULL;
  v->lent.tensor = constant, v->initializer = &v->lent, v->constant = true;
  ORT_TRY(locate(b, v));
  if (v->outer) return NULL;
  OrtGraph *g = b->graph;
  if (!ort_room_for((void **)&g->initializers, &g->initializers_room, g->n_initializers, sizeof *g->initializers))
    return ort_out_of_memory();
  g->initializers[g->n_initializers++] = v;
  return NULL;
}

static OrtStatus *grow_ids(ort_builder *b, uint32_t id) {
  size_t room = b->room == 0 ? 64 : b->room;
  while (room <= id) room *= 2;
  OrtValueInfo **p = realloc(b->by_id, room * sizeof *p);
  if (p == NULL) return ort_out_of_memory();
  memset(p + b->room, 0, (room - b->room) * sizeof *p);
  b->by_id = p, b->room = room;
  return NULL;
}

/* The value |id| of the view; NULL for what is left out. */
static OrtStatus *value_of(ort_builder *b, uint32_t id, OrtValueInfo **out) {
  *out = NULL;
  if (id == UINT32_MAX) return NULL;
  if (id >= b->room) ORT_TRY(grow_ids(b, id));
  *out = b->by_id[id];
  if (*out != NULL) return NULL;
  ORT_TRY(ort_graph_add_value(b->graph, b->host->value_name(b->view, id), NULL, out));
  b->by_id[id] = *out, (*out)->id = id;
  return fill_value(b, *out);
}

/* ---- nodes ---- */

static OrtStatus *build(ort_builder *b, OrtNode *parent, ort_model_facts *facts);

/* An implicit use of the node that is being built comes last. */
static bool is_implicit(const OrtValueInfo *v, const OrtNode *node) {
  return v->n_uses > 0 && v->uses[v->n_uses - 1].node == node && v->uses[v->n_uses - 1].index == -1;
}

/* What |body| reads of this graph is read by |node|, too. */
static OrtStatus *add_implicit(ort_builder *b, const ort_builder *body, OrtNode *node) {
  for (size_t i = 0; i < body->graph->n_values; i++) {
    const OrtValueInfo *inner = body->graph->values[i];
    OrtValueInfo *v;
    if (!inner->outer) continue;
    ORT_TRY(value_of(b, body->host->value_outer(body->view, inner->id), &v));
    if (v == NULL || is_implicit(v, node)) continue;
    if (!ort_room_for((void **)&node->implicit, &node->implicit_room, node->n_implicit, sizeof *node->implicit))
      return ort_out_of_memory();
    node->implicit[node->n_implicit++] = v;
    ORT_TRY(ort_value_info_add_use(v, node, -1));
  }
  return NULL;
}

static OrtStatus *add_body(ort_builder *b, OrtNode *node, OrtOpAttr *attr) {
  ort_builder body = {.host = b->host, .view = b->host->node_body(b->view, node->id, attr->name)};
  if (body.view == NULL) return NULL;
  OrtStatus *st = build(&body, node, b->graph->facts);
  if (st == NULL) st = add_implicit(b, &body, node);
  attr->graph = body.graph;
  free(body.by_id);
  return st;
}

static OrtStatus *add_attrs(ort_builder *b, OrtNode *node) {
  size_t n = b->host->node_attr_count(b->view, node->id);
  node->attrs = calloc(n + 1, sizeof(OrtOpAttr *));
  if (node->attrs == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < n; i++) {
    ort_attr a = {0};
    a.name = b->host->node_attr_at(b->view, node->id, i, &a.v);
    ORT_TRY(ort_op_attr_of(&a, &node->attrs[node->n_attrs]));
    OrtOpAttr *attr = node->attrs[node->n_attrs++];
    if (attr->type == ORT_OP_ATTR_GRAPH) ORT_TRY(add_body(b, node, attr));
  }
  return NULL;
}

static OrtStatus *connect(ort_builder *b, OrtNode *node) {
  size_t n_in = b->host->node_in_count(b->view, node->id), n_out = b->host->node_out_count(b->view, node->id);
  node->in = calloc(n_in + 1, sizeof *node->in), node->out = calloc(n_out + 1, sizeof *node->out);
  if (node->in == NULL || node->out == NULL) return ort_out_of_memory();
  node->n_in = n_in, node->n_out = n_out;
  for (size_t i = 0; i < n_in; i++) {
    ORT_TRY(value_of(b, b->host->node_in(b->view, node->id, i), &node->in[i]));
    if (node->in[i] != NULL) ORT_TRY(ort_value_info_add_use(node->in[i], node, (int64_t)i));
  }
  for (size_t i = 0; i < n_out; i++) {
    ORT_TRY(value_of(b, b->host->node_out(b->view, node->id, i), &node->out[i]));
    if (node->out[i] != NULL) node->out[i]->producer = node, node->out[i]->producer_output = i;
  }
  return NULL;
}

static OrtStatus *add_node(ort_builder *b, size_t i) {
  OrtNode *node;
  ORT_TRY(ort_node_create(b->host->node_name(b->view, i), b->host->node_op(b->view, i),
                          b->host->node_domain(b->view, i), &node));
  node->id = i, node->since = ort_op_since(node->domain, node->op, (int)b->host->node_version(b->view, i));
  OrtStatus *st = ort_graph_add_node(b->graph, node);
  if (st != NULL) {
    ort_node_release(node);
    return st;
  }
  ORT_TRY(connect(b, node));
  return add_attrs(b, node);
}

/* ---- graphs ---- */

static OrtStatus *list(ort_builder *b, int outputs, OrtValueInfo ***out, size_t *out_n) {
  size_t n = b->host->io_count(b->view, outputs);
  OrtValueInfo **values = *out = calloc(n + 1, sizeof *values);
  if (values == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < n; i++) {
    OrtValueInfo *v;
    ORT_TRY(value_of(b, b->host->io_value(b->view, outputs, i), &v));
    if (v == NULL) continue;
    values[(*out_n)++] = v;
    if (outputs) {
      v->graph_output = true;
    } else {
      v->required_input = v->initializer == NULL, v->optional_input = v->initializer != NULL;
    }
  }
  return NULL;
}

/* |b->graph| is set also on failure. */
static OrtStatus *build(ort_builder *b, OrtNode *parent, ort_model_facts *facts) {
  ORT_TRY(ort_graph_create(b->host->graph_name(b->view), &b->graph));
  b->graph->parent = parent, b->graph->facts = facts;
  ORT_TRY(list(b, 0, &b->graph->inputs, &b->graph->n_inputs));
  for (size_t i = 0; i < b->host->node_count(b->view); i++) ORT_TRY(add_node(b, i));
  return list(b, 1, &b->graph->outputs, &b->graph->n_outputs);
}

static OrtStatus *copy_facts(const ort_builder *b, ort_model_facts *facts) {
  ox_model_info info = {.struct_size = sizeof info};
  const char *text, *value;
  b->host->model_info(b->view, &info);
  facts->ir_version = info.ir_version, facts->version = info.model_version;
  ORT_TRY(ort_text_copy(info.path, &facts->path));
  ORT_TRY(ort_text_copy(info.producer_name, &facts->producer));
  ORT_TRY(ort_text_copy(info.domain, &facts->domain));
  ORT_TRY(ort_text_copy(info.doc, &facts->doc));
  ORT_TRY(ort_text_copy(info.graph_name, &facts->graph));
  ORT_TRY(ort_text_copy(info.graph_doc, &facts->graph_doc));
  facts->opset_domains = calloc(info.n_opsets + 1, sizeof(char *));
  facts->opset_versions = calloc(info.n_opsets + 1, sizeof(int64_t));
  if (facts->opset_domains == NULL || facts->opset_versions == NULL) return ort_out_of_memory();
  for (size_t i = 0; (text = b->host->model_opset(b->view, i, &facts->opset_versions[i])) != NULL; i++) {
    ORT_TRY(ort_text_copy(text, &facts->opset_domains[i]));
    facts->n_opsets = i + 1;
  }
  for (size_t i = 0; (text = b->host->model_prop(b->view, i, &value)) != NULL; i++)
    ORT_TRY(ort_pairs_set(&facts->props, text, value));
  return NULL;
}

/* The node that has the body, and what it reads and makes, in a graph of their own. Its bodies are copies. */
static OrtStatus *add_parent(ort_builder *b) {
  ort_builder outer = {.host = b->host, .view = b->host->graph_parent(b->view)};
  if (outer.view == NULL) return NULL;
  OrtStatus *st = ort_graph_create(outer.host->graph_name(outer.view), &outer.graph);
  if (st == NULL) {
    outer.graph->facts = b->graph->facts;
    b->graph->parent_graph = outer.graph;
    st = add_node(&outer, 0);
  }
  if (st == NULL) b->graph->parent = outer.graph->nodes[0];
  free(outer.by_id);
  return st;
}

OrtStatus *ort_graph_from_view(const ox_ep_host *host, const ox_graph_view *view, OrtGraph **out) {
  ort_builder b = {.host = host, .view = view};
  *out = NULL;
  ort_model_facts *facts = calloc(1, sizeof *facts);
  OrtStatus *st = facts != NULL ? copy_facts(&b, facts) : ort_out_of_memory();
  if (st == NULL) st = build(&b, NULL, facts);
  if (b.graph == NULL) {
    ort_model_facts_release(facts);
  } else {
    b.graph->facts = facts, b.graph->owns_facts = true;
  }
  if (st == NULL) st = add_parent(&b);
  if (st == NULL) *out = b.graph, b.graph = NULL;
  ort_graph_release(b.graph);
  free(b.by_id);
  return st;
}
