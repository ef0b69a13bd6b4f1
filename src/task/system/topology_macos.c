/* SPDX-License-Identifier: Apache-2.0
 * task/system/topology_macos.c - processor counts from sysctl. There are neither affinity masks nor quotas. */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE
#include "task/system/topology.h"

#include <stddef.h>
#include <sys/sysctl.h>

static uint32_t count(const char *name) {
  int n = 0;
  size_t bytes = sizeof n;
  return sysctlbyname(name, &n, &bytes, NULL, 0) == 0 && n > 0 ? (uint32_t)n : 0;
}

uint32_t ox_topology_cpus(void) {
  uint32_t n = count("hw.logicalcpu");
  return n ? n : 1;
}

/* Level 0 is the fastest; there is no second one where all are alike. */
uint32_t ox_topology_fast(const char *root, const ox_cpu_mask *allowed) {
  (void)root, (void)allowed;
  return count("hw.perflevel1.logicalcpu") ? count("hw.perflevel0.logicalcpu") : 0;
}
#else
typedef int ox_topology_macos_unused;
#endif
