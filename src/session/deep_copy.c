/* SPDX-License-Identifier: Apache-2.0
 * session/deep_copy.c - see deep_copy.h. */
#include "session/deep_copy.h"

static ox_status *copy_strings(ox_arena *a, const ox_tensor *from, ox_tensor *to) {
  size_t n = from->bytes / sizeof(ox_str);
  ox_str *items = ox_arena_array(a, n, sizeof *items);
  if (!items) return ox_oom();
  for (size_t i = 0; i < n; i++) {
    const ox_str *s = (const ox_str *)from->data + i;
    items[i] = (ox_str){ox_arena_str(a, s->p, s->n), s->n};
    if (!items[i].p) return ox_oom();
  }
  to->data = items;
  return NULL;
}

ox_status *ox_copy_deep(ox_arena *a, const ox_tensor *from, ox_tensor *to) {
  *to = *from;
  if (from->kind == OX_TENSOR) {
    if (from->dtype == OX_STRING) return copy_strings(a, from, to);
    to->data = ox_arena_copy(a, from->data, from->bytes);
    return to->data ? NULL : ox_oom();
  }
  if (from->kind == OX_SEQUENCE) {
    size_t n = (size_t)from->shape.dim[0];
    ox_tensor *items = ox_arena_array(a, n, sizeof *items);
    ox_tensor **list = ox_arena_array(a, n, sizeof *list);
    if (!items || !list) return ox_oom();
    for (size_t i = 0; i < n; i++) {
      OX_TRY(ox_copy_deep(a, ((const ox_tensor *const *)from->data)[i], &items[i]));
      list[i] = &items[i];
    }
    to->data = list;
  } else if (from->kind == OX_MAP || from->kind == OX_SPARSE) {
    ox_tensor *pair = ox_arena_array(a, 2, sizeof *pair);
    if (!pair) return ox_oom();
    for (int i = 0; i < 2; i++) OX_TRY(ox_copy_deep(a, (const ox_tensor *)from->data + i, &pair[i]));
    to->data = pair;
  }
  return NULL;
}

size_t ox_deep_bytes(const ox_tensor *t) {
  size_t sum = 0;
  if (t->kind == OX_TENSOR) {
    const ox_str *items = t->data;
    for (size_t i = 0; t->dtype == OX_STRING && i < t->bytes / sizeof *items; i++) sum += items[i].n;
    return sum + t->bytes;
  }
  if (t->kind == OX_SEQUENCE) {
    const ox_tensor *const *items = t->data;
    for (int64_t i = 0; i < t->shape.dim[0]; i++) sum += sizeof *t + sizeof t + ox_deep_bytes(items[i]);
  } else if (t->kind == OX_MAP || t->kind == OX_SPARSE) {
    const ox_tensor *pair = t->data;
    sum = 2 * sizeof *t + ox_deep_bytes(&pair[0]) + ox_deep_bytes(&pair[1]);
  }
  return sum;
}
