/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_lora.c - reads adapters. The format is a FlatBuffer with the identifier "TORT":
 *   table Adapter { format_version, adapter_version, model_version: int; parameters: [Parameter]; }
 *   table Parameter { name: string; dims: [int64]; data_type: int; raw_data: [ubyte]; }
 * A table begins with the distance back to its vtable, which has the size of both and then a 16-bit offset per field, 0
 * for a field that is absent. Strings, vectors and tables are reached by 32-bit distances forward. Every place that is
 * read is looked at first. */
#include "ort/session/ort_lora.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"

enum { FORMAT_VERSION = 1, NOWHERE = 0 };

/* ---- FlatBuffers ---- */

typedef struct buffer {
  const unsigned char *p;
  size_t n;
} buffer;

static bool has(const buffer *b, size_t at, size_t bytes) { return at <= b->n && bytes <= b->n - at; }

/* Little-endian, of 1 to 8 bytes at any address that has() said is there. */
static uint64_t number(const buffer *b, size_t at, size_t bytes) {
  uint64_t v = 0;
  for (size_t i = bytes; i-- > 0;) v = v << 8 | b->p[at + i];
  return v;
}

/* Where the distance at |at| leads; NOWHERE: out of the buffer. */
static size_t follow(const buffer *b, size_t at) {
  if (!has(b, at, 4)) return NOWHERE;
  size_t to = at + (size_t)number(b, at, 4);
  return has(b, to, 4) ? to : NOWHERE;
}

/* Where field |field| of the table at |table| lies, |bytes| of it; NOWHERE: absent, or broken. */
static size_t field_at(const buffer *b, size_t table, size_t field, size_t bytes) {
  if (!has(b, table, 4)) return NOWHERE;
  int64_t vtable = (int64_t)table - (int32_t)(uint32_t)number(b, table, 4);
  if (vtable < 0 || !has(b, (size_t)vtable, 4)) return NOWHERE;
  size_t entry = 4 + 2 * field;
  if (entry + 2 > number(b, (size_t)vtable, 2) || !has(b, (size_t)vtable, entry + 2)) return NOWHERE;
  size_t offset = (size_t)number(b, (size_t)vtable + entry, 2);
  return offset != 0 && has(b, table + offset, bytes) ? table + offset : NOWHERE;
}

/* The vector in a field: its first element's place, their number. False: absent, or broken. */
static bool vector_in(const buffer *b, size_t table, size_t field, size_t element, size_t *out_at, size_t *out_n) {
  size_t at = field_at(b, table, field, 4);
  if (at == NOWHERE || (at = follow(b, at)) == NOWHERE) return false;
  *out_n = (size_t)number(b, at, 4), *out_at = at + 4;
  return *out_n <= b->n / element && has(b, *out_at, *out_n * element);
}

/* ---- adapters ---- */

void ort_ReleaseLoraAdapter(OrtLoraAdapter *a) {
  if (a == NULL) return;
  for (size_t i = 0; i < a->n; i++) {
    free(a->names[i]);
    ort_ReleaseValue(a->values[i]);
  }
  free(a->names);
  free(a->values);
  free(a->bytes);
  free(a);
}

static OrtStatus *broken(const char *what) {
  return ort_fail(ORT_FAIL, "the adapter's %s is not there, or leads out of the file", what);
}

static OrtStatus *read_name(const buffer *b, size_t table, char **out) {
  size_t at, n;
  if (!vector_in(b, table, 0, 1, &at, &n)) return broken("parameter name");
  *out = malloc(n + 1);
  if (*out == NULL) return ort_out_of_memory();
  memcpy(*out, b->p + at, n);
  (*out)[n] = '\0';
  return NULL;
}

static OrtStatus *read_value(const buffer *b, size_t table, const char *name, OrtValue **out) {
  int64_t dims[OX_MAX_RANK];
  size_t at, rank, data, bytes, type = field_at(b, table, 2, 4);
  ox_tensor t;
  if (!vector_in(b, table, 1, 8, &at, &rank) || rank > OX_MAX_RANK) return broken("parameter shape");
  if (type == NOWHERE) return broken("parameter type");
  if (!vector_in(b, table, 3, 1, &data, &bytes)) return broken("parameter data");
  for (size_t i = 0; i < rank; i++) dims[i] = (int64_t)number(b, at + 8 * i, 8);
  ORT_TRY(ort_tensor_describe("CreateLoraAdapter", ORT_FAIL, (ONNXTensorElementDataType)number(b, type, 4), dims, rank,
                              &t));
  if (t.dtype == OX_STRING || t.bytes != bytes)
    return ort_fail(ORT_FAIL, "parameter '%s' of the adapter has %zu bytes, its shape asks for %zu", name, bytes,
                    t.bytes);
  t.data = (void *)(uintptr_t)(b->p + data);
  return ort_value_create(&t, 0, NULL, out);
}

static OrtStatus *read_parameters(const buffer *b, size_t root, OrtLoraAdapter *a) {
  size_t at, n;
  if (!vector_in(b, root, 3, 4, &at, &n)) return broken("list of parameters");
  a->names = calloc(n + 1, sizeof *a->names);
  a->values = calloc(n + 1, sizeof *a->values);
  if (a->names == NULL || a->values == NULL) return ort_out_of_memory();
  for (; a->n < n; at += 4) {
    size_t table = follow(b, at), i = a->n++;
    if (table == NOWHERE) return broken("parameter");
    ORT_TRY(read_name(b, table, &a->names[i]));
    ORT_TRY(read_value(b, table, a->names[i], &a->values[i]));
  }
  return NULL;
}

/* Takes |bytes| over, also on failure. */
static OrtStatus *read_adapter(void *bytes, size_t n, OrtLoraAdapter **out) {
  buffer b = {bytes, n};
  *out = NULL;
  OrtLoraAdapter *a = calloc(1, sizeof *a);
  if (a == NULL) {
    free(bytes);
    return ort_out_of_memory();
  }
  a->bytes = bytes;
  OrtStatus *st = NULL;
  size_t root = follow(&b, 0), version = field_at(&b, root, 0, 4);
  if (n < 8 || memcmp(b.p + 4, "TORT", 4) != 0 || root == NOWHERE)
    st = ort_fail(ORT_FAIL, "the bytes are no adapter: the identifier TORT is missing");
  else if (version == NOWHERE || number(&b, version, 4) != FORMAT_VERSION)
    st = ort_fail(ORT_FAIL, "the adapter's format is of version %u, wanted %d",
                  version == NOWHERE ? 0 : (unsigned)number(&b, version, 4), FORMAT_VERSION);
  else
    st = read_parameters(&b, root, a);
  if (st == NULL)
    *out = a;
  else
    ort_ReleaseLoraAdapter(a);
  return st;
}

/* ---- where they come from ---- */

static OrtStatus *read_file(const char *path, void **out, size_t *out_n) {
  OrtStatus *st = NULL;
  long n = -1;
  FILE *f = fopen(path, "rb");
  *out = NULL;
  if (f != NULL && fseek(f, 0, SEEK_END) == 0) n = ftell(f);
  if (n < 0)
    st = ort_fail(ORT_INVALID_ARGUMENT, "adapter '%s': %s", path, strerror(errno));
  else if ((*out = malloc((size_t)n + 1)) == NULL)
    st = ort_out_of_memory();
  else if (fseek(f, 0, SEEK_SET) != 0 || fread(*out, 1, (size_t)n, f) != (size_t)n)
    st = ort_fail(ORT_FAIL, "adapter '%s' cannot be read", path);
  if (f != NULL) fclose(f);
  if (st != NULL) free(*out);
  *out_n = (size_t)n;
  return st;
}

OrtStatus *ort_CreateLoraAdapter(const ORTCHAR_T *path, OrtAllocator *allocator, OrtLoraAdapter **out) {
  void *bytes;
  size_t n;
  (void)allocator; /* of a device, which would get a copy: values are copied where they are needed */
  ORT_NEED(path);
  ORT_NEED(out);
  *out = NULL;
  ORT_TRY(read_file(path, &bytes, &n));
  return read_adapter(bytes, n, out);
}

OrtStatus *ort_CreateLoraAdapterFromArray(const void *bytes, size_t n, OrtAllocator *allocator, OrtLoraAdapter **out) {
  (void)allocator;
  ORT_NEED(bytes);
  ORT_NEED(out);
  *out = NULL;
  void *copy = malloc(n + 1);
  if (copy == NULL) return ort_out_of_memory();
  memcpy(copy, bytes, n);
  return read_adapter(copy, n, out);
}
