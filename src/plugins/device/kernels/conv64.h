/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/conv64.h - convolutions in tiles of 64 outputs and 64 pixels. */
#define CONV_KERNEL conv64
#define CONV_TILE 64
#define CONV_STEP 16
#include "plugins/device/kernels/conv_tile.h"
