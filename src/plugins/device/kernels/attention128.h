/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/attention128.h - attention with rows of V of up to 128 numbers. */
#define ATT_KERNEL attention128
#define ATT_WIDTH 128
#include "plugins/device/kernels/attention_tile.h"
