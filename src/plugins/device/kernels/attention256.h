/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/attention256.h - attention with rows of V of up to 256 numbers. */
#define ATT_KERNEL attention256
#define ATT_WIDTH 256
#include "plugins/device/kernels/attention_tile.h"
