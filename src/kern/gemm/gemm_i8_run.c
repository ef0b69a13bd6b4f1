/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_run.c - selection, packing and the driver of 8-bit products. */
#include <string.h>

#include "base/cpu_kind.h"
#include "base/macros.h"
#include "kern/gemm/gemm_i8.h"

static const ox_gemm_i8_variant table[] = {
#define OX_GEMM_I8(...) OX_GEMM_I8_ROW(__VA_ARGS__),
#include "kern/gemm/gemm_i8_variants.inc"
#undef OX_GEMM_I8
};

const ox_gemm_i8_variant *ox_gemm_i8_select(ox_isa have) {
  for (size_t i = 0; i < OX_COUNT(table); i++)
    if ((table[i].needs & ~have) == 0) return &table[i];
  return NULL;
}

void ox_gemm_i8_pack_b(const ox_gemm_i8_variant *v, const void *b, bool b_signed, ptrdiff_t ks, ptrdiff_t ns, size_t k,
                       size_t n, size_t begin, size_t end, void *packed, const ox_stop *stop) {
  size_t nr = v->nr, kp = ox_gemm_i8_k(v, k), span = ox_gemm_i8_span(v, kp);
  int32_t *sums = ox_gemm_i8_sums(v, packed, kp, n);
  ox_stop_pace pace = {.stop = stop};
  for (size_t j = begin; j < end && !ox_stop_moved(&pace, nr * kp); j++) {
    uint8_t *to = (uint8_t *)packed + j * span;
    v->panel((const uint8_t *)b + (ptrdiff_t)(j * nr) * ns, b_signed ? 0 : 128, ks, ns, k, kp, OX_MIN(nr, n - j * nr),
             to, sums + j * nr);
    ox_gemm_i8_split(v, kp, to);
  }
}

/* A panel that can be split: its quads, extra quads, the places of these in A, ox_gemm_i8_extras at the end. */
static ox_gemm_i8_extras *extras_at(const ox_gemm_i8_variant *v, size_t kp, const void *panel) {
  return (ox_gemm_i8_extras *)(uintptr_t)((const char *)panel + ox_gemm_i8_span(v, kp)) - 1;
}
static uint32_t *places_at(const ox_gemm_i8_variant *v, size_t kp, const void *panel) {
  size_t quads = kp / 4 + ox_gemm_i8_most_extras(kp);
  return (uint32_t *)(uintptr_t)((const char *)panel + quads * 4 * v->nr);
}

void ox_gemm_i8_split(const ox_gemm_i8_variant *v, size_t kp, void *panel) {
  if (!v->forms) return;
  size_t row = 4 * (size_t)v->nr, all = kp / 4, n = 0;
  int8_t *quads = panel;
  bool pairs = ox_split_panel(v->forms->split, quads, row, all, ox_gemm_i8_most_extras(kp), quads + all * row,
                              places_at(v, kp, panel), &n);
  *extras_at(v, kp, panel) = (ox_gemm_i8_extras){pairs, (uint32_t)n};
}

enum {
  TILE_MACS = 1 << 22,       /* multiply-adds of a tile, about 20 us at 200 G/s */
  TILE_B_BYTES = 192 * 1024, /* bytes of B of a tile with few rows */
  MAX_ROWS = 192,            /* most rows of a tile */
  FEW_ROWS = 8,
  KEPT_ROWS = 13,    /* from so many rows on, keeping a panel that could not be split pays, */
  KEPT_QUADS = 64,   /* so many quads at a time, which stay in L1 for all rows */
  FETCH_AHEAD = 8192 /* prefetch distance in bytes, for panels that are read once */
};

/* Row stride of the copied A, in bytes. A tile load of a matrix unit reads 16 rows at once: an odd number of cache
 * lines puts them into different sets of L1. */
static size_t row_bytes(const ox_gemm_i8_variant *v, size_t k) {
  size_t kp = ox_gemm_i8_k(v, k);
  return v->begin && kp / 64 % 2 == 0 ? kp + 64 : kp;
}

/* Bytes of scratch for the copied rows of A, and for their and B's zero points and sums. */
static size_t rows_room(const ox_gemm_i8_plan *g, size_t padded) {
  return OX_ROUND_UP(padded * row_bytes(g->v, g->k), (size_t)64) + OX_ROUND_UP((2 * padded + g->nc) * 4, (size_t)64);
}

void ox_gemm_i8_plan_init(ox_gemm_i8_plan *g, const ox_gemm_i8_variant *v, size_t m, size_t n, size_t k) {
  *g = (ox_gemm_i8_plan){.v = v, .m = m, .n = n, .k = k};
  size_t strips = OX_MAX(OX_CEIL_DIV(m, (size_t)MAX_ROWS), (size_t)1), mr = v->mr, nr = v->nr,
         kk = OX_MAX(k, (size_t)1);
  g->mc = OX_ROUND_UP(OX_MAX(OX_CEIL_DIV(m, strips), (size_t)1), mr);
  size_t rows = OX_MIN(g->mc, OX_MAX(m, (size_t)1));
  g->nc = OX_ROUND_UP((size_t)96, nr);
  if (m <= FEW_ROWS)
    g->nc = OX_MAX(TILE_B_BYTES / kk / nr * nr, m == 1 && v->forms ? OX_GEMM_I8_ABREAST * nr : nr);
  else
    while (g->nc < n && rows * g->nc * kk < TILE_MACS) g->nc *= 2;
  g->mt = OX_CEIL_DIV(m, g->mc), g->nt = OX_CEIL_DIV(n, g->nc);
  if (g->nt) g->nc = OX_ROUND_UP(OX_CEIL_DIV(n, g->nt), nr), g->nt = OX_CEIL_DIV(n, g->nc);
  size_t padded = OX_ROUND_UP(rows, mr); /* a matrix unit loads whole strips */
  g->scratch = rows_room(g, padded);
  if (v->forms && rows >= KEPT_ROWS) g->scratch += 4 * nr * (padded + KEPT_QUADS * v->forms->kept_bytes);
}

typedef struct tile_rows {
  uint8_t *a; /* copied rows */
  int32_t *zero, *sum, *b_zero;
} tile_rows;

static int32_t wrap(uint32_t u) {
  int32_t i;
  memcpy(&i, &u, sizeof i);
  return i;
}

static int32_t zero_at(const void *p, bool is_signed, size_t i) {
  if (!p) return 0;
  return is_signed ? ((const int8_t *)p)[i] : ((const uint8_t *)p)[i];
}

/* Copies rows of A as unsigned bytes; computes their zero points, and their sums minus k times the zero point. */
static void copy_rows(const ox_gemm_i8_plan *g, const ox_gemm_i8_io *io, size_t row, size_t rows, const tile_rows *to) {
  size_t kp = ox_gemm_i8_k(g->v, g->k), a_rs = row_bytes(g->v, g->k), padded = OX_ROUND_UP(rows, (size_t)g->v->mr);
  uint8_t flip = io->a_signed ? 128 : 0;
  for (size_t i = 0; i < rows; i++) {
    const uint8_t *s = (const uint8_t *)io->a + (ptrdiff_t)(row + i) * io->a_rs;
    uint8_t *d = to->a + i * a_rs;
    uint32_t sum = 0;
    if (io->a_ks == 1) {
      sum = (uint32_t)g->v->row(s, flip, g->k, kp, d);
    } else {
      for (size_t k = 0; k < g->k; k++, s += io->a_ks) d[k] = *s ^ flip, sum += d[k];
      memset(d + g->k, 0, kp - g->k);
    }
    to->zero[i] = zero_at(io->a_zero, io->a_signed, (row + i) * io->a_zero_step) + flip;
    to->sum[i] = wrap(sum - (uint32_t)g->k * (uint32_t)to->zero[i]);
  }
  memset(to->a + rows * a_rs, 0, (padded - rows) * a_rs);
}

/* For rows that are used in place: only their zero points. Sums are not needed, as B has no zero points then. */
static void name_rows(const ox_gemm_i8_io *io, size_t row, size_t rows, const tile_rows *to) {
  for (size_t i = 0; i < rows; i++) {
    to->zero[i] = zero_at(io->a_zero, false, (row + i) * io->a_zero_step);
    to->sum[i] = 0;
  }
}

/* Zero points of columns [col, col + cols); false: all are 0. */
static bool zeros_of_b(const ox_gemm_i8_io *io, size_t col, size_t cols, int32_t *to) {
  int32_t flip = io->b_signed ? 0 : 128;
  uint32_t any = 0;
  if (!io->b_zero_step) {
    int32_t zero = zero_at(io->b_zero, io->b_signed, 0) - flip;
    for (size_t j = 0; zero && j < cols; j++) to[j] = zero;
    return zero != 0;
  }
  for (size_t j = 0; j < cols; j++)
    to[j] = zero_at(io->b_zero, io->b_signed, (col + j) * io->b_zero_step) - flip, any |= (uint32_t)to[j];
  return any != 0;
}

/* A panel of a tile: |t| as it is for the first strip. */
typedef struct tile_panel {
  const ox_gemm_i8_plan *g;
  ox_gemm_i8_tile t;
  size_t rows;
  const int8_t *next; /* what strips prefetch */
  int32_t *sums;      /* scratch: [padded rows][NR], then kept weights */
  size_t c_elem;
} tile_panel;

/* Calls |fn| for each strip of rows. */
static void each_strip(const tile_panel *p, ox_gemm_i8_fn fn) {
  const size_t mr = p->g->v->mr, nr = p->g->v->nr;
  ox_gemm_i8_tile t = p->t;
  for (size_t i = 0; i < p->rows; i += mr) {
    t.m = OX_MIN(mr, p->rows - i);
    t.fetch = p->next + (p->rows <= mr ? 0 : i / mr * t.fetch_step * t.quads);
    fn(&t);
    t.a += mr * t.a_rs, t.row += mr, t.a_zero += mr, t.row_sum += mr, t.sums += mr * nr;
    t.c = (char *)t.c + mr * t.c_rs * p->c_elem;
  }
}

/* Of a panel that could not be split: its weights are kept some at a time. */
static void keep_and_run(tile_panel *p) {
  const ox_gemm_i8_forms *f = p->g->v->forms;
  const size_t nr = p->g->v->nr, quads = p->t.quads;
  const int8_t *b = p->t.b;
  int8_t *kept = (int8_t *)(p->sums + OX_ROUND_UP(p->rows, (size_t)p->g->v->mr) * nr);
  p->t.b = kept;
  for (size_t q = 0; q < quads; q += KEPT_QUADS) {
    p->t.quads = OX_MIN(quads - q, (size_t)KEPT_QUADS), p->t.more = q > 0;
    f->keep(b + q * 4 * nr, p->t.quads * nr, kept);
    p->next = b + (q + KEPT_QUADS) * 4 * nr;
    each_strip(p, f->kept);
    p->t.a += 4 * p->t.quads;
  }
  each_strip(p, f->finish);
}

/* Whether panels of one row are multiplied several at a time. */
static bool is_abreast(const ox_gemm_i8_plan *g) { return g->m == 1 && g->v->forms && !(ox_cpu_kind() & OX_SLOW_L3); }

/* One row by the |n| panels of its tile, of which |t| is the first: by several at a time, as long as all are split. */
static size_t run_abreast(const tile_panel *first, size_t n) {
  enum { ABREAST = OX_GEMM_I8_ABREAST };
  const ox_gemm_i8_variant *v = first->g->v;
  const size_t kp = 4 * first->t.quads, nr = v->nr, span = ox_gemm_i8_span(v, kp);
  size_t done = 0;
  for (; n - done >= ABREAST; done += ABREAST) {
    ox_gemm_i8_tile t[ABREAST];
    for (size_t i = 0; i < ABREAST; i++) {
      const size_t j = (done + i) * nr;
      t[i] = first->t, t[i].m = 1, t[i].b += (done + i) * span;
      const ox_gemm_i8_extras *x = extras_at(v, kp, t[i].b);
      if (!x->pairs) return done;
      t[i].extra = places_at(v, kp, t[i].b), t[i].n_extra = x->n;
      t[i].col += j, t[i].col_sum += j, t[i].c = (char *)t[i].c + j * first->c_elem;
      if (t[i].b_zero) t[i].b_zero += j;
      t[i].n = OX_MIN(nr, first->g->n - t[i].col);
    }
    v->forms->abreast(t);
  }
  return done;
}

static void run_panel(tile_panel *p) {
  const ox_gemm_i8_variant *v = p->g->v;
  size_t kp = 4 * p->t.quads;
  const ox_gemm_i8_extras *x = v->forms ? extras_at(v, kp, p->t.b) : NULL;
  if (x && x->pairs) {
    p->t.extra = places_at(v, kp, p->t.b), p->t.n_extra = x->n;
    each_strip(p, v->forms->pairs);
  } else if (x && p->rows >= KEPT_ROWS) {
    keep_and_run(p);
  } else {
    each_strip(p, v->fn);
  }
}

void ox_gemm_i8_run(const ox_gemm_i8_plan *g, const ox_gemm_i8_io *io, size_t index, void *scratch) {
  const ox_gemm_i8_variant *v = g->v;
  size_t row = index % g->mt * g->mc, col = index / g->mt * g->nc, kp = ox_gemm_i8_k(v, g->k), nr = v->nr, mr = v->mr;
  size_t rows = OX_MIN(g->mc, g->m - row), cols = OX_MIN(g->nc, g->n - col), padded = OX_ROUND_UP(rows, mr);
  size_t span = ox_gemm_i8_span(v, kp);
  size_t a_rs = row_bytes(v, g->k), c_elem = io->out->type == OX_I32 || io->out->type == OX_F32 ? 4 : 1;
  tile_rows r = {.a = scratch};
  r.zero = (int32_t *)(void *)(r.a + OX_ROUND_UP(padded * a_rs, (size_t)64)), r.sum = r.zero + padded,
  r.b_zero = r.sum + padded;
  const uint8_t *a = r.a;
  bool in_place = !io->a_signed && io->a_ks == 1 && io->a_rs >= 0 && kp == g->k && !v->begin;
  bool b_zero = zeros_of_b(io, col, cols, r.b_zero);
  if (in_place && !b_zero) {
    name_rows(io, row, rows, &r);
    a = (const uint8_t *)io->a + row * (size_t)io->a_rs, a_rs = (size_t)io->a_rs;
  } else {
    copy_rows(g, io, row, rows, &r);
  }
  const int8_t *panels = io->packed;
  const int32_t *sums = ox_gemm_i8_sums(v, panels, kp, g->n);
  size_t strips = OX_CEIL_DIV(rows, mr);
  tile_panel p = {.g = g, .rows = rows, .sums = (int32_t *)(void *)(r.a + rows_room(g, padded)), .c_elem = c_elem};
  if (v->begin) v->begin();
  for (size_t j = 0; j < cols && !(j && ox_stop_asked(&io->stop)); j += nr) {
    size_t at = col + j;
    /* Each strip prefetches a share of the next panel; a single strip prefetches at a fixed distance. */
    p.t = (ox_gemm_i8_tile){.a = a,
                            .a_rs = a_rs,
                            .b = panels + at / nr * span,
                            .quads = kp / 4,
                            .n = OX_MIN(nr, cols - j),
                            .fetch_step = OX_CEIL_DIV(4 * nr, strips),
                            .a_zero = r.zero,
                            .row_sum = r.sum,
                            .b_zero = b_zero ? r.b_zero + j : NULL,
                            .col_sum = sums + at,
                            .out = io->out,
                            .sums = p.sums,
                            .row = row,
                            .col = at,
                            .c = (char *)io->c + (row * io->c_rs + at) * c_elem,
                            .c_rs = io->c_rs};
    p.next = p.t.b + (strips == 1 ? FETCH_AHEAD : span);
    size_t done = is_abreast(g) ? run_abreast(&p, OX_CEIL_DIV(cols - j, nr)) : 0;
    if (done)
      j += (done - 1) * nr;
    else
      run_panel(&p);
  }
  if (v->end) v->end();
}
