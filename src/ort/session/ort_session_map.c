/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_session_map.c - session options of the ABI as those of the engine. */
#include <stdlib.h>
#include <string.h>

#include "ort/env/ort_providers.h"
#include "ort/session/ort_session.h"
#include "ort/value/ort_own_memory.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_session_eps.h"

/* ---- threads ---- */

static int config_int(const OrtSessionOptions *o, const char *key, int otherwise) {
  const char *text = ort_pairs_get(&o->config, key);
  return text != NULL ? atoi(text) : otherwise;
}

static uint32_t spin_of(const OrtSessionOptions *o) {
  int us = config_int(o, "session.intra_op.spin_duration_us", -1);
  if (config_int(o, "session.intra_op.allow_spinning", 1) == 0 || us == 0) return OX_POOL_NO_SPIN;
  return us > 0 ? (uint32_t)us : 0;
}

static int threads_of(const OrtSessionOptions *o) {
  const char *text = getenv("ORT_INTRA_OP_NUM_THREADS");
  int n = o->intra_threads == 0 && text != NULL ? atoi(text) : o->intra_threads;
  return n > 0 ? n : 0;
}

/* A session shares the pool of the process, unless it wants something special of its threads. */
static OrtStatus *choose_threads(OrtSession *s, ox_session_opts *out) {
  const OrtSessionOptions *o = s->options;
  const char *affinity = ort_pairs_get(&o->config, "session.intra_op_thread_affinities");
  if (!o->per_session_threads) {
    if (s->env->threads == NULL)
      return ort_fail(ORT_FAIL,
                      "the session is to use the environment's threads, but the environment was created "
                      "without (CreateEnvWithGlobalThreadPools)");
    s->pool = out->pool = s->env->threads->pool;
    return NULL;
  }
  OrtThreadingOptions want = {.intra_threads = threads_of(o),
                              .spin_us = spin_of(o),
                              .denormal_as_zero = config_int(o, "session.set_denormal_as_zero", 0) == 1,
                              .affinity = (char *)(uintptr_t)affinity,
                              .create_thread = o->create_thread,
                              .join_thread = o->join_thread,
                              .create_thread_param = o->create_thread_param};
  if (want.create_thread != NULL || want.denormal_as_zero || affinity != NULL || want.spin_us != 0) {
    ORT_TRY(ort_threads_create(&want, &s->threads));
    s->pool = out->pool = s->threads->pool;
  }
  out->n_threads = (uint32_t)want.intra_threads;
  return NULL;
}

/* ---- lists ---- */

/* What the options have in lists of structs, as the engine's lists of members, in one block. */
typedef struct lists {
  int64_t *dim_values, *denotation_values;
  const char **dim_names, **denotations, **initializer_names;
  const ox_value **initializers;
  ox_provider_spec *providers;
  const char **provider_texts;
  ox_memory **memories; /* MOST_MEMORIES */
} lists;

enum { MOST_MEMORIES = 32 };

static OrtStatus *make_lists(const OrtSessionOptions *o, lists *l, void **out_block) {
  size_t d = o->n_dims, i = o->n_initializers;
  size_t specs = o->n_providers * sizeof(ox_provider_spec), texts = 2 * ort_provider_option_count(o);
  *out_block = malloc(specs + 8 * (4 * d + 2 * i + texts + MOST_MEMORIES));
  if (*out_block == NULL) return ort_out_of_memory();
  l->providers = *out_block;
  l->dim_values = (int64_t *)(l->providers + o->n_providers), l->denotation_values = l->dim_values + d;
  l->dim_names = (const char **)(l->denotation_values + d), l->denotations = l->dim_names + d;
  l->initializer_names = l->denotations + d;
  l->initializers = (const ox_value **)(l->initializer_names + i);
  l->provider_texts = (const char **)(l->initializers + i);
  l->memories = (ox_memory **)(l->provider_texts + texts);
  return NULL;
}

/* Sizes below 0 are no sizes, and say nothing. */
static void fill_dims(const OrtSessionOptions *o, const lists *l, ox_session_opts *out) {
  for (size_t i = 0; i < o->n_dims; i++) {
    const ort_dim_override *d = &o->dims[i];
    if (d->value < 0) continue;
    if (d->by_denotation)
      l->denotations[out->n_denotations] = d->name, l->denotation_values[out->n_denotations++] = d->value;
    else
      l->dim_names[out->n_dims] = d->name, l->dim_values[out->n_dims++] = d->value;
  }
  out->dim_names = l->dim_names, out->dim_values = l->dim_values;
  out->denotations = l->denotations, out->denotation_values = l->denotation_values;
}

/* Those for external data first: they have to be there. Their data may go when the session is made, so it is copied. */
static OrtStatus *fill_initializers(OrtSession *s, const lists *l, ox_session_opts *out) {
  const OrtSessionOptions *o = s->options;
  out->initializer_names = l->initializer_names, out->initializers = l->initializers;
  for (int shared = 0; shared < 2; shared++) {
    for (size_t i = 0; i < o->n_initializers; i++) {
      ort_given_initializer *g = &o->initializers[i];
      if (g->external == (shared == 1)) continue;
      if (g->external) {
        ox_value *copy;
        ORT_TRY(ort_status_from(ox_value_create_copy(s->env->env, ox_value_get(g->value), &copy)));
        ox_value_release(g->value);
        g->value = copy;
      }
      l->initializer_names[out->n_initializers] = g->name, l->initializers[out->n_initializers++] = g->value;
      out->n_optional_initializers += !g->external;
    }
  }
  return NULL;
}

static OrtStatus *fill_files(OrtSession *s, ox_session_opts *out) {
  const OrtSessionOptions *o = s->options;
  s->files = calloc(o->n_files + 1, sizeof *s->files);
  if (s->files == NULL) return ort_out_of_memory();
  for (; s->n_files < o->n_files; s->n_files++) {
    const ort_given_file *f = &o->files[s->n_files];
    void *copy = malloc(f->n);
    if (copy == NULL) return ort_out_of_memory();
    memcpy(copy, f->bytes, f->n);
    s->files[s->n_files] = (ox_memory_file){f->name, copy, f->n};
  }
  out->memory_files = s->files, out->n_memory_files = s->n_files;
  return NULL;
}

/* ---- all ---- */

static uint32_t level_of(GraphOptimizationLevel level) {
  switch (level) {
    case ORT_DISABLE_ALL:
      return OX_OPTIMIZE_NONE;
    case ORT_ENABLE_BASIC:
      return OX_OPTIMIZE_BASIC;
    case ORT_ENABLE_EXTENDED:
      return OX_OPTIMIZE_EXTENDED;
    default:
      return OX_OPTIMIZE_ALL;
  }
}

static const char *const no_fallback[] = {"no nodes on cpu"};

OrtStatus *ort_session_opts_fill(OrtSession *s, ox_session_opts *out, void **out_lists) {
  const OrtSessionOptions *o = s->options;
  ox_session_opts_init(out);
  out->optimize = level_of(o->level);
  out->profile = o->profiling;
  out->external_dir = ort_pairs_get(&o->config, "session.model_external_initializers_file_folder_path");
  out->copy_bytes = 1;
  out->tune_cache = ort_pairs_get(&o->config, "onyx.tune_cache"), out->tune = config_int(o, "onyx.tune", 0) == 1;
  out->fall_back = config_int(o, "onyx.fall_back", 0) == 1;
  if (config_int(o, "session.disable_cpu_ep_fallback", 0) == 1) out->require = no_fallback, out->n_require = 1;
  out->log = ort_log_engine, out->log_ctx = &s->logger, out->log_level = ort_log_level(s->logger.least);
  out->ops = ort_custom_ops_rows(s->custom_ops, &out->n_ops);
  ort_session_eps_fill(s->eps, out);
  lists l = {0};
  ORT_TRY(choose_threads(s, out));
  ORT_TRY(make_lists(o, &l, out_lists));
  fill_dims(o, &l, out);
  out->n_providers = ort_provider_specs(o, l.providers, l.provider_texts), out->providers = l.providers;
  if (config_int(o, "session.use_env_allocators", 0) == 1)
    out->n_memories = ort_own_memories(l.memories, MOST_MEMORIES), out->memories = l.memories;
  ORT_TRY(fill_initializers(s, &l, out));
  return fill_files(s, out);
}
