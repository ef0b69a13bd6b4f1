/* SPDX-License-Identifier: Apache-2.0
 * device/kernel_cache.c - see kernel_cache.h. */
#include "plugins/device/kernel_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "plugins/device/fail.h"

enum { MOST_PATH = 4096 };

/* ---- the folder ---- */

/* May only this user write to |dir|? Anyone else who could might make this process run code of theirs. */
static bool is_ours_alone(const char *dir) {
  struct stat info;
  return !lstat(dir, &info) && S_ISDIR(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & 022);
}

static bool make_folder(const char *dir, mode_t mode) { return !mkdir(dir, mode) || errno == EEXIST; }

/* Creates the folder |of| + |below|, an absolute path, and "onyx" in it; false: not possible, or not safe. */
static bool folder_in(const char *of, const char *below, char *out) {
  if (!of || *of != '/') return false;
  int n = snprintf(out, MOST_PATH, "%s%s", of, below);
  if (n >= MOST_PATH - 8 || !make_folder(out, 0700)) return false;
  memcpy(out + n, "/onyx", 6);
  return make_folder(out, 0700) && is_ours_alone(out);
}

static bool default_folder(char *out) {
  if (dev_the_driver.keeps_builds) return false;
  const char *caches = getenv("XDG_CACHE_HOME");
  return caches && *caches ? folder_in(caches, "", out) : folder_in(getenv("HOME"), "/.cache", out);
}

ox_status *dev_kernel_cache_init(dev_kernel_cache *c, const ox_ep_host *host, const char *key, const char *where) {
  char folder[MOST_PATH];
  const char *wish = getenv("ONYX_KERNEL_CACHE");
  *c = (dev_kernel_cache){.host = host, .key = key};
  if (!*where && wish) where = wish;
  if (strcmp(where, "none") == 0 || (!*where && !default_folder(folder))) return NULL;
  const char *dir = *where ? where : folder;
  if (!make_folder(dir, 0777)) return dev_fail(host, OX_NO_SUCH_FILE, "kernel_cache_dir: %s: %s", dir, strerror(errno));
  c->dir_bytes = strlen(dir) + 1;
  if (!(c->dir = ox_new(host->alloc, c->dir_bytes))) return dev_no_memory(host);
  memcpy(c->dir, dir, c->dir_bytes);
  return NULL;
}

void dev_kernel_cache_deinit(dev_kernel_cache *c) {
  if (c->host) ox_delete(c->host->alloc, c->dir, c->dir_bytes);
}

/* ---- files, written under a temporary name and then renamed ---- */

static bool path_of(const dev_kernel_cache *c, const char *name, const char *text, char *out) {
  ox_digest d = ox_digest_init();
  ox_digest_text(&d, c->key);
  ox_digest_text(&d, text);
  int n = snprintf(out, MOST_PATH, "%s/%s-%s-%016llx%016llx", c->dir, dev_the_driver.name, name,
                   (unsigned long long)d.a, (unsigned long long)d.b);
  return n > 0 && n < MOST_PATH - 32;
}

void *dev_kernel_cache_read(const dev_kernel_cache *c, const char *name, const char *text, size_t *out_bytes) {
  char path[MOST_PATH];
  FILE *f = c->dir && path_of(c, name, text, path) ? fopen(path, "rb") : NULL;
  struct stat info;
  void *bytes = NULL;
  if (!f) return NULL;
  if (!fstat(fileno(f), &info) && info.st_size > 0 && (bytes = malloc((size_t)info.st_size))) {
    *out_bytes = (size_t)info.st_size;
    if (fread(bytes, 1, *out_bytes, f) != *out_bytes) {
      free(bytes);
      bytes = NULL;
    }
  }
  fclose(f);
  return bytes;
}

void dev_kernel_cache_write(const dev_kernel_cache *c, const char *name, const char *text, const void *bytes,
                            size_t n) {
  char path[MOST_PATH], temporary[MOST_PATH + 32];
  if (!c->dir || !path_of(c, name, text, path)) return;
  snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
  FILE *f = fopen(temporary, "wb");
  bool ok = f && fwrite(bytes, 1, n, f) == n;
  if (f) ok &= fclose(f) == 0;
  if (ok && rename(temporary, path) == 0) return;
  if (f) remove(temporary);
  c->host->log_text(c->host, 2, "device: the folder of built kernels cannot be written");
}
