/* SPDX-License-Identifier: Apache-2.0
 * session/session_create.c - creates and releases sessions. */
#include "session/fall_back.h"
#include "session/session.h"

#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "onnx/model.h"
#include "plan/plan.h"
#include "session/auto.h"
#include "session/load.h"
#include "session/memory_limit.h"
#include "session/overriding.h"
#include "session/session_providers.h"

void ox_session_opts_init(ox_session_opts *opts) {
  *opts = (ox_session_opts){.struct_size = sizeof *opts, .optimize = OX_OPTIMIZE_ALL};
}

static ox_status *read_opts(const ox_session_opts *in, ox_session_opts *out) {
  ox_session_opts_init(out);
  if (!in) return NULL;
  if (in->struct_size < offsetof(ox_session_opts, providers))
    return ox_fail(OX_INVALID_ARGUMENT, "ox_session_opts.struct_size is %zu: call ox_session_opts_init",
                   in->struct_size);
  memset(out, 0, sizeof *out);
  memcpy(out, in, OX_MIN(in->struct_size, sizeof *out));
  if (out->optimize > OX_OPTIMIZE_ALL)
    return ox_fail(OX_INVALID_ARGUMENT, "optimize is %u, the most is 3", out->optimize);
  return NULL;
}

static ox_status *check_lists(const ox_session_opts *o) {
  for (size_t i = 0; i < o->n_memory_files; i++)
    if (!o->memory_files[i].name || (o->memory_files[i].n && !o->memory_files[i].bytes))
      return ox_fail(OX_INVALID_ARGUMENT, "memory file %zu: its name or its bytes are NULL", i);
  for (size_t i = 0; i < o->n_denotations; i++)
    if (!o->denotations[i] || o->denotation_values[i] < 0)
      return ox_fail(OX_INVALID_ARGUMENT, "denotation %zu: its name is NULL, or its value below 0", i);
  return NULL;
}

/* What the reader is told. The caller's contents for initializers are the session's from here on, too. */
static ox_status *prepare_reading(ox_session *s, const ox_session_opts *o, ox_read_opts *out) {
  size_t n = o->n_initializers;
  *out = (ox_read_opts){.registry = s->ops,
                        .base_dir = o->external_dir,
                        .max_dense_bytes = OX_MAX(ox_quota_left(s->quota), 1),
                        .files = &s->env->files,
                        .n_optional = o->n_optional_initializers,
                        .memory_files = o->memory_files,
                        .n_memory_files = o->n_memory_files,
                        .denotations = {o->denotations, o->denotation_values, o->n_denotations}};
  OX_TRY(check_lists(o));
  if (!n) return NULL;
  if (!o->initializer_names || !o->initializers)
    return ox_fail(OX_INVALID_ARGUMENT, "%zu initializers, but names or contents are NULL", n);
  ox_given_tensor *given = OX_ARENA_ARRAY(&s->arena, ox_given_tensor, n);
  s->given = OX_ARENA_ARRAY(&s->arena, ox_value *, n);
  if (!given || !s->given) return ox_oom();
  for (size_t i = 0; i < n; i++) {
    const ox_value *v = o->initializers[i];
    if (v && ox_value_memory(v) && !ox_memory_host_accessible(ox_value_memory(v)))
      return ox_fail(OX_INVALID_ARGUMENT, "initializer '%s' lies on a device: it is to be in host memory",
                     o->initializer_names[i]);
    s->given[s->n_given++] = ox_value_retain((ox_value *)(uintptr_t)v);
    given[i] = (ox_given_tensor){o->initializer_names[i], v ? ox_value_get(v) : NULL};
  }
  out->given = given, out->n_given = n;
  return NULL;
}

static ox_status *copy_bytes(ox_session *s, const ox_model_source *from) {
  s->bytes = ox_new_aligned(s->alloc, from->n + OX_PAD_BYTES, OX_ALIGN_BYTES), s->n_bytes = from->n;
  if (!s->bytes) return ox_oom();
  memcpy(s->bytes, from->bytes, from->n);
  return NULL;
}

/* A file that is not there is the reader's to report. */
static size_t bytes_of(const ox_model_source *from) {
  struct stat st;
  if (!from->path) return from->n;
  return stat(from->path, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
}

static ox_status *read_and_load(ox_session *s, const ox_model_source *from, const ox_read_opts *ro,
                                const ox_session_opts *o) {
  if (from->path) {
    OX_TRY(ox_model_read_file(s->alloc, from->path, ro, &s->model));
  } else {
    if (o->copy_bytes) OX_TRY(copy_bytes(s, from));
    OX_TRY(ox_model_read(s->alloc, s->bytes ? s->bytes : from->bytes, from->n, ro, &s->model));
  }
  ox_session_count_files(s);
  return ox_session_load(s, o);
}

/* Those whose arenas providers will use. */
static ox_status *keep_memories(ox_session *s, const ox_session_opts *o) {
  if (o->n_memories && !o->memories)
    return ox_fail(OX_INVALID_ARGUMENT, "%zu memories, but the list is NULL", o->n_memories);
  s->memories = OX_ARENA_ARRAY(&s->arena, ox_memory *, o->n_memories);
  if (!s->memories) return ox_oom();
  for (; s->n_memories < o->n_memories; s->n_memories++) {
    if (!o->memories[s->n_memories]) return ox_fail(OX_INVALID_ARGUMENT, "memory %zu is NULL", s->n_memories);
    s->memories[s->n_memories] = ox_memory_retain(o->memories[s->n_memories]);
  }
  return NULL;
}

static ox_status *fill(ox_session *s, const ox_model_source *from, ox_session_opts *o) {
  ox_read_opts ro;
  ox_watch watch;
  s->log = o->log ? (ox_log){o->log, o->log_ctx, (ox_log_level)o->log_level} : s->env->log;
  OX_TRY(ox_session_limit_memory(s, o, bytes_of(from)));
  ox_arena_init(&s->arena, s->alloc);
  if (!s->origin) OX_TRY(ox_auto_resolve(s->env, from, &s->arena, o));
  if (!s->origin) OX_TRY(ox_session_name_providers(s, o));
  OX_TRY(keep_memories(s, o));
  OX_TRY(ox_session_add_ops(s, o));
  OX_TRY(prepare_reading(s, o, &ro));
  ro.watch = ox_watch_start(&watch, o->cancel, o->timeout_ms);
  ox_status *st = read_and_load(s, from, &ro, o);
  if (s->model) s->model->watch = NULL; /* which was this call's */
  return st ? st : ox_session_keep_source(s, from, o);
}

/* What happened to the file itself names it already. */
static ox_status *name_model(ox_status *st, const char *path) {
  size_t n = path ? strlen(path) : 0;
  const char *text = ox_status_message(st);
  if (n && strncmp(text, path, n) == 0 && text[n] == ':') return st;
  return ox_status_note(st, "%s", path ? path : "model in memory");
}

ox_status *ox_session_create_from(ox_env *env, const ox_model_source *from, const ox_session_opts *opts,
                                  ox_session *origin, ox_session **out_session) {
  ox_session_opts o;
  *out_session = NULL;
  OX_TRY(read_opts(opts, &o));
  ox_session *s = ox_new_zeroed(env->alloc, sizeof *s);
  if (!s) return ox_oom();
  s->env = ox_env_retain(env), s->origin = origin, s->fall_back = o.fall_back != 0 && !origin;
  pthread_mutex_init(&s->lock, NULL);
  pthread_mutex_init(&s->making, NULL);
  ox_slabs_init(&s->slabs, &s->alloc);
  size_t refusals = origin ? ox_quota_refusals(origin->quota) : 0;
  ox_status *st = fill(s, from, &o);
  if (!st) {
    *out_session = s;
    return NULL;
  }
  if (s->quota) st = ox_session_explain(s, refusals, st);
  bool again = o.fall_back && o.n_providers && ox_may_be_the_providers(st);
  if (again) ox_log_write(&s->log, OX_LOG_WARNING, "the model is loaded for the CPU: %s", ox_status_message(st));
  ox_session_release(s);
  if (!again) return name_model(st, from->path);
  ox_status_free(st);
  o.providers = NULL, o.n_providers = 0, o.n_require = 0, o.n_memories = 0, o.fall_back = 0;
  return ox_session_create_from(env, from, &o, origin, out_session);
}

ox_status *ox_session_create_file(ox_env *env, const char *path, const ox_session_opts *opts,
                                  ox_session **out_session) {
  return ox_session_create_from(env, &(ox_model_source){.path = path}, opts, NULL, out_session);
}

ox_status *ox_session_create(ox_env *env, const void *bytes, size_t n, const ox_session_opts *opts,
                             ox_session **out_session) {
  return ox_session_create_from(env, &(ox_model_source){.bytes = bytes, .n = n}, opts, NULL, out_session);
}

void ox_session_release(ox_session *s) {
  if (!s) return;
  ox_session_release(atomic_exchange_explicit(&s->sibling, NULL, memory_order_relaxed)); /* it uses what is ours */
  ox_session_release(atomic_exchange_explicit(&s->backup, NULL, memory_order_relaxed));
  ox_session_trim(s);
  ox_slabs_deinit(&s->slabs);
  ox_plan_destroy(s->plan);
  for (size_t i = 0; i < s->n_providers; i++) {
    ox_provider_release_arenas(&s->providers[i], s->alloc);
    s->providers[i].api.destroy(s->providers[i].ep);
  }
  for (size_t i = 0; i < s->n_memories; i++) ox_memory_release(s->memories[i]);
  ox_registry_destroy(s->provider_ops);
  ox_registry_destroy(s->own_ops);
  ox_recycler_release(s->recycler);
  ox_profile_destroy(s->profile);
  ox_model_destroy(s->model);
  for (size_t i = 0; i < s->n_given; i++) ox_value_release(s->given[i]);
  ox_arena_deinit(&s->arena);
  ox_delete(s->alloc, s->bytes, s->n_bytes + OX_PAD_BYTES);
  if (s->own_pool) ox_pool_destroy(s->own_pool);
  pthread_mutex_destroy(&s->lock);
  pthread_mutex_destroy(&s->making);
  ox_env *env = s->env;
  if (!s->origin) ox_quota_release(s->quota);
  ox_delete(env->alloc, s, sizeof *s);
  ox_env_release(env);
}
