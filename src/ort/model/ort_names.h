/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_names.h - a set of names. */
#ifndef OX_ORT_NAMES_H
#define OX_ORT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ort_names {
  const char **items; /* borrowed */
  size_t n, room;
} ort_names;

void ort_names_deinit(ort_names *names);
bool ort_names_add(ort_names *names, const char *name); /* false: out of memory */
/* After the last add. */
void ort_names_sort(ort_names *names);
bool ort_names_have(const ort_names *names, const char *name);

#endif
