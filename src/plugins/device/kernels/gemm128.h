/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/gemm128.h - matrix products in tiles of 128 x 128. */
#define GEMM_KERNEL gemm128
#define GEMM_TILE 128
#define GEMM_STEP 8
#include "plugins/device/kernels/gemm_tile.h"
