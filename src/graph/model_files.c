/* SPDX-License-Identifier: Apache-2.0
 * graph/model_files.c - the mapped files that a model's constants lie in. */
#include "graph/graph.h"
#include "graph/grow32.h"

ox_status *ox_model_keep_file(ox_model *m, ox_file_map *map, const char *name) {
  if (!ox_grow32(m->alloc, (void **)&m->files, &m->cap_files, m->n_files, sizeof *m->files)) return ox_oom();
  m->files[m->n_files++] = (ox_model_file){map, name};
  return NULL;
}

const char *ox_model_file_of(const ox_model *m, const ox_tensor *t, uint64_t *out_offset) {
  uintptr_t at = (uintptr_t)t->data;
  if (t->kind != OX_TENSOR || !t->bytes) return NULL;
  for (uint32_t i = 0; i < m->n_files; i++) {
    uintptr_t first = (uintptr_t)ox_file_map_data(m->files[i].map);
    if (!m->files[i].name || at < first || at - first >= ox_file_map_bytes(m->files[i].map)) continue;
    *out_offset = at - first;
    return m->files[i].name;
  }
  return NULL;
}

void ox_model_drop_pages(const ox_model *m, const ox_tensor *t) {
  for (uint32_t i = 0; i < m->n_files; i++) ox_file_map_drop(m->files[i].map, t->data, t->bytes);
}
