/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen_run.c - one level of Strassen's product: how C is cut, what is made of A, and the run of a tile:
 * two panels of columns, blocks of k, the seven steps, strips of rows. All of it depends on shapes only. */
#include "base/macros.h"
#include "kern/gemm/strassen.h"

enum {
  LEAST_ROWS = 60,        /* of a tile: half of them are strips of two thirds of MR at least */
  LEAST_COLUMNS = 768,    /* fewer do not pay for what is made of A, above all where threads share no L3 */
  LEAST_K = 768,          /* less does not pay for adding to two blocks of C */
  MAX_ROWS = 256,         /* of a tile */
  MOST_OF_A = 1 << 22,    /* elements: what is made of it has 30 MB */
  MOST_K = 768,           /* of a block of k */
  MIX_ELEMENTS = 1 << 14, /* of A, of a tile of stage 0 */
  LINE = 16               /* floats; an odd number of lines to a row spreads rows over the sets of a cache */
};

#define OX_STRASSEN(needs, mr, nr, sym) extern const ox_strassen_kernels sym;
#include "kern/gemm/strassen_variants.inc"
#undef OX_STRASSEN

static const struct {
  ox_isa needs;
  const ox_strassen_kernels *kernels;
} table[] = {
#define OX_STRASSEN(needs, mr, nr, sym) {needs, &sym},
#include "kern/gemm/strassen_variants.inc"
#undef OX_STRASSEN
    {0, NULL}};

const ox_strassen_kernels *ox_strassen_select(const ox_gemm_variant *v) {
  for (size_t i = 0; v->panel == OX_F32 && table[i].kernels; i++)
    if (table[i].needs == v->needs && table[i].kernels->nr == v->nr) return table[i].kernels;
  return NULL;
}

bool ox_strassen_pays(const ox_gemm_variant *v, size_t m, size_t n, size_t k) {
  return ox_strassen_select(v) && k % 2 == 0 && m >= LEAST_ROWS && n >= LEAST_COLUMNS && k >= LEAST_K &&
         m <= MOST_OF_A / k;
}

/* Floats of what all steps take of a tile's rows and a block of k. */
static size_t step_floats(const ox_strassen_plan *g) { return g->half_rows * g->a_rs; }
static size_t block_floats(const ox_strassen_plan *g) { return OX_STRASSEN_STEPS * step_floats(g); }

void ox_strassen_plan_init(ox_strassen_plan *g, const ox_gemm_variant *v, size_t m, size_t n, size_t k) {
  *g = (ox_strassen_plan){.v = ox_strassen_select(v)};
  ox_gemm_plan *p = &g->plain;
  ox_gemm_plan_init(p, v, m, n, k, OX_F32, OX_F32, OX_GEMM_PACKED);
  p->mt = OX_CEIL_DIV(m, (size_t)MAX_ROWS), p->mc = OX_ROUND_UP(OX_CEIL_DIV(m, p->mt), (size_t)2);
  p->mt = OX_CEIL_DIV(m, p->mc);
  p->nc = 2 * (size_t)v->nr, p->nt = OX_CEIL_DIV(n, p->nc);
  size_t blocks = OX_CEIL_DIV(k, (size_t)MOST_K);
  g->kc = OX_ROUND_UP(OX_CEIL_DIV(k, blocks), (size_t)(2 * LINE)), blocks = OX_CEIL_DIV(k, g->kc);
  g->half_rows = p->mc / 2;
  g->a_rs = (OX_CEIL_DIV(g->kc / 2, (size_t)LINE) | 1) * LINE;
  g->pairs_per_tile = OX_MAX(MIX_ELEMENTS / (2 * k), (size_t)1);
  g->back_bytes = OX_ROUND_UP(p->mt * p->mc * sizeof(float), (size_t)OX_ALIGN_BYTES);
  g->shared = g->back_bytes + p->mt * blocks * block_floats(g) * sizeof(float);
  g->scratch = 4 * g->half_rows * v->nr * sizeof(float);
}

/* ---- what the steps take of A ---- */

static size_t mix_tiles(const ox_strassen_plan *g) { return OX_CEIL_DIV(g->half_rows, g->pairs_per_tile); }
size_t ox_strassen_a_tiles(const ox_strassen_plan *g) { return g->plain.mt * mix_tiles(g); }

static float *mixed_at(const ox_strassen_plan *g, const void *shared, size_t row_tile) {
  size_t blocks = OX_CEIL_DIV(g->plain.k, g->kc);
  return (float *)(void *)((char *)shared + g->back_bytes) + row_tile * blocks * block_floats(g);
}

void ox_strassen_run_a(const ox_strassen_plan *g, const ox_gemm_io *io, size_t index, void *shared) {
  const ox_gemm_plan *p = &g->plain;
  size_t tile = index / mix_tiles(g), row = tile * p->mc, rows = OX_MIN(p->mc, p->m - row);
  size_t first = index % mix_tiles(g) * g->pairs_per_tile;
  size_t end = OX_MIN(first + g->pairs_per_tile, OX_MIN(rows, g->half_rows));
  for (size_t i = first; i < end && !ox_stop_asked(&io->stop); i++) {
    const float *a = (const float *)io->a + (ptrdiff_t)(row + i) * io->a_rs;
    ox_strassen_pair x = {.row = {a, i + g->half_rows < rows ? a + (ptrdiff_t)g->half_rows * io->a_rs : NULL},
                          .k = p->k,
                          .kc = g->kc,
                          .to = mixed_at(g, shared, tile) + i * g->a_rs,
                          .block_floats = block_floats(g),
                          .step_floats = step_floats(g),
                          .back = (float *)shared + row + i,
                          .half_rows = g->half_rows};
    g->v->mix(&x);
  }
}

/* ---- a tile ---- */

typedef struct walk {
  const ox_strassen_plan *g;
  const ox_gemm_io *io;
  size_t row, all_rows, col;
  const float *panel[2], *next[2]; /* the tile's, those of the tile after it */
  const float *mixed, *back;
  float *sums;
  size_t rows, strips; /* of a block of C */
} walk;

/* Weights are often not even in L3. B0 and B3 of the next block come to L2 during the last two steps and the first, B1
 * during the next two, B2 during those after, each strip fetching a share. So L2 holds few of them at a time. */
static void find_fetch(const walk *w, ox_strassen_strip *t, size_t s, size_t k0, size_t strip) {
  static const struct {
    uint8_t begin, steps; /* of the list below that this step is in: its place, and their number */
    uint8_t block[2];     /* what they fetch */
  } plan[OX_STRASSEN_STEPS] = {{2, 3, {0, 3}}, {0, 2, {1, 1}}, {1, 2, {1, 1}}, {0, 2, {2, 2}},
                               {1, 2, {2, 2}}, {0, 3, {0, 3}}, {1, 3, {0, 3}}};
  uint32_t strips = plan[s].steps * (uint32_t)w->strips, at = plan[s].begin * (uint32_t)w->strips + (uint32_t)strip;
  uint32_t first = plan[s].block[0] == plan[s].block[1] ? strips : (strips + 1) / 2; /* strips that fetch the first */
  size_t q = plan[s].block[at >= first], k1 = s < 5 ? k0 : k0 + 2 * t->k, nr = w->g->v->nr;
  if (at >= first) at -= first, first = strips - first;
  const float *from = k1 < w->g->plain.k ? w->panel[q & 1] + k1 * nr : w->next[q & 1];
  t->fetch_step = OX_CEIL_DIV((uint32_t)(nr * sizeof(float)), first);
  t->fetch = (const char *)(from + (q >> 1) * t->k * nr) + at * t->fetch_step * t->k;
}

/* Where rows [i, i + m) of block |q| of C belong; m 0: there are none. */
static ox_gemm_tile place(const walk *w, size_t q, size_t i, size_t m) {
  const ox_gemm_io *io = w->io;
  size_t row = (q >> 1) * w->g->half_rows + i, col = (q & 1) * w->g->v->nr;
  ox_gemm_tile t = {.m = row < w->all_rows ? OX_MIN(m, w->all_rows - row) : 0,
                    .n = OX_MIN(w->g->v->nr, w->g->plain.n - w->col - col),
                    .epi = io->epi,
                    .c_type = OX_F32,
                    .c_rs = io->c_rs,
                    .row = w->row + row,
                    .col = w->col + col};
  t.c = (float *)io->c + t.row * io->c_rs + t.col;
  return t;
}

/* False: a block of C that this step makes whole is not finite. */
static bool run_step(const walk *w, const ox_strassen_step *x, size_t s, size_t k0, size_t half) {
  const ox_strassen_plan *g = w->g;
  size_t nr = g->v->nr, block = g->half_rows * nr;
  const float *b[4], *a = w->mixed + k0 / g->kc * block_floats(g) + s * step_floats(g);
  for (size_t q = 0; q < 4; q++) b[q] = w->panel[q & 1] + (k0 + (q >> 1) * half) * nr;
  ox_strassen_strip t = {.a_rs = g->a_rs, .k = half, .b = {b[x->b[0]], b[x->b[1]]}, .b_ks = nr, .b_sign = x->b_sign};
  bool whole = s >= OX_STRASSEN_WHOLE && k0 + g->kc >= g->plain.k, fine = true;
  t.c_first = k0 == 0 && s < OX_STRASSEN_FIRST;
  t.c_sign[0] = x->c_sign[0], t.c_sign[1] = x->c_sign[1];
  for (size_t i = 0, strip = 0; strip < w->strips; i += t.m, strip++) {
    t.m = w->rows / w->strips + (strip < w->rows % w->strips), t.a = a + i * g->a_rs;
    t.c[0] = w->sums + x->c[0] * block + i * nr;
    t.c[1] = x->c_sign[1] ? w->sums + x->c[1] * block + i * nr : NULL;
    find_fetch(w, &t, s, k0, strip);
    ox_gemm_tile end;
    if (whole) end = place(w, x->c[0], i, t.m), t.back = w->back + (x->c[0] >> 1) * g->half_rows + i;
    t.end = whole ? &end : NULL;
    fine = g->v->multiply(&t) && fine;
  }
  return fine;
}

void ox_strassen_run(const ox_strassen_plan *g, const ox_gemm_io *io, size_t index, const void *shared, void *scratch) {
  const ox_gemm_plan *p = &g->plain;
  size_t tile = index % p->mt, row = tile * p->mc, col = index / p->mt * p->nc, nr = g->v->nr;
  size_t rows = OX_MIN(p->mc, p->m - row), panel = nr * p->k;
  if (p->n - col <= nr || rows < LEAST_ROWS) {
    ox_gemm_run(p, io, index, scratch);
    return;
  }
  const float *b = (const float *)io->b + col / nr * panel;
  walk w = {.g = g, .io = io, .row = row, .col = col, .panel = {b, b + panel}, .sums = scratch, .all_rows = rows};
  bool again = row + rows < p->m, fine = true;
  w.next[0] = again ? b : b + 2 * panel, w.next[1] = w.next[0] + panel;
  w.mixed = mixed_at(g, shared, tile), w.back = (const float *)shared + row;
  w.rows = OX_MIN(rows, g->half_rows), w.strips = OX_CEIL_DIV(w.rows, (size_t)g->v->mr);
  for (size_t k0 = 0; k0 < p->k; k0 += g->kc) {
    if (ox_stop_asked(&io->stop)) return;
    size_t half = OX_MIN(g->kc, p->k - k0) / 2;
    for (size_t s = 0; s < OX_STRASSEN_STEPS; s++) fine = run_step(&w, &ox_strassen[s], s, k0, half) && fine;
  }
  if (!fine) ox_gemm_run(p, io, index, scratch);
}
