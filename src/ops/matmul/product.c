/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product.c - ways of a batched product: constant B packed once, others packed by a stage of their own, or
 * read in place when too few rows would pay for the packing; other types go through plain loops. */
#include "ops/matmul/product.h"

#include <string.h>

#include "base/cksize.h"
#include "kern/binary/binary.h"

enum {
  BATCH_TILE_MACS = 1 << 18,
  PACK_TILE_BYTES = 128 * 1024,
  PLAIN_TILE_MACS = 1 << 18,
  PLAIN_TILE_ROWS = 72, /* so many share the packing of B */
  FEW_ROWS = 8
};

bool ox_product_is_fast(uint32_t type) { return type == OX_F32 || type == OX_F16 || type == OX_BF16; }
static size_t elem_bytes(uint32_t type) { return ox_dtype_bits(type) / 8; }

/* Where matrix |matrix| of B starts, in elements. */
static int64_t b_start(const ox_product *p, int64_t matrix) {
  int64_t at = 0;
  for (int d = p->rank - 1; d >= 0; d--)
    if (p->b_batch[d]) at += matrix % p->batch[d] * p->b_batch[d], matrix /= p->batch[d];
  return at;
}

/* Turns batch dimensions into rows of A if B does not depend on them: [b, m, k] by one [k, n] is [b m, k] by [k, n]. */
static void merge_rows(ox_product *p) {
  while (p->rank > 0) {
    int d = p->rank - 1;
    int64_t n = p->batch[d];
    bool ok = p->b_batch[d] == 0 && (n == 1 || p->m == 1 || p->a_batch[d] == (int64_t)p->m * p->a_rs);
    for (int t = 0; t < 2; t++)
      if (p->in_term[t] && n != 1 && p->m != 1) ok = ok && p->term_batch[t][d] == (int64_t)p->m * p->epi.term[t].rs;
    if (!ok) return;
    if (p->m == 1 && n != 1) {
      p->a_rs = p->a_batch[d];
      for (int t = 0; t < 2; t++) p->epi.term[t].rs = p->term_batch[t][d];
    }
    p->m *= (size_t)n, p->rank = d;
  }
}

/* Computes a matrix times a vector as the vector times the transposed matrix: a product of one row. */
static void swap_sides(ox_product *p) {
  for (int t = 0; t < 2; t++)
    if (p->in_term[t] && p->epi.term[t].rs != 0 && p->epi.term[t].rs != 1) return;
  ptrdiff_t ks = p->a_ks, rs = p->a_rs;
  int64_t batch[OX_MAX_RANK];
  memcpy(batch, p->a_batch, sizeof batch);
  memcpy(p->a_batch, p->b_batch, sizeof batch);
  memcpy(p->b_batch, batch, sizeof batch);
  p->a_ks = p->b_ks, p->a_rs = p->b_ns, p->b_ks = ks, p->b_ns = rs;
  p->n = p->m, p->m = 1, p->swapped = true;
  for (int t = 0; t < 2; t++) p->epi.term[t].cs = p->epi.term[t].rs, p->epi.term[t].rs = 0;
  int in = p->in_a;
  p->in_a = p->in_b, p->in_b = in;
}

static ox_gemm_b choose_mode(const ox_product *p, const ox_product_b *packed) {
  if (packed) return OX_GEMM_PACKED;
  bool small = p->m <= FEW_ROWS;
  if (p->type == OX_F32 && small && p->b_ks == 1 && (p->a_ks == 1 || p->k <= 1)) return OX_GEMM_DOTS;
  /* in place, as long as reading rows of B that are far apart costs less than packing B */
  if (p->type == OX_F32 && p->b_ns == 1 && (small || p->m <= 96 || (p->k * p->n <= 128 * 1024 && p->m <= 512)))
    return OX_GEMM_DIRECT;
  return OX_GEMM_PACKED;
}

static ox_status *plan_plain(ox_kernel_ctx *c, ox_product *p) {
  size_t row_macs = OX_MAX(p->n * OX_MAX(p->k, (size_t)1), (size_t)1);
  p->plain = true, c->form = "plain loops";
  p->plain_rows = (int64_t)OX_ROUND_UP(OX_MAX((size_t)PLAIN_TILE_MACS / row_macs, (size_t)1), (size_t)PLAIN_TILE_ROWS);
  int64_t per_batch = OX_CEIL_DIV((int64_t)p->m, p->plain_rows);
  return ox_ctx_plan(c, p->n ? p->n_batch * per_batch : 0, 0);
}

static ox_status *plan_pack_stage(ox_kernel_ctx *c, ox_product *p) {
  const ox_gemm_variant *v = p->g.v;
  size_t panels = ox_gemm_panels(v, p->n), total;
  p->panels_per_tile = OX_MAX(PACK_TILE_BYTES / OX_MAX(ox_gemm_panel_bytes(v, p->k), (size_t)1), (size_t)1);
  p->packs_per_matrix = OX_CEIL_DIV(panels, p->panels_per_tile);
  if (!ox_mul_ok(p->b_bytes, p->b_count, &total)) return ox_oom();
  c->shared_bytes = total;
  c->n_stages = 2, c->n_tiles[1] = c->n_tiles[0], c->n_tiles[0] = (int64_t)(p->packs_per_matrix * p->b_count);
  return NULL;
}

/* Whether no two tiles multiply by the same part of B, so that each packs its own, a block at a time, which then is in
 * L1. */
static bool packs_once_by_tiles(const ox_product *p) { return p->g.mt == 1 && p->b_count == (size_t)p->n_batch; }

ox_status *ox_product_plan(ox_kernel_ctx *c, ox_product *p, const ox_product_b *b) {
  p->n_batch = 1;
  for (int d = 0; d < p->rank; d++)
    if (!ox_mul_i64_ok(p->n_batch, p->batch[d], &p->n_batch)) return ox_oom();
  if (p->m == 0 || p->n == 0 || p->n_batch == 0) return ox_ctx_plan(c, 0, 0);
  if (!ox_product_is_fast(p->type)) return plan_plain(c, p);
  merge_rows(p);
  p->n_batch = 1;
  for (int d = 0; d < p->rank; d++) p->n_batch *= p->batch[d];
  if (p->n == 1 && p->m > 1 && !b && p->type == OX_F32 && p->a_ks == 1 && p->b_ks == 1) swap_sides(p);
  p->b_count = 1;
  for (int d = 0; d < p->rank; d++)
    if (p->b_batch[d]) p->b_count *= (size_t)p->batch[d];
  if (b) {
    p->b = *b, p->packed = &p->b, p->whole = ox_ctx_constant_place(c, (uint32_t)p->in_b);
    p->late = ox_product_is_late(c, p);
    OX_TRY(ox_product_compress(c, p));
    if (p->late)
      OX_TRY(ox_product_pack_later(c, &p->b, p->in_b, &p->later));
    else if (!p->compressed)
      OX_TRY(ox_product_pack(c, &p->b, p->in_b));
  }
  if (ox_product_splits(c, p)) return ox_product_plan_split(c, p);
  if (ox_product_is_strassen(c, p)) return ox_product_plan_strassen(c, p);
  const ox_gemm_variant *v = b ? b->v : ox_gemm_select(p->type, c->isa);
  ox_gemm_b mode = p->late ? OX_GEMM_LATE : choose_mode(p, b);
  if (c->tune && !b && p->type == OX_F32) mode = ox_product_measured(c, p, mode);
  if (mode == OX_GEMM_DIRECT) v = ox_gemm_select_direct(p->m, p->n, c->isa);
  bool packs = !b && mode == OX_GEMM_PACKED;
  ox_product_plan_gemm(p, &p->g, v, packs ? OX_GEMM_LATE : mode);
  p->pack_stage = packs && !packs_once_by_tiles(p);
  if (p->pack_stage) ox_product_plan_gemm(p, &p->g, v, mode);
  c->form = p->compressed ? p->compressed->form : v->form[packs ? 3 : p->late ? OX_GEMM_PACKED : p->g.b_mode];
  p->b_bytes = ox_gemm_b_bytes(v, p->k, p->n);
  size_t tiles = ox_gemm_tiles(&p->g), macs = OX_MAX(p->m * p->n * OX_MAX(p->k, (size_t)1), (size_t)1);
  p->batches_per_tile = tiles > 1 ? 1 : (int64_t)OX_MAX((size_t)BATCH_TILE_MACS / macs, (size_t)1);
  OX_TRY(ox_ctx_plan(c, OX_CEIL_DIV(p->n_batch, p->batches_per_tile) * (int64_t)tiles, p->g.scratch));
  if (p->late) ox_product_begins(c);
  return p->pack_stage ? plan_pack_stage(c, p) : NULL;
}

static void run_pack(const ox_kernel_ctx *c, const ox_product *p, ox_range tiles) {
  const ox_gemm_variant *v = p->g.v;
  size_t panels = ox_gemm_panels(v, p->n), elem = elem_bytes(p->type);
  ox_stop stop = ox_ctx_stop(c);
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    size_t matrix = (size_t)i / p->packs_per_matrix, begin = (size_t)i % p->packs_per_matrix * p->panels_per_tile;
    const char *b = (const char *)c->in[p->in_b]->data + b_start(p, (int64_t)matrix) * (int64_t)elem;
    ox_gemm_src src = {b, p->type, p->b_ks, p->b_ns};
    ox_gemm_pack_b(v, &src, p->k, p->n, begin, OX_MIN(begin + p->panels_per_tile, panels),
                   (char *)c->shared + matrix * p->b_bytes, &stop);
  }
}

static void run_tile(const ox_kernel_ctx *c, const ox_product *p, int64_t batch, size_t tile, void *scratch) {
  size_t elem = elem_bytes(p->type);
  ox_gemm_epi epi = p->epi;
  size_t matrix = p->packed || p->pack_stage ? (size_t)ox_product_matrix(p, batch, p->b_batch) : 0;
  ox_gemm_src whole = ox_product_whole(p, matrix);
  ox_gemm_io io = {.a_rs = p->a_rs, .a_ks = p->a_ks, .c_rs = p->n, .epi = &epi, .stop = ox_ctx_stop(c)};
  io.whole = &whole;
  io.a = (const char *)c->in[p->in_a]->data + ox_product_offset(p, batch, p->a_batch) * (int64_t)elem;
  if (p->late)
    io.b = ((const ox_product_shared *)c->shared)->panels;
  else if (p->packed)
    io.b = (const char *)*p->packed->panels + matrix * p->packed->matrix_bytes;
  else if (p->pack_stage)
    io.b = (const char *)c->shared + matrix * p->b_bytes;
  else
    io.b = (const char *)c->in[p->in_b]->data + ox_product_offset(p, batch, p->b_batch) * (int64_t)elem;
  if (p->g.b_mode == OX_GEMM_LATE && !p->late) whole = (ox_gemm_src){io.b, p->type, p->b_ks, p->b_ns}, io.b = NULL;
  io.b_rs = p->g.b_mode == OX_GEMM_DOTS ? p->b_ns : p->b_ks;
  io.c = (char *)c->out[0]->data + (size_t)batch * p->m * p->n * elem;
  ox_product_terms(c, p, batch, &epi);
  ox_gemm_run(&p->g, &io, tile, scratch);
}

/* ---- plain types: the product, then alpha, terms, activation in double ---- */
static double get(uint32_t type, const void *p, int64_t i) {
  switch (type) {
    case OX_F64:
      return ((const double *)p)[i];
    case OX_I32:
      return ((const int32_t *)p)[i];
    case OX_U32:
      return ((const uint32_t *)p)[i];
    case OX_I64:
      return (double)((const int64_t *)p)[i];
    default:
      return (double)((const uint64_t *)p)[i];
  }
}

/* Truncates and saturates, since out-of-range conversions are undefined in C. */
static void put(uint32_t type, void *p, int64_t i, double v) {
  switch (type) {
    case OX_F64:
      ((double *)p)[i] = v;
      break;
    case OX_I32:
      ((int32_t *)p)[i] = v >= 0x1p31 ? INT32_MAX : v > -0x1p31 ? (int32_t)v : INT32_MIN;
      break;
    case OX_U32:
      ((uint32_t *)p)[i] = v >= 0x1p32 ? UINT32_MAX : v > 0 ? (uint32_t)v : 0;
      break;
    case OX_I64:
      ((int64_t *)p)[i] = ox_i64_of(v);
      break;
    default:
      ((uint64_t *)p)[i] = ox_u64_of(v);
      break;
  }
}

/* Integers with alpha = beta = 1 are added exactly, wrapping around. */
static void add_int(uint32_t type, void *p, int64_t i, const void *x, int64_t j) {
  if (type == OX_I32 || type == OX_U32)
    ((uint32_t *)p)[i] += ((const uint32_t *)x)[j];
  else
    ((uint64_t *)p)[i] += ((const uint64_t *)x)[j];
}

/* Doubles without an activation. */
static void epilogue_f64(const ox_kernel_ctx *c, const ox_product *p, int64_t batch, size_t row, size_t end,
                         double *out) {
  const ox_gemm_epi *e = &p->epi;
  ox_binary_fn *add = ox_binary_select(c->isa)->fn[OX_BIN_ADD][OX_F64];
  double alpha = (double)e->alpha, beta = (double)e->beta;
  for (size_t i = row; i < end; i++) {
    double *y = out + i * p->n;
    for (size_t j = 0; alpha != 1 && j < p->n; j++) y[j] *= alpha;
    for (int t = 0; t < 2; t++) {
      if (!p->in_term[t]) continue;
      ptrdiff_t step = e->term[t].cs;
      const double *x = (const double *)c->in[p->in_term[t]]->data + ox_product_offset(p, batch, p->term_batch[t]) +
                        (ptrdiff_t)i * e->term[t].rs;
      if (beta == 1 && (step == 0 || step == 1))
        add(y, x, y, p->n, step ? 0 : OX_BIN_B_SCALAR);
      else
        for (size_t j = 0; j < p->n; j++) y[j] += beta * x[(ptrdiff_t)j * step];
    }
  }
}

static void plain_epilogue(const ox_kernel_ctx *c, const ox_product *p, int64_t batch, size_t row, size_t end,
                           char *out) {
  const ox_gemm_epi *e = &p->epi;
  bool unit = e->alpha == 1 && e->beta == 1 && !e->act.kind;
  if (unit && !p->in_term[0] && !p->in_term[1]) return;
  if (p->type == OX_F64 && !e->act.kind) {
    epilogue_f64(c, p, batch, row, end, (double *)(void *)out);
    return;
  }
  for (size_t i = row; i < end; i++)
    for (size_t j = 0; j < p->n; j++) {
      int64_t at = (int64_t)(i * p->n + j);
      bool exact = unit && p->type != OX_F64;
      double v = exact ? 0 : (double)e->alpha * get(p->type, out, at);
      for (int t = 0; t < 2; t++) {
        if (!p->in_term[t]) continue;
        int64_t from =
            ox_product_offset(p, batch, p->term_batch[t]) + (int64_t)i * e->term[t].rs + (int64_t)j * e->term[t].cs;
        const void *x = c->in[p->in_term[t]]->data;
        if (exact)
          add_int(p->type, out, at, x, from);
        else
          v += (double)e->beta * get(p->type, x, from);
      }
      if (!exact) put(p->type, out, at, ox_act_f64(e->act, v));
    }
}

static void run_plain(const ox_kernel_ctx *c, const ox_product *p, ox_range tiles) {
  size_t elem = elem_bytes(p->type);
  int64_t per_batch = OX_CEIL_DIV((int64_t)p->m, p->plain_rows);
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    int64_t batch = i / per_batch, row = i % per_batch * p->plain_rows;
    size_t end = (size_t)OX_MIN(row + p->plain_rows, (int64_t)p->m);
    ox_gemm_plain g = {.type = p->type,
                       .m = p->m,
                       .n = p->n,
                       .k = p->k,
                       .a_rs = p->a_rs,
                       .a_ks = p->a_ks,
                       .b_ks = p->b_ks,
                       .b_ns = p->b_ns,
                       .c_rs = p->n,
                       .stop = ox_ctx_stop(c)};
    g.a = (const char *)c->in[p->in_a]->data + ox_product_offset(p, batch, p->a_batch) * (int64_t)elem;
    g.b = (const char *)c->in[p->in_b]->data + ox_product_offset(p, batch, p->b_batch) * (int64_t)elem;
    g.c = (char *)c->out[0]->data + (size_t)batch * p->m * p->n * elem;
    ox_gemm_plain_run(&g, c->isa, (size_t)row, end);
    plain_epilogue(c, p, batch, (size_t)row, end, g.c);
  }
}

ox_status *ox_product_run(const ox_kernel_ctx *c, const ox_product *p, uint32_t stage, ox_range tiles, void *scratch) {
  if (p->plain) {
    run_plain(c, p, tiles);
  } else if (p->split) {
    ox_product_run_split(c, p, stage, tiles, scratch);
  } else if (p->strassen) {
    return ox_product_run_strassen(c, p, stage, tiles, scratch);
  } else if (p->late && stage == 0) {
    return ox_product_begin(c, p);
  } else if (p->pack_stage && stage == 0) {
    run_pack(c, p, tiles);
  } else {
    int64_t per_batch = (int64_t)ox_gemm_tiles(&p->g);
    for (int64_t i = tiles.begin; i < tiles.end; i++) {
      int64_t batch = i / per_batch * p->batches_per_tile, end = OX_MIN(batch + p->batches_per_tile, p->n_batch);
      for (; batch < end; batch++) run_tile(c, p, batch, (size_t)(i % per_batch), scratch);
    }
  }
  return NULL;
}
