/* SPDX-License-Identifier: Apache-2.0
 * device/fail.h - statuses and host memory, for a device provider and its driver. */
#ifndef OX_DEVICE_FAIL_H
#define OX_DEVICE_FAIL_H

#include "onyx/ep.h"

/* Formats and makes a status. */
OX_NODISCARD __attribute__((format(printf, 3, 4))) ox_status *dev_fail(const ox_ep_host *h, ox_code code,
                                                                       const char *fmt, ...);
OX_NODISCARD ox_status *dev_no_memory(const ox_ep_host *h);

void *dev_new(const ox_ep_host *h, size_t bytes);          /* zeroed; NULL: out of memory */
void dev_drop(const ox_ep_host *h, void *p, size_t bytes); /* NULL is fine */

#define DEV_TRY(call)        \
  do {                       \
    ox_status *st_ = (call); \
    if (st_) return st_;     \
  } while (0)

#endif
