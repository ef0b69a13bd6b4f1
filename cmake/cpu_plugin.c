/* SPDX-License-Identifier: Apache-2.0
 * cmake/cpu_plugin.c - the CPU provider's face as a plug-in. */
#include "ep/cpu/ep_cpu.h"

const ox_ep_api *ox_ep_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? ox_ep_cpu() : NULL; }
