/* SPDX-License-Identifier: Apache-2.0
 * session/auto.c - see auto.h: which providers are tried, what is remembered, which one is chosen. */
#include "session/auto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file_map.h"
#include "base/macros.h"
#include "base/tune.h"
#include "plan/provider.h"

static const char auto_name[] = "auto";

/* What must be gained for a provider to take the CPU's place, and for a choice of programs to take all programs' place.
 */
static const double worth = 0.97;

/* ---- which are tried ---- */

/* The name that tables have. */
static const char *own_name(const char *any, ox_provider_info *row) {
  return ox_provider_find(any, row) ? row->name : any;
}

static bool is_same(const char *a, const char *b) {
  ox_provider_info x, y;
  return strcmp(own_name(a, &x), own_name(b, &y)) == 0;
}

enum { MOST_NAME = 128 };

/* The next of names separated by '|'; false: past the last. No provider has a longer name. */
static bool next_name(const char **list, char out[MOST_NAME]) {
  while (**list == '|') ++*list;
  size_t n = strcspn(*list, "|");
  snprintf(out, MOST_NAME, "%.*s", (int)OX_MIN(n, MOST_NAME - 1), *list);
  *list += n;
  return n > 0;
}

static bool is_among(const char *list, const char *name) {
  char one[MOST_NAME];
  for (const char *p = list; p && next_name(&p, one);)
    if (is_same(one, name)) return true;
  return !list;
}

static size_t add_candidate(ox_env *env, const char *among, const char *name, const char **out, size_t n) {
  if (n == OX_MOST_TRIALS / 2 || strcmp(name, "cpu") == 0 || strcmp(name, "null") == 0 || !is_among(among, name))
    return n;
  for (size_t i = 0; i < n; i++)
    if (strcmp(out[i], name) == 0) return n;
  ox_status *st = ox_env_check_provider(env, name);
  if (!st) out[n++] = name;
  ox_status_free(st);
  return n;
}

/* Those of the list that work here, then others that the env has. */
static size_t list_candidates(ox_env *env, const char *among, const char **out) {
  ox_provider_info info;
  const char *name;
  size_t n = 0;
  for (size_t i = 0; ox_provider_known(i, &info); i++)
    if (!info.foreign) n = add_candidate(env, among, info.name, out, n);
  for (size_t i = 0; (name = ox_env_provider_name(env, i)); i++) n = add_candidate(env, among, name, out, n);
  return n;
}

/* A provider that was named is expected to be tried. */
static void warn_of_absent(ox_env *env, const char *among) {
  char one[MOST_NAME];
  for (const char *p = among; p && next_name(&p, one);) {
    ox_status *st = ox_env_check_provider(env, one);
    if (st) ox_log_write(&env->log, OX_LOG_WARNING, "auto: not tried: %s", ox_status_message(st));
    ox_status_free(st);
  }
}

/* ---- what is remembered ---- */

/* All that determines how fast the providers are: the model's own bytes (which say how large weights in other files
 * are), how it is loaded, which providers there are, in which versions, on which devices and libraries. */
static ox_status *task_of(ox_env *env, const ox_model_source *from, const ox_session_opts *o,
                          const char *const *providers, size_t n, char *out, size_t n_out) {
  ox_digest d = ox_digest_init();
  ox_file_map *map = NULL;
  if (from->path) OX_TRY(ox_file_map_open(env->alloc, NULL, from->path, &map));
  if (map)
    ox_digest_bytes(&d, ox_file_map_data(map), ox_file_map_bytes(map));
  else
    ox_digest_bytes(&d, from->bytes, from->n);
  ox_file_map_release(map);
  ox_digest_u64(&d, o->optimize);
  for (size_t i = 0; i < o->n_disabled_rules; i++) ox_digest_text(&d, o->disabled_rules[i]);
  for (size_t i = 0; i < o->n_dims; i++)
    ox_digest_text(&d, o->dim_names[i]), ox_digest_u64(&d, (uint64_t)o->dim_values[i]);
  for (size_t i = 0; i < o->n_denotations; i++)
    ox_digest_text(&d, o->denotations[i]), ox_digest_u64(&d, (uint64_t)o->denotation_values[i]);
  for (size_t i = 0; i < n; i++) {
    const ox_ep_api *api = ox_env_find_provider(env, providers[i]);
    ox_digest_text(&d, providers[i]);
    ox_digest_text(&d, api ? api->version : NULL);
    ox_digest_text(&d, ox_env_provider_place(env, providers[i]));
  }
  uint32_t threads = o->n_threads ? o->n_threads : ox_pool_size(o->pool ? o->pool : env->pool);
  snprintf(out, n_out, "provider of %016llx%016llx on %u threads", (unsigned long long)d.a, (unsigned long long)d.b,
           threads);
  return NULL;
}

static void pass_log(void *ctx, int level, const char *text) { ox_log_write(ctx, (ox_log_level)level, "%s", text); }

/* The table: of the file, if there is one, which the caller closes. */
static ox_status *open_table(ox_env *env, const char *path, ox_tune **out) {
  *out = env->choices;
  if (!path && env->choices) return NULL;
  const ox_tune_opts opts = {.alloc = env->alloc,
                             .isa = ox_isa_allowed(),
                             .path = path,
                             .measures = true,
                             .log = pass_log,
                             .log_ctx = &env->log};
  OX_TRY(ox_tune_open(&opts, out));
  if (!path) env->choices = *out;
  return NULL;
}

static void close_table(ox_tune *t, const char *path) {
  if (path) ox_tune_close(t);
}

static ox_status *look_up(ox_env *env, const char *path, const char *task, char *out, size_t n_out) {
  ox_tune *t;
  *out = 0;
  OX_TRY(open_table(env, path, &t));
  const char *way = ox_tune_find(t, task);
  if (way) snprintf(out, n_out, "%s", way);
  close_table(t, path);
  return NULL;
}

static int by_time(const void *a, const void *b) {
  double x = ((const ox_trial_result *)a)->ns, y = ((const ox_trial_result *)b)->ns;
  return (x > y) - (x < y);
}

/* The first is the choice. One that gains little does not come before the CPU. */
static ox_status *remember(ox_env *env, const char *path, const char *task, ox_trial_result *r, size_t n) {
  ox_tune_way ways[OX_MOST_TRIALS];
  ox_tune *t;
  double cpu = r[0].ns;
  for (size_t i = 1; i < n; i++)
    if (r[i].ns > worth * cpu) r[i].ns = OX_MAX(r[i].ns, cpu + 1);
  for (size_t i = 1; i < n; i++) /* and a choice of programs gains over all of them */
    if (strchr(r[i].way, ' ') && r[i].ns > worth * r[i - 1].ns) r[i].ns = OX_MAX(r[i].ns, r[i - 1].ns + 1);
  qsort(r, n, sizeof *r, by_time);
  for (size_t i = 0; i < n; i++) ways[i] = (ox_tune_way){r[i].way, r[i].ns};
  OX_TRY(open_table(env, path, &t));
  ox_tune_put(t, task, ways, n);
  close_table(t, path);
  return NULL;
}

/* ---- what it comes to ---- */

static ox_status *choose(ox_env *env, const ox_model_source *from, const ox_session_opts *o, const char *among,
                         char *way, size_t n_way) {
  const char *providers[OX_MOST_TRIALS];
  ox_trial_result results[OX_MOST_TRIALS];
  char task[OX_TUNE_KEY];
  size_t n = list_candidates(env, among, providers), n_results = 0;
  warn_of_absent(env, among);
  snprintf(way, n_way, "cpu");
  if (!n) return NULL;
  OX_TRY(task_of(env, from, o, providers, n, task, sizeof task));
  OX_TRY(look_up(env, o->tune_cache, task, way, n_way));
  if (*way) return NULL;
  ox_status *st = ox_auto_measure(env, from, o, providers, n, results, &n_results);
  snprintf(way, n_way, "cpu");
  if (st)
    ox_log_write(&env->log, OX_LOG_WARNING, "auto: the CPU it is, for nothing could be measured: %s",
                 ox_status_message(st));
  if (ox_status_code(st) == OX_CANCELLED) return st;
  ox_status_free(st);
  if (!n_results) return NULL;
  OX_TRY(remember(env, o->tune_cache, task, results, n_results));
  snprintf(way, n_way, "%s", results[0].way);
  return NULL;
}

/* "onednn -0123abcd": a provider that is here, and a text for OX_PARTS_OPTION; anything else, as from a file, is the
 * CPU. */
static ox_status *spec_of(ox_env *env, ox_arena *a, const char *way, ox_provider_spec *out) {
  char *text = ox_arena_str(a, way, strlen(way));
  const char **pair = OX_ARENA_ARRAY(a, const char *, 2);
  if (!text || !pair) return ox_oom();
  char *parts = strchr(text, ' ');
  if (parts) *parts++ = 0;
  ox_status *st = ox_env_check_provider(env, text);
  bool good = !st && (!parts || *parts == '+' || *parts == '-');
  ox_status_free(st);
  *out = (ox_provider_spec){.name = good ? text : "cpu"};
  if (!good || !parts) return NULL;
  pair[0] = OX_PARTS_OPTION, pair[1] = parts;
  out->options = (ox_options){1, &pair[0], &pair[1]};
  return NULL;
}

static const char *option(const ox_options *o, const char *key) {
  for (uint32_t i = 0; i < o->n; i++)
    if (o->keys[i] && strcmp(o->keys[i], key) == 0) return o->values[i];
  return NULL;
}

static ox_status *resolve(ox_env *env, const ox_model_source *from, ox_arena *a, ox_session_opts *o, size_t at) {
  char way[OX_TUNE_KEY];
  ox_provider_spec *specs = ox_arena_copy(a, o->providers, o->n_providers * sizeof *specs);
  if (!specs) return ox_oom();
  for (uint32_t i = 0; i < specs[at].options.n; i++)
    if (!specs[at].options.keys[i] || strcmp(specs[at].options.keys[i], "among") != 0)
      return ox_fail(OX_INVALID_ARGUMENT, "provider 'auto' has no option '%s' (it has: among)",
                     specs[at].options.keys[i] ? specs[at].options.keys[i] : "");
  const char *among = option(&specs[at].options, "among");
  pthread_mutex_lock(&env->measuring);
  ox_status *st = choose(env, from, o, among, way, sizeof way);
  pthread_mutex_unlock(&env->measuring);
  OX_TRY(st);
  OX_TRY(spec_of(env, a, way, &specs[at]));
  ox_log_write(&env->log, OX_LOG_INFO, "auto: %s", way);
  bool twice = false;
  for (size_t i = 0; i < o->n_providers; i++)
    twice |= i != at && o->providers[i].name && is_same(o->providers[i].name, specs[at].name);
  if (twice || (strcmp(specs[at].name, "cpu") == 0 && at + 1 == o->n_providers)) { /* it is asked anyway */
    memmove(&specs[at], &specs[at + 1], (o->n_providers - at - 1) * sizeof *specs);
    o->n_providers--;
  }
  o->providers = specs;
  return NULL;
}

ox_status *ox_auto_resolve(ox_env *env, const ox_model_source *from, ox_arena *a, ox_session_opts *o) {
  for (size_t i = 0; i < o->n_providers; i++)
    if (o->providers[i].name && strcmp(o->providers[i].name, auto_name) == 0)
      return ox_status_note(resolve(env, from, a, o, i), "provider 'auto'");
  return NULL;
}
