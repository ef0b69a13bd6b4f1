/* SPDX-License-Identifier: Apache-2.0
 * plugins/device_plugin.c - the pretend device (support/device_ep.h) as a library, for clients that cannot hand in a
 * table. Its counts of copies are an own symbol: device_copies(0) to the device, (1) back, (2) within, since the last
 * call for it. */
#include "support/device_ep.h"

const ox_ep_api *ox_ep_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? device_ep() : NULL; }

OX_API long device_copies(int way);
long device_copies(int way) {
  if (way == 0) return atomic_exchange(&device_counts.to_device, 0) + atomic_exchange(&device_counts.constants, 0);
  return atomic_exchange(way == 1 ? &device_counts.to_host : &device_counts.within, 0);
}
