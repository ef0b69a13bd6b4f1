/* SPDX-License-Identifier: Apache-2.0
 * session/overriding.c - see overriding.h. */
#if defined(__linux__)
#define _XOPEN_SOURCE 700 /* realpath */
#endif
#include "session/overriding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

struct ox_session_source {
  ox_model_source from;
  ox_session_opts opts;
};

/* ---- a copy of the options, in the session's arena ---- */

static ox_status *copy_text(ox_arena *a, const char **text) {
  if (*text && !(*text = ox_arena_str(a, *text, strlen(*text)))) return ox_oom();
  return NULL;
}

static ox_status *copy_texts(ox_arena *a, const char *const **list, size_t n) {
  if (!n) return NULL;
  const char **copy = ox_arena_copy(a, *list, n * sizeof *copy);
  if (!copy) return ox_oom();
  for (size_t i = 0; i < n; i++) OX_TRY(copy_text(a, &copy[i]));
  *list = copy;
  return NULL;
}

static ox_status *copy_providers(ox_arena *a, ox_session_opts *o) {
  ox_provider_spec *copy = ox_arena_copy(a, o->providers, o->n_providers * sizeof *copy);
  if (!copy) return ox_oom();
  for (size_t i = 0; i < o->n_providers; i++) {
    OX_TRY(copy_text(a, &copy[i].name));
    OX_TRY(copy_texts(a, &copy[i].options.keys, copy[i].options.n));
    OX_TRY(copy_texts(a, &copy[i].options.values, copy[i].options.n));
  }
  o->providers = copy;
  return NULL;
}

static ox_status *copy_files(ox_arena *a, ox_session_opts *o) {
  ox_memory_file *copy = ox_arena_copy(a, o->memory_files, o->n_memory_files * sizeof *copy);
  if (!copy) return ox_oom();
  for (size_t i = 0; i < o->n_memory_files; i++) OX_TRY(copy_text(a, &copy[i].name));
  o->memory_files = copy;
  return NULL;
}

/* A path that stays right when the working directory changes. */
static ox_status *make_absolute(ox_arena *a, const char **path) {
  char *here = *path && **path != '/' ? realpath(".", NULL) : NULL;
  if (!here) return copy_text(a, path);
  size_t n = strlen(here), room = n + 1 + strlen(*path) + 1;
  char *whole = ox_arena_alloc(a, room);
  if (whole) snprintf(whole, room, "%s/%s", here, *path);
  free(here);
  *path = whole;
  return whole ? NULL : ox_oom();
}

static ox_status *copy_opts(ox_arena *a, ox_session_opts *o) {
  OX_TRY(copy_providers(a, o));
  OX_TRY(copy_texts(a, &o->disabled_rules, o->n_disabled_rules));
  OX_TRY(copy_texts(a, &o->dim_names, o->n_dims));
  OX_TRY(copy_texts(a, &o->require, o->n_require));
  OX_TRY(copy_texts(a, &o->initializer_names, o->n_initializers));
  OX_TRY(copy_texts(a, &o->denotations, o->n_denotations));
  OX_TRY(copy_files(a, o));
  OX_TRY(make_absolute(a, &o->external_dir));
  OX_TRY(copy_text(a, &o->cache_dir));
  OX_TRY(copy_text(a, &o->tune_cache));
  o->own_providers = NULL, o->n_own_providers = 0; /* the origin's tables are taken */
  o->dim_values = ox_arena_copy(a, o->dim_values, o->n_dims * sizeof *o->dim_values);
  o->denotation_values = ox_arena_copy(a, o->denotation_values, o->n_denotations * sizeof *o->denotation_values);
  o->rule_sets = ox_arena_copy(a, o->rule_sets, o->n_rule_sets * sizeof *o->rule_sets);
  o->initializers = ox_arena_copy(a, o->initializers, o->n_initializers * sizeof *o->initializers); /* held by |s| */
  return o->dim_values && o->denotation_values && o->rule_sets && o->initializers ? NULL : ox_oom();
}

ox_status *ox_session_keep_source(ox_session *s, const ox_model_source *from, const ox_session_opts *o) {
  if ((!s->n_defaults && !o->fall_back) || s->origin) return NULL;
  s->source = OX_ARENA_NEW(&s->arena, struct ox_session_source);
  if (!s->source) return ox_oom();
  s->source->from = *from, s->source->opts = *o;
  s->source->opts.copy_bytes = 0;
  s->source->opts.memories = s->memories;
  s->source->opts.cancel = NULL, s->source->opts.timeout_ms = 0; /* of the first load */
  s->source->opts.dump_before = s->source->opts.dump_after = NULL; /* said of the model once, while the caller waits */
  if (s->bytes) s->source->from.bytes = s->bytes;
  OX_TRY(make_absolute(&s->arena, &s->source->from.path));
  return copy_opts(&s->arena, &s->source->opts);
}

/* ---- defaults ---- */

ox_status *ox_session_settle_defaults(ox_session *s) {
  ox_graph *g = s->model->graph;
  uint32_t n = 0;
  s->defaults = OX_ARENA_ARRAY(&s->arena, ox_value_info, g->n_inputs);
  if (!s->defaults) return ox_oom();
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    ox_graph_value *v = &g->values[g->inputs[i]];
    if (v->init) {
      ox_value_info *info = &s->defaults[s->n_defaults++];
      ox_session_describe(s, g->inputs[i], info);
      info->type = ox_arena_copy(&s->arena, info->type, sizeof *info->type); /* the graph's values will move */
      if (!info->type) return ox_oom();
    }
    if (v->init && !s->origin)
      v->is_input = false;
    else
      g->inputs[n++] = g->inputs[i];
  }
  g->n_inputs = n;
  return NULL;
}

uint32_t ox_session_find_default(const ox_session *s, const char *name) {
  uint32_t i = 0;
  while (i < s->n_defaults && strcmp(s->defaults[i].name, name) != 0) i++;
  return i;
}

bool ox_session_overrides(const ox_session *s, const char *const *names, const ox_value *const *values, size_t n) {
  if (!s->source) return false;
  for (size_t k = 0; k < n; k++)
    if (values[k] && ox_session_find_default(s, names[k]) < s->n_defaults) return true;
  return false;
}

/* ---- the sibling ---- */

/* A file that was replaced meanwhile is another model. */
static ox_status *check_files(const ox_model *m, const ox_model *origin) {
  for (uint32_t i = 0; i < m->n_files; i++) {
    uint32_t k = 0;
    while (k < origin->n_files && origin->files[k].map != m->files[i].map) k++;
    if (k == origin->n_files) return ox_fail(OX_FAIL, "the model's files have changed since the session was created");
  }
  return NULL;
}

static ox_status *make(ox_session *s, ox_session **out) {
  if (s->source->opts.all_values) /* the sibling's values would be others */
    return ox_fail(OX_INVALID_ARGUMENT, "a session with all_values takes defaults as they are");
  OX_TRY(ox_session_create_from(s->env, &s->source->from, &s->source->opts, s, out));
  ox_status *st = check_files((*out)->model, s->model);
  if (!st) return NULL;
  ox_session_release(*out);
  return st;
}

ox_status *ox_session_load_on_cpu(ox_session *s, ox_session **out_session) {
  ox_session_opts o = s->source->opts;
  o.providers = NULL, o.n_providers = 0, o.n_require = 0, o.n_memories = 0, o.fall_back = 0;
  OX_TRY(ox_session_create_from(s->env, &s->source->from, &o, NULL, out_session));
  ox_status *st = check_files((*out_session)->model, s->model);
  if (st) ox_session_release(*out_session);
  return st;
}

/* Acquire pairs with the release below: a thread that sees the sibling sees all of it. */
ox_status *ox_session_sibling(ox_session *s, ox_session **out_session) {
  ox_status *st = NULL;
  *out_session = atomic_load_explicit(&s->sibling, memory_order_acquire);
  if (*out_session) return NULL;
  pthread_mutex_lock(&s->making);
  *out_session = atomic_load_explicit(&s->sibling, memory_order_relaxed);
  if (!*out_session) st = make(s, out_session);
  if (!st) atomic_store_explicit(&s->sibling, *out_session, memory_order_release);
  pthread_mutex_unlock(&s->making);
  return ox_status_note(st, "preparing to override defaults");
}
