/* SPDX-License-Identifier: Apache-2.0
 * task/system/topology_windows.c - affinity mask, kinds of processors, and the job's CPU rate, which is how containers
 * are limited. */
#if defined(_WIN32)
#define _WIN32_WINNT 0x0602
#define WIN32_LEAN_AND_MEAN
#include "task/system/topology.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/macros.h"

uint32_t ox_topology_cpus(void) {
  ox_cpu_mask mask = ox_thread_mask();
  uint32_t n = 0;
  for (size_t i = 0; i < OX_COUNT(mask.bits); i++) n += (uint32_t)__builtin_popcountll(mask.bits[i]);
  return OX_MAX(n, 1);
}

typedef SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX core_info;

/* The next core in the list; NULL at its end. */
static const core_info *next_core(const core_info *core, const char *end) {
  core = (const core_info *)((const char *)core + core->Size);
  return (const char *)core < end ? core : NULL;
}

/* Higher is faster; all 0 before Windows 10. The member EfficiencyClass, which older headers do not name. */
static unsigned class_of(const core_info *core) { return ((const BYTE *)&core->Processor)[1]; }

uint32_t ox_topology_fast(const char *root, const ox_cpu_mask *allowed) {
  (void)root;
  DWORD bytes = 0;
  (void)GetLogicalProcessorInformationEx(RelationProcessorCore, NULL, &bytes);
  core_info *cores = bytes ? malloc(bytes) : NULL;
  uint32_t n_fast = 0, n_thrifty = 0;
  unsigned best = 0;
  ox_cpu_mask none = {{0}};
  bool all = memcmp(allowed, &none, sizeof none) == 0;
  if (cores && GetLogicalProcessorInformationEx(RelationProcessorCore, cores, &bytes)) {
    const char *end = (const char *)cores + bytes;
    for (const core_info *c = cores; c; c = next_core(c, end)) best = OX_MAX(best, class_of(c));
    for (const core_info *c = cores; c; c = next_core(c, end)) {
      const GROUP_AFFINITY *at = &c->Processor.GroupMask[0]; /* a core is in one group */
      if (at->Group >= OX_COUNT(allowed->bits)) continue;
      uint64_t mine = all ? at->Mask : at->Mask & allowed->bits[at->Group];
      *(class_of(c) == best ? &n_fast : &n_thrifty) += (uint32_t)__builtin_popcountll(mine);
    }
  }
  free(cores);
  return n_thrifty ? n_fast : 0;
}

/* Of the innermost job only: the system shows no other. Rates are in 1/10000 of all processors. */
uint64_t ox_topology_quota(const char *root) {
  (void)root;
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION info = {0};
  DWORD capped = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  if (!QueryInformationJobObject(NULL, JobObjectCpuRateControlInformation, &info, sizeof info, NULL) ||
      (info.ControlFlags & capped) != capped)
    return 0;
  return OX_CEIL_DIV((uint64_t)info.CpuRate * GetActiveProcessorCount(ALL_PROCESSOR_GROUPS), 10);
}
#else
typedef int ox_topology_windows_unused;
#endif
