/* SPDX-License-Identifier: Apache-2.0
 * session/load.c - see load.h. */
#include "session/load.h"

#include <string.h>

#include "base/macros.h"
#include "exec/eval.h"
#include "onnx/inline.h"
#include "opt/gradient.h"
#include "opt/opt.h"
#include "opt/rulebook.h"
#include "plan/constants.h"
#include "plan/partition.h"
#include "plan/plan.h"
#include "plan/transfers.h"
#include "session/all_values.h"
#include "session/dump.h"
#include "session/overriding.h"
#include "session/placement.h"
#include "session/random_outputs.h"
#include "session/session_providers.h"

/* ---- operators ---- */

/* Puts |rows| over |s->ops|, in |*table|. */
static ox_status *add_rows(ox_session *s, ox_registry **table, const ox_op *rows, size_t n) {
  if (!n) return NULL;
  if (!rows) return ox_fail(OX_INVALID_ARGUMENT, "the table of operators is NULL");
  if (!*table) OX_TRY(ox_registry_create(s->alloc, s->ops, table));
  s->ops = *table;
  return ox_registry_add(*table, rows, n);
}

static ox_status *add_provider_rows(ox_session *s, const ox_session_opts *o, const char *name) {
  ox_ep_api api = {0};
  void *user;
  OX_TRY(ox_session_provider_table(s, o, name, &api, &user));
  return ox_status_note(add_rows(s, &s->provider_ops, api.ops, api.n_ops), "provider '%s'", name);
}

ox_status *ox_session_add_ops(ox_session *s, const ox_session_opts *o) {
  bool cpu = false;
  if (s->origin) {
    s->ops = s->origin->ops, s->custom_ops = s->origin->custom_ops;
    return NULL;
  }
  s->ops = s->env->ops;
  OX_TRY(add_rows(s, &s->own_ops, o->ops, o->n_ops));
  if (s->own_ops || s->env->own_ops) s->custom_ops = s->ops;
  for (size_t i = 0; i < o->n_providers; i++) {
    OX_TRY(add_provider_rows(s, o, o->providers[i].name));
    cpu |= strcmp(o->providers[i].name, "cpu") == 0;
  }
  return cpu || !ox_env_find_provider(s->env, "cpu") ? NULL : add_provider_rows(s, o, "cpu");
}

/* ---- rules ---- */

static ox_status *eval(void *ctx, ox_graph *g, ox_id node, ox_tensor *outs) { return ox_eval_node(ctx, g, node, outs); }

enum { OF_STANDARD, OF_ENV, OF_SESSION, OF_PROVIDERS }; /* where rules come from */

/* All that rules need for one session. */
typedef struct {
  ox_rule_list lists[OF_PROVIDERS + OX_MOST_PROVIDERS];
  ox_opt_owner owners[OX_MOST_PROVIDERS];
  ox_session_dump dump;
  ox_evaluator evaluator;
  ox_opt_options o;
} rulebook;

static void open_rulebook(ox_session *s, const ox_session_opts *o, rulebook *r) {
  s->n_env_rule_sets = s->origin ? s->origin->n_env_rule_sets : s->env->n_rule_sets;
  *r = (rulebook){.lists = {[OF_STANDARD] = ox_standard_rules,
                            [OF_ENV] = {s->env->rule_sets, s->n_env_rule_sets},
                            [OF_SESSION] = {o->rule_sets, o->n_rule_sets}},
                  .dump = {o, &s->log}};
  for (size_t i = 0; i < s->n_providers; i++) {
    const ox_ep_api *api = &s->providers[i].api;
    r->lists[OF_PROVIDERS + i] = (ox_rule_list){api->rule_sets, api->n_rule_sets};
    r->owners[i].name = api->name;
  }
  r->evaluator.provider = ox_session_evaluator(s);
  ox_arena_init(&r->evaluator.scratch, s->alloc);
  r->o = (ox_opt_options){.level = o->optimize,
                          .rules = r->lists,
                          .n_rules = (uint32_t)(OF_PROVIDERS + s->n_providers),
                          .owners = r->owners,
                          .n_owners = (uint32_t)s->n_providers,
                          .lenient_shapes = true, /* exporters write stale shapes; other engines trust operators, too */
                          .eval = r->evaluator.provider ? eval : NULL,
                          .eval_ctx = &r->evaluator,
                          .log = &s->log,
                          .disabled = o->disabled_rules,
                          .n_disabled = (uint32_t)o->n_disabled_rules,
                          .dump_before = o->dump_before,
                          .dump_after = o->dump_after,
                          .dump = ox_session_dump_model,
                          .dump_ctx = &r->dump};
}

static ox_status *improve(ox_session *s, rulebook *r) {
  if (ox_model_opset(s->model, "ai.onnx.preview.training") > 0) { /* derivatives need shapes */
    OX_TRY(ox_infer_graph(s->model->graph, &r->o, false));
    OX_TRY(ox_gradient_expand(s->model->graph));
  }
  return ox_optimize(s->model, &r->o);
}

/* Gives every node an owner and runs the owners' rules; turns what is claimed as programs into nodes with bodies, and
 * adds copies where memories differ. Values with one of the names |kept| become outputs. */
static ox_status *divide(ox_session *s, rulebook *r, const ox_value_names *kept) {
  OX_TRY(ox_partition(s->model, s->providers, s->n_providers));
  for (size_t i = 0; i < s->n_providers; i++) OX_TRY(ox_optimize_owned(s->model, &r->o, (uint16_t)(i + 1)));
  uint32_t n_removed = 0;
  if (r->o.level >= OX_OPTIMIZE_BASIC && !ox_opt_disabled(&r->o, "dce")) /* what an owner's rules left unread of others */
    OX_TRY(ox_dce_graph(s->model->graph, OX_NO_OWNER, &n_removed));
  OX_TRY(ox_partition_extract(s->model, s->providers, s->n_providers));
  OX_TRY(ox_value_names_output(kept, s->model->graph));
  OX_TRY(ox_transfers_add(s->model, s->providers, s->n_providers));
  return ox_graph_compact(s->model->graph);
}

/* ---- the rest ---- */

static ox_status *fix_dims(ox_model *m, const ox_session_opts *o) {
  const ox_graph *g = m->graph;
  for (ox_id v = 0; v < g->n_values; v++) {
    ox_shape *s = &g->values[v].type.shape;
    for (int d = 0; d < s->rank; d++) {
      const char *name = ox_model_symbol_name(m, s->dim[d]);
      for (size_t i = 0; name && i < o->n_dims; i++)
        if (strcmp(o->dim_names[i], name) == 0) s->dim[d] = o->dim_values[i];
    }
  }
  for (size_t i = 0; i < o->n_dims; i++)
    if (o->dim_values[i] < 0)
      return ox_fail(OX_INVALID_ARGUMENT, "dimension '%s' is set to %lld", o->dim_names[i],
                     (long long)o->dim_values[i]);
  return NULL;
}

/* Sessions share the env's pool, unless they bring one. One that asks for fewer threads uses a part of it, one that
 * asks for more gets a pool of its own. */
static ox_status *choose_pool(ox_session *s, const ox_session_opts *o) {
  ox_pool *given = o->pool ? o->pool : s->env->pool;
  uint32_t n_threads = o->n_threads;
  if (s->origin) {
    s->pool = s->origin->pool, s->max_threads = s->origin->max_threads;
    return NULL;
  }
  uint32_t size = OX_MAX(ox_pool_size(given), 1);
  s->pool = given, s->max_threads = n_threads ? n_threads : size;
  if (s->max_threads <= size) return NULL;
  ox_pool_opts po = {.struct_size = sizeof po, .n_threads = n_threads};
  OX_TRY(ox_pool_create(&po, &s->own_pool));
  s->pool = s->own_pool;
  return NULL;
}

static ox_status *list_inputs(ox_session *s) {
  const ox_graph *g = s->model->graph;
  s->inputs = OX_ARENA_ARRAY(&s->model->arena, ox_id, g->n_inputs);
  s->input_at = OX_ARENA_ARRAY(&s->model->arena, uint32_t, g->n_values);
  if (!s->inputs || !s->input_at) return ox_oom();
  for (ox_id v = 0; v < g->n_values; v++) s->input_at[v] = OX_NONE;
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (!s->plan->consts[g->inputs[i]]) s->input_at[g->inputs[i]] = s->n_inputs, s->inputs[s->n_inputs++] = g->inputs[i];
  return NULL;
}

/* Defaults of a sibling that a run cannot take as they lie in the file are moved once. */
static ox_status *align_defaults(ox_session *s) {
  for (uint32_t i = 0; i < s->n_inputs; i++) {
    ox_graph_value *v = &s->model->graph->values[s->inputs[i]];
    if (!v->init || ox_tensor_aligned(v->init)) continue;
    ox_tensor *t = ox_arena_copy(&s->arena, v->init, sizeof *t);
    if (!t || !(t->data = ox_arena_copy(&s->arena, v->init->data, t->bytes))) return ox_oom();
    v->init = t;
  }
  return NULL;
}

static ox_status *make_plan(ox_session *s, const ox_session_opts *o) {
  ox_plan_opts po = {.alloc = s->alloc,
                     .log = &s->log,
                     .pool = s->pool,
                     .max_threads = s->max_threads,
                     .providers = s->providers,
                     .n_providers = s->n_providers,
                     .cache_dir = o->cache_dir};
  OX_TRY(ox_plan_build(s->model->graph, &po, &s->plan));
  OX_TRY(ox_placement_list(s));
  return ox_placement_require(s, o->require, o->n_require);
}

/* Everything between the graph as it was read and the plan. */
static ox_status *optimize(ox_session *s, const ox_session_opts *o, const ox_value_names *kept) {
  rulebook r;
  open_rulebook(s, o, &r);
  ox_status *st = improve(s, &r);
  if (!st) st = divide(s, &r, kept);
  ox_arena_deinit(&r.evaluator.scratch);
  if (!st) s->applied = r.o.counts, s->n_applied = r.o.n_counts;
  return st;
}

ox_status *ox_session_load(ox_session *s, const ox_session_opts *o) {
  ox_value_names kept = {NULL, 0};
  OX_TRY(ox_model_inline(s->model));
  OX_TRY(fix_dims(s->model, o));
  OX_TRY(ox_session_settle_defaults(s));
  OX_TRY(ox_graph_name_outputs(s->model));
  OX_TRY(choose_pool(s, o));
  OX_TRY(ox_session_add_providers(s, o));
  if (o->all_values) OX_TRY(ox_value_names_list(&s->model->arena, s->model->graph, &kept));
  OX_TRY(optimize(s, o, &kept));
  OX_TRY(make_plan(s, o));
  if (s->plan->has_random) OX_TRY(ox_random_outputs(&s->model->arena, s->model->graph, &s->random));
  OX_TRY(list_inputs(s));
  OX_TRY(align_defaults(s));
  OX_TRY(ox_recycler_create(s->alloc, s->model->graph->n_outputs, &s->recycler));
  if (!s->origin) OX_TRY(ox_profile_create(s->alloc, &s->profile));
  s->profiling = o->profile != 0, s->max_workspace = o->max_workspace;
  ox_session_fill_metadata(s);
  return NULL;
}
