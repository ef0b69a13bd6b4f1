/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_session_map.c - session options of the ABI as those of the engine. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_session.h"
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

/* Names with values, one after the other in one block. */
typedef struct lists {
  const char **dim_names, **initializer_names;
  const ox_value **initializers;
  int64_t *dim_values;
} lists;

static void fill_dims(const OrtSessionOptions *o, lists *l, ox_session_opts *out) {
  for (size_t i = 0; i < o->n_dims; i++) {
    if (o->dims[i].by_denotation) continue;
    l->dim_names[out->n_dims] = o->dims[i].name, l->dim_values[out->n_dims++] = o->dims[i].value;
  }
  out->dim_names = l->dim_names, out->dim_values = l->dim_values;
}

static void fill_initializers(const OrtSessionOptions *o, lists *l, ox_session_opts *out) {
  for (size_t i = 0; i < o->n_initializers; i++)
    l->initializer_names[i] = o->initializers[i].name, l->initializers[i] = o->initializers[i].value;
  out->initializer_names = l->initializer_names, out->initializers = l->initializers;
  out->n_initializers = o->n_initializers;
}

static OrtStatus *fill_lists(const OrtSessionOptions *o, ox_session_opts *out, void **out_lists) {
  char *block = *out_lists = malloc(16 * (o->n_dims + o->n_initializers + 1));
  if (block == NULL) return ort_out_of_memory();
  lists l;
  l.dim_values = (int64_t *)block;
  l.dim_names = (const char **)(l.dim_values + o->n_dims);
  l.initializer_names = l.dim_names + o->n_dims;
  l.initializers = (const ox_value **)(l.initializer_names + o->n_initializers);
  fill_dims(o, &l, out);
  fill_initializers(o, &l, out);
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

OrtStatus *ort_session_opts_fill(OrtSession *s, ox_session_opts *out, void **out_lists) {
  const OrtSessionOptions *o = s->options;
  ox_session_opts_init(out);
  out->optimize = level_of(o->level);
  out->profile = o->profiling;
  out->external_dir = ort_pairs_get(&o->config, "session.model_external_initializers_file_folder_path");
  if (out->external_dir == NULL) out->external_dir = ".";
  out->copy_bytes = 1;
  out->log = ort_log_engine, out->log_ctx = &s->logger, out->log_level = ort_log_level(s->logger.least);
  out->ops = ort_custom_ops_rows(s->custom_ops, &out->n_ops);
  ort_session_eps_fill(s->eps, out);
  ORT_TRY(choose_threads(s, out));
  return fill_lists(o, out, out_lists);
}
