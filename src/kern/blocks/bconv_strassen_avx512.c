/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_avx512.c - the kernels of Strassen's 1x1 convolutions. */
#include "kern/simd/f32_half_avx512.h"

#define BSTRASSEN_NAME ox_bstrassen__avx512
#define BSTRASSEN_MOST 14
#define BSTRASSEN_KEEPS 0
#define BSTRASSEN_PIXELS 112
#define BSTRASSEN_BLOCKS 24
#define BSTRASSEN_FMA_AT vf32_fma_at
#define BSTRASSEN_COST .steps_share = 0.867, .of_ic = 11, .of_oc = 5
#include "kern/blocks/bconv_strassen_body.h"
