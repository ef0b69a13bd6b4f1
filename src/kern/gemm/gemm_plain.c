/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_plain.c - products in double and in integers that wrap, which C's unsigned types do exactly: signed
 * and unsigned share a loop, since the low bits of a product do not depend on signs. Doubles, 32 and 64
 * bits have vectors (gemm_plain_body.h). */
#include "kern/gemm/gemm_plain.h"

#include "base/macros.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_gemm_plain_variant, ox_gemm_plain__, ox_gemm_plain_select)
OX_VARIANTS_LIST(ox_gemm_plain_variant, ox_gemm_plain__, ox_gemm_plain_variants)

/* A and B are read as U, at any address. Four rows of C at a time walk along a row of B, so that each element of B
 * loaded is used four times. */
enum { COLS = 256 };

#define PLAIN(name, T, U, W)                                                                          \
  static void name##_rows(const ox_gemm_plain *g, size_t row, size_t rows, size_t col, size_t cols) { \
    const U *a = (const U *)g->a + (ptrdiff_t)row * g->a_rs;                                          \
    T *c = (T *)g->c + row * g->c_rs + col;                                                           \
    W acc[4][COLS];                                                                                   \
    for (size_t i = 0; i < rows; i++)                                                                 \
      for (size_t j = 0; j < cols; j++) acc[i][j] = 0;                                                \
    for (size_t k = 0; k < g->k; k++, a += g->a_ks) {                                                 \
      if (k % 256 == 255 && ox_stop_asked(&g->stop)) return;                                          \
      const U *b = (const U *)g->b + (ptrdiff_t)k * g->b_ks + (ptrdiff_t)col * g->b_ns;               \
      W x[4];                                                                                         \
      for (size_t i = 0; i < 4; i++) x[i] = (W)a[(ptrdiff_t)OX_MIN(i, rows - 1) * g->a_rs];           \
      if (g->b_ns == 1) {                                                                             \
        for (size_t i = 0; i < rows; i++)                                                             \
          for (size_t j = 0; j < cols; j++) acc[i][j] += x[i] * (W)b[j];                              \
        continue;                                                                                     \
      }                                                                                               \
      for (size_t j = 0; j < cols; j++, b += g->b_ns)                                                 \
        for (size_t i = 0; i < rows; i++) acc[i][j] += x[i] * (W)*b;                                  \
    }                                                                                                 \
    for (size_t i = 0; i < rows; i++, c += g->c_rs)                                                   \
      for (size_t j = 0; j < cols; j++) c[j] = (T)acc[i][j];                                          \
  }                                                                                                   \
  static void name(const ox_gemm_plain *g, size_t row0, size_t row1) {                                \
    for (size_t j = 0; j < g->n; j += COLS)                                                           \
      for (size_t i = row0; i < row1; i += 4)                                                         \
        name##_rows(g, i, OX_MIN((size_t)4, row1 - i), j, OX_MIN((size_t)COLS, g->n - j));            \
  }

PLAIN(plain_8, uint8_t, uint8_t, uint32_t)
PLAIN(plain_16, uint16_t, ox_u16u, uint32_t)

void ox_gemm_plain_run(const ox_gemm_plain *g, ox_isa isa, size_t row0, size_t row1) {
  const ox_gemm_plain_variant *v = ox_gemm_plain_select(isa);
  if (row0 == row1) return;
  switch (g->type) {
    case OX_F64:
      v->f64(g, row0, row1);
      break;
    case OX_I32:
    case OX_U32:
      v->i32(g, row0, row1);
      break;
    case OX_I8:
    case OX_U8:
      plain_8(g, row0, row1);
      break;
    case OX_I16:
    case OX_U16:
      plain_16(g, row0, row1);
      break;
    case OX_I64:
    case OX_U64:
      v->i64(g, row0, row1);
      break;
    default:
      break;
  }
}
