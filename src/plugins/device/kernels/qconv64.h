/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qconv64.h - convolutions of 8-bit integers in tiles of 64 x 64. */
#define Q_KERNEL qconv64
#define Q_TILE 64
#include "plugins/device/kernels/qconv_tile.h"
