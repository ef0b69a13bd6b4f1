/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_avx512.c - the kernels of Strassen's 1x1 convolutions. */
#include "kern/simd/f32_half_avx512.h"

#define BSTRASSEN_NAME ox_bstrassen__avx512
#include "kern/blocks/bconv_strassen_body.h"
