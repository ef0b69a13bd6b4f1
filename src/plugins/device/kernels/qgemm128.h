/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qgemm128.h - products of 8-bit integers in tiles of 128 x 128. */
#define Q_KERNEL qgemm128
#define Q_TILE 128
#include "plugins/device/kernels/qgemm_tile.h"
