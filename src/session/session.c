/* SPDX-License-Identifier: Apache-2.0
 * session/session.c - from bytes to a session: read, inline, infer, optimize, plan. */
#include "session/session.h"

#include <string.h>

#include "base/macros.h"
#include "ep/cpu/cpu_rules.h"
#include "exec/eval.h"
#include "onnx/inline.h"
#include "onnx/model.h"
#include "opt/gradient.h"
#include "opt/opt.h"
#include "plan/plan.h"
#include "plan/transfers.h"

void ox_session_opts_init(ox_session_opts *opts) {
  *opts = (ox_session_opts){.struct_size = sizeof *opts, .optimize = OX_OPTIMIZE_ALL};
}

static ox_status *read_opts(const ox_session_opts *in, ox_session_opts *out) {
  ox_session_opts_init(out);
  if (!in) return NULL;
  if (in->struct_size < offsetof(ox_session_opts, providers))
    return ox_fail(OX_INVALID_ARGUMENT, "ox_session_opts: struct_size is %zu", in->struct_size);
  memset(out, 0, sizeof *out);
  memcpy(out, in, OX_MIN(in->struct_size, sizeof *out));
  if (out->optimize > OX_OPTIMIZE_ALL)
    return ox_fail(OX_INVALID_ARGUMENT, "optimize is %u, the most is 3", out->optimize);
  return NULL;
}

/* ---- providers ---- */

static ox_status *add_provider(ox_session *s, const char *name, const ox_options *options) {
  const ox_ep_api *api = ox_env_find_provider(s->env, name);
  if (!api) return ox_fail(OX_INVALID_ARGUMENT, "there is no provider '%s'", name);
  if (s->n_providers == OX_MOST_PROVIDERS) return ox_fail(OX_LIMIT, "more than %d providers", OX_MOST_PROVIDERS);
  ox_provider *p = &s->providers[s->n_providers];
  *p = (ox_provider){.api = *api, .services = {s->alloc, &s->env->log, s->pool, s->max_threads, api->name}};
  OX_TRY(ox_ep_check_options(api, options));
  p->identity = ox_provider_identity(api, options);
  ox_ep_host host = ox_ep_host_make(&p->services, api);
  OX_TRY(ox_status_note(p->api.create(&host, options, &p->ep), "provider '%s'", name));
  if (!p->ep) return ox_fail(OX_FAIL, "provider '%s' was created as nothing", name);
  s->n_providers++;
  return NULL;
}

static ox_status *add_providers(ox_session *s, const ox_session_opts *o) {
  bool cpu = false;
  for (size_t i = 0; i < o->n_providers; i++) {
    OX_TRY(add_provider(s, o->providers[i].name, &o->providers[i].options));
    cpu |= strcmp(o->providers[i].name, "cpu") == 0;
  }
  return cpu ? NULL : add_provider(s, "cpu", NULL);
}

static ox_provider *cpu_of(ox_session *s) {
  for (size_t i = 0; i < s->n_providers; i++)
    if (strcmp(s->providers[i].api.name, "cpu") == 0) return &s->providers[i];
  return NULL;
}

/* ---- the graph ---- */

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

static ox_status *eval(void *ctx, ox_graph *g, ox_id node, ox_tensor *outs) { return ox_eval_node(ctx, g, node, outs); }

/* Everything belongs to |owner|, for as long as rules run before providers are asked. */
static void own_all(ox_model *m, uint16_t owner) {
  for (ox_graph *g = m->graphs; g; g = g->next)
    for (ox_id i = 0; i < g->n_nodes; i++) g->nodes[i].assigned = (ox_assignment){.owner = owner};
}

static ox_status *improve(ox_session *s, const ox_session_opts *o) {
  OX_TRY(fix_dims(s->model, o));
  static const ox_opt_owner cpu = {.name = "cpu"};
  ox_rule_list rules[] = {ox_standard_rules, {NULL, 0}};
  rules[1].sets = ox_cpu_rules(&rules[1].n);
  ox_opt_options opt = {.level = o->optimize,
                        .rules = rules,
                        .n_rules = OX_COUNT(rules),
                        .owners = &cpu,
                        .n_owners = 1,
                        .lenient_shapes = true, /* exporters write stale shapes; other engines trust operators, too */
                        .eval = eval,
                        .eval_ctx = cpu_of(s),
                        .log = &s->env->log,
                        .disabled = o->disabled_rules,
                        .n_disabled = (uint32_t)o->n_disabled_rules};
  if (ox_model_opset(s->model, "ai.onnx.preview.training") > 0) { /* derivatives need shapes */
    OX_TRY(ox_infer_graph(s->model->graph, &opt, false));
    OX_TRY(ox_gradient_expand(s->model->graph));
  }
  OX_TRY(ox_optimize(s->model, &opt));
  own_all(s->model, 1);
  OX_TRY(ox_optimize_owned(s->model, &opt, 1));
  own_all(s->model, OX_NO_OWNER);
  return NULL;
}

/* All sessions share one pool; one that asks for fewer threads uses a part of it, one that asks for more gets its own.
 */
static ox_status *choose_pool(ox_session *s, uint32_t n_threads) {
  uint32_t size = OX_MAX(ox_pool_size(s->env->pool), 1);
  s->pool = s->env->pool, s->max_threads = n_threads ? n_threads : size;
  if (s->max_threads <= size) return NULL;
  ox_pool_opts o = {.struct_size = sizeof o, .n_threads = n_threads};
  OX_TRY(ox_pool_create(&o, &s->own_pool));
  s->pool = s->own_pool;
  return NULL;
}

static ox_status *list_inputs(ox_session *s) {
  const ox_graph *g = s->model->graph;
  s->inputs = OX_ARENA_ARRAY(&s->model->arena, ox_id, g->n_inputs);
  if (!s->inputs) return ox_oom();
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (!s->plan->consts[g->inputs[i]]) s->inputs[s->n_inputs++] = g->inputs[i];
  return NULL;
}

/* Inputs with an initializer become constants: callers hardly ever override them. */
static void settle_defaults(ox_model *m) {
  ox_graph *g = m->graph;
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    ox_graph_value *v = &g->values[g->inputs[i]];
    if (v->init)
      v->is_input = false;
    else
      g->inputs[n++] = g->inputs[i];
  }
  g->n_inputs = n;
}

/* Every node gets an owner; what is claimed as programs becomes nodes with bodies, and copies go where memories differ. */
static ox_status *divide(ox_session *s) {
  OX_TRY(ox_partition(s->model, s->providers, s->n_providers));
  OX_TRY(ox_partition_extract(s->model, s->providers, s->n_providers));
  OX_TRY(ox_transfers_add(s->model, s->providers, s->n_providers));
  return ox_graph_compact(s->model->graph);
}

static ox_status *finish(ox_session *s, const ox_session_opts *o) {
  OX_TRY(ox_model_inline(s->model));
  settle_defaults(s->model);
  OX_TRY(choose_pool(s, o->n_threads));
  OX_TRY(add_providers(s, o));
  OX_TRY(improve(s, o));
  OX_TRY(divide(s));
  ox_plan_opts po = {.alloc = s->alloc,
                     .log = &s->env->log,
                     .pool = s->pool,
                     .max_threads = 0, /* loading uses the whole pool, whatever the limit of a run */
                     .providers = s->providers,
                     .n_providers = s->n_providers,
                     .cache_dir = o->cache_dir};
  OX_TRY(ox_plan_build(s->model->graph, &po, &s->plan));
  OX_TRY(list_inputs(s));
  OX_TRY(ox_recycler_create(s->alloc, &s->recycler));
  OX_TRY(ox_profile_create(s->alloc, &s->profile));
  s->profiling = o->profile != 0, s->max_workspace = o->max_workspace;
  ox_session_fill_metadata(s);
  return NULL;
}

static ox_status *begin(ox_env *env, const ox_session_opts *opts, ox_session_opts *o, ox_session **out) {
  OX_TRY(read_opts(opts, o));
  ox_session *s = ox_new_zeroed(env->alloc, sizeof *s);
  if (!s) return ox_oom();
  s->env = ox_env_retain(env), s->alloc = env->alloc;
  pthread_mutex_init(&s->lock, NULL);
  *out = s;
  return NULL;
}

ox_status *ox_session_create_file(ox_env *env, const char *path, const ox_session_opts *opts,
                                  ox_session **out_session) {
  ox_session_opts o;
  ox_session *s = NULL;
  *out_session = NULL;
  OX_TRY(begin(env, opts, &o, &s));
  ox_read_opts ro = {.registry = env->ops, .base_dir = o.external_dir};
  ox_status *st = ox_model_read_file(s->alloc, path, &ro, &s->model);
  if (!st) st = finish(s, &o);
  if (!st) {
    *out_session = s;
    return NULL;
  }
  ox_session_release(s);
  return ox_status_note(st, "%s", path);
}

ox_status *ox_session_create(ox_env *env, const void *bytes, size_t n, const ox_session_opts *opts,
                             ox_session **out_session) {
  ox_session_opts o;
  ox_session *s = NULL;
  ox_status *st = NULL;
  *out_session = NULL;
  OX_TRY(begin(env, opts, &o, &s));
  if (o.copy_bytes) {
    s->bytes = ox_new_aligned(s->alloc, n + OX_PAD_BYTES, OX_ALIGN_BYTES), s->n_bytes = n;
    if (!s->bytes) {
      ox_session_release(s);
      return ox_oom();
    }
    memcpy(s->bytes, bytes, n);
  }
  ox_read_opts ro = {.registry = env->ops, .base_dir = o.external_dir};
  OX_TRY_TO(failed, st, ox_model_read(s->alloc, s->bytes ? s->bytes : bytes, n, &ro, &s->model));
  OX_TRY_TO(failed, st, finish(s, &o));
  *out_session = s;
  return NULL;
failed:
  ox_session_release(s);
  return ox_status_note(st, "model in memory");
}

static void free_call(ox_call *c, const ox_session *s) {
  const ox_graph *g = s->model->graph;
  ox_arena_deinit(&c->run_arena);
  ox_delete(s->alloc, c->bound, (s->n_inputs + 1) * sizeof *c->bound);
  ox_delete(s->alloc, c->aligned, (s->n_inputs + 1) * sizeof *c->aligned);
  ox_delete(s->alloc, c->out, (g->n_outputs + 1) * sizeof *c->out);
  ox_delete(s->alloc, c->out_given, g->n_outputs + 1);
  ox_delete(s->alloc, c, sizeof *c);
}

void ox_session_release(ox_session *s) {
  if (!s) return;
  for (uint32_t i = 0; i < s->n_idle; i++) ox_context_destroy(s->idle[i]);
  for (ox_call *c = s->calls, *next; c; c = next) {
    next = c->next;
    free_call(c, s);
  }
  ox_plan_destroy(s->plan);
  for (size_t i = 0; i < s->n_providers; i++) s->providers[i].api.destroy(s->providers[i].ep);
  ox_recycler_release(s->recycler);
  ox_profile_destroy(s->profile);
  ox_model_destroy(s->model);
  ox_delete(s->alloc, s->bytes, s->n_bytes + OX_PAD_BYTES);
  if (s->own_pool) ox_pool_destroy(s->own_pool);
  pthread_mutex_destroy(&s->lock);
  ox_env *env = s->env;
  ox_delete(s->alloc, s, sizeof *s);
  ox_env_release(env);
}
