/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_select.c - the table of micro-kernels, from gemm_variants.inc. */
#include "base/macros.h"
#include "kern/gemm/gemm.h"

enum { MOST_PADDING_OF = 32 }; /* padding may add at most 1 / 32 of the columns */

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

const ox_gemm_variant *ox_gemm_select_wide(size_t rows, size_t n, ox_isa have) {
  const ox_gemm_variant *v = ox_gemm_select(OX_F32, have), *end = table + OX_COUNT(table);
  const ox_gemm_variant *wide = v && v + 1 < end && v[1].panel == OX_F32 && v[1].needs == v->needs ? v + 1 : v;
  if (wide == v || rows > wide->mr || (OX_ROUND_UP(n, (size_t)wide->nr) - n) * MOST_PADDING_OF > n) return v;
  return wide;
}
