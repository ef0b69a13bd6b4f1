/* SPDX-License-Identifier: Apache-2.0
 * base/cgroup.c - finds the folders of this process's group.
 * A limit holds for the whole subtree, so every parent's counts as well. In a container without its own cgroup
 * namespace /proc/self/cgroup shows the host's path while the mount shows only the container's part: the mount's root
 * is cut off, and where the path still does not exist the walk goes up until something does. */
#if defined(__linux__)
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

bool ox_cgroup_text(const char *dir, const char *file, char *text, size_t bytes) {
  char path[PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s/%s", dir, file);
  FILE *f = fopen(path, "re");
  if (!f) return false;
  size_t n = fread(text, 1, bytes - 1, f);
  fclose(f);
  text[n] = 0;
  return n > 0;
}

static bool has_word(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
    if ((p == list || p[-1] == ',') && (p[n] == ',' || p[n] == 0 || p[n] == '\n')) return true;
  return false;
}

/* The path of this process in the v2 hierarchy, or in the v1 hierarchy of |controller|. */
static bool own_path(const char *root, const char *controller, bool v2, char *out, size_t bytes) {
  char file[PATH_BYTES], line[PATH_BYTES];
  snprintf(file, sizeof file, "%.3000s/proc/self/cgroup", root);
  FILE *f = fopen(file, "re");
  if (!f) return false;
  bool found = false;
  while (!found && fgets(line, sizeof line, f)) { /* "4:cpu,cpuacct:/path" or "0::/path" */
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *controllers++ = 0, *path++ = 0;
    path[strcspn(path, "\n")] = 0;
    found = v2 ? strcmp(line, "0") == 0 && !*controllers : has_word(controllers, controller);
    if (found) snprintf(out, bytes, "%s", path);
  }
  fclose(f);
  return found;
}

/* The least that <mount>/<path> and its parents up to the mount allow. */
static uint64_t walk_up(const char *mount, const char *path, ox_cgroup_reader read) {
  char dir[PATH_BYTES + 64];
  size_t base = (size_t)snprintf(dir, sizeof dir, "%.2000s", mount);
  snprintf(dir + base, sizeof dir - base, "%.2000s", strcmp(path, "/") == 0 ? "" : path);
  uint64_t least = 0;
  for (;;) {
    uint64_t q = read(dir);
    if (q && (!least || q < least)) least = q;
    char *slash = strrchr(dir + base, '/');
    if (!slash) return least;
    *slash = 0;
  }
}

uint64_t ox_cgroup_least(const char *root, const char *controller, ox_cgroup_reader read_v1, ox_cgroup_reader read_v2) {
  char file[PATH_BYTES], line[PATH_BYTES], path[PATH_BYTES], mount[PATH_BYTES];
  snprintf(file, sizeof file, "%.3000s/proc/self/mountinfo", root);
  FILE *f = fopen(file, "re");
  if (!f) return 0;
  uint64_t least = 0;
  while (fgets(line, sizeof line, f)) { /* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - cgroup name rw,cpu" */
    char shown[1024], at[1024], type[32], options[512];
    char *tail = strstr(line, " - ");
    if (!tail || sscanf(line, "%*s %*s %*s %1023s %1023s", shown, at) != 2 ||
        sscanf(tail, " - %31s %*s %511s", type, options) != 2)
      continue;
    bool v2 = strcmp(type, "cgroup2") == 0;
    if (!v2 && (strcmp(type, "cgroup") != 0 || !has_word(options, controller))) continue;
    if (!own_path(root, controller, v2, path, sizeof path)) continue;
    size_t n = strcmp(shown, "/") == 0 ? 0 : strlen(shown);
    const char *inside = n && strncmp(path, shown, n) == 0 && (path[n] == '/' || !path[n]) ? path + n : path;
    snprintf(mount, sizeof mount, "%.2000s%s", root, at);
    uint64_t q = walk_up(mount, inside, v2 ? read_v2 : read_v1);
    if (q && (!least || q < least)) least = q;
  }
  fclose(f);
  return least;
}
#else
typedef int ox_cgroup_unused;
#endif
