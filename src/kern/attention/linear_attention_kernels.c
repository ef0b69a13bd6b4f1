/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/linear_attention_kernels.c - selects the variant for an instruction set. */
#include "kern/attention/linear_attention.h"

ox_linear_step_fn *ox_linear_step_select(ox_isa have) {
  (void)have;
#if OX_BUILD_AVX512
  if (have & OX_AVX512) return ox_linear_step__avx512;
#endif
#if OX_BUILD_AVX2
  if (have & OX_AVX2) return ox_linear_step__avx2;
#endif
#if OX_BUILD_NEON
  if (have & OX_NEON) return ox_linear_step__neon;
#endif
  return ox_linear_step__scalar;
}
