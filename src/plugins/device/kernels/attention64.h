/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/attention64.h - attention with rows of V of up to 64 numbers. */
#define ATT_KERNEL attention64
#define ATT_WIDTH 64
#include "plugins/device/kernels/attention_tile.h"
