/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/gemm64.h - matrix products in tiles of 64 x 64. */
#define GEMM_KERNEL gemm64
#define GEMM_TILE 64
#define GEMM_STEP 16
#include "plugins/device/kernels/gemm_tile.h"
