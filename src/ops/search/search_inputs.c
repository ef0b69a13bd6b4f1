/* SPDX-License-Identifier: Apache-2.0
 * ops/search/search_inputs.c - see search_inputs.h. */
#include "ops/search/search_inputs.h"

#include "kern/quant/convert.h"

static ox_status *is_i32(const ox_tensor *t, const char *name) {
  return t->dtype == OX_I32 ? NULL : ox_fail(OX_INVALID_MODEL, "%s is %s, wanted int32", name, ox_dtype_name(t->dtype));
}

static ox_status *one_element(const ox_tensor *t, const char *name) {
  int64_t n = ox_shape_count(&t->shape);
  return n == 1 ? NULL : ox_fail(OX_SHAPE_MISMATCH, "%s has %lld elements, wanted 1", name, (long long)n);
}

ox_status *ox_search_int(const ox_control_ctx *c, uint32_t i, const char *name, int64_t absent, int64_t least,
                         int64_t most, int64_t *out) {
  const ox_tensor *t = ox_control_in(c, i);
  *out = absent;
  if (!t) return NULL;
  OX_TRY(is_i32(t, name));
  OX_TRY(one_element(t, name));
  *out = *(const int32_t *)t->data;
  if (*out < least || *out > most)
    return ox_fail(OX_INVALID_ARGUMENT, "%s is %lld, wanted %lld to %lld", name, (long long)*out, (long long)least,
                   (long long)most);
  return NULL;
}

ox_status *ox_search_float(const ox_control_ctx *c, uint32_t i, const char *name, float absent, float *out) {
  const ox_tensor *t = ox_control_in(c, i);
  *out = absent;
  if (!t) return NULL;
  OX_TRY(one_element(t, name));
  ox_convert_select(0)->load_f32[t->dtype](t->data, 0, 1, out);
  return NULL;
}

ox_status *ox_search_mask(const ox_control_ctx *c, uint32_t i, const char *name, int64_t a, int64_t b,
                          const int32_t **out) {
  const ox_tensor *t = ox_control_in(c, i);
  *out = NULL;
  if (!t) return NULL;
  OX_TRY(is_i32(t, name));
  ox_shape want = a ? ox_shape_of(2, (int64_t[]){a, b}) : ox_shape_of(1, &b);
  if (!ox_shape_equal(&t->shape, &want)) {
    char got[OX_SHAPE_TEXT], wanted[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "%s has shape %s, wanted %s", name, ox_shape_text(&t->shape, got),
                   ox_shape_text(&want, wanted));
  }
  *out = t->data;
  return NULL;
}

ox_status *ox_search_tokens(const ox_control_ctx *c, uint32_t i, const ox_tensor **out) {
  const ox_tensor *t = *out = ox_control_in(c, i);
  if (!t) return ox_fail(OX_INVALID_MODEL, "input %u is missing", i);
  if (t->dtype != OX_I32 || t->shape.rank != 2 || t->shape.dim[0] < 1 || t->shape.dim[1] < 1) {
    char text[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "tokens are %s%s, wanted int32[batch,length]", ox_dtype_name(t->dtype),
                   ox_shape_text(&t->shape, text));
  }
  return NULL;
}

ox_status *ox_search_output(const ox_control_ctx *c, uint32_t i, uint32_t dtype, const ox_shape *shape,
                            ox_tensor **out) {
  *out = ox_control_out(c, i);
  if (!*out) return NULL;
  **out = ox_tensor_view(dtype, shape, NULL);
  return ox_control_room(c, *out);
}
