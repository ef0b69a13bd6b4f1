/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_strings.c - tensors of strings. Each has a NUL behind it, which does not count; the empty one that
 * nobody set is a literal. What is filled in at once is one block. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/custom/ort_kernel.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"
#include "ort/value/ort_value.h"

/* ---- memory ---- */

/* Of a kernel's output: lives as long as the run, so nothing is freed. */
static char *take(const OrtValue *value, size_t bytes) {
  return value->kernel != NULL ? ort_kernel_text(value->kernel, bytes) : malloc(bytes);
}

/* Frees |item| if it has memory of its own, and empties it. One without characters never has (see resize). */
static void drop(const ort_strings *strings, ox_str *item) {
  if (strings != NULL && item->n > 0) {
    uintptr_t at = (uintptr_t)item->p, block = (uintptr_t)strings->block;
    if (at < block || at >= block + strings->block_bytes) free((char *)item->p);
  }
  *item = (ox_str){"", 0};
}

void ort_strings_release(ort_strings *strings, ox_str *items, size_t n) {
  for (size_t i = 0; i < n; i++) drop(strings, &items[i]);
  free(strings->block);
  strings->block = NULL, strings->block_bytes = 0;
}

/* Makes |item| one of |n| bytes, with what it had as far as it fits, then zeros. */
static OrtStatus *resize(const OrtValue *value, ox_str *item, size_t n) {
  static char nothing[1]; /* clients may end it with a NUL */
  if (n == 0) {
    drop(value->strings, item);
    item->p = nothing;
    return NULL;
  }
  size_t bytes;
  char *p = ort_add_ok(n, 1, &bytes) ? take(value, bytes) : NULL;
  if (p == NULL) return ort_out_of_memory();
  size_t kept = item->n < n ? item->n : n;
  if (kept > 0) memcpy(p, item->p, kept);
  memset(p + kept, 0, bytes - kept);
  drop(value->strings, item);
  *item = (ox_str){p, n};
  return NULL;
}

/* One block for all. The texts may be among those that go. */
OrtStatus *ort_strings_copy(OrtValue *value, const ox_str *from, size_t n, ox_str *to) {
  size_t bytes = 0;
  for (size_t i = 0; i < n; i++)
    if (!ort_add_ok(bytes, from[i].n, &bytes) || !ort_add_ok(bytes, 1, &bytes)) return ort_out_of_memory();
  char *block = bytes > 0 ? take(value, bytes) : NULL, *at = block;
  if (block == NULL && bytes > 0) return ort_out_of_memory();
  for (size_t i = 0; i < n; i++) {
    if (from[i].n > 0) memcpy(at, from[i].p, from[i].n);
    at[from[i].n] = 0;
    at += from[i].n + 1;
  }
  at = block;
  for (size_t i = 0; i < n; i++) {
    size_t length = from[i].n;
    drop(value->strings, &to[i]);
    to[i] = (ox_str){at, length};
    at += length + 1;
  }
  if (value->strings == NULL) return NULL;
  free(value->strings->block);
  value->strings->block = block, value->strings->block_bytes = bytes;
  return NULL;
}

/* A string tensor that the engine made is only looked at: who writes gets a copy. */
static OrtStatus *make_own(OrtValue *value) {
  if (value->value == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "'value' is an input of a kernel: its strings cannot be written");
  OrtValue *copy;
  ORT_TRY(ort_tensor_copy(ort_default_allocator(), value->tensor, &copy));
  if (value->memory == NULL) copy->memory = NULL; /* clients see the library's memory, as before */
  ort_value_assign(value, copy);
  return NULL;
}

OrtStatus *ort_strings_writable(OrtValue *value, ox_str **out) {
  if (value->strings == NULL && value->kernel == NULL) ORT_TRY(make_own(value));
  *out = value->tensor->data;
  return NULL;
}

/* ---- the ABI's calls ---- */

static OrtStatus *need_strings(const char *function, const OrtValue *value, size_t *n) {
  if (value == NULL) return ort_null_argument(function, "value");
  const ox_tensor *t = value->tensor;
  if (t->kind == OX_SPARSE) t = t->data; /* its values */
  if (t->kind != OX_TENSOR)
    return ort_fail(ORT_NOT_IMPLEMENTED, "%s: 'value': This API supports Tensors or SparseTensors", function);
  if (t->dtype != OX_STRING)
    return ort_fail(ORT_FAIL, "%s: 'value' is a tensor of %s, not of strings", function, ox_type_name(t->dtype));
  *n = t->bytes / sizeof(ox_str);
  return NULL;
}

static const ox_str *items_of(const OrtValue *value) {
  const ox_tensor *t = value->tensor;
  return t->kind == OX_SPARSE ? ((const ox_tensor *)t->data)->data : t->data;
}

static OrtStatus *need_dense(const char *function, const OrtValue *value, size_t *n) {
  ORT_TRY(need_strings(function, value, n));
  return ort_need_tensor(function, ORT_RUNTIME_EXCEPTION, value);
}

static OrtStatus *need_index(const char *function, size_t index, size_t n) {
  if (index < n) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "%s: 'index' is %zu: element index is out of bounds, there are %zu", function,
                  index, n);
}

OrtStatus *ort_FillStringTensor(OrtValue *value, const char *const *s, size_t s_len) {
  size_t n = 0;
  ox_str *items;
  ORT_TRY(need_dense("FillStringTensor", value, &n));
  if (s_len != n)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "FillStringTensor: 's_len' is %zu: input array doesn't equal tensor size, %zu", s_len, n);
  if (n == 0) return NULL;
  ORT_NEED(s);
  ORT_TRY(ort_strings_writable(value, &items));
  ox_str few[16], *texts = n <= sizeof few / sizeof *few ? few : malloc(n * sizeof *texts);
  if (texts == NULL) return ort_out_of_memory();
  OrtStatus *st = NULL;
  for (size_t i = 0; st == NULL && i < n; i++) {
    if (s[i] == NULL)
      st = ort_fail(ORT_INVALID_ARGUMENT, "FillStringTensor: 's' has NULL at %zu", i);
    else
      texts[i] = (ox_str){s[i], strlen(s[i])};
  }
  if (st == NULL) st = ort_strings_copy(value, texts, n, items);
  if (texts != few) free(texts);
  return st;
}

OrtStatus *ort_FillStringTensorElement(OrtValue *value, const char *s, size_t index) {
  size_t n = 0;
  ox_str *items;
  ORT_TRY(need_dense("FillStringTensorElement", value, &n));
  ORT_NEED(s);
  ORT_TRY(need_index("FillStringTensorElement", index, n));
  ORT_TRY(ort_strings_writable(value, &items));
  ox_str made = {"", 0};
  size_t length = strlen(s);
  ORT_TRY(resize(value, &made, length));
  if (length > 0) memcpy((char *)made.p, s, length);
  drop(value->strings, &items[index]);
  items[index] = made;
  return NULL;
}

OrtStatus *ort_GetResizedStringTensorElementBuffer(OrtValue *value, size_t index, size_t length_in_bytes,
                                                   char **buffer) {
  size_t n = 0;
  ox_str *items;
  ORT_NEED(buffer);
  *buffer = NULL;
  ORT_TRY(need_dense("GetResizedStringTensorElementBuffer", value, &n));
  ORT_TRY(need_index("GetResizedStringTensorElementBuffer", index, n));
  ORT_TRY(ort_strings_writable(value, &items));
  ORT_TRY(resize(value, &items[index], length_in_bytes));
  *buffer = (char *)items[index].p;
  return NULL;
}

OrtStatus *ort_GetStringTensorDataLength(const OrtValue *value, size_t *len) {
  size_t n, total = 0;
  ORT_NEED(len);
  ORT_TRY(need_strings("GetStringTensorDataLength", value, &n));
  for (size_t i = 0; i < n; i++) total += items_of(value)[i].n;
  *len = total;
  return NULL;
}

OrtStatus *ort_GetStringTensorElementLength(const OrtValue *value, size_t index, size_t *out) {
  size_t n = 0;
  ORT_NEED(out);
  ORT_TRY(need_strings("GetStringTensorElementLength", value, &n));
  ORT_TRY(need_index("GetStringTensorElementLength", index, n));
  *out = items_of(value)[index].n;
  return NULL;
}

OrtStatus *ort_GetStringTensorContent(const OrtValue *value, void *s, size_t s_len, size_t *offsets,
                                      size_t offsets_len) {
  size_t n = 0, total;
  ORT_TRY(need_strings("GetStringTensorContent", value, &n));
  if (offsets_len != n)
    return ort_fail(ORT_FAIL,
                    "GetStringTensorContent: 'offsets_len' is %zu: offsets buffer is not equal to tensor "
                    "size, %zu",
                    offsets_len, n);
  ORT_TRY(ort_GetStringTensorDataLength(value, &total));
  if (s_len < total)
    return ort_fail(ORT_FAIL,
                    "GetStringTensorContent: 's_len' is %zu: output buffer is too small, "
                    "GetStringTensorDataLength says %zu",
                    s_len, total);
  if (total > 0) ORT_NEED(s);
  if (n > 0) ORT_NEED(offsets);
  const ox_str *items = items_of(value);
  char *at = s;
  size_t used = 0;
  for (size_t i = 0; i < n; i++) {
    offsets[i] = used;
    if (items[i].n > 0) memcpy(at + used, items[i].p, items[i].n);
    used += items[i].n;
  }
  return NULL;
}

OrtStatus *ort_GetStringTensorElement(const OrtValue *value, size_t s_len, size_t index, void *s) {
  size_t n = 0;
  ORT_TRY(need_strings("GetStringTensorElement", value, &n));
  ORT_TRY(need_index("GetStringTensorElement", index, n));
  ox_str item = items_of(value)[index];
  if (s_len < item.n)
    return ort_fail(ORT_FAIL,
                    "GetStringTensorElement: 's_len' is %zu: buffer size is too small for string element %zu "
                    "of %zu bytes",
                    s_len, index, item.n);
  if (item.n > 0) {
    ORT_NEED(s);
    memcpy(s, item.p, item.n);
  }
  return NULL;
}
