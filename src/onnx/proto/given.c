/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/given.c - see given.h. */
#include "onnx/proto/given.h"

#include "base/macros.h"
#include "graph/dtype.h"
#include "graph/shape.h"

ox_status *ox_givens_init(ox_givens *g, ox_alloc alloc, const ox_given_tensor *items, size_t n,
                          size_t n_optional) {
  *g = (ox_givens){.alloc = alloc, .items = items, .n = n, .n_optional = OX_MIN(n, n_optional)};
  ox_map_init(&g->by_name, alloc);
  ox_arena_init(&g->scratch, alloc);
  if (!n) return NULL;
  g->used = ox_new_zeroed(alloc, n * sizeof *g->used);
  if (!g->used) return ox_oom();
  for (size_t i = 0; i < n; i++) {
    if (!items[i].name) return ox_fail(OX_INVALID_ARGUMENT, "initializer %zu was given without a name", i);
    if (!items[i].content) return ox_fail(OX_INVALID_ARGUMENT, "initializer '%s' was given as NULL", items[i].name);
    if (ox_map_find(&g->by_name, items[i].name) != OX_NONE)
      return ox_fail(OX_INVALID_ARGUMENT, "initializer '%s' was given twice", items[i].name);
    if (!ox_map_put(&g->by_name, items[i].name, (uint32_t)i)) return ox_oom();
  }
  return NULL;
}

void ox_givens_deinit(ox_givens *g) {
  ox_delete(g->alloc, g->used, g->n * sizeof *g->used);
  ox_map_deinit(&g->by_name);
  ox_arena_deinit(&g->scratch);
}

ox_status *ox_givens_take(ox_givens *g, ox_str name, ox_tensor *t, bool *out_taken) {
  *out_taken = false;
  if (!g->n) return NULL;
  ox_arena_reset(&g->scratch);
  const char *key = ox_arena_str(&g->scratch, name.p, name.n);
  if (!key) return ox_oom();
  uint32_t i = ox_map_find(&g->by_name, key);
  if (i == OX_NONE) return NULL;
  const ox_tensor *c = g->items[i].content;
  if (c->kind != OX_TENSOR)
    return ox_fail(OX_SHAPE_MISMATCH, "wanted a tensor, got a value of kind %s", ox_kind_name(c->kind));
  if (c->dtype != t->dtype || !ox_shape_equal(&c->shape, &t->shape)) {
    char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "wanted %s%s, was given %s%s", ox_dtype_name(t->dtype),
                   ox_shape_text(&t->shape, a), ox_dtype_name(c->dtype), ox_shape_text(&c->shape, b));
  }
  t->data = c->data, g->used[i] = *out_taken = true;
  return NULL;
}

ox_status *ox_givens_check_used(const ox_givens *g) {
  for (size_t i = 0; i < g->n - g->n_optional; i++)
    if (!g->used[i]) return ox_fail(OX_INVALID_ARGUMENT, "the model has no initializer '%s'", g->items[i].name);
  return NULL;
}
