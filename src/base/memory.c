/* SPDX-License-Identifier: Apache-2.0
 * base/memory.c - the machine's memory, and what a container has of it. */
#if defined(__linux__)
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/macros.h"

/* "max", and in v1 a number near the largest, stand for no limit. */
static uint64_t limit_in(const char *dir, const char *file) {
  char text[64];
  if (!ox_cgroup_text(dir, file, text, sizeof text) || text[0] < '0' || text[0] > '9') return 0;
  uint64_t limit = strtoull(text, NULL, 10);
  return limit < (uint64_t)1 << 60 ? limit : 0;
}

static uint64_t limit_v1(const char *dir) { return limit_in(dir, "memory.limit_in_bytes"); }
static uint64_t limit_v2(const char *dir) { return limit_in(dir, "memory.max"); }

static uint64_t machine(const char *root) {
  char dir[3072], text[512];
  unsigned long long kib;
  snprintf(dir, sizeof dir, "%.3000s/proc", root);
  const char *at = ox_cgroup_text(dir, "meminfo", text, sizeof text) ? strstr(text, "MemTotal:") : NULL;
  return at && sscanf(at, "MemTotal: %llu kB", &kib) == 1 && kib < 1ull << 50 ? kib << 10 : 0;
}

uint64_t ox_memory_usable(const char *root) {
  uint64_t all = machine(root), group = ox_cgroup_least(root, "memory", limit_v1, limit_v2);
  return all && group ? OX_MIN(all, group) : OX_MAX(all, group);
}
#else
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE
#include <stddef.h>
#include <sys/sysctl.h>
#endif
#include "base/memory.h"

uint64_t ox_memory_usable(const char *root) {
  (void)root;
#if defined(_WIN32)
  MEMORYSTATUSEX s = {.dwLength = sizeof s};
  return GlobalMemoryStatusEx(&s) ? s.ullTotalPhys : 0;
#elif defined(__APPLE__)
  uint64_t all = 0;
  size_t bytes = sizeof all;
  return sysctlbyname("hw.memsize", &all, &bytes, NULL, 0) == 0 ? all : 0;
#else
  return 0;
#endif
}
#endif
