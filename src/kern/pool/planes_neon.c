/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/planes_neon.c - pools over planes of floats in NEON. */
#include "kern/simd/f32_neon.h"

#define PLANES_ISA neon
#define PLANES_NEEDS OX_NEON
#include "kern/pool/planes_body.h"
