/* SPDX-License-Identifier: Apache-2.0
 * graph/known.c - partly known contents: made from tensors, made into tensors, read and written element by element. */
#include "graph/known.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "graph/graph.h"

void ox_known_push(ox_known_list *l, int64_t v, uint8_t kind) { l->v[l->n] = kind ? v : 0, l->kind[l->n++] = kind; }

void ox_known_push_dim(ox_known_list *l, int64_t d) {
  ox_known_push(l, d, d >= 0 ? OX_KNOWN_NUMBER : d < -1 ? OX_KNOWN_SYMBOL : OX_KNOWN_NOT);
}

static const ox_known *keep(ox_arena *a, uint32_t dtype, bool scalar, const ox_known_list *l) {
  ox_known *k = OX_ARENA_NEW(a, ox_known);
  if (!k) return NULL;
  k->dtype = dtype, k->scalar = scalar, k->n = l->n;
  k->v = ox_arena_copy(a, l->v, l->n * sizeof l->v[0]);
  k->kind = ox_arena_copy(a, l->kind, l->n);
  return k->v && k->kind ? k : NULL;
}

const ox_known *ox_known_keep(const ox_known_ctx *c, uint32_t dtype, bool scalar, const ox_known_list *l) {
  return keep(c->arena, dtype, scalar, l);
}

const ox_known *ox_known_as(const ox_known_ctx *c, const ox_known *k, uint32_t dtype, bool scalar) {
  ox_known *copy = k ? ox_arena_copy(c->arena, k, sizeof *k) : NULL;
  if (copy) copy->dtype = dtype, copy->scalar = scalar;
  return copy;
}

const ox_known *ox_known_of_tensor(ox_arena *a, const ox_tensor *t) {
  int64_t n = ox_shape_count(&t->shape);
  if (t->kind != OX_TENSOR || t->shape.rank > 1 || n < 0 || n > OX_KNOWN_MAX || (n && !t->data)) return NULL;
  if (t->dtype != OX_I64 && t->dtype != OX_I32) return NULL;
  ox_known_list l = {.n = 0};
  for (int64_t i = 0; i < n; i++) {
    int64_t v = t->dtype == OX_I64 ? ((const ox_i64u *)t->data)[i] : ((const ox_i32u *)t->data)[i];
    ox_known_push(&l, v, OX_KNOWN_NUMBER);
  }
  return keep(a, t->dtype, t->shape.rank == 0, &l);
}

const ox_tensor *ox_known_tensor(ox_arena *a, const ox_known *k) {
  for (uint32_t i = 0; i < k->n; i++)
    if (k->kind[i] != OX_KNOWN_NUMBER) return NULL;
  size_t size = k->dtype == OX_I64 ? 8 : 4;
  char *data = ox_arena_alloc(a, k->n * size);
  ox_tensor *t = OX_ARENA_NEW(a, ox_tensor);
  if (!data || !t) return NULL;
  for (uint32_t i = 0; i < k->n; i++) {
    int32_t narrow = (int32_t)k->v[i];
    if (size == 4 && narrow != k->v[i]) return NULL;
    memcpy(data + i * size, size == 8 ? (const void *)&k->v[i] : &narrow, size);
  }
  ox_shape s = ox_known_shape(k);
  *t = ox_tensor_view(k->dtype, &s, data);
  return t;
}

ox_shape ox_known_shape(const ox_known *k) { return k->scalar ? ox_shape_scalar() : ox_shape_of(1, (int64_t[]){k->n}); }

bool ox_known_number(const ox_known *k, uint32_t i, int64_t *out) {
  if (!k || i >= k->n || k->kind[i] != OX_KNOWN_NUMBER) return false;
  *out = k->v[i];
  return true;
}

int64_t ox_known_dim(const ox_known *k, uint32_t i) {
  return k->kind[i] == OX_KNOWN_NOT || (k->kind[i] == OX_KNOWN_NUMBER && k->v[i] < 0) ? -1 : k->v[i];
}

void ox_known_fill(ox_shape *out, const ox_shape *s) {
  if (out->rank < 0) *out = *s;
  if (out->rank != s->rank) return;
  for (int i = 0; i < s->rank; i++)
    if (out->dim[i] == -1) out->dim[i] = s->dim[i];
}

int64_t ox_known_steps(const ox_known_ctx *c, int64_t dim, int64_t add, int64_t stride) {
  char key[96]; /* no file's symbol is called so: its first byte is not in UTF-8 */
  int64_t to;
  if (!c->model || dim >= -1) return -1;
  snprintf(key, sizeof key, "\xff%lld,%lld,%lld", (long long)dim, (long long)add, (long long)stride);
  ox_status *st = ox_model_symbol_for(c->model, key, &to);
  if (st) return ox_status_free(st), -1;
  return to;
}
