/* SPDX-License-Identifier: Apache-2.0
 * base/file_map.c - POSIX mmap. */
#define _DEFAULT_SOURCE
#include "base/file_map.h"

#include <errno.h>
#include <fcntl.h>
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
};

ox_status *ox_file_map_open(ox_alloc alloc, const char *path, ox_file_map **out_map) {
  *out_map = NULL;
  ox_status *st = NULL;
  ox_file_map *m = NULL;
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ox_fail(OX_NO_SUCH_FILE, "%s: %s", path, strerror(errno));
  if (fstat(fd, &info) != 0) {
    st = ox_fail(OX_NO_SUCH_FILE, "%s: %s", path, strerror(errno));
    goto done;
  }
  if (!S_ISREG(info.st_mode)) {
    st = ox_fail(OX_NO_SUCH_FILE, "%s: not a regular file", path);
    goto done;
  }
  m = ox_new_zeroed(alloc, sizeof *m);
  if (!m) {
    st = ox_oom();
    goto done;
  }
  atomic_init(&m->refs, 1);
  m->alloc = alloc, m->bytes = (size_t)info.st_size;
  if (m->bytes) {
    void *p = mmap(NULL, m->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      st = ox_fail(OX_NO_SUCH_FILE, "%s: mapping failed: %s", path, strerror(errno));
      ox_delete(alloc, m, sizeof *m);
      goto done;
    }
    m->data = p;
  }
  *out_map = m;
done:
  close(fd);
  return st;
}

const unsigned char *ox_file_map_data(const ox_file_map *m) { return m->data; }
size_t ox_file_map_bytes(const ox_file_map *m) { return m->bytes; }

ox_file_map *ox_file_map_retain(ox_file_map *m) {
  if (m) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
  return m;
}

void ox_file_map_release(ox_file_map *m) {
  /* acq_rel: the last release sees every use by the others (pairs with itself) */
  if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
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
