/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_select.c - the table of microkernels, read from the one list. */
#include "base/macros.h"
#include "kern/gemm/gemm.h"

static const ox_gemm_variant table[] = {
#define OX_GEMM(...) OX_GEMM_ROW(__VA_ARGS__),
#include "kern/gemm/gemm_variants.inc"
#undef OX_GEMM
};

const ox_gemm_variant *ox_gemm_select(uint32_t panel, ox_isa have) {
  for (size_t i = 0; i < OX_COUNT(table); i++)
    if (table[i].panel == panel && (table[i].needs & ~have) == 0) return &table[i];
  return NULL;
}
