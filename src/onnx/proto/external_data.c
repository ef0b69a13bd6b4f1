/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/external_data.c - the file must be given by a relative path and really lie inside the model's folder.
 * Links may lead from one place in it to another: the real path is found first, and opened without following any. */
#if defined(__linux__)
#define _XOPEN_SOURCE 700 /* realpath */
#endif
#include "onnx/proto/external_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cksize.h"

void ox_external_init(ox_external *e, ox_model *model, const char *dir, const char *model_path, ox_file_maps *files) {
  *e = (ox_external){.alloc = model->alloc, .model = model, .files = files};
  ox_map_init(&e->by_path, e->alloc);
  if (!dir) return;
  e->roots[0] = realpath(dir, NULL);
  if (!model_path) return;
  char *real = realpath(model_path, NULL);
  char *slash = real ? strrchr(real, '/') : NULL;
  if (!slash) {
    free(real);
    return;
  }
  slash[slash == real] = 0;
  e->roots[1] = real;
}

void ox_external_deinit(ox_external *e) {
  for (size_t i = 0; i < OX_COUNT(e->roots); i++) free(e->roots[i]);
  ox_map_deinit(&e->by_path);
  ox_delete(e->alloc, e->maps, e->cap_maps * sizeof *e->maps);
  *e = (ox_external){0};
}

/* Relative, not empty, no "..", no NUL. */
static bool location_ok(ox_str s) {
  if (!s.n || s.p[0] == '/' || memchr(s.p, 0, s.n)) return false;
  for (size_t i = 0; i < s.n;) {
    size_t len = 0;
    while (i + len < s.n && s.p[i + len] != '/') len++;
    if (len == 2 && memcmp(s.p + i, "..", 2) == 0) return false;
    i += len + 1;
  }
  return true;
}

/* The way from the folder |root| to |path|; NULL: it lies elsewhere. */
static const char *way_to(const char *root, const char *path) {
  if (!root) return NULL;
  size_t n = strlen(root);
  if (n == 1) return path + 1; /* the file system's root */
  return strncmp(root, path, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static ox_status *keep(ox_external *e, const char *root, const char *way, const char *location, uint32_t *out_index) {
  ox_file_map *map = NULL;
  if (!ox_grow(e->alloc, (void **)&e->maps, &e->cap_maps, e->n_maps, sizeof *e->maps)) return ox_oom();
  OX_TRY(ox_file_map_open_beneath(e->alloc, e->files, root, way, &map));
  ox_status *st = ox_model_keep_file(e->model, map, location);
  if (st) {
    ox_file_map_release(map);
    return st;
  }
  *out_index = (uint32_t)e->n_maps;
  e->maps[e->n_maps++] = map;
  return NULL;
}

/* The map of the file behind |location|, opened at its first use. */
static ox_status *map_of(ox_external *e, const char *location, uint32_t *out_index) {
  *out_index = ox_map_find(&e->by_path, location);
  if (*out_index != OX_NONE) return NULL;
  ox_status *st = NULL;
  size_t n = strlen(e->roots[0]) + 1 + strlen(location) + 1;
  char *path = malloc(n), *real = NULL, *kept;
  if (!path) return ox_oom();
  strcpy(path, e->roots[0]);
  strcat(path, "/");
  strcat(path, location);
  real = realpath(path, NULL);
  if (!real) {
    st = errno == ENOMEM ? ox_oom() : ox_fail(OX_NO_SUCH_FILE, "external data %s: %s", path, strerror(errno));
    goto done;
  }
  const char *way = way_to(e->roots[0], real), *root = way ? e->roots[0] : e->roots[1];
  if (!way) way = way_to(root, real);
  if (!way) {
    st = ox_fail(OX_INVALID_MODEL, "external data '%s' leads out of the model's folder", location);
    goto done;
  }
  *out_index = ox_map_find(&e->by_path, real);
  if (*out_index == OX_NONE) {
    OX_TRY_TO(done, st, keep(e, root, way, location, out_index));
    kept = ox_arena_str(&e->model->arena, real, strlen(real));
    if (!kept || !ox_map_put(&e->by_path, kept, *out_index)) {
      st = ox_oom();
      goto done;
    }
  }
  if (!ox_map_put(&e->by_path, location, *out_index)) st = ox_oom();
done:
  free(real);
  free(path);
  return st;
}

static ox_status *open_file(ox_external *e, ox_str name, ox_memory_file *out) {
  uint32_t index;
  char *location = ox_arena_str(&e->model->arena, name.p, name.n);
  if (!location) return ox_oom();
  OX_TRY(map_of(e, location, &index));
  *out = (ox_memory_file){location, ox_file_map_data(e->maps[index]), ox_file_map_bytes(e->maps[index])};
  return NULL;
}

/* A decimal number; false if it is not one or does not fit. */
static bool decimal(ox_str s, size_t *out) {
  size_t v = 0;
  if (!s.n) return false;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] < '0' || s.p[i] > '9') return false;
    if (!ox_mul_ok(v, 10, &v) || !ox_add_ok(v, (size_t)(s.p[i] - '0'), &v)) return false;
  }
  *out = v;
  return true;
}

/* The caller's file for |location|, or NULL. */
static const ox_memory_file *find_given(const ox_external *e, ox_str location) {
  for (size_t i = 0; e && i < e->n_given; i++)
    if (strlen(e->given[i].name) == location.n && memcmp(e->given[i].name, location.p, location.n) == 0)
      return &e->given[i];
  return NULL;
}

ox_status *ox_external_find(ox_external *e, const ox_external_ref *ref, size_t bytes, void **out_data) {
  *out_data = NULL;
  int n = (int)OX_MIN(ref->location.n, 200);
  const ox_memory_file *given = find_given(e, ref->location);
  if (!given && (!e || !e->roots[0]))
    return ox_fail(OX_INVALID_MODEL, "its data is in the file '%.*s', but the model's folder is not known", n,
                   ref->location.p ? ref->location.p : "");
  if (!given && !location_ok(ref->location))
    return ox_fail(OX_INVALID_MODEL, "external data '%.*s' is not a path inside the model's folder", n,
                   ref->location.p ? ref->location.p : "");
  size_t offset = 0, length = bytes, end;
  if (ref->offset.p && !decimal(ref->offset, &offset))
    return ox_fail(OX_INVALID_MODEL, "the external data's offset is not a number");
  if (ref->length.p && !decimal(ref->length, &length))
    return ox_fail(OX_INVALID_MODEL, "the external data's length is not a number");
  if (length != bytes)
    return ox_fail(OX_INVALID_MODEL, "external data has length %zu, but type and shape ask for %zu", length, bytes);
  ox_memory_file file = {0};
  if (given)
    file = *given;
  else
    OX_TRY(open_file(e, ref->location, &file));
  if (!ox_add_ok(offset, bytes, &end) || end > file.n)
    return ox_fail(OX_INVALID_MODEL, "external data '%.*s' has %zu bytes, the tensor needs %zu from offset %zu on", n,
                   ref->location.p, file.n, bytes, offset);
  if (bytes) *out_data = (void *)((uintptr_t)file.bytes + offset);
  return NULL;
}
