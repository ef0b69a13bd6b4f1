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

/* The wide variant beside the usual one |v|; |v| if there is none for so many rows. */
static const ox_gemm_variant *wide_beside(const ox_gemm_variant *v, size_t rows) {
  const ox_gemm_variant *end = table + OX_COUNT(table);
  bool has = v && v + 1 < end && v[1].panel == OX_F32 && v[1].needs == v->needs;
  return has && rows <= v[1].mr ? v + 1 : v;
}

const ox_gemm_variant *ox_gemm_select_wide(size_t rows, size_t n, ox_isa have) {
  const ox_gemm_variant *v = ox_gemm_select(OX_F32, have), *wide = wide_beside(v, rows);
  return (OX_ROUND_UP(n, (size_t)wide->nr) - n) * MOST_PADDING_OF > n ? v : wide;
}

const ox_gemm_variant *ox_gemm_select_direct(size_t rows, size_t n, ox_isa have) {
  const ox_gemm_variant *v = ox_gemm_select(OX_F32, have), *wide = wide_beside(v, rows);
  return n < wide->nr ? v : wide;
}
