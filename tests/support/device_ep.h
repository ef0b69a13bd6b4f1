/* SPDX-License-Identifier: Apache-2.0
 * support/device_ep.h - providers with a pretend device: memory that the host cannot touch, copies, streams that work
 * later, events. What they compute is what the CPU provider computes. Options and claims as support/claim_rule.h has
 * them, and "places=N": whether and which inputs and outputs of kernels lie in host memory, or in a second memory of
 * the device, which the host may touch. */
#ifndef OX_TESTS_DEVICE_EP_H
#define OX_TESTS_DEVICE_EP_H

#include <stdatomic.h>

#include "onyx/ep.h"

/* "device" and "other": the same, to be used together. "plain": without streams. "queue": streams, but no memory. */
const ox_ep_api *device_ep(void);
const ox_ep_api *device_ep_other(void);
const ox_ep_api *device_ep_plain(void);
const ox_ep_api *device_ep_queue(void);

/* Copies since the process began. */
extern struct device_counts {
  atomic_long constants; /* without a stream */
  atomic_long to_device, to_host, within;
} device_counts;

#endif
