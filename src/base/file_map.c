/* SPDX-License-Identifier: Apache-2.0
 * base/file_map.c - POSIX mmap. */
#define _GNU_SOURCE /* O_PATH */
#include "base/file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct ox_file_map {
  atomic_size_t refs;
  ox_alloc alloc;
  unsigned char *data; /* NULL for an empty file */
  size_t bytes;
  ox_file_maps *maps; /* that this is one of, or NULL */
  ox_file_map *next;
  dev_t device; /* which file it is: while it is mapped no other file has its inode */
  ino_t inode;
};

void ox_file_maps_init(ox_file_maps *maps) {
  pthread_mutex_init(&maps->lock, NULL);
  maps->first = NULL;
}

void ox_file_maps_deinit(ox_file_maps *maps) { pthread_mutex_destroy(&maps->lock); }

static ox_status *no_file(const char *path) { return ox_fail(OX_NO_SUCH_FILE, "%s: %s", path, strerror(errno)); }

static ox_status *map_file(ox_alloc alloc, const char *path, int fd, const struct stat *info, ox_file_map **out_map) {
  ox_file_map *m = ox_new_zeroed(alloc, sizeof *m);
  if (!m) return ox_oom();
  atomic_init(&m->refs, 1);
  m->alloc = alloc, m->bytes = (size_t)info->st_size, m->device = info->st_dev, m->inode = info->st_ino;
  if (m->bytes) {
    void *p = mmap(NULL, m->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      ox_delete(alloc, m, sizeof *m);
      return ox_fail(OX_NO_SUCH_FILE, "%s: mapping failed: %s", path, strerror(errno));
    }
    m->data = p;
  }
  *out_map = m;
  return NULL;
}

/* A file that has grown is mapped again. */
static ox_file_map *find(const ox_file_maps *maps, const struct stat *info) {
  ox_file_map *m = maps->first;
  while (m && !(m->device == info->st_dev && m->inode == info->st_ino && m->bytes == (size_t)info->st_size))
    m = m->next;
  return m;
}

static ox_status *share_file(ox_alloc alloc, ox_file_maps *maps, const char *path, int fd, const struct stat *info,
                             ox_file_map **out_map) {
  ox_status *st = NULL;
  pthread_mutex_lock(&maps->lock);
  *out_map = ox_file_map_retain(find(maps, info));
  if (!*out_map) st = map_file(alloc, path, fd, info, out_map);
  ox_file_map *m = *out_map;
  if (m && !m->maps) m->maps = maps, m->next = maps->first, maps->first = m;
  pthread_mutex_unlock(&maps->lock);
  return st;
}

/* Nothing is said of a path that is not asked of the descriptor: what was opened is what is mapped. A pipe or a device
 * must not keep us waiting before we know what it is. */
enum { HOW = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
#ifdef O_PATH
enum { HOW_FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC };
#else
enum { HOW_FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
#endif

/* |fd|, of |path|; closes it. */
static ox_status *open_map(ox_alloc alloc, ox_file_maps *maps, const char *path, int fd, ox_file_map **out_map) {
  ox_status *st = NULL;
  struct stat info;
  if (fd < 0) return no_file(path);
  if (fstat(fd, &info) != 0)
    st = no_file(path);
  else if (!S_ISREG(info.st_mode))
    st = ox_fail(OX_NO_SUCH_FILE, "%s: not a regular file", path);
  else if (maps)
    st = share_file(alloc, maps, path, fd, &info, out_map);
  else
    st = map_file(alloc, path, fd, &info, out_map);
  close(fd);
  return st;
}

ox_status *ox_file_map_open(ox_alloc alloc, ox_file_maps *maps, const char *path, ox_file_map **out_map) {
  *out_map = NULL;
  return open_map(alloc, maps, path, open(path, HOW), out_map);
}

/* Folder by folder: a link that has been put in the way meanwhile is not followed. -1 with errno. */
static int open_beneath(const char *root, const char *path) {
  char name[NAME_MAX + 1];
  int dir = open(root, HOW_FOLDER);
  while (dir >= 0) {
    const char *slash = strchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : strlen(path);
    if (n >= sizeof name) {
      close(dir);
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(name, path, n), name[n] = 0;
    int next = openat(dir, name, (slash ? HOW_FOLDER : HOW) | O_NOFOLLOW), error = errno;
    close(dir);
    errno = error;
    if (!slash || next < 0) return next;
    dir = next, path = slash + 1;
  }
  return -1;
}

ox_status *ox_file_map_open_beneath(ox_alloc alloc, ox_file_maps *maps, const char *root, const char *path,
                                    ox_file_map **out_map) {
  *out_map = NULL;
  return open_map(alloc, maps, path, open_beneath(root, path), out_map);
}

const unsigned char *ox_file_map_data(const ox_file_map *m) { return m->data; }
size_t ox_file_map_bytes(const ox_file_map *m) { return m->bytes; }

ox_file_map *ox_file_map_retain(ox_file_map *m) {
  if (m) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
  return m;
}

/* The last count of a shared map goes under the lock, so that no thread finds it meanwhile. */
void ox_file_map_release(ox_file_map *m) {
  ox_file_maps *maps = m ? m->maps : NULL;
  if (!m) return;
  if (maps) pthread_mutex_lock(&maps->lock);
  /* acq_rel: the last release sees every use by the others (pairs with itself) */
  bool last = atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1;
  for (ox_file_map **at = maps ? &maps->first : NULL; last && at && *at; at = &(*at)->next)
    if (*at == m) {
      *at = m->next;
      break;
    }
  if (maps) pthread_mutex_unlock(&maps->lock);
  if (!last) return;
  if (m->data) munmap(m->data, m->bytes);
  ox_delete(m->alloc, m, sizeof *m);
}

void ox_file_map_drop(const ox_file_map *m, const void *p, size_t bytes) {
  const unsigned char *at = p;
  if (!m->data || at < m->data || at >= m->data + m->bytes) return;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = ((uintptr_t)at + page - 1) & ~(page - 1), to = ((uintptr_t)at + bytes) & ~(page - 1);
  if (to > from) (void)madvise((void *)from, to - from, MADV_DONTNEED);
}
