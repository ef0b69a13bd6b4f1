/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_bytes_avx2.c - od_bytes_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"

#define OD_BYTES_NAME od_bytes__avx2
#define OD_BYTES_NEEDS OX_AVX2
#include "od_bytes_body.h"
