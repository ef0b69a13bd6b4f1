/* SPDX-License-Identifier: Apache-2.0
 * task/system/topology_linux.c - affinity mask, cgroup quota, kinds of processors. */
#if defined(__linux__)
#define _GNU_SOURCE
#include "task/system/topology.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/macros.h"

enum { PATH_BYTES = 4096, MASK_CPUS = 1024 };
_Static_assert(sizeof(ox_cpu_mask) * 8 == MASK_CPUS, "one bit for each");

uint32_t ox_topology_cpus(void) {
  for (int n = 1024; n <= 1 << 20; n *= 4) { /* the kernel refuses a mask smaller than its own */
    cpu_set_t *set = CPU_ALLOC((size_t)n);
    if (!set) break;
    size_t bytes = CPU_ALLOC_SIZE((size_t)n);
    int rc = sched_getaffinity(0, bytes, set), count = rc == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return (uint32_t)count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (uint32_t)online : 1;
}

/* Thousandths of a processor allowed by the files of one folder; 0: no limit. */
static uint64_t quota_v2(const char *dir) {
  char text[128];
  unsigned long long quota = 0, period = 0;
  if (!ox_cgroup_text(dir, "cpu.max", text, sizeof text) || sscanf(text, "%llu %llu", &quota, &period) != 2 || !period)
    return 0; /* "max 100000" does not scan as a number */
  return quota > 1ull << 50 ? 0 : (quota * 1000 + period - 1) / period;
}

static uint64_t quota_v1(const char *dir) {
  char a[64], b[64];
  if (!ox_cgroup_text(dir, "cpu.cfs_quota_us", a, sizeof a) || !ox_cgroup_text(dir, "cpu.cfs_period_us", b, sizeof b))
    return 0;
  long long quota = atoll(a), period = atoll(b); /* -1: no limit */
  return quota <= 0 || period <= 0 || quota > 1ll << 50
             ? 0
             : ((uint64_t)quota * 1000 + (uint64_t)period - 1) / (uint64_t)period;
}

uint64_t ox_topology_quota(const char *root) { return ox_cgroup_least(root, "cpu", quota_v1, quota_v2); }

static bool has_cpu(const ox_cpu_mask *mask, uint32_t cpu) { return mask->bits[cpu / 64] >> cpu % 64 & 1; }

/* Reads a list such as "0-7,16". */
static bool read_cpus(const char *dir, ox_cpu_mask *out) {
  char text[PATH_BYTES], *p = text;
  memset(out, 0, sizeof *out);
  if (!ox_cgroup_text(dir, "cpus", text, sizeof text)) return false;
  for (char *end;; p = end + 1) {
    unsigned long first = strtoul(p, &end, 10), last = first;
    if (end == p) return false;
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    for (unsigned long i = first; i <= last && i < MASK_CPUS; i++) out->bits[i / 64] |= (uint64_t)1 << i % 64;
    if (*end != ',') return true;
  }
}

/* x86 names both kinds. */
static bool kinds_by_name(const char *root, ox_cpu_mask *out_fast, ox_cpu_mask *out_thrifty) {
  char dir[PATH_BYTES];
  snprintf(dir, sizeof dir, "%.3000s/sys/devices/cpu_core", root);
  if (!read_cpus(dir, out_fast)) return false;
  snprintf(dir, sizeof dir, "%.3000s/sys/devices/cpu_atom", root);
  return read_cpus(dir, out_thrifty);
}

/* Arm tells each processor's capacity; a fast one has more than half of the largest. */
static bool kinds_by_capacity(const char *root, const ox_cpu_mask *allowed, ox_cpu_mask *out_fast,
                              ox_cpu_mask *out_thrifty) {
  long capacity[MASK_CPUS] = {0}, most = 0;
  for (uint32_t i = 0; i < MASK_CPUS; i++) {
    char dir[PATH_BYTES], text[32];
    if (!has_cpu(allowed, i)) continue;
    snprintf(dir, sizeof dir, "%.3000s/sys/devices/system/cpu/cpu%u", root, (unsigned)i);
    if (!ox_cgroup_text(dir, "cpu_capacity", text, sizeof text)) {
      if (!most) return false; /* the usual machine: one try and no more */
      continue;
    }
    capacity[i] = atol(text);
    most = OX_MAX(most, capacity[i]);
  }
  memset(out_fast, 0, sizeof *out_fast), memset(out_thrifty, 0, sizeof *out_thrifty);
  for (uint32_t i = 0; i < MASK_CPUS; i++)
    if (capacity[i] > 0) (capacity[i] > most / 2 ? out_fast : out_thrifty)->bits[i / 64] |= (uint64_t)1 << i % 64;
  return true;
}

uint32_t ox_topology_fast(const char *root, const ox_cpu_mask *allowed) {
  ox_cpu_mask fast, thrifty, all;
  uint32_t n_fast = 0, n_thrifty = 0;
  memset(&all, 0xff, sizeof all);
  const ox_cpu_mask none = {{0}};
  if (memcmp(allowed, &none, sizeof none) == 0) allowed = &all;
  if (!kinds_by_name(root, &fast, &thrifty) && !kinds_by_capacity(root, allowed, &fast, &thrifty)) return 0;
  for (size_t i = 0; i < OX_COUNT(all.bits); i++) {
    n_fast += (uint32_t)__builtin_popcountll(fast.bits[i] & allowed->bits[i]);
    n_thrifty += (uint32_t)__builtin_popcountll(thrifty.bits[i] & allowed->bits[i]);
  }
  return n_thrifty ? n_fast : 0;
}
#else
typedef int ox_topology_linux_unused;
#endif
