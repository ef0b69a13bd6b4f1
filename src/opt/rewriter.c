/* SPDX-License-Identifier: Apache-2.0
 * opt/rewriter.c - the table of onyx/rule.h: questions, memory, errors. Ids come from rules, so each is checked. */
#include "opt/rewriter.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "graph/node_activation.h"
#include "onyx/onyx.h"

/* ---- nodes ---- */

static uint32_t node_count(const ox_rewrite *rw) { return rw->graph->n_nodes; }
static int node_alive(const ox_rewrite *rw, ox_id node) { return ox_rewriter_node(rw, node) != NULL; }

static const char *node_op(const ox_rewrite *rw, ox_id node) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n ? n->op : "";
}

static const char *node_domain(const ox_rewrite *rw, ox_id node) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n ? n->domain : "";
}

static const char *node_name(const ox_rewrite *rw, ox_id node) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n ? n->name : "";
}

static uint32_t node_version(const ox_rewrite *rw, ox_id node) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n ? (uint32_t)ox_node_version(rw->graph->model, n) : 0;
}

static const char *node_owner(const ox_rewrite *rw, ox_id node) {
  const ox_node *n = ox_rewriter_node(rw, node);
  const ox_opt_options *o = ox_rewriter_of(rw)->o;
  return n && n->assigned.owner && n->assigned.owner <= o->n_owners ? o->owners[n->assigned.owner - 1].name : NULL;
}

static uint32_t node_in_count(const ox_rewrite *rw, ox_id node) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n ? n->n_in : 0;
}

static uint32_t node_out_count(const ox_rewrite *rw, ox_id node) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n ? n->n_out : 0;
}

static ox_id node_in(const ox_rewrite *rw, ox_id node, uint32_t slot) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n && slot < n->n_in ? n->in[slot] : OX_NONE;
}

static ox_id node_out(const ox_rewrite *rw, ox_id node, uint32_t slot) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n && slot < n->n_out ? n->out[slot] : OX_NONE;
}

static uint32_t node_body_count(const ox_rewrite *rw, ox_id node) {
  const ox_node *n = ox_rewriter_node(rw, node);
  uint32_t count = 0;
  while (n && ox_node_body(n, count)) count++;
  return count;
}

static int node_is(const ox_rewrite *rw, ox_id node, const char *ops, const char *domain) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n && ox_node_is(n, ops, domain);
}

static uint32_t attr_count(const ox_rewrite *rw, ox_id node) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n ? n->n_attrs : 0;
}

static const char *attr_name(const ox_rewrite *rw, ox_id node, uint32_t i) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n && i < n->n_attrs ? n->attrs[i].name : "";
}

static const ox_attr_view *attr(const ox_rewrite *rw, ox_id node, const char *name) {
  const ox_node *n = ox_rewriter_node(rw, node);
  const ox_attr *a = n ? ox_node_attr(n, name) : NULL;
  return a ? &a->v : NULL;
}

/* ---- values ---- */

static uint32_t value_count(const ox_rewrite *rw) { return rw->graph->n_values; }

static const char *value_name(const ox_rewrite *rw, ox_id v) {
  return ox_rewriter_value(rw, v) ? ox_graph_value_name(rw->graph, v) : "";
}

static const ox_type *value_type(const ox_rewrite *rw, ox_id v) {
  const ox_graph_value *value = ox_rewriter_value(rw, v);
  return value ? &value->type : NULL;
}

static uint32_t value_dtype(const ox_rewrite *rw, ox_id v) {
  const ox_graph_value *value = ox_rewriter_value(rw, v);
  return value && value->type.kind == OX_TENSOR ? value->type.dtype : OX_UNDEFINED;
}

static const ox_shape *value_shape(const ox_rewrite *rw, ox_id v) {
  static const ox_shape unknown = {.rank = -1};
  const ox_graph_value *value = ox_rewriter_value(rw, v);
  return value ? &value->type.shape : &unknown;
}

static const ox_tensor *value_const(const ox_rewrite *rw, ox_id v) {
  return ox_rewriter_value(rw, v) ? ox_graph_const(rw->graph, v) : NULL;
}

static const ox_tensor *value_const_type(const ox_rewrite *rw, ox_id v) {
  return ox_rewriter_value(rw, v) ? ox_graph_const_type(rw->graph, v) : NULL;
}

static const void *const_source(const ox_rewrite *rw, ox_id v, ox_make_fn make, const ox_tensor **out_from) {
  const ox_deferred *deferred = ox_rewriter_value(rw, v) ? ox_deferred_of(rw->graph, v) : NULL;
  *out_from = deferred && deferred->make == make ? deferred->from : NULL;
  return *out_from ? deferred->arg : NULL;
}

static ox_id producer(const ox_rewrite *rw, ox_id v, uint32_t *out_slot) {
  const ox_graph_value *value = ox_rewriter_value(rw, v);
  if (!value || !ox_rewriter_node(rw, value->producer)) return OX_NONE;
  if (out_slot) *out_slot = value->producer_slot;
  return value->producer;
}

static uint32_t use_count(const ox_rewrite *rw, ox_id v) {
  return ox_rewriter_value(rw, v) ? ox_graph_use_count(rw->graph, v) : 0;
}

static uint32_t user_count(const ox_rewrite *rw, ox_id v) {
  const ox_graph_value *value = ox_rewriter_value(rw, v);
  return value ? value->n_uses : 0;
}

static ox_id user(const ox_rewrite *rw, ox_id v, uint32_t i, uint32_t *out_slot) {
  const ox_graph_value *value = ox_rewriter_value(rw, v);
  if (!value || i >= value->n_uses || !ox_rewriter_node(rw, value->uses[i].node)) return OX_NONE;
  if (out_slot) *out_slot = value->uses[i].slot;
  return value->uses[i].node;
}

static int is_input(const ox_rewrite *rw, ox_id v) {
  const ox_graph_value *value = ox_rewriter_value(rw, v);
  return value && value->is_input;
}

static int is_output(const ox_rewrite *rw, ox_id v) {
  const ox_graph_value *value = ox_rewriter_value(rw, v);
  return value && value->is_output;
}

/* ---- the graph ---- */

static uint32_t io_count(const ox_rewrite *rw, int outputs) {
  return outputs ? rw->graph->n_outputs : rw->graph->n_inputs;
}

static ox_id io(const ox_rewrite *rw, int outputs, uint32_t i) {
  if (i >= io_count(rw, outputs)) return OX_NONE;
  return outputs ? rw->graph->outputs[i] : rw->graph->inputs[i];
}

static int64_t opset(const ox_rewrite *rw, const char *domain) {
  return ox_model_opset(rw->graph->model, domain ? domain : "");
}

static const char *symbol_name(const ox_rewrite *rw, int64_t dim) {
  return ox_model_symbol_name(rw->graph->model, dim);
}

/* What a node computes with is the type of its input 0, or of its first input that has a type variable: Where's second
 * one, behind a condition. */
static int takes(const ox_schema *schema, uint32_t dtype) {
  size_t var = schema->vars ? strspn(schema->vars, ".") : 0;
  uint32_t types = schema->types[0];
  if (schema->vars && schema->vars[var])
    for (size_t i = 1; i < OX_TYPED_IN && i <= var; i++) types |= schema->types[i];
  return !schema->types[0] || (types & OX_BIT(dtype)) != 0;
}

static int op_serves(const ox_rewrite *rw, const char *domain, const char *op, uint32_t dtype) {
  const ox_rewriter *h = ox_rewriter_of(rw);
  ox_node n = {.op = op, .domain = domain ? domain : ""};
  const ox_schema *schema = ox_node_schema(rw->graph->model, &n, NULL);
  if (!schema || !dtype || !takes(schema, dtype)) return 0;
  uint16_t owner = h->assigned.owner;
  const ox_opt_owner *who = owner && owner <= h->o->n_owners ? &h->o->owners[owner - 1] : NULL;
  return !who || !who->serves || who->serves(who->ctx, n.domain, op, dtype);
}

static ox_status *order(const ox_rewrite *rw, const ox_id **out_nodes, uint32_t *out_n) {
  ox_alloc a = rw->graph->model->alloc;
  ox_id *all = NULL, *seen;
  uint32_t n, kept = 0;
  *out_nodes = NULL, *out_n = 0;
  OX_TRY(ox_graph_order(rw->graph, a, &all, &n));
  seen = rw->api->scratch(rw, ((size_t)n + 1) * sizeof *seen);
  for (uint32_t i = 0; seen && i < n; i++)
    if (ox_rewriter_node(rw, all[i])) seen[kept++] = all[i];
  ox_delete(a, all, rw->graph->n_nodes * sizeof *all);
  *out_nodes = seen, *out_n = kept;
  return seen ? NULL : ox_oom();
}

/* The real part of a complex number says nothing about it. */
static double element(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_C64 || t->dtype == OX_C128 ? NAN : ox_tensor_element(t, i);
}

static int activation(const ox_rewrite *rw, ox_id node, ox_activation *out) {
  const ox_node *n = ox_rewriter_node(rw, node);
  return n && ox_activation_read(rw->graph, n, out);
}

/* ---- memory and errors ---- */

static void *scratch(const ox_rewrite *rw, size_t bytes) {
  ox_rewriter_of(rw)->scratch_used = true;
  return ox_arena_alloc(&ox_rewriter_of(rw)->scratch, bytes);
}

static void *model_alloc(const ox_rewrite *rw, size_t bytes) { return ox_arena_alloc(&rw->graph->model->arena, bytes); }

static ox_status *status_make(ox_code code, const char *text) {
  return code == OX_OUT_OF_MEMORY ? ox_oom() : code == OX_OK ? NULL : ox_fail(code, "%s", text ? text : "");
}

static void guard_failed(const ox_rewrite *rw, ox_status *st) {
  ox_rewriter *h = ox_rewriter_of(rw);
  if (h->failed)
    ox_status_free(st);
  else
    h->failed = st;
}

static const ox_graph_api table = {.struct_size = sizeof table,
                                   .node_count = node_count,
                                   .node_alive = node_alive,
                                   .node_op = node_op,
                                   .node_domain = node_domain,
                                   .node_name = node_name,
                                   .node_version = node_version,
                                   .node_owner = node_owner,
                                   .node_in_count = node_in_count,
                                   .node_out_count = node_out_count,
                                   .node_in = node_in,
                                   .node_out = node_out,
                                   .node_body_count = node_body_count,
                                   .node_is = node_is,
                                   .attr_count = attr_count,
                                   .attr_name = attr_name,
                                   .attr = attr,
                                   .value_count = value_count,
                                   .value_name = value_name,
                                   .value_type = value_type,
                                   .value_dtype = value_dtype,
                                   .value_shape = value_shape,
                                   .value_const = value_const,
                                   .producer = producer,
                                   .use_count = use_count,
                                   .user_count = user_count,
                                   .user = user,
                                   .is_input = is_input,
                                   .is_output = is_output,
                                   .io_count = io_count,
                                   .io = io,
                                   .opset = opset,
                                   .symbol_name = symbol_name,
                                   .op_serves = op_serves,
                                   .order = order,
                                   .element = element,
                                   .scratch = scratch,
                                   .model_alloc = model_alloc,
                                   .add_value = ox_rewriter_add_value,
                                   .add_tensor = ox_rewriter_add_tensor,
                                   .add_const = ox_rewriter_add_const,
                                   .const_room = ox_rewriter_const_room,
                                   .const_view = ox_rewriter_const_view,
                                   .make_const = ox_rewriter_make_const,
                                   .replace_uses = ox_rewriter_replace_uses,
                                   .can_replace = ox_rewriter_can_replace,
                                   .add_node = ox_rewriter_add_node,
                                   .set_in = ox_rewriter_set_in,
                                   .set_out = ox_rewriter_set_out,
                                   .set_counts = ox_rewriter_set_counts,
                                   .become = ox_rewriter_become,
                                   .set_attr = ox_rewriter_set_attr,
                                   .remove_attr = ox_rewriter_remove_attr,
                                   .infer = ox_rewriter_infer,
                                   .remove_node = ox_rewriter_remove_node,
                                   .remove_unused = ox_rewriter_remove_unused,
                                   .status_make = status_make,
                                   .guard_failed = guard_failed,
                                   .activation = activation,
                                   .const_made = ox_rewriter_const_made,
                                   .const_later = ox_rewriter_const_later,
                                   .value_const_type = value_const_type,
                                   .const_source = const_source};

/* ---- rewriters ---- */

void ox_rewriter_init(ox_rewriter *h, ox_graph *g, const ox_opt_options *o) {
  static const ox_opt_options none = {.level = OX_OPTIMIZE_NONE};
  *h = (ox_rewriter){.rw = {sizeof h->rw, &table, g}, .o = o ? o : &none, .tracks = true};
  ox_arena_init(&h->scratch, g->model->alloc);
  ox_origin_start(&h->origin);
  ox_naming_init(&h->naming, g->model->alloc);
  ox_naming_start(&h->naming, g);
}

void ox_rewriter_deinit(ox_rewriter *h) {
  ox_arena_deinit(&h->scratch);
  ox_naming_deinit(&h->naming);
  ox_status_free(h->failed);
  h->failed = NULL;
}

void ox_rewriter_clear_scratch(ox_rewriter *h) {
  if (h->scratch_used) ox_arena_reset(&h->scratch);
  h->scratch_used = false;
}
