/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_pack.c - packs B into panels. Reads the source once, in its own order, so that weights in a mapped
 * file are read at memory speed; writes whole cache lines. */
#include <string.h>

#include "base/macros.h"
#include "kern/gemm/gemm.h"
#include "kern/move/move.h"
#include "kern/simd/f32_scalar.h"

/* Reads one element of the source in the type of the panel. */
#define READ_SAME(T) (*(const T *)p)
#define READ_F16(T) vf32_load_f16((const uint16_t *)p)
#define READ_BF16(T) vf32_load_bf16((const uint16_t *)p)

/* Packs |k| rows of one panel of |w| columns, for any strides. Blocks of 16 rows keep both sides in L1 when B is
 * transposed. */
#define PACK_STRIDED(name, SRC, DST, READ)                                                                \
  static void name(const SRC *src, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t w, size_t nr, DST *dst) { \
    for (size_t k0 = 0; k0 < k; k0 += 16) {                                                               \
      size_t kn = OX_MIN(k - k0, (size_t)16);                                                             \
      for (size_t j = 0; j < w; j++) {                                                                    \
        const SRC *p = src + (ptrdiff_t)k0 * ks + (ptrdiff_t)j * ns;                                      \
        DST *d = dst + k0 * nr + j;                                                                       \
        for (size_t i = 0; i < kn; i++, p += ks, d += nr) *d = READ(SRC);                                 \
      }                                                                                                   \
      for (size_t i = 0; i < kn; i++)                                                                     \
        for (size_t j = w; j < nr; j++) dst[(k0 + i) * nr + j] = 0;                                       \
    }                                                                                                     \
  }
PACK_STRIDED(strided_32, ox_u32u, uint32_t, READ_SAME)
PACK_STRIDED(strided_16, ox_u16u, uint16_t, READ_SAME)
PACK_STRIDED(strided_f16, ox_u16u, float, READ_F16)
PACK_STRIDED(strided_bf16, ox_u16u, float, READ_BF16)

/* Rows of unit stride: full panels are copied by a fixed size, which the compiler turns into vector moves. The part of
 * the same rows for the next panels is prefetched meanwhile: weights come from memory, and rows are too far apart for
 * the hardware prefetcher. */
enum { AHEAD = 256 }; /* bytes */
#define COPY_ROWS(bytes)                                           \
  for (size_t i = 0; i < k; i++, src += row_bytes, dst += bytes) { \
    OX_PREFETCH(src + AHEAD), OX_PREFETCH(src + AHEAD + 64);       \
    memcpy(dst, src, bytes);                                       \
  }                                                                \
  return

static void copy_rows(const char *src, ptrdiff_t row_bytes, size_t k, size_t bytes, char *dst) {
  if (bytes == 128) {
    COPY_ROWS(128);
  }
  if (bytes == 64) {
    COPY_ROWS(64);
  }
  if (bytes == 32) {
    COPY_ROWS(32);
  }
  for (size_t i = 0; i < k; i++, src += row_bytes, dst += bytes) memcpy(dst, src, bytes);
}

/* Packs a transposed source: its rows, which run along k, become columns of the panel, padded with zeros. */
static void transpose_rows(const ox_gemm_variant *v, const ox_gemm_src *s, const char *p, size_t k, size_t w,
                           char *dst) {
  size_t elem = s->type == OX_F32 ? 4 : 2, row = v->nr * elem;
  ox_transpose_fn fn = ox_transpose_select((int64_t)elem, ox_isa_implied(v->needs));
  fn(p, s->ns * (ptrdiff_t)elem, dst, (int64_t)row, (int64_t)w, (int64_t)k);
  for (size_t i = 0; i < k && w < v->nr; i++) memset(dst + i * row + w * elem, 0, row - w * elem);
}

/* |k| rows of |w| columns from |p| on, which has the type and strides of |s|. */
static void pack_panel(const ox_gemm_variant *v, const ox_gemm_src *s, const char *p, size_t k, size_t w, void *dst) {
  size_t src_elem = s->type == OX_F32 ? 4 : 2, nr = v->nr;
  if (s->type != v->panel) {
    if (s->type == OX_F16)
      strided_f16((const ox_u16u *)p, s->ks, s->ns, k, w, nr, dst);
    else
      strided_bf16((const ox_u16u *)p, s->ks, s->ns, k, w, nr, dst);
  } else if (s->ns == 1 && w == nr) {
    copy_rows(p, s->ks * (ptrdiff_t)src_elem, k, nr * src_elem, dst);
  } else if (s->ks == 1) {
    transpose_rows(v, s, p, k, w, dst);
  } else if (src_elem == 4) {
    strided_32((const ox_u32u *)p, s->ks, s->ns, k, w, nr, dst);
  } else {
    strided_16((const ox_u16u *)p, s->ks, s->ns, k, w, nr, dst);
  }
}

/* Packs rows [k0, k0 + kn) of panel |j|; the source begins at element |first|. */
static void rows_to(const ox_gemm_variant *v, const ox_gemm_src *src, size_t first, size_t n, size_t j, size_t k0,
                    size_t kn, void *to) {
  ptrdiff_t at = (ptrdiff_t)k0 * src->ks + (ptrdiff_t)(j * v->nr) * src->ns - (ptrdiff_t)first;
  pack_panel(v, src, (const char *)src->p + at * (src->type == OX_F32 ? 4 : 2), kn, OX_MIN(v->nr, n - j * v->nr), to);
}

void ox_gemm_pack_rows(const ox_gemm_variant *v, const ox_gemm_src *src, size_t n, size_t j, size_t k0, size_t kn,
                       void *to) {
  rows_to(v, src, 0, n, j, k0, kn, to);
}

/* The same, to their place in |panels|. */
static void pack_rows(const ox_gemm_variant *v, const ox_gemm_src *src, size_t first, size_t k, size_t n, size_t j,
                      size_t k0, size_t kn, void *panels) {
  rows_to(v, src, first, n, j, k0, kn, (char *)panels + j * ox_gemm_panel_bytes(v, k) + ox_gemm_panel_bytes(v, k0));
}

void ox_gemm_pack_b(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n, size_t begin, size_t end,
                    void *panels, const ox_stop *stop) {
  enum { SLAB = 64, LONG_SLAB = 1024 };
  ox_stop_pace pace = {.stop = stop};
  if (src->ns != 1) { /* transposed: a panel reads w whole rows of the source */
    for (size_t j = begin; j < end; j++)
      for (size_t k0 = 0; k0 < k; k0 += LONG_SLAB) {
        if (ox_stop_moved(&pace, ox_gemm_panel_bytes(v, LONG_SLAB))) return;
        pack_rows(v, src, 0, k, n, j, k0, OX_MIN(k - k0, (size_t)LONG_SLAB), panels);
      }
    return;
  }
  for (size_t k0 = 0; k0 < k; k0 += SLAB) /* row-major: by slabs of rows, so that the source is read along its rows */
    for (size_t j = begin; j < end; j++) {
      if (ox_stop_moved(&pace, ox_gemm_panel_bytes(v, SLAB))) return;
      pack_rows(v, src, 0, k, n, j, k0, OX_MIN(k - k0, (size_t)SLAB), panels);
    }
}

/* ---- units ---- */

/* Blocks of |rows| rows by |panels| panels. */
typedef struct {
  size_t rows, panels, n_rows, n_panels;
} blocks;

static blocks blocks_of(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n) {
  enum { UNIT = 256 << 10, ROWS = 64, FEW_ROWS = 16 };
  size_t panels = ox_gemm_panels(v, n), row = ox_gemm_panel_bytes(v, 1);
  blocks b;
  if (src->ns != 1) /* whole columns of one panel, up to the size of a unit */
    b.panels = 1, b.rows = OX_MAX(UNIT / row / FEW_ROWS * FEW_ROWS, (size_t)FEW_ROWS);
  else /* whole rows: enough of them to write long pieces of each panel */
    b.rows = row * panels > UNIT / ROWS ? FEW_ROWS : ROWS, b.panels = OX_MAX(UNIT / (b.rows * row), (size_t)1);
  b.rows = OX_MIN(b.rows, k), b.panels = OX_MIN(b.panels, panels);
  b.n_rows = b.rows ? OX_CEIL_DIV(k, b.rows) : 0, b.n_panels = b.panels ? OX_CEIL_DIV(panels, b.panels) : 0;
  return b;
}

size_t ox_gemm_pack_units(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n) {
  blocks b = blocks_of(v, src, k, n);
  return b.n_rows * b.n_panels;
}

/* Rows [*k0, *k0 + *kn) of panels [*j0, *last). */
static void unit_at(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n, size_t unit, size_t *k0,
                    size_t *kn, size_t *j0, size_t *last) {
  blocks b = blocks_of(v, src, k, n);
  bool columns = src->ns != 1;
  size_t i = columns ? unit % b.n_rows : unit / b.n_panels, j = columns ? unit / b.n_rows : unit % b.n_panels;
  *k0 = i * b.rows, *kn = OX_MIN(b.rows, k - *k0);
  *j0 = j * b.panels, *last = OX_MIN(*j0 + b.panels, ox_gemm_panels(v, n));
}

void ox_gemm_pack_unit(const ox_gemm_variant *v, const ox_gemm_src *src, size_t first, size_t k, size_t n, size_t unit,
                       void *panels) {
  size_t k0, kn, j, last;
  for (unit_at(v, src, k, n, unit, &k0, &kn, &j, &last); j < last; j++)
    pack_rows(v, src, first, k, n, j, k0, kn, panels);
}

bool ox_gemm_pack_unit_span(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n, size_t unit,
                            size_t *out_first, size_t *out_n) {
  enum { MOST_READERS = 2 };
  size_t k0, kn, j0, last, ks = (size_t)src->ks, ns = (size_t)src->ns;
  blocks b = blocks_of(v, src, k, n);
  unit_at(v, src, k, n, unit, &k0, &kn, &j0, &last);
  *out_first = k0 * ks + j0 * v->nr * ns;
  *out_n = (kn - 1) * ks + (OX_MIN(last * v->nr, n) - j0 * v->nr - 1) * ns + 1;
  return (src->ns != 1 ? b.n_rows : b.n_panels) <= MOST_READERS;
}
