/* SPDX-License-Identifier: Apache-2.0
 * base/file_replace.c - see file_replace.h. */
#define _DEFAULT_SOURCE /* realpath, fchmod */
#include "base/file_replace.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* |r->target| and |r->draft|; false: a path is too long. */
static bool name_files(ox_file_replace *r, const char *path, bool in_place) {
  static atomic_uint n_drafts; /* two threads may write the same file */
  char *real = realpath(path, NULL);
  int n = snprintf(r->target, sizeof r->target, "%s", real ? real : path);
  free(real);
  if (n < 0 || (size_t)n >= sizeof r->target) return false;
  if (in_place)
    memcpy(r->draft, r->target, sizeof r->target);
  else
    snprintf(r->draft, sizeof r->draft, "%s.%ld.%u.part", r->target, (long)getpid(), atomic_fetch_add(&n_drafts, 1));
  return true;
}

bool ox_file_replace_open(ox_file_replace *r, const char *path) {
  struct stat s;
  bool there = stat(path, &s) == 0;
  r->file = NULL;
  if (!*path) {
    errno = ENOENT;
    return false;
  }
  if (!name_files(r, path, there && !S_ISREG(s.st_mode))) {
    errno = ENAMETOOLONG;
    return false;
  }
  r->file = fopen(r->draft, "wb");
  if (r->file && there && S_ISREG(s.st_mode)) (void)fchmod(fileno(r->file), s.st_mode & 07777);
  return r->file != NULL;
}

bool ox_file_replace_close(ox_file_replace *r, bool keep) {
  bool in_place = strcmp(r->draft, r->target) == 0;
  bool ok = !ferror(r->file);
  int why = ok ? 0 : EIO;
  if (fclose(r->file) != 0) ok = false, why = errno;
  r->file = NULL;
  if (ok && keep && !in_place && rename(r->draft, r->target) != 0) ok = false, why = errno;
  if ((!ok || !keep) && !in_place) (void)remove(r->draft);
  errno = why;
  return ok;
}
