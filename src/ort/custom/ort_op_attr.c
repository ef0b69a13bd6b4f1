/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_op_attr.c - attributes as objects of their own: made by clients, or read from a node. */
#include <stdlib.h>
#include <string.h>

#include "onyx/op.h"
#include "ort/model/ort_graph.h"
#include "ort/ort_api.h"
#include "ort/custom/ort_kernel.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"

void ort_ReleaseOpAttr(OrtOpAttr *op_attr) {
  if (op_attr == NULL) return;
  for (size_t i = 0; op_attr->strings != NULL && i < op_attr->n; i++) free(op_attr->strings[i]);
  free((void *)op_attr->strings);
  free(op_attr->string_bytes);
  free(op_attr->ints);
  free(op_attr->floats);
  free(op_attr->name);
  ort_ReleaseValue(op_attr->tensor);
  ort_graph_release(op_attr->graph);
  free(op_attr);
}

/* ---- making them ---- */

/* What an attribute gets its content from: one of these, by its type. */
typedef struct {
  const int64_t *ints;
  const float *floats;
  const char *const *texts; /* NULL: |strings| */
  const ox_str *strings;
} content;

static bool copy_strings(OrtOpAttr *a, const content *from) {
  a->strings = calloc(a->n + 1, sizeof *a->strings);
  a->string_bytes = calloc(a->n + 1, sizeof *a->string_bytes);
  if (a->strings == NULL || a->string_bytes == NULL) return false;
  for (size_t i = 0; i < a->n; i++) {
    ox_str s = from->texts != NULL ? (ox_str){from->texts[i], strlen(from->texts[i])} : from->strings[i];
    char *copy = a->strings[i] = malloc(s.n + 1);
    if (copy == NULL) return false;
    if (s.n != 0) memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    a->string_bytes[i] = s.n;
  }
  return true;
}

static bool copy_list(const void *from, size_t n, size_t item_bytes, void **out) {
  size_t bytes;
  *out = ort_mul_ok(n, item_bytes, &bytes) ? malloc(bytes + 1) : NULL;
  if (*out == NULL) return false;
  if (bytes != 0) memcpy(*out, from, bytes);
  return true;
}

static bool fill(OrtOpAttr *a, const content *from) {
  switch (a->type) {
    case ORT_OP_ATTR_INT:
    case ORT_OP_ATTR_INTS:
      return copy_list(from->ints, a->n, sizeof *a->ints, (void **)(void *)&a->ints);
    case ORT_OP_ATTR_FLOAT:
    case ORT_OP_ATTR_FLOATS:
      return copy_list(from->floats, a->n, sizeof *a->floats, (void **)(void *)&a->floats);
    case ORT_OP_ATTR_STRING:
    case ORT_OP_ATTR_STRINGS:
      return copy_strings(a, from);
    default:
      return true;
  }
}

static OrtStatus *make(const char *name, OrtOpAttrType type, size_t n, const content *from, OrtOpAttr **out) {
  OrtOpAttr *a = *out = NULL;
  a = calloc(1, sizeof *a);
  if (a == NULL) return ort_out_of_memory();
  a->type = type, a->n = n, a->name = strdup(name);
  if (a->name == NULL || !fill(a, from)) {
    ort_ReleaseOpAttr(a);
    return ort_out_of_memory();
  }
  *out = a;
  return NULL;
}

/* Of a string, |len| counts the bytes; of lists, the items; of a number it does not matter. */
OrtStatus *ort_CreateOpAttr(const char *name, const void *data, int len, OrtOpAttrType type, OrtOpAttr **op_attr) {
  ORT_NEED(name);
  ORT_NEED(op_attr);
  *op_attr = NULL;
  if (type < ORT_OP_ATTR_INT || type > ORT_OP_ATTR_STRINGS)
    return ort_fail(ORT_FAIL, "CreateOpAttr: Attribute type not supported yet: %d of '%s'", (int)type, name);
  bool list = type == ORT_OP_ATTR_INTS || type == ORT_OP_ATTR_FLOATS || type == ORT_OP_ATTR_STRINGS;
  bool counts = list || type == ORT_OP_ATTR_STRING;
  if (counts && len < 0) return ort_fail(ORT_INVALID_ARGUMENT, "CreateOpAttr: 'len' is %d", len);
  if (!counts || len != 0) ORT_NEED(data);
  ox_str text = {data, type == ORT_OP_ATTR_STRING ? (size_t)len : 0};
  bool texts = type == ORT_OP_ATTR_STRINGS && len != 0;
  for (int i = 0; texts && i < len; i++)
    if (((const char *const *)data)[i] == NULL)
      return ort_fail(ORT_INVALID_ARGUMENT, "CreateOpAttr: string %d of '%s' is NULL", i, name);
  content from = {.ints = data, .floats = data, .texts = texts ? data : NULL, .strings = &text};
  return make(name, type, list ? (size_t)len : 1, &from, op_attr);
}

/* By OX_ATTR_*_KIND. */
static const OrtOpAttrType types[] = {
    [OX_ATTR_FLOAT_KIND] = ORT_OP_ATTR_FLOAT,   [OX_ATTR_INT_KIND] = ORT_OP_ATTR_INT,
    [OX_ATTR_STRING_KIND] = ORT_OP_ATTR_STRING, [OX_ATTR_TENSOR_KIND] = ORT_OP_ATTR_TENSOR,
    [OX_ATTR_GRAPH_KIND] = ORT_OP_ATTR_GRAPH,   [OX_ATTR_FLOATS_KIND] = ORT_OP_ATTR_FLOATS,
    [OX_ATTR_INTS_KIND] = ORT_OP_ATTR_INTS,     [OX_ATTR_STRINGS_KIND] = ORT_OP_ATTR_STRINGS,
};

OrtStatus *ort_op_attr_of(const ort_attr *attr, OrtOpAttr **out) {
  const ox_attr_view *v = &attr->v;
  OrtOpAttrType type = v->kind < sizeof types / sizeof *types ? types[v->kind] : ORT_OP_ATTR_UNDEFINED;
  bool list = type == ORT_OP_ATTR_INTS || type == ORT_OP_ATTR_FLOATS || type == ORT_OP_ATTR_STRINGS;
  content from = {
      .ints = list ? v->ints : &v->i, .floats = list ? v->floats : &v->f, .strings = list ? v->strings : &v->s};
  ORT_TRY(make(attr->name, type, list ? v->n : 1, &from, out));
  if (type != ORT_OP_ATTR_TENSOR) return NULL;
  OrtStatus *st = ort_tensor_copy(ort_default_allocator(), v->tensor, &(*out)->tensor);
  if (st == NULL) return NULL;
  ort_ReleaseOpAttr(*out);
  *out = NULL;
  return st;
}

/* ---- reading them ---- */

OrtStatus *ort_OpAttr_GetName(const OrtOpAttr *attribute, const char **name) {
  ORT_NEED(attribute);
  ORT_NEED(name);
  *name = attribute->name;
  return NULL;
}

OrtStatus *ort_OpAttr_GetType(const OrtOpAttr *attribute, OrtOpAttrType *type) {
  ORT_NEED(attribute);
  ORT_NEED(type);
  *type = attribute->type;
  return NULL;
}

OrtStatus *ort_OpAttr_GetTensorAttributeAsOrtValue(const OrtOpAttr *attribute, OrtValue **attr_tensor) {
  ORT_NEED(attribute);
  ORT_NEED(attr_tensor);
  *attr_tensor = NULL;
  if (attribute->type != ORT_OP_ATTR_TENSOR || attribute->tensor == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "attribute '%s' is no tensor: its type is %d", attribute->name,
                    (int)attribute->type);
  return ort_value_share(attribute->tensor, attr_tensor);
}

static OrtStatus *read_bytes(const OrtOpAttr *a, const void *from, size_t need, void *data, size_t room, size_t *out) {
  *out = need;
  if (room < need)
    return ort_fail(ORT_INVALID_ARGUMENT, "Size of data not large enough to hold attribute '%s': %zu bytes, wanted %zu",
                    a->name, room, need);
  if (need == 0) return NULL;
  ORT_NEED(data);
  memcpy(data, from, need);
  return NULL;
}

/* One after the other, each with its NUL. */
static OrtStatus *read_strings(const OrtOpAttr *a, char *data, size_t room, size_t *out) {
  size_t need = 0;
  for (size_t i = 0; i < a->n; i++) need += a->string_bytes[i] + 1;
  *out = need;
  if (room < need)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "Size of data not large enough to hold the array of strings '%s': %zu bytes, wanted %zu", a->name,
                    room, need);
  if (need != 0) ORT_NEED(data);
  for (size_t i = 0; i < a->n; i++) {
    memcpy(data, a->strings[i], a->string_bytes[i] + 1);
    data += a->string_bytes[i] + 1;
  }
  return NULL;
}

/* |len| and *out count bytes. A string comes without NUL. */
OrtStatus *ort_ReadOpAttr(const OrtOpAttr *op_attr, OrtOpAttrType type, void *data, size_t len, size_t *out) {
  ORT_NEED(op_attr);
  ORT_NEED(out);
  const OrtOpAttr *a = op_attr;
  if (a->type != type)
    return ort_fail(ORT_INVALID_ARGUMENT, "ReadOpAttr: attribute '%s' is of type %d, wanted %d", a->name, (int)a->type,
                    (int)type);
  switch (type) {
    case ORT_OP_ATTR_INT:
    case ORT_OP_ATTR_INTS:
      return read_bytes(a, a->ints, a->n * sizeof *a->ints, data, len, out);
    case ORT_OP_ATTR_FLOAT:
    case ORT_OP_ATTR_FLOATS:
      return read_bytes(a, a->floats, a->n * sizeof *a->floats, data, len, out);
    case ORT_OP_ATTR_STRING:
      return read_bytes(a, a->strings[0], a->string_bytes[0], data, len, out);
    case ORT_OP_ATTR_STRINGS:
      return read_strings(a, data, len, out);
    default:
      return ort_fail(ORT_INVALID_ARGUMENT, "ReadOpAttr: attribute '%s' is of type %d, which it does not read", a->name,
                      (int)type);
  }
}
