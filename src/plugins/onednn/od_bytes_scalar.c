/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_bytes_scalar.c - od_bytes_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"

#define OD_BYTES_NAME od_bytes__scalar
#define OD_BYTES_NEEDS 0
#include "od_bytes_body.h"
