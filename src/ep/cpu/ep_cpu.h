/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/ep_cpu.h - the CPU provider's table. */
#ifndef OX_EP_CPU_EP_CPU_H
#define OX_EP_CPU_EP_CPU_H

#include "onyx/ep.h"

const ox_ep_api *ox_ep_cpu(void);

#endif
