/* SPDX-License-Identifier: Apache-2.0
 * support/resident.h - how much memory this process has resident. */
#ifndef OX_TESTS_RESIDENT_H
#define OX_TESTS_RESIDENT_H

#include <stdio.h>
#include <unistd.h>

/* Resident bytes; 0: this system does not tell, or a sanitizer keeps what was freed. */
static inline size_t resident(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#endif
  unsigned long all = 0, here = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f) return 0;
  if (fscanf(f, "%lu %lu", &all, &here) != 2) here = 0;
  fclose(f);
  return (size_t)here * (size_t)sysconf(_SC_PAGESIZE);
}

#endif
