/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/conv128.h - convolutions in tiles of 128 outputs and 128 pixels. */
#define CONV_KERNEL conv128
#define CONV_TILE 128
#define CONV_STEP 8
#include "plugins/device/kernels/conv_tile.h"
