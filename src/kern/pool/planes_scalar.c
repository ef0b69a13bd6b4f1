/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/planes_scalar.c - pools over planes of floats in plain C. */
#include "kern/simd/f32_scalar.h"

#define PLANES_ISA scalar
#define PLANES_NEEDS 0
#include "kern/pool/planes_body.h"
