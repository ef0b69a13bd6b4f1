/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_threading.c - threading options, and the pools that come of them. */
#include "ort/env/ort_threading.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"

enum { MOST_AFFINITY = 4096 };

/* ---- pools ---- */

static void *start_thread(void *ctx, void (*run)(void *arg), void *arg) {
  const ort_threads *t = ctx;
  return (void *)(uintptr_t)t->create_thread(t->create_thread_param, run, arg);
}

static void join_thread(void *ctx, void *handle) {
  const ort_threads *t = ctx;
  t->join_thread(handle);
}

OrtStatus *ort_threads_create(const OrtThreadingOptions *o, ort_threads **out) {
  *out = NULL;
  if ((o->create_thread != NULL) != (o->join_thread != NULL))
    return ort_fail(ORT_FAIL,
                    "threads: a function to create them is set, and none to join them, or the "
                    "other way round");
  ort_threads *t = malloc(sizeof *t);
  if (t == NULL) return ort_out_of_memory();
  *t = (ort_threads){NULL, o->create_thread, o->join_thread, o->create_thread_param};
  ox_pool_opts po = {.struct_size = sizeof po,
                     .n_threads = o->intra_threads > 0 ? (uint32_t)o->intra_threads : 0,
                     .flags = o->denormal_as_zero ? OX_POOL_FLUSH_DENORMALS : 0,
                     .spin_us = o->spin_us,
                     .affinity = o->affinity};
  if (o->create_thread != NULL) po.thread_create = start_thread, po.thread_join = join_thread, po.thread_ctx = t;
  OrtStatus *st = NULL;
  ox_status *failed = ox_pool_create(&po, &t->pool);
  if (failed != NULL) st = ort_fail(ORT_FAIL, "threads: %s", ox_status_message(failed));
  ox_status_free(failed);
  if (st == NULL)
    *out = t;
  else
    free(t);
  return st;
}

void ort_threads_destroy(ort_threads *threads) {
  if (threads == NULL) return;
  ox_pool_destroy(threads->pool);
  free(threads);
}

/* ---- options ---- */

OrtStatus *ort_CreateThreadingOptions(OrtThreadingOptions **out) {
  ORT_NEED(out);
  *out = calloc(1, sizeof **out);
  return *out != NULL ? NULL : ort_out_of_memory();
}

void ort_ReleaseThreadingOptions(OrtThreadingOptions *options) {
  if (options == NULL) return;
  free(options->affinity);
  free(options);
}

OrtStatus *ort_SetGlobalIntraOpNumThreads(OrtThreadingOptions *options, int n) {
  ORT_NEED(options);
  options->intra_threads = n;
  return NULL;
}

OrtStatus *ort_SetGlobalInterOpNumThreads(OrtThreadingOptions *options, int n) {
  ORT_NEED(options);
  options->inter_threads = n;
  return NULL;
}

OrtStatus *ort_SetGlobalSpinControl(OrtThreadingOptions *options, int allow) {
  ORT_NEED(options);
  if (allow != 0 && allow != 1)
    return ort_fail(ORT_INVALID_ARGUMENT, "SetGlobalSpinControl: 'allow_spinning' is %d, wanted 0 or 1", allow);
  options->spin_us = allow ? 0 : OX_POOL_NO_SPIN;
  return NULL;
}

OrtStatus *ort_SetGlobalDenormalAsZero(OrtThreadingOptions *options) {
  ORT_NEED(options);
  options->denormal_as_zero = true;
  return NULL;
}

OrtStatus *ort_SetGlobalIntraOpThreadAffinity(OrtThreadingOptions *options, const char *affinity) {
  ORT_NEED(options);
  ORT_NEED(affinity);
  size_t n = strlen(affinity);
  if (n == 0 || n > MOST_AFFINITY)
    return ort_fail(ORT_INVALID_ARGUMENT, "SetGlobalIntraOpThreadAffinity: 'affinity' has %zu bytes, wanted 1 to %d", n,
                    MOST_AFFINITY);
  char *copy = strdup(affinity);
  if (copy == NULL) return ort_out_of_memory();
  free(options->affinity);
  options->affinity = copy;
  return NULL;
}

OrtStatus *ort_SetGlobalCustomCreateThreadFn(OrtThreadingOptions *options, OrtCustomCreateThreadFn create) {
  ORT_NEED(options);
  ORT_NEED(create);
  options->create_thread = create;
  return NULL;
}

OrtStatus *ort_SetGlobalCustomThreadCreationOptions(OrtThreadingOptions *options, void *param) {
  ORT_NEED(options);
  ORT_NEED(param);
  options->create_thread_param = param;
  return NULL;
}

OrtStatus *ort_SetGlobalCustomJoinThreadFn(OrtThreadingOptions *options, OrtCustomJoinThreadFn join) {
  ORT_NEED(options);
  ORT_NEED(join);
  options->join_thread = join;
  return NULL;
}
