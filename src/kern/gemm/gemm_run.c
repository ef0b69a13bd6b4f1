/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_run.c - divides C into tiles and computes one: loops over blocks of k, panels of B, strips of A, from
 * the outside in, so that each panel of B, once read, is used by all strips of A, which stay in L2. */
#include <string.h>

#include "base/cpu_kind.h"
#include "base/macros.h"
#include "kern/gemm/compressed.h"
#include "kern/gemm/gemm.h"
#include "kern/simd/f32_scalar.h"

enum {
  TILE_MACS = 1 << 20,            /* multiply-adds of a tile, about 20 us at 60 G/s */
  TILE_WEIGHT_BYTES = 192 * 1024, /* weights of a tile with few rows */
  MAX_ROWS = 260,                 /* most rows of a tile: a block of A then has 400 KB and stays in L2 */
  TALL_ROWS = 144,                /* tiles of more rows have fewer columns */
  MANY_TILES = 15,                /* of which one more does not matter */
  PART_ROWS = 24,                 /* least rows of a tile for the sake of an even number of them */
  COPY_ROWS = 36,                 /* least rows for which panels are copied */
  STREAM_B = 1 << 20, /* floats of a direct B beyond L2: a single row of A reads few rows of it at a time, along them */
  STREAM_ROWS = 8,
  STREAM_COLUMNS = 4096, /* of a tile then */
  FETCH_AHEAD = 8192,    /* prefetch distance in bytes, for panels that are read once, end to end */
  LINE = 16              /* floats in a cache line; row strides of odd multiples avoid set conflicts */
};

/* How many compressed panels a few rows are multiplied by at a time. */
static size_t panels_abreast(const ox_compressed_kernels *c) {
  return c && !(ox_cpu_kind() & OX_SLOW_L3) ? c->panels : 1;
}

/* Of a small odd number of tiles, one of two threads has one more than the other. */
static bool is_lopsided(const ox_gemm_plan *g) {
  const size_t tiles = g->mt * g->nt;
  bool packed = g->b_mode == OX_GEMM_PACKED || g->b_mode == OX_GEMM_LATE;
  return packed && tiles > 1 && tiles % 2 && tiles <= MANY_TILES && g->m / (g->mt + 1) >= PART_ROWS;
}

/* Divides C into tiles. */
static void plan_tiles(ox_gemm_plan *g) {
  const ox_gemm_variant *v = g->v;
  const ox_gemm_b b_mode = g->b_mode;
  const size_t m = g->m, n = g->n, k = g->k;
  /* A single strip reads each panel once: k is one block, so that panels are read in the order of memory. */
  bool few = ox_gemm_is_few(v, m), made = b_mode == OX_GEMM_SOURCE;
  bool whole = (few && !made) || b_mode == OX_GEMM_DOTS;
  size_t kb = whole ? 1 : OX_MAX(OX_CEIL_DIV(k, (size_t)v->kc), (size_t)1), nr = v->nr, mr = v->mr;
  g->kc = OX_ROUND_UP(OX_CEIL_DIV(k, kb), (size_t)8);
  const bool streams = b_mode == OX_GEMM_DIRECT && m == 1 && k * n >= STREAM_B;
  if (streams) g->kc = OX_MIN(g->kc, (size_t)STREAM_ROWS);
  size_t strips = OX_MAX(OX_CEIL_DIV(m, (size_t)MAX_ROWS), (size_t)1);
  g->mc = OX_ROUND_UP(OX_MAX(OX_CEIL_DIV(m, strips), (size_t)1), mr);
  size_t rows = OX_MIN(g->mc, OX_MAX(m, (size_t)1)), kk = OX_MAX(k, (size_t)1);
  g->nc = OX_ROUND_UP((size_t)(rows > TALL_ROWS ? 64 : 96), nr);
  size_t abreast = panels_abreast(g->compressed);
  if (few)
    g->nc = OX_ROUND_UP(OX_MAX(TILE_WEIGHT_BYTES / ox_gemm_panel_bytes(v, kk), (size_t)1), abreast) * nr;
  else
    while (g->nc < n && rows * g->nc * kk < TILE_MACS) g->nc *= 2;
  if (streams) g->nc = STREAM_COLUMNS;
  g->mt = OX_CEIL_DIV(m, g->mc), g->nt = OX_CEIL_DIV(n, g->nc);
  if (g->nt) g->nc = OX_ROUND_UP(OX_CEIL_DIV(n, g->nt), few ? nr * abreast : nr), g->nt = OX_CEIL_DIV(n, g->nc);
  if (is_lopsided(g)) {
    g->mc = OX_ROUND_UP(OX_CEIL_DIV(m, g->mt + 1), mr), g->mt = OX_CEIL_DIV(m, g->mc);
    rows = g->mc;
  }
  size_t a_bytes = g->a_type == OX_F32 ? 0 : OX_ROUND_UP(rows * g->kc * 4, (size_t)64);
  size_t part = g->c_type == OX_F32 || kb == 1 ? 0 : OX_ROUND_UP(rows * g->nc * 4, (size_t)64);
  g->made_ld = (OX_CEIL_DIV(g->nc, (size_t)LINE) | 1) * LINE;
  bool copied = b_mode == OX_GEMM_DIRECT || b_mode == OX_GEMM_LATE || (b_mode == OX_GEMM_COMPRESSED && !few);
  size_t b_floats = made ? g->kc * g->made_ld : copied ? g->kc * nr : 0;
  g->scratch = a_bytes + part + b_floats * 4;
}

void ox_gemm_plan_init(ox_gemm_plan *g, const ox_gemm_variant *v, size_t m, size_t n, size_t k, uint32_t a_type,
                       uint32_t c_type, ox_gemm_b b_mode) {
  *g = (ox_gemm_plan){.v = v, .m = m, .n = n, .k = k, .a_type = a_type, .c_type = c_type, .b_mode = b_mode};
  plan_tiles(g);
}

void ox_gemm_plan_compressed(ox_gemm_plan *g, const ox_gemm_variant *v, size_t m, size_t n, size_t k, uint32_t a_type,
                             uint32_t c_type, const ox_compressed_kernels *kernels) {
  *g = (ox_gemm_plan){.v = v, .m = m, .n = n, .k = k, .a_type = a_type, .c_type = c_type};
  g->b_mode = OX_GEMM_COMPRESSED, g->compressed = kernels;
  plan_tiles(g);
}

/* Converts a block of a 16-bit A to floats, with row stride kc. */
static void widen_a(const ox_gemm_plan *g, const ox_gemm_io *io, size_t row, size_t rows, size_t k0, size_t kn,
                    float *to) {
  const uint16_t *a = (const uint16_t *)io->a + (ptrdiff_t)row * io->a_rs + (ptrdiff_t)k0 * io->a_ks;
  for (size_t i = 0; i < rows; i++, a += io->a_rs, to += g->kc) {
    const uint16_t *p = a;
    if (g->a_type == OX_F16)
      for (size_t k = 0; k < kn; k++, p += io->a_ks) to[k] = vf32_load_f16(p);
    else
      for (size_t k = 0; k < kn; k++, p += io->a_ks) to[k] = vf32_load_bf16(p);
  }
}

typedef struct block {
  size_t row, rows, col, cols, k0, kn;
  float *part;
  size_t part_rs;
  float *edge;
} block;

/* Whether all panels of a direct B are copied: in place, vectors cross lines, and rows a power of two apart share sets
 * of L1. Strips of many rows have so many FMAs for each load that they do not mind. */
static bool copies_panels(const ox_gemm_plan *g, const block *w) { return g->v->mr <= 6 && w->rows >= COPY_ROWS; }

/* Copies columns of a direct B, and pads them to a panel. */
static void copy_panel(const ox_gemm_plan *g, const ox_gemm_io *io, size_t col, size_t w, size_t k0, size_t kn,
                       float *to) {
  const float *b = (const float *)io->b + (ptrdiff_t)k0 * io->b_rs + col;
  if (w == 16 && g->v->nr == 16) {
    for (size_t k = 0; k < kn; k++, b += io->b_rs, to += 16) memcpy(to, b, 16 * sizeof *to);
    return;
  }
  for (size_t k = 0; k < kn; k++, b += io->b_rs, to += g->v->nr) {
    memcpy(to, b, w * sizeof *to);
    memset(to + w, 0, (g->v->nr - w) * sizeof *to);
  }
}

/* Whether compressed panels are expanded, a block of k at a time, for more than few rows. */
static bool expands(const ox_gemm_plan *g) { return g->compressed && !ox_gemm_is_few(g->v, g->m); }

/* Bytes of rows of a panel, plain or compressed; |k| is all of them or where a block begins. */
static size_t rows_bytes(const ox_gemm_plan *g, size_t k) {
  if (!g->compressed) return ox_gemm_panel_bytes(g->v, k);
  return k == g->k ? ox_compressed_panel_bytes(g->compressed, k)
                   : k / OX_COMPRESSED_ROWS * ox_compressed_segment_bytes(g->compressed);
}

/* Where the block of panel |j| of the tile lies. */
static const char *place_of(const ox_gemm_plan *g, const ox_gemm_io *io, const block *w, size_t j) {
  return (const char *)io->b + (w->col + j) / g->v->nr * rows_bytes(g, g->k) + rows_bytes(g, w->k0);
}

/* The address to prefetch while the block of panel |j| is multiplied: the block that comes next. Weights are often not
 * even in L3, and the first strip would wait for all of them, so each strip prefetches a share. */
static const char *next_panel(const ox_gemm_plan *g, const ox_gemm_io *io, const block *w, const void *b, size_t j) {
  size_t nr = g->v->nr, panel_bytes = rows_bytes(g, g->k);
  if (!ox_gemm_has_panels(g, io) && !expands(g)) return b;
  if (w->kn == g->k && w->rows <= g->v->mr) return (const char *)b + FETCH_AHEAD;
  if (j + nr < w->cols) return place_of(g, io, w, j + nr);
  const char *first = (const char *)io->b + w->col / nr * panel_bytes;
  if (w->k0 + w->kn < g->k) return first + rows_bytes(g, w->k0 + w->kn);
  return w->row + w->rows < g->m ? first : first + OX_CEIL_DIV(w->cols, nr) * panel_bytes;
}

/* Sets |t->b| to the block of panel |j|: where it lies, or a copy that is packed or expanded for its strips. */
static void find_b(const ox_gemm_plan *g, const ox_gemm_io *io, const block *w, size_t j, ox_gemm_tile *t) {
  t->b = w->edge, t->b_ks = g->v->nr;
  if (expands(g)) {
    const char *panel = (const char *)io->b + t->col / g->v->nr * rows_bytes(g, g->k);
    g->compressed->expand(&(ox_compressed_panel){panel, g->k, t->col, t->n, io->whole}, w->k0, w->kn, w->edge);
  } else if (g->compressed || ox_gemm_has_panels(g, io)) {
    t->b = place_of(g, io, w, j);
  } else if (g->b_mode == OX_GEMM_LATE) {
    ox_gemm_pack_rows(g->v, io->whole, g->n, t->col / g->v->nr, w->k0, w->kn, w->edge);
  } else if (g->b_mode == OX_GEMM_DOTS) {
    t->b = (const float *)io->b + (ptrdiff_t)t->col * io->b_rs + w->k0, t->b_ks = (size_t)io->b_rs;
  } else if (g->b_mode == OX_GEMM_SOURCE) {
    t->b = w->edge + j, t->b_ks = g->made_ld;
  } else if (t->n == g->v->nr && !copies_panels(g, w)) {
    t->b = (const float *)io->b + (ptrdiff_t)w->k0 * io->b_rs + t->col, t->b_ks = (size_t)io->b_rs;
  } else {
    copy_panel(g, io, t->col, t->n, w->k0, w->kn, w->edge);
  }
}

/* Runs one block of k: all panels of the tile by all strips. */
static void run_block(const ox_gemm_plan *g, const ox_gemm_io *io, const block *w, const float *a, ptrdiff_t a_rs,
                      ptrdiff_t a_ks) {
  const ox_gemm_variant *v = g->v;
  size_t nr = v->nr, c_elem = g->c_type == OX_F32 ? 4 : 2;
  const bool abreast = g->compressed && !expands(g);
  ox_gemm_fn fn = abreast ? g->compressed->multiply : g->b_mode == OX_GEMM_DOTS ? v->dots : v->fn;
  ox_gemm_tile t = {.a_rs = a_rs,
                    .a_ks = a_ks,
                    .k = w->kn,
                    .part_rs = w->part_rs,
                    .add = w->k0 > 0,
                    .whole = io->whole,
                    .streams = (ox_cpu_kind() & OX_SLOW_L3) != 0,
                    .c_type = g->c_type,
                    .c_rs = io->c_rs,
                    .epi = w->k0 + w->kn == g->k ? io->epi : NULL};
  size_t strips = OX_CEIL_DIV(w->rows, (size_t)v->mr), height = OX_CEIL_DIV(w->rows, strips);
  if (ox_gemm_has_panels(g, io)) t.fetch_step = OX_CEIL_DIV(ox_gemm_panel_bytes(v, 1), strips);
  if (expands(g)) t.fetch_step = OX_CEIL_DIV(nr * g->compressed->bits / 8, strips);
  if (g->b_mode == OX_GEMM_SOURCE) io->source(io->b, w->k0, w->kn, w->col, w->cols, w->edge, g->made_ld);
  const size_t step = abreast ? nr * panels_abreast(g->compressed) : nr;
  for (size_t j = 0; j < w->cols; j += step) {
    t.n = OX_MIN(step, w->cols - j), t.col = w->col + j;
    find_b(g, io, w, j, &t);
    const char *next = next_panel(g, io, w, t.b, j);
    for (size_t i = 0; i < w->rows; i += height) {
      t.m = OX_MIN(height, w->rows - i), t.row = w->row + i;
      t.fetch = next + i / height * t.fetch_step * w->kn;
      t.a = a + (ptrdiff_t)i * a_rs;
      t.part = w->part ? w->part + i * w->part_rs + j : NULL;
      t.c = (char *)io->c + (t.row * io->c_rs + t.col) * c_elem;
      fn(&t);
    }
  }
}

void ox_gemm_run(const ox_gemm_plan *g, const ox_gemm_io *io, size_t index, void *scratch) {
  block w = {.row = index % g->mt * g->mc, .col = index / g->mt * g->nc};
  w.rows = OX_MIN(g->mc, g->m - w.row), w.cols = OX_MIN(g->nc, g->n - w.col);
  char *s = scratch;
  float *wide = NULL;
  if (g->a_type != OX_F32) wide = (float *)s, s += OX_ROUND_UP(OX_MIN(g->mc, g->m) * g->kc * 4, (size_t)64);
  if (g->c_type == OX_F32) {
    w.part = (float *)io->c + w.row * io->c_rs + w.col, w.part_rs = io->c_rs;
  } else if (g->k > g->kc) {
    w.part = (float *)s, w.part_rs = g->nc, s += OX_ROUND_UP(OX_MIN(g->mc, g->m) * g->nc * 4, (size_t)64);
  }
  w.edge = (float *)s;
  do { /* once even if k = 0, for terms and activation */
    w.kn = OX_MIN(g->kc, g->k - w.k0);
    if (wide) {
      widen_a(g, io, w.row, w.rows, w.k0, w.kn, wide);
      run_block(g, io, &w, wide, (ptrdiff_t)g->kc, 1);
    } else {
      const float *a = (const float *)io->a + (ptrdiff_t)w.row * io->a_rs + (ptrdiff_t)w.k0 * io->a_ks;
      run_block(g, io, &w, a, io->a_rs, io->a_ks);
    }
    w.k0 += w.kn;
  } while (w.k0 < g->k && !ox_stop_asked(&io->stop));
}
