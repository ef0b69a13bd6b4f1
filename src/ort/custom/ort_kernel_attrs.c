/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_kernel_attrs.c - attributes of a client's node, by name and kind. A missing one is an error, as is one
 * of another kind; but of lists, another kind reads as an empty list, as in Microsoft's library. */
#include <stdlib.h>
#include <string.h>

#include "onyx/op.h"
#include "ort/ort_api.h"
#include "ort/custom/ort_kernel.h"
#include "ort/ort_status.h"

static OrtStatus *find(const OrtKernelInfo *info, const char *name, const ox_attr_view **out) {
  *out = NULL;
  for (size_t i = 0; i < info->n_attrs; i++)
    if (strcmp(info->attrs[i].name, name) == 0) *out = &info->attrs[i].v;
  if (*out != NULL) return NULL;
  return ort_fail(ORT_FAIL, "No attribute with name:'%s'is defined. Node '%s' (%s)", name, info->node, info->op);
}

static OrtStatus *find_kind(const OrtKernelInfo *info, const char *name, uint32_t kind, const ox_attr_view **out) {
  ORT_TRY(find(info, name, out));
  if ((*out)->kind == kind) return NULL;
  return ort_fail(ORT_FAIL, "Attribute name and type don't match: '%s' of node '%s' (%s) is of kind %u, wanted %u",
                  name, info->node, info->op, (*out)->kind, kind);
}

OrtStatus *ort_KernelInfoGetAttribute_float(const OrtKernelInfo *info, const char *name, float *out) {
  const ox_attr_view *v;
  ORT_NEED(info);
  ORT_NEED(name);
  ORT_NEED(out);
  ORT_TRY(find_kind(info, name, OX_ATTR_FLOAT_KIND, &v));
  *out = v->f;
  return NULL;
}

OrtStatus *ort_KernelInfoGetAttribute_int64(const OrtKernelInfo *info, const char *name, int64_t *out) {
  const ox_attr_view *v;
  ORT_NEED(info);
  ORT_NEED(name);
  ORT_NEED(out);
  ORT_TRY(find_kind(info, name, OX_ATTR_INT_KIND, &v));
  *out = v->i;
  return NULL;
}

static OrtStatus *too_small(const char *name, size_t room, size_t need) {
  return ort_fail(ORT_INVALID_ARGUMENT, "Result buffer is not large enough: attribute '%s' needs %zu, got %zu", name,
                  need, room);
}

/* With its NUL. */
OrtStatus *ort_KernelInfoGetAttribute_string(const OrtKernelInfo *info, const char *name, char *out, size_t *size) {
  const ox_attr_view *v;
  ORT_NEED(info);
  ORT_NEED(name);
  ORT_NEED(size);
  ORT_TRY(find_kind(info, name, OX_ATTR_STRING_KIND, &v));
  size_t room = *size, need = v->s.n + 1;
  *size = need;
  if (out == NULL) return NULL;
  if (room < need) return too_small(name, room, need);
  if (v->s.n != 0) memcpy(out, v->s.p, v->s.n);
  out[v->s.n] = '\0';
  return NULL;
}

/* Numbers of a list; |size| counts them. */
static OrtStatus *give_list(const char *name, const void *list, size_t n, size_t item_bytes, void *out, size_t *size) {
  size_t room = *size;
  *size = n;
  if (out == NULL) return NULL;
  if (room < n) return too_small(name, room, n);
  if (n != 0) memcpy(out, list, n * item_bytes);
  return NULL;
}

OrtStatus *ort_KernelInfoGetAttributeArray_float(const OrtKernelInfo *info, const char *name, float *out,
                                                 size_t *size) {
  const ox_attr_view *v;
  ORT_NEED(info);
  ORT_NEED(name);
  ORT_NEED(size);
  ORT_TRY(find(info, name, &v));
  return give_list(name, v->floats, v->kind == OX_ATTR_FLOATS_KIND ? v->n : 0, sizeof *out, out, size);
}

OrtStatus *ort_KernelInfoGetAttributeArray_int64(const OrtKernelInfo *info, const char *name, int64_t *out,
                                                 size_t *size) {
  const ox_attr_view *v;
  ORT_NEED(info);
  ORT_NEED(name);
  ORT_NEED(size);
  ORT_TRY(find(info, name, &v));
  return give_list(name, v->ints, v->kind == OX_ATTR_INTS_KIND ? v->n : 0, sizeof *out, out, size);
}

/* Both the array and each of its strings are the client's to free with |allocator|. */
OrtStatus *ort_KernelInfoGetAttributeArray_string(const OrtKernelInfo *info, const char *name, OrtAllocator *allocator,
                                                  char ***out, size_t *size) {
  const ox_attr_view *v;
  ORT_NEED(info);
  ORT_NEED(name);
  ORT_NEED(allocator);
  ORT_NEED(out);
  ORT_NEED(size);
  ORT_TRY(find(info, name, &v));
  size_t n = v->kind == OX_ATTR_STRINGS_KIND ? v->n : 0, made = 0;
  *out = NULL, *size = n;
  if (n == 0) return NULL;
  char **texts = allocator->Alloc(allocator, n * sizeof *texts);
  for (; texts != NULL && made < n; made++) {
    const ox_str *s = &v->strings[made];
    char *text = texts[made] = allocator->Alloc(allocator, s->n + 1);
    if (text == NULL) break;
    if (s->n != 0) memcpy(text, s->p, s->n);
    text[s->n] = '\0';
  }
  if (made == n) {
    *out = texts;
    return NULL;
  }
  for (size_t i = 0; i < made; i++) allocator->Free(allocator, texts[i]);
  if (texts != NULL) allocator->Free(allocator, texts);
  *size = 0;
  return ort_out_of_memory();
}

OrtStatus *ort_KernelInfoGetAttribute_tensor(const OrtKernelInfo *info, const char *name, OrtAllocator *allocator,
                                             OrtValue **out) {
  const ox_attr_view *v;
  ORT_NEED(info);
  ORT_NEED(name);
  ORT_NEED(allocator);
  ORT_NEED(out);
  *out = NULL;
  ORT_TRY(find_kind(info, name, OX_ATTR_TENSOR_KIND, &v));
  return ort_tensor_copy(allocator, v->tensor, out);
}
