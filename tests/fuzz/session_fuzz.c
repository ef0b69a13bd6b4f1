/* SPDX-License-Identifier: Apache-2.0
 * fuzz/session_fuzz.c - any bytes as a model that is optimized, planned and run: a result or a clear error. Memory is
 * limited by the allocator, time by the run's deadline. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "onyx/onyx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_BYTES = 64 << 20, MAX_INPUT = 1 << 14, MAX_PUTS = 16 };

static atomic_size_t in_use; /* allocators are called from any thread */

static void *limited_alloc(void *ctx, size_t bytes, size_t align) {
  (void)ctx;
  if (bytes > MAX_BYTES || in_use + bytes > MAX_BYTES) return NULL;
  void *p = align <= 16 ? malloc(bytes ? bytes : 1) : aligned_alloc(align, (bytes + align) & ~(align - 1));
  if (p) in_use += bytes;
  return p;
}

static void limited_free(void *ctx, void *p, size_t bytes) {
  (void)ctx;
  in_use -= bytes;
  free(p);
}

/* An input of the declared type, open dimensions 2, filled with bytes of the model. NULL: not a small tensor. */
static ox_value *make_input(ox_env *env, const ox_value_info *info, const uint8_t *data, size_t n) {
  int64_t dims[OX_MAX_RANK], count = 1;
  ox_value *v = NULL;
  if (info->kind != OX_TENSOR || info->rank < 0 || info->dtype == OX_STRING || !info->dtype) return NULL;
  for (int32_t i = 0; i < info->rank; i++) {
    dims[i] = info->dims[i] < 0 ? 2 : info->dims[i];
    if (dims[i] > MAX_INPUT || (count *= dims[i]) > MAX_INPUT) return NULL;
  }
  ox_status_free(ox_value_create(env, info->dtype, dims, (size_t)info->rank, &v));
  if (!v) return NULL;
  uint8_t *p = ox_value_data(v);
  size_t bytes = ox_value_get(v)->bytes;
  for (size_t i = 0; i < bytes; i++) p[i] = info->dtype == OX_BOOL ? data[i % n] & 1 : i % 8 ? 0 : data[i % n];
  return v;
}

static void run(ox_env *env, ox_session *s, const uint8_t *data, size_t n) {
  size_t n_in = ox_session_input_count(s), n_out = ox_session_output_count(s), made = 0;
  const char *names[MAX_PUTS];
  ox_value *in[MAX_PUTS] = {0}, *out[MAX_PUTS] = {0};
  if (n_in > MAX_PUTS || n_out > MAX_PUTS) return;
  for (; made < n_in; made++) {
    ox_value_info info;
    ox_status *st = ox_session_input(s, made, &info);
    if (st || !(in[made] = make_input(env, &info, data, n))) {
      ox_status_free(st);
      break;
    }
    names[made] = info.name;
  }
  ox_run_opts opts = {.struct_size = sizeof opts, .timeout_ms = 2000};
  for (int again = 0; made == n_in && again < 2; again++) {
    ox_status_free(ox_session_run(s, &opts, names, (const ox_value *const *)in, n_in, NULL, out, n_out));
    for (size_t i = 0; i < n_out; i++) ox_value_release(out[i]), out[i] = NULL;
  }
  for (size_t i = 0; i < made; i++) ox_value_release(in[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ox_env *env = NULL;
  ox_session *s = NULL;
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = {limited_alloc, limited_free, NULL}};
  ox_session_opts so;
  in_use = 0;
  ox_session_opts_init(&so);
  so.n_threads = 1, so.max_workspace = MAX_BYTES;
  ox_status *st = ox_env_create(&eo, &env);
  if (!st) st = ox_session_create(env, data, n, &so, &s);
  if (!st) run(env, s, data, n);
  ox_status_free(st);
  ox_session_release(s);
  ox_env_release(env);
  if (in_use) abort(); /* a leak the sanitizer cannot see: freed with another size */
  return 0;
}
