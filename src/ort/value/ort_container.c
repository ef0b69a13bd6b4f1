/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_container.c - sequences and maps. A sequence holds its items and shares their content; what is taken
 * out of it is a copy. A map has its keys in order, each once. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/value/ort_map.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"
#include "ort/value/ort_value.h"

/* ---- values that lie in others ---- */

/* What keeps the parts of a value; in a block of its own, as the value's tensor leads to |pair| or |list|. */
typedef struct parts {
  size_t n;
  ox_value **held;
  ox_tensor pair[2];       /* of a map */
  const ox_tensor *list[]; /* of a sequence */
} parts;

static void release_parts(parts *p) {
  if (p == NULL) return;
  for (size_t i = 0; i < p->n; i++) ox_value_release(p->held[i]);
  free(p);
}

static void release_container(void *handle) { release_parts(*(parts **)ort_value_extra(handle)); }

/* Room for |n| of them; none is held yet. NULL: out of memory. */
static parts *make_parts(size_t n) {
  size_t bytes;
  if (!ort_mul_ok(n, 2 * sizeof(void *), &bytes) || !ort_add_ok(bytes, sizeof(parts), &bytes)) return NULL;
  parts *p = calloc(1, bytes);
  if (p != NULL) p->held = (ox_value **)&p->list[n];
  return p;
}

/* |t|, whose parts |p| keeps; takes |p| over, also on failure. */
static OrtStatus *make_container(const ox_tensor *t, parts *p, OrtValue **out) {
  OrtStatus *st = ort_value_create(t, sizeof p, release_container, out);
  if (st != NULL)
    release_parts(p);
  else
    *(parts **)ort_value_extra(*out) = p;
  return st;
}

/* |in| as a part. A kernel's input is copied: it goes away. */
static OrtStatus *hold(parts *p, const OrtValue *in) {
  ox_value *held;
  if (in->value != NULL) {
    held = ox_value_retain(in->value);
  } else {
    ox_status *st = ox_value_create_copy(NULL, in->tensor, &held);
    if (st != NULL) return ort_status_from(st);
  }
  p->list[p->n] = ox_value_get(held);
  p->held[p->n++] = held;
  return NULL;
}

/* A handle of its own on |item| in |value|, which it keeps; in a kernel's input: on a copy. */
static OrtStatus *share_item(const OrtValue *value, const ox_tensor *item, OrtValue **out) {
  OrtValue lent = {.tensor = item, .value = value->value};
  parts *p = make_parts(1);
  OrtStatus *st = p != NULL ? hold(p, &lent) : ort_out_of_memory();
  if (st != NULL) {
    release_parts(p);
    return st;
  }
  return make_container(value->value != NULL ? item : p->list[0], p, out);
}

/* ---- sequences ---- */

static bool same_map(const ox_tensor *a, const ox_tensor *b) {
  const ox_tensor *p = a->data, *q = b->data;
  return p[0].dtype == q[0].dtype && p[1].kind == q[1].kind && p[1].dtype == q[1].dtype;
}

static OrtStatus *check_items(const OrtValue *const *in, size_t n) {
  if (n == 0) return ort_fail(ORT_FAIL, "CreateValue: 'num_values' is 0: Number of values should be at least 1.");
  for (size_t i = 0; i < n; i++)
    if (in[i] == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "CreateValue: 'in' has NULL at %zu", i);
  const ox_tensor *first = in[0]->tensor;
  if (first->kind != OX_TENSOR && first->kind != OX_MAP)
    return ort_fail(ORT_FAIL, "CreateValue: 'in': Each element of the sequence should be either tensor or map.");
  for (size_t i = 1; i < n; i++) {
    const ox_tensor *t = in[i]->tensor;
    if (t->kind != first->kind || (t->kind == OX_MAP && !same_map(t, first)))
      return ort_fail(ORT_FAIL,
                      "CreateValue: 'in': At least one element in the sequence is of a type different from "
                      "others: that at %zu",
                      i);
    if (t->kind == OX_TENSOR && t->dtype != first->dtype)
      return ort_fail(ORT_FAIL,
                      "CreateValue: 'in': Sequences must have tensors of the same data type. That at %zu is of "
                      "%s, the first of %s",
                      i, ox_type_name(t->dtype), ox_type_name(first->dtype));
  }
  return NULL;
}

static OrtStatus *create_sequence(const OrtValue *const *in, size_t n, OrtValue **out) {
  ORT_TRY(check_items(in, n));
  parts *p = make_parts(n);
  OrtStatus *st = p == NULL ? ort_out_of_memory() : NULL;
  for (size_t i = 0; st == NULL && i < n; i++) st = hold(p, in[i]);
  if (st != NULL) {
    release_parts(p);
    return st;
  }
  ox_tensor t = {.kind = OX_SEQUENCE, .dtype = p->list[0]->dtype, .data = p->list, .bytes = n * sizeof *p->list};
  t.shape = (ox_shape){1, {(int64_t)n}};
  return make_container(&t, p, out);
}

/* ---- maps ---- */

static OrtStatus *check_map(const OrtValue *const *in, size_t n) {
  if (n != 2) return ort_fail(ORT_FAIL, "CreateValue: 'num_values' is %zu: For map type num_values MUST be 2", n);
  for (size_t i = 0; i < 2; i++) {
    if (in[i] == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "CreateValue: 'in' has NULL at %zu", i);
    if (in[i]->tensor->kind != OX_TENSOR)
      return ort_fail(ORT_FAIL, "CreateValue: 'in': the %s of a map are to be a tensor", i == 0 ? "keys" : "values");
  }
  const ox_tensor *keys = in[0]->tensor, *values = in[1]->tensor;
  if (keys->shape.rank > 1 || values->shape.rank > 1)
    return ort_fail(ORT_FAIL, "CreateValue: 'in': Either the key tensor or the value tensor has NumDimensions > 1");
  if (ox_tensor_count(keys) != ox_tensor_count(values))
    return ort_fail(ORT_FAIL, "CreateValue: 'in': Key and value tensors have unequal number of elements: %lld and %lld",
                    (long long)ox_tensor_count(keys), (long long)ox_tensor_count(values));
  if (keys->dtype != OX_I64 && keys->dtype != OX_STRING)
    return ort_fail(ORT_FAIL, "CreateValue: 'in': Key type is not supported yet: %s", ox_type_name(keys->dtype));
  uint32_t v = values->dtype;
  if (v != OX_STRING && v != OX_I64 && v != OX_F32 && v != OX_F64)
    return ort_fail(ORT_FAIL, "CreateValue: 'in': Value type is not supported yet: %s", ox_type_name(v));
  return NULL;
}

/* Keys and values in the order of the keys. */
static OrtStatus *hold_sorted(const OrtValue *const *in, parts *p) {
  ort_map_order order;
  ORT_TRY(ort_map_order_init(in[0]->tensor, &order));
  OrtStatus *st = NULL;
  for (size_t i = 0; st == NULL && i < 2; i++) {
    OrtValue *sorted;
    st = ort_map_order_copy(&order, ort_default_allocator(), in[i]->tensor, &sorted);
    if (st != NULL) break;
    st = hold(p, sorted);
    ort_ReleaseValue(sorted);
  }
  ort_map_order_deinit(&order);
  return st;
}

static OrtStatus *create_map(const OrtValue *const *in, size_t n, OrtValue **out) {
  ORT_TRY(check_map(in, n));
  parts *p = make_parts(2);
  OrtStatus *st = p != NULL ? hold_sorted(in, p) : ort_out_of_memory();
  if (st != NULL) {
    release_parts(p);
    return st;
  }
  p->pair[0] = *p->list[0], p->pair[1] = *p->list[1];
  ox_tensor t = {.kind = OX_MAP, .dtype = p->pair[1].dtype, .data = p->pair, .bytes = sizeof p->pair};
  t.shape = p->pair[0].shape;
  return make_container(&t, p, out);
}

/* Keys or values of a map, in the order of the keys. */
static OrtStatus *get_of_map(const OrtValue *value, int index, OrtAllocator *allocator, OrtValue **out) {
  const ox_tensor *pair = value->tensor->data;
  if (index != 0 && index != 1)
    return ort_fail(ORT_FAIL, "GetValue: 'index' is %d: Invalid index requested for map type.", index);
  if (pair[index].kind != OX_TENSOR) return share_item(value, &pair[index], out);
  if (allocator == NULL) return ort_null_argument("GetValue", "allocator");
  ort_map_order order;
  ORT_TRY(ort_map_order_init(&pair[0], &order));
  OrtStatus *st = ort_map_order_copy(&order, allocator, &pair[index], out);
  ort_map_order_deinit(&order);
  return st;
}

static OrtStatus *get_of_sequence(const OrtValue *value, int index, OrtAllocator *allocator, OrtValue **out) {
  const ox_tensor *t = value->tensor;
  if (index < 0 || index >= t->shape.dim[0])
    return ort_fail(ORT_FAIL, "GetValue: 'index' is %d, the sequence has %lld items", index,
                    (long long)t->shape.dim[0]);
  const ox_tensor *item = ((const ox_tensor *const *)t->data)[index];
  if (item->kind != OX_TENSOR) return share_item(value, item, out);
  if (allocator == NULL) return ort_null_argument("GetValue", "allocator");
  return ort_tensor_copy(allocator, item, out);
}

/* ---- the ABI's calls ---- */

OrtStatus *ort_CreateValue(const OrtValue *const *in, size_t num_values, ONNXType value_type, OrtValue **out) {
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(in);
  if (value_type == ONNX_TYPE_SEQUENCE) return create_sequence(in, num_values, out);
  if (value_type == ONNX_TYPE_MAP) return create_map(in, num_values, out);
  return ort_fail(ORT_FAIL, "CreateValue: 'value_type' is %d: neither a sequence nor a map", (int)value_type);
}

OrtStatus *ort_GetValue(const OrtValue *value, int index, OrtAllocator *allocator, OrtValue **out) {
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(value);
  if (value->tensor->kind == OX_MAP) return get_of_map(value, index, allocator, out);
  if (value->tensor->kind == OX_SEQUENCE) return get_of_sequence(value, index, allocator, out);
  return ort_fail(ORT_FAIL, "GetValue: 'value' is neither a sequence nor a map");
}

OrtStatus *ort_GetValueCount(const OrtValue *value, size_t *out) {
  ORT_NEED(value);
  ORT_NEED(out);
  const ox_tensor *t = value->tensor;
  if (t->kind != OX_MAP && t->kind != OX_SEQUENCE)
    return ort_fail(ORT_FAIL, "GetValueCount: 'value' is neither a sequence nor a map");
  *out = t->kind == OX_MAP ? 2 : (size_t)t->shape.dim[0];
  return NULL;
}

/* Opaque values are for types that a build of the library adds; this has none, and neither has Microsoft's. */
static OrtStatus *no_opaque(const char *function, const char *domain, const char *type) {
  if (domain == NULL) return ort_null_argument(function, "domain_name");
  if (type == NULL) return ort_null_argument(function, "type_name");
  return ort_fail(ORT_FAIL, "%s: there is no opaque type '%s' of domain '%s'", function, type, domain);
}

OrtStatus *ort_CreateOpaqueValue(const char *domain_name, const char *type_name, const void *data, size_t n,
                                 OrtValue **out) {
  (void)data, (void)n;
  ORT_NEED(out);
  *out = NULL;
  return no_opaque("CreateOpaqueValue", domain_name, type_name);
}

OrtStatus *ort_GetOpaqueValue(const char *domain_name, const char *type_name, const OrtValue *in, void *data,
                              size_t n) {
  (void)in, (void)data, (void)n;
  return no_opaque("GetOpaqueValue", domain_name, type_name);
}
