/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen_run.c - one level of Strassen's product: the division of C into tiles, the operands made from A,
 * and the run of a tile: a band of two panels, blocks of k, the seven steps, strips of rows. All of it depends on
 * shapes only. */
#include "base/cpu_kind.h"
#include "base/macros.h"
#include "kern/gemm/compressed.h"
#include "kern/gemm/strassen.h"

enum {
  MAX_ROWS = 256,      /* most rows of a tile */
  MOST_OF_A = 1 << 20, /* most elements of A in a tile: the operands made from them take 8 MB */
  LINE = 16            /* floats */
};

#define OX_STRASSEN(needs, mr, nr, rows, side, b, sym) extern const ox_strassen_kernels sym;
#include "kern/gemm/strassen_variants.inc"
#undef OX_STRASSEN

typedef struct variant {
  ox_isa needs;
  size_t least_rows, least_side, least_of_b; /* side: columns, k */
  const ox_strassen_kernels *kernels;
} variant;

static const variant table[] = {
#define OX_STRASSEN(needs, mr, nr, rows, side, b, sym) {needs, rows, side, b, &sym},
#include "kern/gemm/strassen_variants.inc"
#undef OX_STRASSEN
    {0, 0, 0, 0, NULL}};

static const variant *find(const ox_gemm_variant *v, ox_isa have) {
  const ox_isa kind = OX_AVX512_HALVES | OX_SLOW_L3;
  const variant *x = table;
  for (; x->kernels; x++)
    if (v->panel == OX_F32 && (x->needs & ~kind) == v->needs && x->kernels->nr == v->nr && !(x->needs & kind & ~have))
      break;
  return x;
}

const ox_strassen_kernels *ox_strassen_select(const ox_gemm_variant *v, ox_isa have) { return find(v, have)->kernels; }

bool ox_strassen_pays(const ox_gemm_variant *v, ox_isa have, size_t m, size_t n, size_t k) {
  const variant *x = find(v, have);
  return !(have & OX_PLAIN_SUMS) && x->kernels && k % 2 == 0 && m >= x->least_rows && n >= x->least_side &&
         k >= x->least_side && k >= x->least_of_b / n && OX_MIN(m, (size_t)MAX_ROWS) <= MOST_OF_A / k;
}

/* ---- memory of a worker, in floats ---- */

typedef struct parts {
  size_t zeros, mixed, sums, added, panels, all; /* offsets; the factors that undo the rows' scales come first */
} parts;

static size_t step_floats(const ox_strassen_plan *g) { return g->half_rows * OX_STRASSEN_A_RS; }
static size_t block_floats(const ox_strassen_plan *g) { return g->half_rows * g->v->nr; } /* of C */

static parts parts_of(const ox_strassen_plan *g) {
  size_t rows = OX_ROUND_UP(2 * g->half_rows, (size_t)LINE);
  parts p = {.zeros = rows};
  p.mixed = p.zeros + OX_STRASSEN_A_RS;
  p.sums = p.mixed + OX_CEIL_DIV(g->plain.k, g->kc) * OX_STRASSEN_STEPS * step_floats(g);
  p.added = p.sums + 4 * block_floats(g);
  p.panels = p.added + (g->v->keeps_sums ? g->kc / 2 * g->v->nr : 0);
  p.all = p.panels + OX_MAX(g->kc * g->plain.nc, OX_CEIL_DIV(g->plain.scratch, sizeof(float)));
  return p;
}

void ox_strassen_plan_init(ox_strassen_plan *g, const ox_gemm_plan *plain, ox_isa have) {
  const variant *x = find(plain->v, have);
  const size_t m = plain->m, n = plain->n, k = plain->k;
  *g = (ox_strassen_plan){.v = x->kernels, .plain = *plain, .least_rows = x->least_rows};
  ox_gemm_plan *p = &g->plain;
  p->mt = OX_CEIL_DIV(m, (size_t)MAX_ROWS), p->mc = OX_ROUND_UP(OX_CEIL_DIV(m, p->mt), (size_t)2);
  p->mt = OX_CEIL_DIV(m, p->mc), g->half_rows = p->mc / 2;
  p->nc = 2 * (size_t)p->v->nr, p->nt = OX_CEIL_DIV(n, p->nc);
  g->kc = OX_ROUND_UP(OX_CEIL_DIV(k, OX_CEIL_DIV(k, (size_t)(2 * OX_STRASSEN_K))), (size_t)(2 * LINE));
  g->scratch = parts_of(g).all * sizeof(float);
}

/* ---- a tile ---- */

typedef struct walk {
  const ox_strassen_plan *g;
  const ox_gemm_io *io;
  size_t row, all_rows, rows, strips; /* rows, strips: of a block of C */
  size_t band;                        /* number of the band, a pair of panels */
  float *back, *zeros, *mixed, *sums, *added;
  float *panels; /* room to pack or expand a block of k of the band; NULL: B is in plain panels */
} walk;

/* A block of k of a band. */
typedef struct place {
  size_t band, k0, half;
} place;

static size_t half_of(const ox_strassen_plan *g, size_t k0) { return OX_MIN(g->kc, g->plain.k - k0) / 2; }

static const float *block_of_b(const walk *w, const place *p, size_t q) {
  const ox_gemm_plan *g = &w->g->plain;
  if (w->panels) return w->panels + (2 * (q & 1) + (q >> 1)) * p->half * w->g->v->nr;
  return (const float *)w->io->b + ((2 * p->band + (q & 1)) * g->k + p->k0 + (q >> 1) * p->half) * w->g->v->nr;
}

/* Expands the two panels of a block. */
static void expand_panels(const walk *w, const place *p) {
  const ox_gemm_plan *g = &w->g->plain;
  const ox_gemm_variant *v = g->v;
  for (size_t i = 0; i < 2; i++) {
    size_t col = p->band * g->nc + i * v->nr;
    ox_compressed_panel panel = {.k = g->k, .col = col, .n = OX_MIN((size_t)v->nr, g->n - col), .whole = w->io->whole};
    panel.data = (const char *)w->io->b + col / v->nr * ox_compressed_panel_bytes(g->compressed, g->k);
    g->compressed->expand(&panel, p->k0, 2 * p->half, w->panels + i * 2 * p->half * v->nr);
  }
}

/* Packs a block of B to panels. */
static void pack_panels(const walk *w, const place *p) {
  const ox_gemm_plan *g = &w->g->plain;
  if (g->compressed) {
    expand_panels(w, p);
    return;
  }
  size_t col = p->band * g->nc, n = OX_MIN(g->nc, g->n - col), nr = g->v->nr;
  if (g->b_mode == OX_GEMM_SOURCE) {
    for (size_t i = 0; i < 2; i++)
      w->io->source(w->io->b, p->k0, 2 * p->half, col + i * nr, nr, w->panels + i * 2 * p->half * nr, nr);
    return;
  }
  ox_gemm_src src = *w->io->whole;
  src.p = (const char *)src.p + ((ptrdiff_t)p->k0 * src.ks + (ptrdiff_t)col * src.ns) * (ptrdiff_t)sizeof(float);
  ox_gemm_pack_b(g->v, &src, 2 * p->half, n, 0, 2, w->panels, &w->io->stop);
}

/* Computes a tile as a plain product. */
static void run_plain(const ox_strassen_plan *g, const ox_gemm_io *io, size_t tile, size_t band, float *panels) {
  ox_gemm_run(&g->plain, io, band * g->plain.mt + tile, panels);
}

static float *mixed_at(const walk *w, size_t k0) {
  return w->mixed + k0 / w->g->kc * OX_STRASSEN_STEPS * step_floats(w->g);
}

/* Makes the steps' operands from a pair of rows of A. False: one of them is not finite, or may overflow. */
static bool mix_rows(const walk *w, size_t i) {
  const ox_strassen_plan *g = w->g;
  const float *a[2] = {NULL};
  ox_strassen_pair p = {.step_floats = step_floats(g)};
  for (size_t r = 0; r < 2; r++) {
    size_t row = i + r * g->half_rows;
    if (row >= w->all_rows) continue;
    a[r] = (const float *)w->io->a + (ptrdiff_t)(w->row + row) * w->io->a_rs;
    p.scale[r] = ox_strassen_scale(g->v->largest_bits(a[r], g->plain.k), &w->back[row]);
    if (p.scale[r] != p.scale[r]) return false; /* NaN */
  }
  for (size_t k0 = 0; k0 < g->plain.k; k0 += g->kc) {
    p.k = half_of(g, k0), p.to = mixed_at(w, k0) + i * OX_STRASSEN_A_RS;
    for (size_t q = 0; q < 4; q++) p.from[q] = a[q >> 1] ? a[q >> 1] + k0 + (q & 1) * p.k : w->zeros;
    g->v->mix(&p);
  }
  return true;
}

/* Makes the operands for all rows of the tile. False: the run was stopped. */
static bool mix_all(const walk *w, bool *finite) {
  memset(w->zeros, 0, OX_STRASSEN_A_RS * sizeof(float));
  *finite = true;
  for (size_t i = 0; i < w->rows; i++) {
    if (i % 8 == 0 && ox_stop_asked(&w->io->stop)) return false;
    if (!mix_rows(w, i)) {
      *finite = false;
      break;
    }
  }
  return true;
}

/* Prefetching: weights are often not even in L3. B0 and B3 of the next block of k are prefetched during the last two
 * steps and the first, B1 during the next two, B2 during the two after these; each strip prefetches a share. So only
 * few of them are in L2 at a time. */
typedef struct fetch {
  const char *from[2]; /* two blocks, or one twice */
  size_t at, first;    /* among the strips that prefetch these: this one's number, how many prefetch the first block */
  size_t step[2];      /* bytes per k */
} fetch;

static fetch find_fetch(const walk *w, const place *p, const place *next, size_t s) {
  static const struct {
    uint8_t begin, steps; /* among the steps that prefetch the same blocks: this one's number, and their number */
    uint8_t block[2];
  } plan[OX_STRASSEN_STEPS] = {{2, 3, {0, 3}}, {0, 2, {1, 1}}, {1, 2, {1, 1}}, {0, 2, {2, 2}},
                               {1, 2, {2, 2}}, {0, 3, {0, 3}}, {1, 3, {0, 3}}};
  uint32_t row = (uint32_t)(w->g->v->nr * sizeof(float)), strips = plan[s].steps * (uint32_t)w->strips;
  uint32_t first = plan[s].block[0] == plan[s].block[1] ? strips : (strips + 1) / 2;
  fetch f = {.at = plan[s].begin * w->strips, .first = first, .step = {OX_CEIL_DIV(row, first)}};
  if (first < strips) f.step[1] = OX_CEIL_DIV(row, strips - first);
  for (size_t i = 0; i < 2; i++) f.from[i] = (const char *)block_of_b(w, s < 5 ? p : next, plan[s].block[i]);
  return f;
}

/* A tile of block |q| of C, to be moved to its rows. */
static ox_gemm_tile tile_of(const walk *w, size_t q) {
  size_t nr = w->g->v->nr, col = (2 * w->band + (q & 1)) * nr;
  return (ox_gemm_tile){.n = OX_MIN(nr, w->g->plain.n - col),
                        .epi = w->io->epi,
                        .c_type = OX_F32,
                        .c_rs = w->io->c_rs,
                        .col = col};
}

/* Moves it to rows [i, i + m); its m is 0 if they are beyond the last row. */
static void move_tile(const walk *w, size_t q, size_t i, size_t m, ox_gemm_tile *t) {
  size_t row = (q >> 1) * w->g->half_rows + i;
  t->m = row < w->all_rows ? OX_MIN(m, w->all_rows - row) : 0;
  t->row = w->row + row;
  t->c = (float *)w->io->c + t->row * t->c_rs + t->col;
}

/* Runs step |s|. False: a block of C completed by it is not finite. */
static bool run_step(const walk *w, const place *p, const place *next, size_t s) {
  const ox_strassen_plan *g = w->g;
  const ox_strassen_step *x = &ox_strassen[s];
  size_t nr = g->v->nr, low = w->rows / w->strips, high = w->rows % w->strips; /* strips of low + 1 rows come first */
  fetch f = find_fetch(w, p, next, s);
  ox_strassen_strip t = {.a = mixed_at(w, p->k0) + s * step_floats(g),
                         .k = p->half,
                         .b = {block_of_b(w, p, x->b[0]), block_of_b(w, p, x->b[1])},
                         .b_sign = x->b_sign,
                         .b_sum = w->added,
                         .c = {w->sums + x->c[0] * block_floats(g), w->sums + x->c[1] * block_floats(g)},
                         .c_sign = {x->c_sign[0], x->c_sign[1]},
                         .c_first = p->k0 == 0 && s < OX_STRASSEN_FIRST};
  if (!x->c_sign[1]) t.c[1] = NULL;
  bool whole = s >= OX_STRASSEN_WHOLE && p->k0 + g->kc >= g->plain.k, fine = true;
  ox_gemm_tile end = tile_of(w, x->c[0]);
  t.end = whole ? &end : NULL;
  for (size_t strip = 0, i = 0; strip < w->strips; strip++, f.at++, i += t.m) {
    size_t second = f.at >= f.first;
    t.m = low + (strip < high);
    t.fetch_step = f.step[second], t.fetch = f.from[second] + (f.at - second * f.first) * t.fetch_step * t.k;
    if (whole) move_tile(w, x->c[0], i, t.m, &end), t.back = w->back + (x->c[0] >> 1) * g->half_rows + i;
    fine = g->v->multiply(&t) && fine;
    t.a += t.m * OX_STRASSEN_A_RS, t.c[0] += t.m * nr;
    if (g->v->keeps_sums && t.b_sign) t.b[0] = w->added, t.b_sign = 0;
    if (t.c[1]) t.c[1] += t.m * nr;
  }
  return fine;
}

void ox_strassen_run(const ox_strassen_plan *g, const ox_gemm_io *io, size_t index, ox_carried *made, void *scratch) {
  const ox_gemm_plan *p = &g->plain;
  parts at = parts_of(g);
  size_t tile = index / p->nt;
  float *s = scratch;
  walk w = {.g = g, .io = io, .row = tile * p->mc, .band = index % p->nt, .back = s};
  w.all_rows = OX_MIN(p->mc, p->m - w.row), w.rows = OX_MIN(w.all_rows, g->half_rows);
  if (p->n - w.band * p->nc <= g->v->nr || w.all_rows < g->least_rows) {
    run_plain(g, io, tile, w.band, s + at.panels);
    return;
  }
  if (!ox_gemm_has_panels(p, io)) w.panels = s + at.panels;
  w.strips = OX_CEIL_DIV(w.rows, (size_t)g->v->mr);
  w.zeros = s + at.zeros, w.mixed = s + at.mixed, w.sums = s + at.sums, w.added = s + at.added;
  const int64_t finite_rows = (int64_t)tile, odd_rows = -2 - finite_rows; /* odd: not finite, so nothing is made */
  int64_t nobodys = -1, *mine = ox_carried_of(made, scratch);
  if (!mine) mine = &nobodys;
  if (*mine != finite_rows && *mine != odd_rows) {
    bool finite;
    if (!mix_all(&w, &finite)) return;
    *mine = finite ? finite_rows : odd_rows;
  }
  if (*mine == odd_rows) {
    run_plain(g, io, tile, w.band, s + at.panels);
    return;
  }
  place here = {w.band, 0, half_of(g, 0)}, next;
  bool fine = true;
  for (size_t k1 = 0; k1 < p->k; here = next) {
    k1 += g->kc;
    next = k1 < p->k ? (place){w.band, k1, half_of(g, k1)} : (place){(w.band + 1) % p->nt, 0, half_of(g, 0)};
    if (w.panels) pack_panels(&w, &here);
    if (ox_stop_asked(&io->stop)) return;
    const place *soon = w.panels ? &here : &next; /* a block that is not packed yet cannot be prefetched */
    for (size_t step = 0; step < OX_STRASSEN_STEPS; step++) fine = run_step(&w, &here, soon, step) && fine;
  }
  if (!fine) run_plain(g, io, tile, w.band, s + at.panels);
}
