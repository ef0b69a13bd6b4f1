/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_list.c - see ort_list.h. */
#include "ort/ort_list.h"

#include <stdlib.h>
#include <string.h>

OrtStatus *ort_list_grow(void *list, size_t n, size_t bytes) {
  void *p;
  memcpy(&p, list, sizeof p);
  p = realloc(p, (n + 1) * bytes);
  if (p == NULL) return ort_out_of_memory();
  memset((char *)p + n * bytes, 0, bytes);
  memcpy(list, &p, sizeof p);
  return NULL;
}
