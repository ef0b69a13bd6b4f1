/* SPDX-License-Identifier: Apache-2.0
 * session/find_plugin.c - see find_plugin.h. The working directory and the loader's own paths are not searched: only
 * whoever installed the library or set the variable chooses what runs in this process. */
#define _GNU_SOURCE /* dladdr, realpath */
#include "session/find_plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onyx/onyx.h"

static bool is_word(const char *name) {
  size_t n = strlen(name);
  return n > 0 && n < 64 && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == n;
}

/* Two names may be the same folder. */
static bool was_there(const ox_plugin_search *s, const char *folder) {
  size_t n = strlen(folder);
  for (const char *p = strstr(s->looked, folder); p; p = strstr(p + n, folder))
    if (p[n] == ',' || !p[n]) return true;
  return false;
}

static void note(ox_plugin_search *s, const char *place) {
  size_t n = strlen(s->looked);
  snprintf(s->looked + n, sizeof s->looked - n, "%s%s", n ? ", " : "", place);
}

/* |file| in |folder|, whose text need not end there. */
static bool is_in(ox_plugin_search *s, const char *folder, size_t n_folder, const char *file) {
  int n = snprintf(s->path, sizeof s->path, "%.*s/%s", (int)n_folder, folder, file);
  return n > 0 && (size_t)n < sizeof s->path && access(s->path, R_OK) == 0;
}

/* Entries are folders, or files by their whole path. */
static bool in_variable(ox_plugin_search *s, const char *file) {
  const char *list = getenv("ONYX_PLUGINS");
  size_t n_file = strlen(file);
  if (!list || !*list) return false;
  note(s, "ONYX_PLUGINS");
  for (const char *p = list; *p; p += *p == ':') {
    size_t n = strcspn(p, ":");
    bool is_it = n > n_file && p[n - n_file - 1] == '/' && strncmp(p + n - n_file, file, n_file) == 0;
    if (n > 0 && n < sizeof s->path && (is_it ? is_in(s, p, n - n_file - 1, file) : is_in(s, p, n, file))) return true;
    p += n;
  }
  return false;
}

/* The real folder of the library, or of the program, that has this code. */
static char *own_folder(void) {
  Dl_info self;
  char *path = dladdr((void *)(uintptr_t)ox_plugin_find, &self) && strchr(self.dli_fname, '/')
                   ? realpath(self.dli_fname, NULL)
                   : NULL;
  if (!path) path = realpath("/proc/self/exe", NULL); /* a program that was found by its name alone */
  char *end = path ? strrchr(path, '/') : NULL;
  if (end) *end = 0;
  return path;
}

/* The command has the same name as the folder of its plug-ins. */
static bool is_folder(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool beside_the_library(ox_plugin_search *s, const char *file) {
  static const char *const places[] = {"onyx", ".", "../lib/onyx", "../lib", "../" OX_LIBDIR "/onyx"};
  char *own = own_folder(), folder[OX_MOST_PATH];
  bool found = false;
  for (size_t i = 0; own && !found && i < sizeof places / sizeof *places; i++) {
    int n = snprintf(folder, sizeof folder, "%s/%s", own, places[i]);
    char *real = n > 0 && (size_t)n < sizeof folder ? realpath(folder, NULL) : NULL;
    if (!real) continue;
    if (is_folder(real) && !was_there(s, real)) {
      note(s, real);
      found = is_in(s, real, strlen(real), file);
    }
    free(real);
  }
  free(own);
  return found;
}

bool ox_plugin_find(const char *name, ox_plugin_search *out) {
  char file[96];
  out->path[0] = 0, out->looked[0] = 0;
  if (!is_word(name)) return false;
  snprintf(file, sizeof file, "libonyx-%s.so", name);
  return in_variable(out, file) || beside_the_library(out, file);
}
