/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_file_read.c - see ort_file_read.h. */
#include "ort/plugin/ort_file_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_status.h"

OrtStatus *ort_file_read(const char *path, unsigned char **out, size_t *out_n) {
  FILE *f = fopen(path, "rb");
  *out_n = 0;
  if (f == NULL) return ort_fail(ORT_NO_SUCHFILE, "Load model %s failed. %s", path, strerror(errno));
  long n = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
  rewind(f);
  *out = n >= 0 ? malloc((size_t)n + 1) : NULL;
  bool whole = *out != NULL && fread(*out, 1, (size_t)n, f) == (size_t)n;
  fclose(f);
  *out_n = (size_t)n;
  if (whole) return NULL;
  bool memory = n >= 0 && *out == NULL;
  free(*out);
  *out = NULL;
  return memory ? ort_out_of_memory() : ort_fail(ORT_FAIL, "Load model %s failed: it cannot be read", path);
}
