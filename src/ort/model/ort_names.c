/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_names.c - see ort_names.h. */
#include "ort/model/ort_names.h"

#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_graph.h"

void ort_names_deinit(ort_names *names) { free(names->items); }

bool ort_names_add(ort_names *names, const char *name) {
  if (!ort_room_for((void **)&names->items, &names->room, names->n, sizeof *names->items)) return false;
  names->items[names->n++] = name;
  return true;
}

static int compare(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

void ort_names_sort(ort_names *names) {
  if (names->n > 0) qsort(names->items, names->n, sizeof *names->items, compare);
}

bool ort_names_have(const ort_names *names, const char *name) {
  return names->n > 0 && bsearch(&name, names->items, names->n, sizeof *names->items, compare) != NULL;
}
