/* SPDX-License-Identifier: Apache-2.0
 * bench/models/ort_tensor.c - tensors in files. */
#include "ort_tensor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_DIMS = 1, FIELD_TYPE = 2, FIELD_RAW = 9, VARINT = 0, BYTES = 2 };

void die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

static unsigned char *read_file(const char *path, size_t *out_size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  unsigned char *bytes = malloc((size_t)size + 1);
  if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size) die("%s: cannot be read", path);
  fclose(f);
  *out_size = (size_t)size;
  return bytes;
}

static uint64_t varint(const unsigned char **at, const unsigned char *end) {
  uint64_t v = 0;
  for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
    unsigned char byte = *(*at)++;
    v |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return v;
  }
  die("a number in a tensor does not end");
}

static void add_dim(tensor *t, uint64_t dim) {
  if (t->rank == MAX_RANK) die("a tensor with more than %d dimensions", MAX_RANK);
  t->dims[t->rank++] = (int64_t)dim;
}

/* |*out_raw| is where the elements begin. */
static void parse(tensor *t, const unsigned char *at, const unsigned char *end, const unsigned char **out_raw) {
  while (at < end) {
    uint64_t key = varint(&at, end), value = varint(&at, end);
    if ((key & 7) == VARINT) {
      if (key >> 3 == FIELD_DIMS) add_dim(t, value);
      if (key >> 3 == FIELD_TYPE) t->type = (int)value;
      continue;
    }
    if ((key & 7) != BYTES || value > (uint64_t)(end - at)) die("not a tensor");
    const unsigned char *stop = at + value;
    if (key >> 3 == FIELD_RAW) *out_raw = at, t->n_bytes = value;
    if (key >> 3 == FIELD_DIMS)
      for (const unsigned char *p = at; p < stop;) add_dim(t, varint(&p, stop));
    at = stop;
  }
}

bool tensor_read(tensor *t, const char *folder, size_t index) {
  char path[4096];
  snprintf(path, sizeof path, "%s/input_%zu.pb", folder, index);
  size_t size;
  memset(t, 0, sizeof *t);
  unsigned char *file = read_file(path, &size);
  if (!file) return false;
  const unsigned char *raw = file;
  parse(t, file, file + size, &raw);
  void *aligned = NULL; /* raw_data stands anywhere in the file */
  if (posix_memalign(&aligned, 64, t->n_bytes + 64)) die("no memory for %s", path);
  if (t->n_bytes) memcpy(aligned, raw, t->n_bytes);
  free(file);
  t->bytes = aligned;
  return true;
}

size_t tensor_element_bytes(int type) {
  static const unsigned char bytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2, 1, 1, 1, 1};
  return type >= 0 && (size_t)type < sizeof bytes ? bytes[type] : 0;
}

static void put_varint(FILE *f, uint64_t v) {
  for (; v > 127; v >>= 7) fputc((int)(v & 127) | 128, f);
  fputc((int)v, f);
}

void tensor_write(const tensor *t, const char *folder, size_t index) {
  char path[4096];
  snprintf(path, sizeof path, "%s/output_%zu.pb", folder, index);
  FILE *f = fopen(path, "wb");
  if (!f) die("%s: cannot be written", path);
  for (size_t i = 0; i < t->rank; i++) put_varint(f, FIELD_DIMS << 3 | VARINT), put_varint(f, (uint64_t)t->dims[i]);
  put_varint(f, FIELD_TYPE << 3 | VARINT), put_varint(f, (uint64_t)t->type);
  put_varint(f, FIELD_RAW << 3 | BYTES), put_varint(f, t->n_bytes);
  bool complete = fwrite(t->bytes, 1, t->n_bytes, f) == t->n_bytes;
  if (fclose(f) != 0 || !complete) die("%s: cannot be written", path);
}
