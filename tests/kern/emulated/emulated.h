/* SPDX-License-Identifier: Apache-2.0
 * kern/emulated/emulated.h - the bodies of the matrix unit with emulated tiles (simd/tile_emulated.h): on plain C, and
 * on the vectors that go with the real unit. Only tests have them. */
#ifndef OX_TESTS_KERN_EMULATED_H
#define OX_TESTS_KERN_EMULATED_H

#include "kern/gemm/gemm.h"
#include "kern/gemm/gemm_i8.h"
#include "kern/gemm/split_product.h"

#if OX_BUILD_AVX512BF16
#define EMULATED_ON_VECTORS(X) X(emulated_avx512bf16, OX_AVX512BF16)
#else
#define EMULATED_ON_VECTORS(X)
#endif
/* X(suffix, what it needs) */
#define EMULATED(X)      \
  EMULATED_ON_VECTORS(X) \
  X(emulated_scalar, 0)

#define EMULATED_DECLARE(suffix, needs) extern const ox_split_kernels ox_split_kernels__##suffix;
EMULATED(EMULATED_DECLARE)
#undef EMULATED_DECLARE

/* Rows for tables. */
#define EMULATED_SPLIT(suffix, needs) &ox_split_kernels__##suffix,

void ox_gemm_i8_32x32__emulated_scalar(const ox_gemm_i8_tile *t);
void ox_gemm_i8_begin__emulated_scalar(void);
void ox_gemm_i8_end__emulated_scalar(void);
void ox_gemm_i8_panel__emulated_scalar(const uint8_t *b, uint8_t flip, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t kp,
                                       size_t w, uint8_t *to, int32_t *sums);
int32_t ox_gemm_i8_row__emulated_scalar(const uint8_t *a, uint8_t flip, size_t k, size_t kp, uint8_t *to);
#define EMULATED_GEMM_I8                                                                              \
  OX_GEMM_I8_ROW(0, 32, 32, 64, ox_gemm_i8_32x32__emulated_scalar, ox_gemm_i8_begin__emulated_scalar, \
                 ox_gemm_i8_end__emulated_scalar, emulated_scalar, NULL)

#endif
