/* SPDX-License-Identifier: Apache-2.0
 * task/system/park_macos.c - macOS 14.4 and later have a public call that compares and sleeps; earlier systems use
 * conditions. Which one is asked at run time and never changes while the process lives, so sleepers and wakers agree.
 */
#if defined(__APPLE__)
#include "task/system/park.h"

#if __has_include(<os/os_sync_wait_on_address.h>)
#include <os/os_sync_wait_on_address.h>
#define HAVE_OS_SYNC __builtin_available(macOS 14.4, iOS 17.4, tvOS 17.4, watchOS 10.4, *)

void ox_park_macos_wait(atomic_uint *word, unsigned expected) {
  if (HAVE_OS_SYNC)
    (void)os_sync_wait_on_address((void *)word, expected, sizeof expected, OS_SYNC_WAIT_ON_ADDRESS_NONE);
  else
    ox_park_cond_wait(word, expected);
}

void ox_park_macos_wake(atomic_uint *word, int all) {
  if (HAVE_OS_SYNC) {
    if (all)
      (void)os_sync_wake_by_address_all((void *)word, sizeof(unsigned), OS_SYNC_WAKE_BY_ADDRESS_NONE);
    else
      (void)os_sync_wake_by_address_any((void *)word, sizeof(unsigned), OS_SYNC_WAKE_BY_ADDRESS_NONE);
  } else {
    ox_park_cond_wake(word, all);
  }
}
#else /* an SDK from before 14.4 */
void ox_park_macos_wait(atomic_uint *word, unsigned expected) { ox_park_cond_wait(word, expected); }
void ox_park_macos_wake(atomic_uint *word, int all) { ox_park_cond_wake(word, all); }
#endif
#else
typedef int ox_park_macos_unused;
#endif
