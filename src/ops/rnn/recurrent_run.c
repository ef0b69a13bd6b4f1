/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_run.c - stages of recurrent cells: pack weights that are not constant, and quantize X if weights
 * are bytes; project the inputs of all steps by one product per direction; then each tile computes all steps of a
 * direction for some batch rows, with the state in its scratch. If there is only one such tile, or the directions take
 * turns in one, it divides the large products of its steps among the threads. */
#include <string.h>

#include "base/cksize.h"
#include "base/cpu_kind.h"
#include "kern/simd/f32_scalar.h"
#include "ops/rnn/recurrent_i8.h"
#include "ops/rnn/recurrent_project.h"

typedef struct rnn_prep {
  recurrent_dims d;
  const ox_rnn_variant *cell;
  recurrent_project project;
  ox_gemm_plan first, second;
  recurrent_i8 q;       /* instead of those, for weights that are bytes */
  bool f64, pack;       /* pack: stage 0 packs the weights into the shared memory */
  bool turns;           /* one tile computes all directions, one after the other */
  const void *packed;   /* constant weights of all directions; NULL: packed in stage 0 */
  size_t weights_bytes; /* of one direction */
  size_t projected;     /* offset of the projections there: dirs x seq batch rows (recurrent_gates_rs) */
  size_t chunk, chunks; /* batch rows of a tile */
  size_t at_kept;       /* after them: the memory of recurrent_i8, or of recurrent_project */
  size_t state_bytes;   /* h, c, gates, gathered, reset, h in bytes in the scratch, before the products' */
} rnn_prep;

/* Batch rows of one tile: enough to share the weights, few enough for several tiles. From eight rows on there are two
 * tiles if the weights (NEAR of them, at most) stay in each processor's cache; more than MOST_TOGETHER are cut such
 * that all directions have an even number of tiles. Quantized rows also share a range, which ONNX Runtime computes over
 * all of them. */
enum { CHUNK = 12, MOST_TOGETHER = 2 * CHUNK - 1, MOST_BYTES_TOGETHER = 64, LEAST_APART = 8, NEAR = 1 << 17 };

static size_t rows_together(const rnn_prep *p) {
  const recurrent_dims *d = &p->d;
  if (p->q.v) return d->batch <= MOST_BYTES_TOGETHER ? d->batch : CHUNK;
  if (d->batch > MOST_TOGETHER) {
    size_t chunks = OX_CEIL_DIV(d->batch, (size_t)CHUNK);
    return OX_CEIL_DIV(d->batch, chunks + d->dirs * chunks % 2);
  }
  bool near = d->gates * d->hidden * d->hidden <= NEAR;
  return near && d->batch >= LEAST_APART ? OX_CEIL_DIV(d->batch, (size_t)2) : d->batch;
}

static size_t weights_at(const ox_kernel_ctx *c, const rnn_prep *p, void *base, recurrent_weights *out) {
  bool peep = recurrent_in(c, IN_P) != NULL;
  return p->q.v ? recurrent_i8_weights_at(&p->q, &p->d, peep, base, out) : recurrent_weights_at(&p->d, peep, base, out);
}

static ox_status *plan_shared(ox_kernel_ctx *c, rnn_prep *p) {
  const recurrent_dims *d = &p->d;
  recurrent_weights w;
  size_t rows, floats, bytes;
  p->weights_bytes = weights_at(c, p, NULL, &w);
  p->projected = p->pack ? p->weights_bytes * d->dirs : 0;
  if (!ox_mul_ok(d->seq, d->batch, &rows) || !ox_mul_ok(rows, recurrent_gates_rs(d) * d->dirs, &floats) ||
      !ox_mul_ok(floats, sizeof(float), &bytes) || !ox_add_ok(bytes, p->projected + OX_ALIGN_BYTES, &bytes))
    return ox_oom();
  p->at_kept = bytes / OX_ALIGN_BYTES * OX_ALIGN_BYTES;
  return ox_add_ok(p->at_kept, p->q.v ? p->q.bytes : p->project.bytes, &c->shared_bytes) ? NULL : ox_oom();
}

/* Whether the directions take turns: the weights of one do not stay in a core's L2, half of them do, and L3 is slow, so
 * that two threads are three times as fast as one (docs/products.md). */
static bool take_turns(const rnn_prep *p) {
  const recurrent_dims *d = &p->d;
  size_t bytes = d->gates * d->hidden * d->hidden * (p->q.v ? 1 : sizeof(float)), cache = ox_cpu_l2_bytes();
  if (!(ox_cpu_kind() & OX_SLOW_L3)) return false;
  return d->dirs > 1 && p->chunks == 1 && bytes > cache && bytes <= 2 * cache;
}

/* Whether products of a step are divided among the threads: there is one tile, and the weights or multiplications are
 * many enough to pay, with a slow L3 even for threads that share none (docs/products.md). */
static bool deals(const rnn_prep *p, size_t rows, size_t columns) {
  const size_t least = ox_cpu_kind() & OX_SLOW_L3 ? 768 << 10 : 288 << 10;
  size_t each = p->q.v ? OX_MAX(rows / 4, (size_t)1) : OX_MAX(rows, sizeof(float));
  return (p->turns || p->d.dirs * p->chunks == 1) && columns * p->d.hidden * each >= least;
}

static ox_status *plan_products(ox_kernel_ctx *c, rnn_prep *p) {
  const recurrent_dims *d = &p->d;
  size_t n = d->gates * d->hidden, rows = p->chunk;
  p->state_bytes =
      OX_ROUND_UP((2 * recurrent_gates_rs(d) + 3 * d->hidden) * rows * sizeof(float), (size_t)OX_ALIGN_BYTES);
  if (p->q.v) {
    if (!recurrent_i8_plan(c, d, rows, deals(p, rows, n), &p->q)) return ox_oom();
    p->state_bytes += OX_ROUND_UP(rows * d->hidden, (size_t)OX_ALIGN_BYTES);
    p->q.step.scratch = OX_ROUND_UP(p->q.step.scratch, (size_t)OX_ALIGN_BYTES);
    c->scratch_per_worker = OX_MAX(p->q.project.scratch, p->state_bytes + p->q.parts * p->q.step.scratch);
    return NULL;
  }
  recurrent_project_plan(c, d, &p->project);
  ox_gemm_plan_init(&p->first, d->v[1], rows, d->first, d->hidden, OX_F32, OX_F32, OX_GEMM_PACKED);
  ox_gemm_plan_init(&p->second, d->v[2], rows, d->second, d->hidden, OX_F32, OX_F32, OX_GEMM_PACKED);
  c->scratch_per_worker = OX_MAX(p->project.scratch, p->state_bytes + OX_MAX(p->first.scratch, p->second.scratch));
  return NULL;
}

static ox_status *pack_const(ox_kernel_ctx *c, rnn_prep *p) {
  return p->q.v ? recurrent_i8_pack_const(c, &p->q, &p->d, &p->packed) : recurrent_pack_const(c, &p->d, &p->packed);
}

/* Tiles of stage 0: one per direction to pack, then one that prepares shared memory: X in bytes, or the notes of a
 * projection's workers. */
static int64_t first_tiles(const rnn_prep *p) {
  return (p->pack ? (int64_t)p->d.dirs : 0) + (p->q.v || p->project.bytes);
}

/* Tiles of one direction's projection. */
static size_t project_tiles(const rnn_prep *p) { return p->q.v ? ox_gemm_i8_tiles(&p->q.project) : p->project.tiles; }

ox_status *recurrent_prepare(ox_kernel_ctx *c, int cell) {
  rnn_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  recurrent_dims *d = &p->d;
  ox_shape r;
  if (recurrent_is_i8(c, &r)) p->q.v = ox_gemm_i8_select(c->isa);
  OX_TRY(recurrent_dims_of(cell, c->attrs, &c->in[IN_X]->shape, &r, d));
  if (c->in[IN_X]->dtype == OX_F64) {
    p->f64 = true, c->form = "sums in double";
    return ox_ctx_plan(c, (int64_t)d->dirs, recurrent_f64_scratch(d));
  }
  p->cell = ox_rnn_select(c->isa), p->pack = !c->state;
  p->chunk = OX_MAX(rows_together(p), (size_t)1);
  p->chunks = OX_CEIL_DIV(d->batch, p->chunk);
  p->turns = take_turns(p);
  d->v[0] = ox_gemm_select(OX_F32, c->isa);
  d->v[1] = ox_gemm_select_wide(p->chunk, d->first, c->isa);
  d->v[2] = ox_gemm_select_wide(p->chunk, d->second, c->isa);
  OX_TRY(plan_products(c, p));
  if (!p->pack) OX_TRY(pack_const(c, p));
  OX_TRY(plan_shared(c, p));
  uint32_t s = 0;
  if (first_tiles(p)) c->n_tiles[s++] = first_tiles(p);
  c->n_tiles[s++] = (int64_t)(d->dirs * project_tiles(p));
  c->n_tiles[s++] = p->turns ? 1 : (int64_t)(d->dirs * p->chunks);
  static const char *const bytes[2] = {"8-bit steps of 12 rows", "8-bit steps of all rows"};
  const bool all = p->chunks <= 1;
  c->n_stages = s, c->form = p->q.v ? bytes[all] : recurrent_project_form(&p->project, all);
  return NULL;
}

double recurrent_flops(const ox_kernel_ctx *c) {
  const recurrent_dims *d = &((const rnn_prep *)c->prep)->d;
  double rows = (double)(d->seq * d->batch), columns = (double)(d->dirs * d->gates * d->hidden);
  return 2 * rows * columns * (double)(d->input + d->hidden);
}

static recurrent_weights weights_of(const ox_kernel_ctx *c, const rnn_prep *p, size_t dir) {
  recurrent_weights w;
  weights_at(c, p, (char *)(p->pack ? c->shared : (void *)p->packed) + dir * p->weights_bytes, &w);
  return w;
}

static float *projection(const ox_kernel_ctx *c, const rnn_prep *p, size_t dir) {
  const recurrent_dims *d = &p->d;
  return (float *)(void *)((char *)c->shared + p->projected) + dir * d->seq * d->batch * recurrent_gates_rs(d);
}

static void *kept(const ox_kernel_ctx *c, const rnn_prep *p) { return (char *)c->shared + p->at_kept; }

/* Some tiles of all directions' projections. */
static void run_projections(const ox_kernel_ctx *c, const rnn_prep *p, ox_range tiles, void *scratch) {
  const int64_t each = (int64_t)project_tiles(p);
  for (int64_t i = tiles.begin, next; i < tiles.end; i = next) {
    size_t dir = (size_t)(i / each);
    ox_range of_dir = {i % each, OX_MIN(i % each + tiles.end - i, each)};
    recurrent_weights w = weights_of(c, p, dir);
    float *to = projection(c, p, dir);
    for (int64_t k = of_dir.begin; p->q.v && k < of_dir.end; k++)
      recurrent_i8_project(c, &p->q, &p->d, dir, &w, kept(c, p), to, (size_t)k, scratch);
    if (!p->q.v) recurrent_project_run(c, &p->project, &p->d, &w, kept(c, p), to, of_dir, scratch);
    next = i + of_dir.end - of_dir.begin;
  }
}

/* ---- through time ---- */
typedef struct walk {
  const ox_kernel_ctx *c;
  const rnn_prep *p;
  size_t dir, b0; /* first batch row */
  recurrent_weights w;
  const int32_t *lens; /* of the tile's rows, or NULL */
  bool back;
  const float *x; /* the projection */
  float *gathered;
  ox_rnn_step s;
  recurrent_bytes h; /* the state, if the weights are bytes */
  char *scratch;
} walk;

/* The time index that row |r| of the tile reads and writes at |step|; rows that have ended write zeros at |step|. */
static size_t time_of(const walk *k, size_t r, size_t step) {
  size_t len = k->lens ? (size_t)k->lens[r] : k->p->d.seq;
  return k->back && step < len ? len - 1 - step : step;
}

/* A step's product, of floats or of bytes, divided into |parts|. */
typedef struct dealt {
  const walk *k;
  const ox_gemm_plan *g;
  const ox_gemm_io *io;
  const ox_gemm_i8_plan *g8; /* NULL: of floats */
  const ox_gemm_i8_io *io8;
  size_t tiles, parts;
} dealt;

/* Every other step reads the weights backwards, since those that the step before read last are still in cache. Products
 * of floats need no scratch. */
static void run_tiles(const dealt *d, size_t first, size_t last, void *scratch) {
  for (size_t i = first; i < last; i++) {
    size_t tile = d->k->s.step & 1 ? first + last - 1 - i : i;
    if (d->g8)
      ox_gemm_i8_run(d->g8, d->io8, tile, scratch);
    else
      ox_gemm_run(d->g, d->io, tile, scratch);
  }
}

static ox_status *run_parts(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const dealt *d = ctx;
  (void)worker;
  run_tiles(d, d->tiles * (size_t)begin / d->parts, d->tiles * (size_t)end / d->parts,
            d->k->scratch + (d->g8 ? (size_t)begin * d->g8->scratch : 0));
  return NULL;
}

/* Large products have two parts per thread, so that each thread gets the same weights in all steps and may find them in
 * its cache. */
static ox_status *run_product(dealt *d, size_t columns) {
  const walk *k = d->k;
  uint32_t workers = deals(k->p, k->s.rows, columns) ? k->c->host->max_workers(k->c) : 1;
  d->parts = OX_MIN(d->tiles, (size_t)workers * 2);
  if (d->g8) d->parts = OX_MIN(d->parts, k->p->q.parts);
  if (workers > 1 && d->parts > 1) return k->c->host->parallel_for(k->c, (int64_t)d->parts, run_parts, d);
  run_tiles(d, 0, d->tiles, k->scratch);
  return NULL;
}

static ox_status *multiply(const walk *k, const ox_gemm_plan *plan, const float *a, const void *b, ox_gemm_term term,
                           float *to) {
  ox_gemm_plan g = *plan;
  ox_gemm_epi e = {.alpha = 1, .beta = 1, .term = {term}, .far = term.rs != 0};
  ox_gemm_io io = {.a = a,
                   .a_rs = (ptrdiff_t)k->p->d.hidden,
                   .a_ks = 1,
                   .b = b,
                   .c = to,
                   .c_rs = k->s.gates_rs,
                   .epi = &e,
                   .stop = ox_ctx_stop(k->c)};
  if (k->s.rows != g.m) g.m = k->s.rows; /* the last tile may have fewer rows, still in one strip of tiles */
  return run_product(&(dealt){.k = k, .g = &g, .io = &io, .tiles = ox_gemm_tiles(&g)}, g.n);
}

/* The product of the state and R in bytes. */
static ox_status *multiply_bytes(walk *k, ox_gemm_term x) {
  ox_gemm_i8_plan g = k->p->q.step;
  ox_gemm_i8_out out;
  recurrent_i8_state(k->c, &k->s, &k->h);
  ox_gemm_i8_io io = recurrent_i8_step(k->c, &k->p->q, &k->p->d, k->dir, &k->w, kept(k->c, k->p), &k->h, &x, &out);
  io.c = k->s.gates;
  if (k->s.rows != g.m) g.m = k->s.rows;
  return run_product(&(dealt){.k = k, .g8 = &g, .io8 = &io, .tiles = ox_gemm_i8_tiles(&g)}, g.n);
}

/* The projections of this step: in place if all rows are at the same time index, else gathered. */
static ox_gemm_term inputs_at(const walk *k, size_t step) {
  const recurrent_dims *d = &k->p->d;
  size_t n = d->gates * d->hidden, rs = k->s.gates_rs;
  if (!(k->back && k->lens)) {
    const float *x = k->x + recurrent_row(d, time_of(k, 0, step), k->b0) * rs;
    return (ox_gemm_term){x, OX_F32, (ptrdiff_t)(d->layout ? d->seq * rs : rs), 1};
  }
  for (size_t r = 0; r < k->s.rows; r++)
    memcpy(k->gathered + r * rs, k->x + recurrent_row(d, time_of(k, r, step), k->b0 + r) * rs, n * sizeof(float));
  return (ox_gemm_term){k->gathered, OX_F32, (ptrdiff_t)rs, 1};
}

static ox_status *step_cell(walk *k, size_t step) {
  const recurrent_dims *d = &k->p->d;
  const ox_rnn_variant *cell = k->p->cell;
  ox_gemm_term x = inputs_at(k, step);
  k->s.step = (int64_t)step;
  OX_TRY(k->p->q.v ? multiply_bytes(k, x) : multiply(k, &k->p->first, k->s.h, k->w.r, x, k->s.gates));
  if (d->cell != CELL_GRU) {
    (d->cell == CELL_LSTM ? cell->lstm : cell->simple)(&k->s);
    return NULL;
  }
  cell->gru_gates(&k->s);
  x.p = (const float *)x.p + d->first;
  if (k->s.linear_before_reset) {
    k->s.x = x.p, k->s.x_rs = (size_t)x.rs;
    const ox_gemm_term bias = {k->w.reset_bias, OX_F32, 0, 1};
    OX_TRY(multiply(k, &k->p->second, k->s.h, k->w.r2, bias, k->s.gates + d->first));
  } else {
    OX_TRY(multiply(k, &k->p->second, k->s.reset, k->w.r2, x, k->s.gates + d->first));
  }
  cell->gru_out(&k->s);
  return NULL;
}

static void put(uint32_t type, void *to, size_t at, const float *from, size_t n) {
  if (type == OX_F32)
    memcpy((float *)to + at, from, n * sizeof(float));
  else if (type == OX_F16)
    for (size_t i = 0; i < n; i++) vf32_store_f16((uint16_t *)to + at + i, from[i]);
  else
    for (size_t i = 0; i < n; i++) vf32_store_bf16((uint16_t *)to + at + i, from[i]);
}

static void get(const ox_tensor *t, size_t at, float *to, size_t n) {
  if (!t)
    memset(to, 0, n * sizeof(float));
  else if (t->dtype == OX_F32)
    memcpy(to, (const float *)t->data + at, n * sizeof(float));
  else if (t->dtype == OX_F16)
    for (size_t i = 0; i < n; i++) to[i] = vf32_load_f16((const uint16_t *)t->data + at + i);
  else
    for (size_t i = 0; i < n; i++) to[i] = vf32_load_bf16((const uint16_t *)t->data + at + i);
}

static void emit(const walk *k, size_t step) {
  static const float zeros[64];
  const recurrent_dims *d = &k->p->d;
  const ox_tensor *y = k->c->out[0];
  for (size_t r = 0; r < k->s.rows; r++) {
    size_t at = recurrent_y(d, time_of(k, r, step), k->dir, k->b0 + r);
    if (!k->lens || (int64_t)step < k->lens[r]) {
      put(y->dtype, y->data, at, k->s.h + r * d->hidden, d->hidden);
      continue;
    }
    for (size_t j = 0; j < d->hidden; j += OX_COUNT(zeros))
      put(y->dtype, y->data, at + j, zeros, OX_MIN(OX_COUNT(zeros), d->hidden - j));
  }
}

static void walk_init(walk *k, float *scratch) {
  const recurrent_dims *d = &k->p->d;
  const recurrent_attrs *a = k->c->attrs;
  size_t rs = recurrent_gates_rs(d), rows = k->p->chunk;
  k->back = recurrent_backwards(a, k->dir), k->w = weights_of(k->c, k->p, k->dir);
  k->x = projection(k->c, k->p, k->dir);
  k->s = (ox_rnn_step){.rows = OX_MIN(rows, d->batch - k->b0),
                       .hidden = d->hidden,
                       .gates_rs = rs,
                       .peep = k->w.peep,
                       .clip = d->clip,
                       .input_forget = a->input_forget != 0,
                       .linear_before_reset = a->linear_before_reset != 0,
                       .lens = k->lens};
  memcpy(k->s.act, d->act[k->dir], sizeof k->s.act);
  k->s.gates = scratch, k->gathered = k->s.gates + rs * rows, k->s.h = k->gathered + rs * rows;
  k->s.c = k->s.h + d->hidden * rows, k->s.reset = k->s.c + d->hidden * rows;
  k->h.data = (uint8_t *)(k->s.reset + d->hidden * rows);
  k->scratch = (char *)scratch + k->p->state_bytes;
}

static ox_status *run_walk(const ox_kernel_ctx *c, const rnn_prep *p, size_t tile, void *scratch) {
  const recurrent_dims *d = &p->d;
  walk k = {.c = c, .p = p, .dir = tile / p->chunks, .b0 = tile % p->chunks * p->chunk};
  OX_TRY(recurrent_lens(c, d, &k.lens));
  if (k.lens) k.lens += k.b0;
  walk_init(&k, scratch);
  for (size_t r = 0; r < k.s.rows; r++) {
    size_t at = recurrent_state(d, k.dir, k.b0 + r);
    get(recurrent_in(c, IN_H), at, k.s.h + r * d->hidden, d->hidden);
    get(d->cell == CELL_LSTM ? recurrent_in(c, IN_C) : NULL, at, k.s.c + r * d->hidden, d->hidden);
  }
  for (size_t step = 0; step < d->seq && !ox_ctx_stopped(c); step++) {
    OX_TRY(step_cell(&k, step));
    if (ox_ctx_wants(c, 0)) emit(&k, step);
  }
  for (size_t r = 0; r < k.s.rows; r++) {
    size_t at = recurrent_state(d, k.dir, k.b0 + r);
    if (ox_ctx_wants(c, 1)) put(c->out[1]->dtype, c->out[1]->data, at, k.s.h + r * d->hidden, d->hidden);
    if (ox_ctx_wants(c, 2)) put(c->out[2]->dtype, c->out[2]->data, at, k.s.c + r * d->hidden, d->hidden);
  }
  return NULL;
}

/* The walks of a tile. */
static ox_status *run_walks(const ox_kernel_ctx *c, const rnn_prep *p, size_t tile, void *scratch) {
  for (size_t n = p->turns ? p->d.dirs : 1; n > 0; n--, tile++) OX_TRY(run_walk(c, p, tile, scratch));
  return NULL;
}

static ox_status *run_first(const ox_kernel_ctx *c, const rnn_prep *p, size_t tile) {
  if (!p->pack || tile == p->d.dirs) {
    if (p->q.v) return recurrent_i8_ready(c, &p->q, &p->d, kept(c, p));
    recurrent_project_begin(&p->project, kept(c, p));
    return NULL;
  }
  const ox_tensor *in[4] = {c->in[IN_W], c->in[IN_R], recurrent_in(c, IN_B), recurrent_in(c, IN_P)};
  recurrent_weights w = weights_of(c, p, tile);
  ox_stop stop = ox_ctx_stop(c);
  if (p->q.v)
    recurrent_i8_pack(c, &p->q, &p->d, tile, &w);
  else
    recurrent_pack(&p->d, c->attrs, in, tile, &w, &stop);
  return NULL;
}

ox_status *recurrent_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const rnn_prep *p = c->prep;
  if (!p->f64 && !first_tiles(p)) stage++;
  if (!p->f64 && stage == 1) {
    run_projections(c, p, tiles, scratch);
    return NULL;
  }
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    if (p->f64)
      OX_TRY(recurrent_run_f64(c, &p->d, (size_t)i, scratch));
    else if (stage == 0)
      OX_TRY(run_first(c, p, (size_t)i));
    else
      OX_TRY(run_walks(c, p, (size_t)i, scratch));
  }
  return NULL;
}
