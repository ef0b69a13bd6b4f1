/* SPDX-License-Identifier: Apache-2.0
 * ops/move/sequence_values.c - types and values that sequence, optional and control-flow operators share. */
#include "ops/move/sequence_values.h"

#include <string.h>

#include "ops/move/deferred.h"

ox_shape ox_shape_common(const ox_shape *a, const ox_shape *b) {
  if (a->rank != b->rank) return ox_shape_unknown();
  ox_shape s = *a;
  for (int i = 0; i < s.rank; i++)
    if (a->dim[i] != b->dim[i]) s.dim[i] = -1;
  return s;
}

/* NULL, which is an unknown element type, on out of memory. */
static const ox_type *keep(const ox_infer_ctx *c, const ox_type *t) {
  ox_type *copy = OX_INFER_NEW(c, ox_type);
  return copy ? memcpy(copy, t, sizeof *t) : NULL;
}

ox_type ox_type_common(const ox_infer_ctx *c, const ox_type *a, const ox_type *b) {
  ox_type t = *a;
  t.optional = a->optional || b->optional;
  if (a->kind != b->kind) return t;
  if (!t.dtype) t.dtype = b->dtype;
  t.shape = ox_shape_common(&a->shape, &b->shape);
  t.elem = a->elem ? a->elem : b->elem;
  if (a->elem && b->elem && a->elem != b->elem) {
    ox_type elem = ox_type_common(c, a->elem, b->elem);
    t.elem = keep(c, &elem);
  }
  return t;
}

ox_type ox_type_sequence(const ox_infer_ctx *c, const ox_type *elem) {
  return (ox_type){.kind = OX_SEQUENCE, .dtype = elem->dtype, .shape = {.rank = 1, .dim = {-1}}, .elem = keep(c, elem)};
}

ox_tensor *ox_value_copy(const ox_kernel_ctx *c, const ox_tensor *t) {
  ox_tensor *copy = ox_ctx_run_alloc(c, sizeof *copy);
  if (!copy) return NULL;
  *copy = *t;
  if (!t->bytes || t->kind == OX_NONE_VALUE) return copy;
  if (!(copy->data = ox_ctx_run_alloc(c, t->bytes))) return NULL;
  memcpy(copy->data, t->data, t->bytes);
  return copy;
}

void ox_output_set_sequence(const ox_kernel_ctx *c, uint32_t i, uint32_t dtype, const ox_tensor **items, int64_t n) {
  *c->out[i] = (ox_tensor){.kind = OX_SEQUENCE,
                           .dtype = dtype,
                           .data = (void *)(uintptr_t)items,
                           .bytes = (size_t)n * sizeof *items,
                           .shape = {.rank = 1, .dim = {n}}};
}

ox_status *ox_output_set_value(const ox_kernel_ctx *c, uint32_t i, const ox_tensor *t) {
  void *data;
  if (t->kind != OX_TENSOR) {
    ox_tensor *copy = ox_value_copy(c, t);
    if (!copy) return ox_oom();
    *c->out[i] = *copy;
    return NULL;
  }
  if (c->out[i]->dtype && c->out[i]->dtype != t->dtype) /* items may have another type than the model declares */
    return ox_fail(OX_INVALID_MODEL, "output %u is %s, the value to be put there %s", i,
                   ox_dtype_name(c->out[i]->dtype), ox_dtype_name(t->dtype));
  OX_TRY(ox_output_at_run(c, i, &t->shape, &data));
  if (t->bytes) memcpy(data, t->data, t->bytes);
  return NULL;
}
