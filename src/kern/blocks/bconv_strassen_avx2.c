/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_avx2.c - the kernels of Strassen's 1x1 convolutions with strips of 6 pixels. */
#include "kern/simd/f32_avx2.h"

#define BSTRASSEN_NAME ox_bstrassen__avx2
#define BSTRASSEN_MOST 6
#define BSTRASSEN_KEEPS 1
#define BSTRASSEN_PIXELS 112
#define BSTRASSEN_BLOCKS 16
#define BSTRASSEN_COST .steps_share = 0.86, .of_ic = 15, .of_oc = 2, .of_pixels = 4.5
#include "kern/blocks/bconv_strassen_body.h"
