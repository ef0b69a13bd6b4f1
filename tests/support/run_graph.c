/* SPDX-License-Identifier: Apache-2.0
 * support/run_graph.c - see run_graph.h. */
#include "support/run_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ep/cpu/cpu_rules.h"
#include "onnx/text.h"
#include "onyx/onyx.h"
#include "support/build_graph.h"
#include "support/one_node.h"

ox_model *rg_read(const char *text) {
  ox_model *m = NULL;
  CHECK_OK(ox_text_read(ox_alloc_heap(), ox_ops_cpu(), text, strlen(text), &m));
  return m;
}

static ox_status *run_node(const ox_graph *g, const ox_node *n, const ox_tensor *const *in, ox_arena *a,
                           ox_tensor *outs) {
  one_node one;
  uint32_t version;
  const ox_schema *def = ox_node_schema(g->model, n, &version);
  if (!def) return ox_fail(OX_NOT_IMPLEMENTED, "no operator %s", n->op);
  one_node_init(&one, n->domain, n->op, (int)version, n->n_out);
  if (n->n_attrs) memcpy(one.attrs, n->attrs, n->n_attrs * sizeof *n->attrs);
  one.node.n_attrs = n->n_attrs;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (!in[i]) {
      one_node_input(&one, 0, -1, NULL, NULL);
      continue;
    }
    one_node_input(&one, in[i]->dtype, in[i]->shape.rank, in[i]->shape.dim, in[i]->data);
    one.constant[i] = ox_graph_const(g, n->in[i]) != NULL;
  }
  ox_status *st = one_node_run(&one);
  for (uint32_t i = 0; !st && i < n->n_out; i++) {
    outs[i] = one.out[i];
    if (outs[i].kind == OX_TENSOR && outs[i].bytes) outs[i].data = ox_arena_copy(a, outs[i].data, outs[i].bytes);
  }
  one_node_deinit(&one);
  return st;
}

ox_status *rg_eval(void *ctx, ox_graph *g, ox_id node, ox_tensor *outs) {
  (void)ctx;
  const ox_node *n = &g->nodes[node];
  const ox_tensor *in[ONE_NODE_MOST];
  for (uint32_t i = 0; i < n->n_in; i++) in[i] = ox_graph_const(g, n->in[i]);
  return run_node(g, n, in, &g->model->arena, outs);
}

/* Numbers in [-1, 1), the same for the same position and input. */
static void fill(ox_tensor *t, uint32_t seed) {
  int64_t n = ox_shape_count(&t->shape);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    double x = (double)(seed >> 8) / (1 << 23) - 1;
    int64_t small = (int64_t)(seed >> 16) % 2;
    switch (t->dtype) {
      case OX_F32:
        ((float *)t->data)[i] = (float)x;
        break;
      case OX_F64:
        ((double *)t->data)[i] = x;
        break;
      case OX_F16:
        ((uint16_t *)t->data)[i] = ox_f16_from_f32((float)x);
        break;
      case OX_I64:
        ((int64_t *)t->data)[i] = small;
        break;
      case OX_I32:
        ((int32_t *)t->data)[i] = (int32_t)small;
        break;
      case OX_U8:
        ((uint8_t *)t->data)[i] = (uint8_t)(seed >> 16);
        break;
      case OX_I8:
        ((int8_t *)t->data)[i] = (int8_t)(seed >> 16);
        break;
      case OX_BOOL:
        ((uint8_t *)t->data)[i] = (uint8_t)small;
        break;
      default:
        fail_msg("no made-up input of %s", ox_dtype_name(t->dtype));
    }
  }
}

static void make_inputs(ox_graph *g, ox_arena *a, ox_tensor *values) {
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    const ox_graph_value *v = &g->values[g->inputs[i]];
    ox_shape s = v->type.shape;
    size_t bytes;
    for (int d = 0; d < s.rank; d++) s.dim[d] = s.dim[d] < 0 ? 2 : s.dim[d];
    assert_true(ox_dtype_bytes(v->type.dtype, ox_shape_count(&s), &bytes));
    values[g->inputs[i]] = ox_tensor_view(v->type.dtype, &s, ox_arena_alloc(a, bytes));
    fill(&values[g->inputs[i]], 12345 * (i + 1));
  }
}

/* Every value of |m| that a run makes: kind OX_NONE_VALUE where there is none. */
static ox_status *run_all(ox_model *m, ox_arena *a, ox_tensor **out_values) {
  ox_graph *g = m->graph;
  ox_tensor *values = OX_ARENA_ARRAY(a, ox_tensor, g->n_values);
  ox_id *order = NULL;
  uint32_t n, n_alloc = g->n_nodes;
  for (ox_id v = 0; v < g->n_values; v++) {
    const ox_graph_value *value = &g->values[v];
    values[v] = value->init && !value->dead ? *ox_graph_init(g, v) : (ox_tensor){.kind = OX_NONE_VALUE};
  }
  make_inputs(g, a, values);
  CHECK_OK(ox_graph_order(g, m->alloc, &order, &n));
  ox_status *st = NULL;
  for (uint32_t k = 0; !st && k < n; k++) {
    const ox_node *node = &g->nodes[order[k]];
    const ox_tensor *in[ONE_NODE_MOST];
    ox_tensor out[ONE_NODE_MOST] = {{0}};
    for (uint32_t i = 0; i < node->n_in; i++) in[i] = node->in[i] == OX_NONE ? NULL : &values[node->in[i]];
    st = ox_status_note(run_node(g, node, in, a, out), "running '%s' (%s)", node->name, node->op);
    for (uint32_t i = 0; i < node->n_out; i++)
      if (node->out[i] != OX_NONE) values[node->out[i]] = out[i];
  }
  ox_delete(m->alloc, order, n_alloc * sizeof *order);
  *out_values = values;
  return st;
}

ox_status *rg_run(ox_model *m, ox_arena *a, ox_tensor *outs) {
  const ox_graph *g = m->graph;
  ox_tensor *values;
  OX_TRY(run_all(m, a, &values));
  for (uint32_t i = 0; i < g->n_outputs; i++) outs[i] = values[g->outputs[i]];
  return NULL;
}

ox_opt_options rg_options(uint32_t level) {
  static const ox_opt_owner cpu = {.name = "cpu"};
  static ox_rule_list rules[2];
  rules[0] = ox_standard_rules;
  rules[1] = (ox_rule_list){ox_cpu_rule_sets, OX_N_CPU_RULE_SETS};
  return (ox_opt_options){.level = level,
                          .rules = rules,
                          .n_rules = OX_COUNT(rules),
                          .owners = &cpu,
                          .n_owners = 1,
                          .eval = rg_eval,
                          .verify = true};
}

void rg_own_all(ox_model *m, uint16_t owner) {
  for (ox_graph *g = m->graphs; g; g = g->next)
    for (ox_id i = 0; i < g->n_nodes; i++) g->nodes[i].assigned.owner = owner;
}

ox_status *rg_optimize(ox_model *m, ox_opt_options *o) {
  OX_TRY(ox_optimize(m, o));
  rg_own_all(m, 1);
  return ox_optimize_owned(m, o, 1);
}

void rg_compare(const ox_tensor *a, const ox_tensor *b, const char *name, double tolerance) {
  char x[OX_SHAPE_TEXT], y[OX_SHAPE_TEXT];
  if (a->dtype != b->dtype || !ox_shape_equal(&a->shape, &b->shape))
    fail_msg("'%s': %s%s before, %s%s after", name, ox_dtype_name(a->dtype), ox_shape_text(&a->shape, x),
             ox_dtype_name(b->dtype), ox_shape_text(&b->shape, y));
  double largest = 0;
  int64_t n = ox_shape_count(&a->shape);
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(ox_tensor_element(a, i)));
  if (!ox_dtype_is_float(a->dtype)) largest = 1; /* quanta */
  for (int64_t i = 0; i < n; i++) {
    double p = ox_tensor_element(a, i), q = ox_tensor_element(b, i);
    if (!(fabs(p - q) <= tolerance * largest) && p != q && !(isnan(p) && isnan(q)))
      fail_msg("'%s'[%lld]: %.9g before, %.9g after", name, (long long)i, p, q);
  }
}

static void check_counts(const ox_opt_options *o, const char *rule, const char *dump) {
  bool wanted = *rule != '!', seen = false;
  for (uint32_t i = 0; i < o->n_counts; i++) seen |= strcmp(o->counts[i].rule, rule + !wanted) == 0;
  if (seen != wanted) fail_msg("rule %s was%s applied:\n%s", rule + !wanted, seen ? "" : " not", dump);
}

/* What a run made, by the names that values had then. */
typedef struct {
  uint32_t n;
  const char **names;
  ox_tensor *values;
} named_values;

static ox_status *run_named(ox_model *m, ox_arena *a, named_values *out) {
  const ox_graph *g = m->graph;
  *out = (named_values){g->n_values, OX_ARENA_ARRAY(a, const char *, g->n_values), NULL};
  for (ox_id v = 0; v < g->n_values; v++) out->names[v] = ox_arena_str(a, g->values[v].name, strlen(g->values[v].name));
  return run_all(m, a, &out->values);
}

/* The outputs, and whatever else goes by a name that it had before. */
static void compare_all(ox_model *m, ox_arena *a, const named_values *before, double tolerance) {
  const ox_graph *g = m->graph;
  ox_tensor *after;
  CHECK_OK(run_all(m, a, &after));
  for (ox_id v = 0; v < g->n_values; v++) {
    const ox_graph_value *value = &g->values[v];
    uint32_t i = 0;
    while (i < before->n && strcmp(before->names[i], value->name) != 0) i++;
    if (value->is_output && i == before->n) fail_msg("output '%s' is new", value->name);
    if (value->dead || i == before->n || after[v].kind != OX_TENSOR || before->values[i].kind != OX_TENSOR) continue;
    rg_compare(&before->values[i], &after[v], value->name, tolerance);
  }
}

void rg_check(const char *text, uint32_t level, const char *rule, const char *after, double tolerance) {
  named_values before;
  char ops[4096];
  static char dump[16384];
  ox_arena a;
  ox_arena_init(&a, ox_alloc_heap());
  ox_model *m = rg_read(text);
  ox_status *st = run_named(m, &a, &before);
  bool runs = ox_status_code(st) != OX_NOT_IMPLEMENTED;
  if (runs) CHECK_OK(st);
  ox_status_free(st);
  ox_opt_options o = rg_options(level);
  CHECK_OK(rg_optimize(m, &o));
  dump[0] = 0;
  ox_graph_print(m->graph, bg_put, dump);
  if (rule) check_counts(&o, rule, dump);
  if (after && strcmp(bg_ops(m->graph, ops), after) != 0) fail_msg("got %s, wanted %s\n%s", ops, after, dump);
  if (runs) compare_all(m, &a, &before, tolerance);
  ox_model_destroy(m);
  ox_arena_deinit(&a);
}

void rg_check_rows(const rg_row *rows, size_t n, uint32_t level) {
  for (size_t i = 0; i < n; i++) rg_check(rows[i].text, level, rows[i].rule, rows[i].after, rows[i].tolerance);
}
