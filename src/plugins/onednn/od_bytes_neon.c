/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_bytes_neon.c - od_bytes_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"

#define OD_BYTES_NAME od_bytes__neon
#define OD_BYTES_NEEDS OX_NEON
#include "od_bytes_body.h"
