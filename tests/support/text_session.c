/* SPDX-License-Identifier: Apache-2.0
 * support/text_session.c - text to model to bytes to session. */
#include "support/text_session.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/text.h"
#include "onnx/write.h"
#include "support/check.h"

typedef struct {
  unsigned char *bytes;
  size_t n, capacity;
} growing;

static ox_status *append(void *ctx, const void *bytes, size_t n) {
  growing *g = ctx;
  if (g->n + n > g->capacity) {
    g->capacity = 2 * (g->n + n) + 256;
    g->bytes = realloc(g->bytes, g->capacity);
    if (!g->bytes) return ox_oom();
  }
  memcpy(g->bytes + g->n, bytes, n);
  g->n += n;
  return NULL;
}

unsigned char *text_model_bytes(const char *text, size_t *out_n) {
  ox_model *m;
  growing g = {0};
  CHECK_OK(ox_text_read(ox_alloc_heap(), NULL, text, strlen(text), &m));
  CHECK_OK(ox_model_write(m, (ox_sink){append, &g}));
  ox_model_destroy(m);
  *out_n = g.n;
  return g.bytes;
}

ox_status *text_session(ox_env *env, const char *text, const ox_session_opts *opts, ox_session **out_session) {
  size_t n;
  ox_session_opts o;
  ox_session_opts_init(&o);
  if (opts) o = *opts;
  o.copy_bytes = 1;
  unsigned char *bytes = text_model_bytes(text, &n);
  ox_status *st = ox_session_create(env, bytes, n, &o, out_session);
  free(bytes);
  return st;
}

ox_value *ramp_value(ox_env *env, float start, float step, size_t rank, const int64_t *dims) {
  ox_value *v;
  CHECK_OK(ox_value_create(env, OX_F32, dims, rank, &v));
  float *data = ox_value_data(v);
  for (int64_t i = 0; i < ox_tensor_count(ox_value_get(v)); i++) data[i] = start + step * (float)i;
  return v;
}

ox_value *value_like(ox_memory *m, const ox_value *v) {
  const ox_tensor *t = ox_value_get(v);
  ox_value *out;
  CHECK_OK(ox_value_create_in(m, t->dtype, t->shape.dim, (size_t)t->shape.rank, &out));
  return out;
}

ox_value *value_copy(ox_memory *m, const ox_value *v) {
  ox_value *out = value_like(m, v);
  CHECK_OK(ox_value_copy_to(v, out));
  return out;
}

uint64_t times_applied(const ox_session *s, const char *name) {
  const char *rule;
  uint64_t n;
  for (size_t i = 0; ox_session_applied(s, i, &rule, &n), rule; i++)
    if (strcmp(rule, name) == 0) return n;
  return 0;
}
