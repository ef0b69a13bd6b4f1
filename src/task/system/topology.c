/* SPDX-License-Identifier: Apache-2.0
 * task/system/topology.c - the default size of a pool; counts for systems without a file of their own. */
#include "task/system/topology.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "onyx/task.h"

#if !defined(__linux__) && !defined(_WIN32)
uint64_t ox_topology_quota(const char *root) {
  (void)root;
  return 0;
}
#if !defined(__APPLE__)
#include <unistd.h>
uint32_t ox_topology_cpus(void) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (uint32_t)online : 1;
}
uint32_t ox_topology_fast(const char *root, const ox_cpu_mask *allowed) {
  (void)root, (void)allowed;
  return 0;
}
#endif
#endif

uint32_t ox_topology_usable(void) {
  uint64_t cpus = ox_topology_cpus(), quota = OX_CEIL_DIV(ox_topology_quota(""), 1000);
  return (uint32_t)(quota && quota < cpus ? quota : cpus);
}

uint32_t ox_pool_usable_cpus(void) { return ox_topology_usable(); }

/* A positive number at the start of the variable ("4" or OpenMP's list "4,2"); 0 if there is none. */
static uint32_t from_env(const char *name) {
  const char *text = getenv(name);
  if (!text) return 0;
  char *end;
  errno = 0;
  long n = strtol(text, &end, 10);
  if (end == text || (*end && *end != ',' && *end != ' ') || errno || n <= 0) return 0;
  return (uint32_t)OX_MIN(n, OX_POOL_MAX);
}

uint32_t ox_pool_default_size(void) {
  uint32_t n = from_env("ONYX_NUM_THREADS");
  if (!n) n = from_env("OMP_NUM_THREADS");
  if (!n) {
    /* A loop ends with its slowest thread: one on an efficiency core would make it slower, not faster. */
    ox_cpu_mask allowed = ox_thread_mask();
    uint32_t fast = ox_topology_fast("", &allowed);
    n = ox_topology_usable();
    if (fast) n = OX_MIN(n, fast);
  }
  return OX_MIN(n, (uint32_t)OX_POOL_MAX);
}
