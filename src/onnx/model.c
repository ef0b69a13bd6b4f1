/* SPDX-License-Identifier: Apache-2.0
 * onnx/model.c - models from bytes or from a mapped file. */
#include "onnx/model.h"

#include <string.h>

#include "onnx/proto/reader.h"

/* |dir| and |path|: the file's, if there is one. */
static ox_status *fill(ox_model *m, const unsigned char *bytes, size_t n, const ox_read_opts *opts, const char *dir,
                       const char *path) {
  ox_read_source from = {.dir = dir, .path = path};
  if (!opts) return ox_model_fill(m, bytes, n, NULL, &from);
  m->watch = opts->watch;
  ox_read_limits limits = {opts->max_depth, opts->max_nodes, opts->max_dense_bytes};
  if (opts->base_dir) from.dir = opts->base_dir;
  from.files = opts->files, from.given = opts->given, from.n_given = opts->n_given;
  from.n_optional = opts->n_optional;
  from.memory_files = opts->memory_files, from.n_memory_files = opts->n_memory_files;
  from.denotations = opts->denotations;
  return ox_model_fill(m, bytes, n, &limits, &from);
}

ox_status *ox_model_read(ox_alloc alloc, const unsigned char *bytes, size_t n, const ox_read_opts *opts,
                         ox_model **out_model) {
  ox_status *st = NULL;
  ox_model *m = NULL;
  *out_model = NULL;
  OX_TRY_TO(done, st, ox_model_create(alloc, opts ? opts->registry : NULL, &m));
  OX_TRY_TO(done, st, fill(m, bytes, n, opts, NULL, NULL));
  *out_model = m, m = NULL;
done:
  ox_model_destroy(m);
  return st;
}

/* The folder of |path| in |arena|. */
static const char *dir_of(ox_arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return ".";
  return ox_arena_str(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

ox_status *ox_model_read_file(ox_alloc alloc, const char *path, const ox_read_opts *opts, ox_model **out_model) {
  ox_status *st = NULL;
  ox_model *m = NULL;
  ox_file_map *map = NULL;
  const ox_file_map *kept;
  const char *dir;
  *out_model = NULL;
  OX_TRY_TO(done, st, ox_file_map_open(alloc, opts ? opts->files : NULL, path, &map));
  OX_TRY_TO(done, st, ox_model_create(alloc, opts ? opts->registry : NULL, &m));
  OX_TRY_TO(done, st, ox_model_keep_file(m, map, NULL));
  kept = map, map = NULL;
  dir = dir_of(&m->arena, path), m->path = ox_arena_str(&m->arena, path, strlen(path));
  if (!dir || !m->path) {
    st = ox_oom();
    goto done;
  }
  OX_TRY_TO(done, st, fill(m, ox_file_map_data(kept), ox_file_map_bytes(kept), opts, dir, path));
  *out_model = m, m = NULL;
done:
  ox_model_destroy(m);
  ox_file_map_release(map);
  return st;
}
