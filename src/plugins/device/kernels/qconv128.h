/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qconv128.h - convolutions of 8-bit integers in tiles of 128 x 128. */
#define Q_KERNEL qconv128
#define Q_TILE 128
#include "plugins/device/kernels/qconv_tile.h"
