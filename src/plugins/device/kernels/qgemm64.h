/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qgemm64.h - products of 8-bit integers in tiles of 64 x 64. */
#define Q_KERNEL qgemm64
#define Q_TILE 64
#include "plugins/device/kernels/qgemm_tile.h"
