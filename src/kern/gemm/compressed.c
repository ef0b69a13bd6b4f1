/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed.c - which kernels there are, which of them pay, and compressing B in units. */
#include "kern/gemm/compressed.h"

enum {
  SLAB_PANELS = 32, /* of a unit of a row-major source: 64 rows of 4 KiB */
  LONG_ROWS = 2048, /* of a unit of a transposed source, which reads whole columns of one panel */
  SAMPLES = 64
};

#define OX_COMPRESSED(needs, way, sym) extern const ox_compressed_kernels sym;
#include "kern/gemm/compressed_variants.inc"
#undef OX_COMPRESSED

static const struct {
  ox_isa needs;
  int way;
  const ox_compressed_kernels *kernels;
} table[] = {
#define OX_COMPRESSED(needs, way, sym) {needs, way, &sym},
#include "kern/gemm/compressed_variants.inc"
#undef OX_COMPRESSED
    {0, 0, NULL}};

const ox_compressed_kernels *ox_compressed_kernels_of(const ox_gemm_variant *v, int way) {
  for (size_t i = 0; table[i].kernels; i++)
    if (way == table[i].way && v->panel == OX_F32 && v->needs == table[i].needs && v->nr == table[i].kernels->nr)
      return table[i].kernels;
  return NULL;
}

/* Compresses a segment of panel |j|: rows from |k0| on. */
static void compress(const ox_compressed_kernels *c, const ox_gemm_variant *v, const ox_gemm_src *src, size_t k,
                     size_t n, size_t j, size_t k0, void *segment) {
  _Alignas(64) float rows[OX_COMPRESSED_ROWS * OX_COMPRESSED_MOST_NR];
  size_t kn = OX_MIN(k - k0, (size_t)OX_COMPRESSED_ROWS);
  ox_gemm_pack_rows(v, src, n, j, k0, kn, rows);
  c->compress(rows, kn, segment);
}

/* A segment that is read from B itself costs 32 bits a weight more: of 16-bit ways fewer may be, for 28 bits are the
 * other choice. */
static bool pays(const ox_compressed_kernels *c, const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n) {
  _Alignas(64) uint8_t segment[sizeof(ox_compressed_head) + OX_COMPRESSED_ROWS * OX_COMPRESSED_MOST_NR / 8 * 28];
  size_t per_panel = OX_CEIL_DIV(k, (size_t)OX_COMPRESSED_ROWS), all = ox_gemm_panels(v, n) * per_panel;
  size_t samples = OX_MIN(all, (size_t)SAMPLES), most_bad = samples / (c->bits == 16 ? 4 : 2), bad = 0;
  for (size_t i = 0; i < samples && bad <= most_bad; i++) {
    size_t step = all / samples, at = i * step + i % step; /* not always at the same k */
    compress(c, v, src, k, n, at / per_panel, at % per_panel * OX_COMPRESSED_ROWS, segment);
    bad += ((const ox_compressed_head *)(const void *)segment)->at[0] != OX_COMPRESSED_NONE;
  }
  return samples && bad <= most_bad;
}

int ox_compressed_choose(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n) {
  for (int way = 0; way < OX_COMPRESSED_WAYS; way++) {
    const ox_compressed_kernels *c = ox_compressed_kernels_of(v, way);
    if (c && pays(c, v, src, k, n)) return way;
  }
  return -1;
}

/* Segments by panels of a unit, and how many units there are along k and n. */
typedef struct units {
  size_t rows, panels, along_k, along_n;
} units;

static units units_of(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n) {
  units u = {.rows = OX_COMPRESSED_ROWS, .panels = SLAB_PANELS};
  if (src->ns != 1) u.rows = LONG_ROWS, u.panels = 1;
  u.along_k = OX_CEIL_DIV(k, u.rows), u.along_n = OX_CEIL_DIV(ox_gemm_panels(v, n), u.panels);
  return u;
}

size_t ox_compressed_units(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n) {
  units u = units_of(v, src, k, n);
  return u.along_k * u.along_n;
}

void ox_compressed_pack(const ox_compressed_kernels *c, const ox_gemm_variant *v, const ox_gemm_src *src, size_t k,
                        size_t n, size_t unit, void *panels) {
  units u = units_of(v, src, k, n);
  bool columns = src->ns != 1;
  size_t k0 = (columns ? unit % u.along_k : unit / u.along_n) * u.rows, k1 = OX_MIN(k0 + u.rows, k);
  size_t j = (columns ? unit / u.along_k : unit % u.along_n) * u.panels;
  size_t last = OX_MIN(j + u.panels, ox_gemm_panels(v, n));
  for (; j < last; j++)
    for (size_t at = k0; at < k1; at += OX_COMPRESSED_ROWS)
      compress(c, v, src, k, n, j, at,
               (char *)panels + j * ox_compressed_panel_bytes(c, k) +
                   at / OX_COMPRESSED_ROWS * ox_compressed_segment_bytes(c));
}
