/* SPDX-License-Identifier: Apache-2.0
 * task/system/park_windows.c - Windows 8 and later: the system compares and sleeps in one step. Link with
 * synchronization. */
#if defined(_WIN32)
#define _WIN32_WINNT 0x0602
#define WIN32_LEAN_AND_MEAN
#include "task/system/park.h"

#include <windows.h>

_Static_assert(sizeof(atomic_uint) == sizeof(unsigned), "the system compares plain bytes");

void ox_park_windows_wait(atomic_uint *word, unsigned expected) {
  (void)WaitOnAddress((volatile void *)word, &expected, sizeof expected, INFINITE);
}

void ox_park_windows_wake(atomic_uint *word, int all) {
  if (all)
    WakeByAddressAll((void *)word);
  else
    WakeByAddressSingle((void *)word);
}
#else
typedef int ox_park_windows_unused;
#endif
