/* SPDX-License-Identifier: Apache-2.0
 * plan/compile.c - see compile.h. A cache file is a header and the provider's bytes. It is written under another name
 * and renamed, so that readers see all of it or none, and checked as a whole before the provider sees it. */
#include "plan/compile.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file_map.h"
#include "base/macros.h"
#include "plan/part_key.h"

enum { MAGIC = 0x43424f58 /* "XOBC" */, LAYOUT = 1, MOST_PATH = 4096 };

typedef struct {
  uint32_t magic, layout;
  ox_digest key, content;
  uint64_t bytes;
} file_head;

static ox_digest digest_of(const void *p, size_t n) {
  ox_digest d = ox_digest_init();
  ox_digest_bytes(&d, p, n);
  return d;
}

static bool same(ox_digest x, ox_digest y) { return x.a == y.a && x.b == y.b; }

static bool path_of(const ox_program_opts *o, ox_digest key, char *out) {
  int n = snprintf(out, MOST_PATH, "%s/%016llx%016llx.oxprogram", o->cache_dir, (unsigned long long)key.a,
                   (unsigned long long)key.b);
  return n > 0 && n < MOST_PATH;
}

static void warn(const ox_program_opts *o, const char *path, const char *what, const char *why) {
  ox_log_write(o->log, OX_LOG_WARNING, "provider '%s': cached program %s %s: %s", o->provider->api.name, path, what,
               why);
}

/* ---- reading ---- */

static ox_status *load_bytes(const ox_program_opts *o, const ox_graph_view *view, ox_digest key, const ox_file_map *map,
                             ox_program **out) {
  file_head head;
  size_t n = ox_file_map_bytes(map);
  if (n < sizeof head) return ox_fail(OX_FAIL, "it is cut short");
  memcpy(&head, ox_file_map_data(map), sizeof head);
  const unsigned char *bytes = ox_file_map_data(map) + sizeof head;
  if (head.magic != MAGIC || head.layout != LAYOUT || !same(head.key, key))
    return ox_fail(OX_FAIL, "it does not hold the program of this part");
  if (head.bytes != n - sizeof head || !same(head.content, digest_of(bytes, n - sizeof head)))
    return ox_fail(OX_FAIL, "its content is damaged");
  ox_program *loaded = NULL; /* whatever a failed call left here is ignored */
  OX_TRY(o->provider->api.load(o->provider->ep, view, bytes, n - sizeof head, &loaded));
  *out = loaded;
  return loaded ? NULL : ox_fail(OX_FAIL, "the provider returned no program");
}

/* *out stays NULL if there is none that can be used. */
static ox_status *from_cache(const ox_program_opts *o, const ox_graph_view *view, ox_digest key, ox_program **out) {
  char path[MOST_PATH];
  ox_file_map *map;
  if (!path_of(o, key, path) || access(path, F_OK)) return NULL;
  ox_status *st = ox_file_map_open(o->alloc, NULL, path, &map);
  if (!st) {
    st = load_bytes(o, view, key, map, out);
    ox_file_map_release(map);
  }
  if (ox_status_code(st) == OX_OUT_OF_MEMORY) return st;
  if (st)
    warn(o, path, "is not used", ox_status_message(st));
  else
    ox_log_write(o->log, OX_LOG_INFO, "provider '%s': program read from %s", o->provider->api.name, path);
  ox_status_free(st);
  return NULL;
}

/* ---- writing ---- */

typedef struct {
  FILE *file;
  uint64_t bytes;
} writer;

static ox_status *write_piece(void *ctx, const void *bytes, size_t n) {
  writer *w = ctx;
  w->bytes += n;
  return fwrite(bytes, 1, n, w->file) == n ? NULL : ox_fail(OX_FAIL, "%s", strerror(errno));
}

/* The head goes in last, over zeros: a file without it is not accepted. Its digest is that of the bytes as a reader
 * maps them, whatever pieces the provider wrote. */
static ox_status *write_head(FILE *f, ox_digest key, uint64_t bytes, const char *path, ox_alloc alloc) {
  ox_file_map *map;
  file_head head = {.magic = MAGIC, .layout = LAYOUT, .key = key, .bytes = bytes};
  if (fflush(f)) return ox_fail(OX_FAIL, "%s", strerror(errno));
  OX_TRY(ox_file_map_open(alloc, NULL, path, &map));
  if (ox_file_map_bytes(map) == sizeof head + bytes)
    head.content = digest_of(ox_file_map_data(map) + sizeof head, (size_t)bytes);
  ox_file_map_release(map);
  bool ok = !fseek(f, 0, SEEK_SET) && fwrite(&head, sizeof head, 1, f) == 1 && !fflush(f);
  return ok ? NULL : ox_fail(OX_FAIL, "%s", strerror(errno));
}

static ox_status *write_file(const ox_program_opts *o, ox_program *p, ox_digest key, const char *path) {
  static const file_head zeros;
  writer w = {.file = fopen(path, "wb")};
  if (!w.file) return ox_fail(OX_FAIL, "%s", strerror(errno));
  ox_status *st = fwrite(&zeros, sizeof zeros, 1, w.file) == 1 ? NULL : ox_fail(OX_FAIL, "%s", strerror(errno));
  if (!st) st = o->provider->api.save(p, write_piece, &w);
  if (!st) st = write_head(w.file, key, w.bytes, path, o->alloc);
  if (fclose(w.file) && !st) st = ox_fail(OX_FAIL, "%s", strerror(errno));
  return st;
}

static void to_cache(const ox_program_opts *o, ox_program *p, ox_digest key) {
  char path[MOST_PATH], draft[MOST_PATH + 32];
  static atomic_uint n_drafts; /* two threads may write the same program */
  if (!path_of(o, key, path)) {
    warn(o, o->cache_dir, "is not written", "the path is too long");
    return;
  }
  snprintf(draft, sizeof draft, "%s.%ld.%u", path, (long)getpid(), atomic_fetch_add(&n_drafts, 1));
  ox_status *st = write_file(o, p, key, draft);
  if (!st && rename(draft, path)) st = ox_fail(OX_FAIL, "%s", strerror(errno));
  if (st) {
    warn(o, path, "is not written", ox_status_message(st));
    (void)remove(draft);
  }
  ox_status_free(st);
}

ox_status *ox_program_make(const ox_program_opts *o, const ox_graph_view *view, ox_program **out_program) {
  const ox_provider *p = o->provider;
  ox_digest key = p->identity;
  bool cached = o->cache_dir && p->api.save;
  *out_program = NULL;
  if (cached) {
    ox_part_digest(&key, view->graph);
    OX_TRY(from_cache(o, view, key, out_program));
    if (*out_program) return ox_watch_status(view->graph->model->watch);
  }
  ox_program *made = NULL;
  OX_TRY(p->api.compile(p->ep, view, &made));
  *out_program = made;
  OX_TRY(ox_watch_status(view->graph->model->watch)); /* a call that saw it stops with what it has */
  if (!made) return ox_fail(OX_FAIL, "compile returned no program");
  if (cached) to_cache(o, *out_program, key);
  return NULL;
}
