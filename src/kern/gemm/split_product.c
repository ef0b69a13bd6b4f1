/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/split_product.c - matrix products on a bfloat16 matrix unit: the cost model, the division of C into tiles,
 * and the run of a tile: blocks of k for which A stays in L2, panels of 32 columns whose records of B do so, too,
 * strips of A. All of it depends on shapes only. */
#include "kern/gemm/split_product.h"

#include <string.h>

enum {
  FIRST_STEPS = 2,        /* steps of k in the first block of a sweep */
  MOST_ROWS = 256,        /* most rows of a tile; they share the splitting of B */
  MOST_COLUMNS = 4096,    /* of a sweep: some 20 ms, then it can be stopped */
  SUMS_BYTES = 512 << 10, /* of a sweep whose A does not stay in L2 */
  TILE_MACS = 3 << 20,    /* least multiply-adds of a tile: 12 us */
  LEAST_COLUMNS = 64,     /* of a tile */
  LEAST_OF_MANY = 512     /* of one of many products, each of which splits its A again */
};

const ox_split_kernels *ox_split_select(ox_isa have) {
#if OX_BUILD_AMX_BF16
  extern const ox_split_kernels ox_split_kernels__amxbf16;
  if (have & OX_AMX_BF16) return &ox_split_kernels__amxbf16;
#endif
  (void)have;
  return NULL;
}

/* ---- the cost model, in ns on one core of a Xeon with AMX (docs/products.md) ---- */

static const double ns_tile_product = 165 / 24.0; /* 16 x 32 x 16 multiply-adds on the unit */
static const double ns_split = 170;               /* splitting 32 x 32 floats, beside the products or not */
static const double ns_gather = 300;              /* more, where rows do not have unit stride */
static const double ns_store = 185 / 2.0;         /* the epilogue of 16 x 32 sums */
static const double ns_mac = 0.0114;              /* a multiply-add of a plain product */
static const double ns_mac_store = 70 / 1024.0;   /* and for each sum */
static const double ns_byte = 1 / 12.0;           /* reading a byte from memory */
enum { IN_CACHE = 1 << 20, NS_ALONE = 500 };

bool ox_split_pays(size_t m, size_t n, size_t k, int terms, bool contiguous, bool alone) {
  static const double products[] = {1, 3, 6};
  if (m < 16 || n < 16 || k < 16) return false;
  double rows = (double)OX_CEIL_DIV(m, (size_t)16), cols = (double)OX_CEIL_DIV(n, (size_t)32);
  double steps = (double)OX_CEIL_DIV(k, (size_t)32), tiles = (double)OX_CEIL_DIV(m, (size_t)MOST_ROWS);
  double multiply = rows * 2 * cols * steps * products[terms - 1] * ns_tile_product;
  double split_b = cols * steps * tiles * (ns_split + (contiguous ? 0 : ns_gather));
  double split_a = rows / 2 * steps * ns_split;
  double bytes = (double)n * (double)k * 4, memory = alone && bytes > IN_CACHE ? bytes * ns_byte : 0;
  double split = OX_MAX(multiply + split_b, memory) + split_a + rows * cols * ns_store + (alone ? NS_ALONE : 0);
  double fma = OX_MAX((double)m * (double)n * ((double)k * ns_mac + ns_mac_store), memory);
  return split < 0.9 * fma;
}

/* ---- plan ---- */

/* Of an image. */
static size_t term_bytes(const ox_split_plan *g) { return g->pitch * 64; }
static size_t step_bytes(const ox_split_plan *g) { return term_bytes(g) * (size_t)g->terms; }

void ox_split_plan_init(ox_split_plan *g, const ox_split_kernels *v, int terms, size_t m, size_t n, size_t k,
                        bool alone) {
  *g = (ox_split_plan){.v = v, .terms = terms, .m = m, .n = n, .k = k, .steps = OX_CEIL_DIV(k, (size_t)OX_SPLIT_K)};
  size_t side = OX_SPLIT_SIDE;
  g->mc = OX_ROUND_UP(OX_CEIL_DIV(m, OX_CEIL_DIV(m, (size_t)MOST_ROWS)), side);
  g->mt = OX_CEIL_DIV(m, g->mc);
  g->pitch = g->mc + 16; /* puts the terms of a row into different sets of L1 */
  const size_t step = step_bytes(g), records = ox_split_records_bytes(OX_SPLIT_STEPS);
  g->kc = OX_MAX(OX_SPLIT_L2 / (step + 2 * OX_SPLIT_RECORD), (OX_SPLIT_L2 - records) / step);
  g->kc = OX_CEIL_DIV(OX_MAX(g->steps, (size_t)1), OX_CEIL_DIV(OX_MAX(g->steps, (size_t)1), g->kc)); /* evenly */
  g->image_bytes = step * g->kc;
  g->nc = alone ? LEAST_COLUMNS : LEAST_OF_MANY;
  while (g->nc < n && OX_MIN(g->mc, m) * g->nc * OX_MAX(k, (size_t)1) < TILE_MACS) g->nc += 64;
  /* If a tile reads A from beyond L2, let it be at most as many bytes as it reads of B. */
  while (g->kc < g->steps && g->nc < n && g->nc < 2 * g->mc) g->nc += 64;
  g->nt = OX_CEIL_DIV(n, g->nc);
  g->nc = OX_ROUND_UP(OX_CEIL_DIV(n, g->nt), side), g->nt = OX_CEIL_DIV(n, g->nc);
  size_t most = g->kc < g->steps ? SUMS_BYTES / (g->mc * sizeof(float)) : (size_t)MOST_COLUMNS;
  g->most_tiles = OX_MIN(OX_MAX(most / g->nc, (size_t)1), g->nt);
  g->sums_bytes = g->mc * (g->kc < g->steps ? g->most_tiles * g->nc : side) * sizeof(float);
  g->scratch = ox_split_records_bytes(g->kc) + g->sums_bytes + g->image_bytes + g->kc * sizeof(ptrdiff_t);
}

/* ---- all panels by some steps of k ---- */

/* A block of |steps| records of B: from |step| on in the panel at |col|. */
typedef struct block {
  size_t col, step, steps;
} block;

/* Blocks are as large as possible, except for the first ones of a sweep: each block is split while the one before it is
 * multiplied, which the first cannot be. */
static block block_at(const ox_split_sweep *t, size_t col, size_t step) {
  size_t left = t->k1 - step, most = col ? (size_t)OX_SPLIT_STEPS : step - t->k0 + FIRST_STEPS;
  most = OX_MIN(most, (size_t)OX_SPLIT_STEPS);
  return (block){col, step, left <= most ? left : left < 2 * most ? OX_MIN(OX_CEIL_DIV(left, (size_t)2), most) : most};
}
/* The block after |x|; steps 0: there is none. */
static block block_after(const ox_split_sweep *t, const block *x) {
  if (x->step + x->steps < t->k1) return block_at(t, x->col, x->step + x->steps);
  if (x->col + OX_SPLIT_SIDE < t->cols) return block_at(t, x->col + OX_SPLIT_SIDE, t->k0);
  return (block){0};
}

static const float *b_at(const ox_split_sweep *t, size_t col, size_t step) {
  size_t n = t->col + col;
  return t->b + n / t->panel * t->panel_floats + (ptrdiff_t)(n % t->panel) * t->b_ns +
         (ptrdiff_t)(step * OX_SPLIT_K) * t->b_ks;
}
static size_t width_at(const ox_split_sweep *t, size_t col) { return OX_MIN(t->cols - col, (size_t)OX_SPLIT_SIDE); }

static size_t rows_of(const ox_split_sweep *t, const block *x) {
  return OX_MIN(x->steps * OX_SPLIT_K, t->k - x->step * OX_SPLIT_K);
}

/* Does the block consist of pairs of rows of unit stride, as wide as a record? */
static bool is_plain(const ox_split_sweep *t, const block *x) {
  bool wide = t->panel != SIZE_MAX || width_at(t, x->col) == OX_SPLIT_SIDE;
  return t->b_ns == 1 && wide && rows_of(t, x) % 2 == 0;
}

/* Describes the splitting of a plain block during a multiplication. */
static ox_split_ahead split_later(const ox_split_sweep *t, const block *x, char *to) {
  enum { EACH = OX_SPLIT_K / 2 };
  const size_t pairs = rows_of(t, x) / 2, zeros = (x->steps * EACH - pairs) * 64;
  char *last = to + (x->steps - 1) * OX_SPLIT_RECORD;
  for (int tile = 0; zeros && tile < 2; tile++)
    for (int term = 0; term < t->terms; term++)
      memset(last + tile * OX_SPLIT_TILE + (term + 1) * OX_SPLIT_TERM - zeros, 0, zeros);
  return (ox_split_ahead){b_at(t, x->col, x->step), t->b_ks, pairs, to, t->fetch};
}

static void split_block(const ox_split_sweep *t, const block *x, char *to) {
  size_t w = is_plain(t, x) ? OX_SPLIT_SIDE : width_at(t, x->col);
  t->v->split_columns(t->terms, b_at(t, x->col, x->step), t->b_ks, t->b_ns, rows_of(t, x), w, to);
}

void ox_split_sweep_run(const ox_split_sweep *t) {
  size_t steps = OX_CEIL_DIV(t->k, (size_t)OX_SPLIT_K);
  char *const b[2] = {t->records, t->records + ox_split_records_bytes(t->k1 - t->k0) / 2};
  block x = block_at(t, 0, t->k0);
  bool split = false;
  ox_split_trail trail = {.finish = t->finish, .io = t};
  for (int turn = 0; x.steps; turn ^= 1) {
    if (!split) split_block(t, &x, b[turn]);
    ox_split_mul m = {.terms = t->terms,
                      .a = t->image,
                      .a_term = t->a_term,
                      .a_at = t->a_at + (x.step - t->k0),
                      .rows = t->rows,
                      .steps = x.steps,
                      .b = b[turn],
                      .sums = t->sums + x.col / OX_SPLIT_SIDE * t->panel_sums,
                      .sums_step = x.steps < steps ? OX_SPLIT_SUMS : 0,
                      .add = x.step > 0,
                      .whole = x.step + x.steps == steps,
                      .col = x.col,
                      .trail = &trail};
    block next = block_after(t, &x);
    split = next.steps && is_plain(t, &next);
    if (split) m.ahead = split_later(t, &next, b[!turn]);
    t->v->multiply(&m);
    x = next;
  }
  size_t left = trail.end - trail.row;
  if (left) t->finish(t, trail.col, trail.row, left, trail.sums + trail.row % OX_SPLIT_SIDE * OX_SPLIT_SIDE);
}

/* ---- a tile ---- */

static void finish_rows(const void *sweep, size_t col, size_t row, size_t n, float *sums) {
  const ox_split_sweep *t = sweep;
  const ox_split_io *io = t->io;
  size_t at = t->row + row;
  ox_gemm_tile out = {.a = io->a + (ptrdiff_t)at * io->a_rs,
                      .a_rs = io->a_rs,
                      .a_ks = io->a_ks,
                      .b = b_at(t, col, 0),
                      .b_ks = (size_t)io->b_ks,
                      .m = n,
                      .n = width_at(t, col),
                      .k = t->k,
                      .epi = io->epi,
                      .c = io->c + at * io->c_rs + t->col + col,
                      .c_type = OX_F32,
                      .c_rs = io->c_rs,
                      .row = at,
                      .col = t->col + col};
  t->v->finish(&out, io->b_ns, sums);
}

static void split_a(const ox_split_plan *g, const ox_split_io *io, const ox_split_sweep *t, char *image) {
  size_t k0 = t->k0 * OX_SPLIT_K, k = OX_MIN(t->k1 * OX_SPLIT_K, g->k) - k0;
  const float *a = io->a + (ptrdiff_t)t->row * io->a_rs + (ptrdiff_t)k0 * io->a_ks;
  g->v->split_rows(g->terms, a, io->a_rs, io->a_ks, t->rows, OX_ROUND_UP(t->rows, (size_t)16), k, image, term_bytes(g),
                   step_bytes(g));
}

/* |n| tiles next to each other, from |index| on: one sweep, so that only its first records wait to be split. |*made|:
 * the row of tiles whose image, of all of k, is in the scratch; -1: none. */
static void run_tiles(const ox_split_plan *g, const ox_split_io *io, size_t index, size_t n, int64_t *made,
                      char *scratch) {
  ox_split_sweep t = {
      .v = g->v, .terms = g->terms, .a_term = term_bytes(g), .k = g->k, .finish = finish_rows, .io = io};
  t.b = io->b, t.b_ks = io->b_ks, t.b_ns = io->b_ns, t.panel = io->panel, t.panel_floats = io->panel_floats;
  t.fetch = g->n * g->k * sizeof(float) > OX_SPLIT_L2_FLOATS;
  const size_t row = index / g->nt;
  t.row = row * g->mc, t.col = index % g->nt * g->nc;
  t.rows = OX_MIN(g->mc, g->m - t.row), t.cols = OX_MIN(n * g->nc, g->n - t.col);
  t.panel_sums = g->kc < g->steps ? g->mc * OX_SPLIT_SIDE : 0;
  char *image = scratch, *s = scratch + g->image_bytes;
  t.image = image, t.records = s, s += ox_split_records_bytes(g->kc);
  t.sums = (float *)s, s += g->sums_bytes;
  ptrdiff_t *a_at = (ptrdiff_t *)s;
  for (size_t i = 0; i < g->kc; i++) a_at[i] = (ptrdiff_t)(i * step_bytes(g));
  t.a_at = a_at;
  for (; t.k0 < g->steps && !ox_stop_asked(&io->stop); t.k0 = t.k1) {
    t.k1 = OX_MIN(t.k0 + g->kc, g->steps);
    if (*made != (int64_t)row) split_a(g, io, &t, image);
    ox_split_sweep_run(&t);
    if (g->kc == g->steps) *made = (int64_t)row;
  }
}

void ox_split_run(const ox_split_plan *g, const ox_split_io *io, size_t begin, size_t end, ox_carried *made,
                  void *scratch) {
  int64_t nobodys = -1, *mine = made ? ox_carried_of(made, scratch) : NULL;
  if (!mine) mine = &nobodys;
  g->v->begin();
  while (begin < end && !ox_stop_asked(&io->stop)) {
    size_t n = OX_MIN(OX_MIN(end - begin, g->nt - begin % g->nt), g->most_tiles);
    run_tiles(g, io, begin, n, mine, scratch);
    begin += n;
  }
  g->v->end();
}
