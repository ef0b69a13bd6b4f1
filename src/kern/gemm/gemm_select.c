/* SPDX-License-Identifier: Apache-2.0
 * gemm/gemm_select.c - the table of microkernels, read from the one list. */
#include "base/macros.h"
#include "kern/gemm/gemm.h"

static const ox_gemm_variant table[] = {
#define OX_GEMM(panel, needs, mr, nr, kc, sym, dots) {panel, needs, mr, nr, kc, sym, dots, #sym},
#include "kern/gemm/gemm_variants.inc"
#undef OX_GEMM
};

const ox_gemm_variant *ox_gemm_select(uint32_t panel, ox_isa have) {
  for (size_t i = 0; i < OX_COUNT(table); i++)
    if (table[i].panel == panel && (table[i].needs & ~have) == 0) return &table[i];
  return NULL;
}
