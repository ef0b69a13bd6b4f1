/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_session_config.c - configuration entries: kept as texts under any key; some set what setters set,
 * too. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/ort_parse.h"
#include "ort/session/ort_session_options.h"

#define ALIVE(options) ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS)

enum { MOST_KEY = 1024, MOST_VALUE = 8192 };

OrtStatus *ort_config_add(OrtKeyValuePairs *config, const char *function, const char *key, const char *value) {
  size_t n_key = strlen(key), n_value = strlen(value);
  if (n_key == 0) return ort_fail(ORT_INVALID_ARGUMENT, "%s: the key is empty", function);
  if (n_key > MOST_KEY)
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: the key has %zu bytes, the most is %d", function, n_key, MOST_KEY);
  if (n_value > MOST_VALUE)
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: the value of '%s' has %zu bytes, the most is %d", function, key, n_value,
                    MOST_VALUE);
  return ort_pairs_set(config, key, value);
}

/* ---- entries that are setters by another name, and kept nowhere else ---- */

typedef OrtStatus *setter(OrtSessionOptions *o, const char *key, const char *value);

static OrtStatus *refuse(const char *key, const char *value, const char *wanted) {
  return ort_fail(ORT_INVALID_ARGUMENT, "AddSessionConfigEntry: '%s' is '%s', wanted %s", key, value, wanted);
}

static OrtStatus *read_int(const char *key, const char *value, int *out) {
  long long v;
  if (!ort_parse_int(value, INT_MIN, INT_MAX, &v)) return refuse(key, value, "a whole number");
  *out = (int)v;
  return NULL;
}

static OrtStatus *read_bool(const char *key, const char *value, bool *out) {
  return ort_parse_bool(value, out) ? NULL : refuse(key, value, "0, 1, false or true");
}

#define INT(name, field)                                                             \
  static OrtStatus *name(OrtSessionOptions *o, const char *key, const char *value) { \
    return read_int(key, value, &o->field);                                          \
  }
INT(set_intra, intra_threads)
INT(set_inter, inter_threads)
INT(set_severity, log_severity)
INT(set_verbosity, log_verbosity)

#define BOOL(name, field)                                                            \
  static OrtStatus *name(OrtSessionOptions *o, const char *key, const char *value) { \
    return read_bool(key, value, &o->field);                                         \
  }
BOOL(set_arena, cpu_arena)
BOOL(set_pattern, mem_pattern)
BOOL(set_threads, per_session_threads)
BOOL(set_deterministic, deterministic)

static OrtStatus *set_log_id(OrtSessionOptions *o, const char *key, const char *value) {
  (void)key;
  return ort_text_set(&o->log_id, value);
}

static OrtStatus *set_optimized(OrtSessionOptions *o, const char *key, const char *value) {
  (void)key;
  return ort_text_set(&o->optimized_path, value);
}

static OrtStatus *set_profiling(OrtSessionOptions *o, const char *key, const char *value) {
  (void)key;
  o->profiling = *value != '\0';
  return ort_text_set(&o->profile_prefix, value);
}

static OrtStatus *set_level(OrtSessionOptions *o, const char *key, const char *value) {
  static const struct {
    const char *name;
    GraphOptimizationLevel level;
  } levels[] = {{"disable_all", ORT_DISABLE_ALL},
                {"enable_basic", ORT_ENABLE_BASIC},
                {"enable_extended", ORT_ENABLE_EXTENDED},
                {"enable_layout", ORT_ENABLE_LAYOUT},
                {"enable_all", ORT_ENABLE_ALL}};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    if (strcasecmp(value, levels[i].name) != 0) continue;
    o->level = levels[i].level;
    return NULL;
  }
  return refuse(key, value, "disable_all, enable_basic, enable_extended, enable_layout or enable_all");
}

static OrtStatus *set_mode(OrtSessionOptions *o, const char *key, const char *value) {
  static const char *const names[] = {"sequential", "parallel", "ort_sequential", "ort_parallel"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcasecmp(value, names[i]) != 0) continue;
    o->execution_mode = i % 2 == 0 ? ORT_SEQUENTIAL : ORT_PARALLEL;
    return NULL;
  }
  return refuse(key, value, "sequential or parallel");
}

static const struct {
  const char *key;
  setter *set;
} setters[] = {{"session.intra_op_num_threads", set_intra},
               {"session.inter_op_num_threads", set_inter},
               {"session.enable_cpu_mem_arena", set_arena},
               {"session.enable_mem_pattern", set_pattern},
               {"session.log_id", set_log_id},
               {"session.log_severity_level", set_severity},
               {"session.log_verbosity_level", set_verbosity},
               {"session.enable_profiling", set_profiling},
               {"session.graph_optimization_level", set_level},
               {"session.optimized_model_filepath", set_optimized},
               {"session.execution_mode", set_mode},
               {"session.use_per_session_threads", set_threads},
               {"session.use_deterministic_compute", set_deterministic}};

OrtStatus *ort_AddSessionConfigEntry(OrtSessionOptions *options, const char *key, const char *value) {
  ALIVE(options);
  ORT_NEED(key);
  ORT_NEED(value);
  for (size_t i = 0; i < sizeof setters / sizeof *setters; i++)
    if (strcmp(key, setters[i].key) == 0) return setters[i].set(options, key, value);
  return ort_config_add(&options->config, "AddSessionConfigEntry", key, value);
}

/* ---- asking ---- */

OrtStatus *ort_HasSessionConfigEntry(const OrtSessionOptions *options, const char *key, int *out) {
  ALIVE(options);
  ORT_NEED(key);
  ORT_NEED(out);
  *out = ort_pairs_get(&options->config, key) != NULL;
  return NULL;
}

/* With |value| NULL only |size| is set. */
OrtStatus *ort_GetSessionConfigEntry(const OrtSessionOptions *options, const char *key, char *value, size_t *size) {
  ALIVE(options);
  ORT_NEED(key);
  ORT_NEED(size);
  const char *text = ort_pairs_get(&options->config, key);
  if (text == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "GetSessionConfigEntry: there is no entry '%s'", key);
  size_t need = strlen(text) + 1, room = *size;
  *size = need;
  if (value == NULL) return NULL;
  if (room < need)
    return ort_fail(ORT_INVALID_ARGUMENT, "GetSessionConfigEntry: '%s' needs %zu bytes, got %zu", key, need, room);
  memcpy(value, text, need);
  return NULL;
}

OrtStatus *ort_GetSessionOptionsConfigEntries(const OrtSessionOptions *options, OrtKeyValuePairs **out) {
  ALIVE(options);
  ORT_NEED(out);
  OrtKeyValuePairs *copy = *out = calloc(1, sizeof *copy);
  if (copy == NULL) return ort_out_of_memory();
  OrtStatus *st = ort_pairs_copy(&options->config, copy);
  if (st == NULL) return NULL;
  *out = NULL;
  ort_ReleaseKeyValuePairs(copy);
  return st;
}
