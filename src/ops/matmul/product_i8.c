/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_i8.c - batched 8-bit products: plan, scales, quantization of a float A, tiles. */
#include "ops/matmul/product_i8.h"

#include <string.h>

#include "base/cksize.h"
#include "kern/quant/convert.h"
#include "kern/quant/quantize.h"

/* The parameters of A's dynamic quantization; in shared memory, before the scales. */
typedef struct dynamic_a {
  float scale;
  uint8_t zero;
} dynamic_a;
enum { DYNAMIC_BYTES = 64 };

static const ox_tensor *input(const ox_kernel_ctx *c, int i) {
  return i >= 0 && (uint32_t)i < c->n_in ? c->in[i] : NULL;
}
static int64_t count_of(const ox_tensor *t) { return t ? ox_shape_count(&t->shape) : 1; }

/* Turns batch dimensions into rows of A if B does not depend on them. */
static void merge_rows(const ox_kernel_ctx *c, ox_product_i8 *q) {
  ox_product *p = &q->p;
  int64_t rows = (int64_t)p->m, step = (int64_t)p->m * p->a_rs;
  for (int d = p->rank - 1; d >= 0; d--) {
    if (p->b_batch[d] || (p->batch[d] != 1 && p->a_batch[d] != step)) return;
    rows *= p->batch[d], step *= p->batch[d];
  }
  int64_t zeros = count_of(input(c, q->in.a_zero)), scales = count_of(input(c, q->in.a_scale));
  if ((zeros != 1 && zeros != rows) || (scales != 1 && scales != rows)) return;
  p->m = (size_t)rows, p->rank = 0;
}

static int64_t start_of(const ox_product *p, int64_t matrix, const int64_t *strides) {
  int64_t at = 0;
  for (int d = p->rank - 1; d >= 0; d--)
    if (strides[d]) at += matrix % p->batch[d] * strides[d], matrix /= p->batch[d];
  return at;
}

size_t ox_product_i8_share(const ox_tensor *t, size_t each, int64_t matrix) {
  return t && (size_t)count_of(t) > each && count_of(t) > 1 ? (size_t)matrix * each : 0;
}

/* Checks a parameter of A or B: it has one element, or one per row or column of one matrix or of all. */
static ox_status *check_count(const ox_kernel_ctx *c, int in, const char *what, size_t each, size_t all) {
  int64_t n = count_of(input(c, in));
  if (n == 1 || n == (int64_t)each || n == (int64_t)all) return NULL;
  return ox_fail(OX_SHAPE_MISMATCH, "%s has %lld elements, wanted 1 or %zu", what, (long long)n, each);
}

static ox_status *check_params(const ox_kernel_ctx *c, const ox_product_i8 *q) {
  const ox_product *p = &q->p;
  size_t a_rows = p->m * (size_t)q->n_batch, b_cols = p->n * q->b_count;
  OX_TRY(check_count(c, q->in.a_zero, "A's zero point", p->m, a_rows));
  OX_TRY(check_count(c, q->in.a_scale, "A's scale", p->m, a_rows));
  OX_TRY(check_count(c, q->in.b_zero, "B's zero point", p->n, b_cols));
  OX_TRY(check_count(c, q->in.b_scale, "B's scale", p->n, b_cols));
  OX_TRY(check_count(c, q->in.y_scale, "the result's scale", 1, 1));
  OX_TRY(check_count(c, q->in.y_zero, "the result's zero point", 1, 1));
  const ox_tensor *bias[2] = {input(c, q->in.bias), input(c, q->in.bias_i32)};
  for (int i = 0; i < 2; i++)
    if (bias[i] && count_of(bias[i]) != (int64_t)p->n)
      return ox_fail(OX_SHAPE_MISMATCH, "bias has %lld elements, wanted %zu", (long long)count_of(bias[i]), p->n);
  return NULL;
}

ox_status *ox_product_i8_sizes(const ox_kernel_ctx *c, ox_product_i8 *q, const bool trans[4]) {
  ox_product *p = &q->p;
  OX_TRY(ox_product_shape(p, &c->in[q->in.a]->shape, &c->in[q->in.b]->shape, trans));
  merge_rows(c, q);
  q->n_batch = 1, q->b_count = 1;
  for (int d = 0; d < p->rank; d++) {
    if (!ox_mul_i64_ok(q->n_batch, p->batch[d], &q->n_batch)) return ox_oom();
    if (p->b_batch[d]) q->b_count *= (size_t)p->batch[d];
  }
  q->empty = p->m == 0 || p->n == 0 || q->n_batch == 0;
  return q->empty ? NULL : check_params(c, q);
}

ox_status *ox_product_i8_plan(ox_kernel_ctx *c, ox_product_i8 *q, const ox_product_i8_b *packed, const bool trans[4]) {
  const ox_product *p = &q->p;
  const ox_tensor *a = c->in[q->in.a], *b = c->in[q->in.b];
  OX_TRY(ox_product_i8_sizes(c, q, trans));
  if (q->empty) return ox_ctx_plan(c, 0, 0);
  q->packed = packed, q->b_signed = b->dtype == OX_I8;
  const ox_gemm_i8_variant *v = packed ? packed->v : ox_gemm_i8_select(c->isa);
  ox_gemm_i8_plan_init(&q->g, v, p->m, p->n, p->k);
  q->row_scales = (size_t)count_of(input(c, q->in.a_scale)), q->col_scales = (size_t)count_of(input(c, q->in.b_scale));
  size_t a_bytes = q->dynamic ? (size_t)ox_shape_count(&a->shape) : 0,
         scales = (q->row_scales + q->col_scales) * sizeof(float);
  q->pack_stage = !packed, q->b_bytes = OX_ROUND_UP(ox_gemm_i8_b_bytes(v, p->k, p->n), (size_t)OX_ALIGN_BYTES);
  if (q->pack_stage && !ox_mul_ok(q->b_bytes, q->b_count, &q->at_scales)) return ox_oom();
  q->at_a = q->at_scales + DYNAMIC_BYTES + OX_ROUND_UP(scales, (size_t)OX_ALIGN_BYTES);
  c->form = v->form[q->pack_stage];
  c->shared_bytes = q->at_a + a_bytes;
  c->scratch_per_worker = q->g.scratch;
  c->n_stages = 3;
  c->n_tiles[0] = q->out_type != OX_I32;
  c->n_tiles[1] = q->pack_stage ? (int64_t)(q->b_count * ox_gemm_i8_panels(v, p->n)) : 0;
  c->n_tiles[2] = q->n_batch * (int64_t)ox_gemm_i8_tiles(&q->g);
  return NULL;
}

/* ---- stage 0: scales ---- */
static dynamic_a *dynamic_of(const ox_kernel_ctx *c, const ox_product_i8 *q) {
  return (dynamic_a *)(void *)((char *)c->shared + q->at_scales);
}
static float *scales_of(const ox_kernel_ctx *c, const ox_product_i8 *q) {
  return (float *)(void *)((char *)c->shared + q->at_scales + DYNAMIC_BYTES);
}

/* Quantizes A as DynamicQuantizeLinear does. */
static void quantize_a(const ox_kernel_ctx *c, const ox_product_i8 *q) {
  const ox_quantize_table *t = ox_quantize_select(c->isa);
  const ox_tensor *a = c->in[q->in.a];
  dynamic_a *to = dynamic_of(c, q);
  size_t n = (size_t)ox_shape_count(&a->shape);
  float low = 0, high = 0;
  t->range(a->data, n, &low, &high);
  to->scale = ox_dynamic_scale(low, high, &to->zero);
  t->f32_u8(a->data, (uint8_t *)c->shared + q->at_a, n, to->scale, to->zero);
}

static void load_scales(const ox_kernel_ctx *c, const ox_tensor *t, float *to, size_t n) {
  if (t)
    ox_convert_select(c->isa)->load_f32[t->dtype](t->data, 0, n, to);
  else
    to[0] = 1;
}

/* Writes the scales of rows, then of columns. A single scale of A is multiplied into those of the columns, and rounded
 * as the operators are defined: (a b) / y. */
static void make_scales(const ox_kernel_ctx *c, const ox_product_i8 *q) {
  float *row = scales_of(c, q), *col = row + q->row_scales, y = 1;
  if (q->dynamic)
    quantize_a(c, q), row[0] = dynamic_of(c, q)->scale;
  else
    load_scales(c, input(c, q->in.a_scale), row, q->row_scales);
  load_scales(c, input(c, q->in.b_scale), col, q->col_scales);
  if (input(c, q->in.y_scale)) load_scales(c, input(c, q->in.y_scale), &y, 1);
  float all = q->row_scales == 1 ? row[0] * q->alpha : q->alpha;
  for (size_t j = 0; j < q->col_scales; j++) col[j] = all * col[j] / y;
  if (q->row_scales == 1) row[0] = 1;
}

static void run_pack(const ox_kernel_ctx *c, const ox_product_i8 *q, int64_t tile) {
  size_t panels = ox_gemm_i8_panels(q->g.v, q->p.n), matrix = (size_t)tile / panels, panel = (size_t)tile % panels;
  const char *b = (const char *)c->in[q->in.b]->data + start_of(&q->p, (int64_t)matrix, q->p.b_batch);
  ox_gemm_i8_pack_b(q->g.v, b, q->b_signed, q->p.b_ks, q->p.b_ns, q->p.k, q->p.n, panel, panel + 1,
                    (char *)c->shared + matrix * q->b_bytes, NULL);
}

static void run_tile(const ox_kernel_ctx *c, const ox_product_i8 *q, int64_t batch, size_t tile, void *scratch) {
  const ox_product *p = &q->p;
  const ox_tensor *za = input(c, q->in.a_zero), *zb = input(c, q->in.b_zero), *zy = input(c, q->in.y_zero);
  int64_t am = ox_product_matrix(p, batch, p->a_batch), bm = ox_product_matrix(p, batch, p->b_batch);
  const float *row = scales_of(c, q), *col = row + q->row_scales;
  ox_gemm_i8_out out = {
      .type = q->out_type, .row_step = q->row_scales > 1, .col_step = q->col_scales > 1, .act = q->act};
  out.row_scale = row + ox_product_i8_share(input(c, q->in.a_scale), p->m, am),
  out.col_scale = col + ox_product_i8_share(input(c, q->in.b_scale), p->n, bm);
  if (input(c, q->in.bias)) out.bias = input(c, q->in.bias)->data;
  if (input(c, q->in.bias_i32)) out.bias_i32 = input(c, q->in.bias_i32)->data;
  if (zy) out.zero = zy->dtype == OX_I8 ? *(const int8_t *)zy->data : *(const uint8_t *)zy->data;
  ox_gemm_i8_io io = {
      .a_rs = p->a_rs, .a_ks = p->a_ks, .b_signed = q->b_signed, .out = &out, .c_rs = p->n, .stop = ox_ctx_stop(c)};
  const char *a = q->dynamic ? (const char *)c->shared + q->at_a : c->in[q->in.a]->data;
  io.a = a + ox_product_offset(p, batch, p->a_batch), io.a_signed = !q->dynamic && c->in[q->in.a]->dtype == OX_I8;
  if (q->dynamic)
    io.a_zero = &dynamic_of(c, q)->zero;
  else if (za)
    io.a_zero = (const char *)za->data + ox_product_i8_share(za, p->m, am), io.a_zero_step = count_of(za) > 1;
  if (zb) io.b_zero = (const char *)zb->data + ox_product_i8_share(zb, p->n, bm), io.b_zero_step = count_of(zb) > 1;
  io.packed = q->packed ? (const char *)q->packed->packed + (size_t)bm * q->packed->matrix_bytes
                        : (const char *)c->shared + (size_t)bm * q->b_bytes;
  size_t elem = q->out_type == OX_I32 || q->out_type == OX_F32 ? 4 : 1;
  io.c = (char *)c->out[0]->data + (size_t)batch * p->m * p->n * elem;
  ox_gemm_i8_run(&q->g, &io, tile, scratch);
}

ox_status *ox_product_i8_run(const ox_kernel_ctx *c, const ox_product_i8 *q, uint32_t stage, ox_range tiles,
                             void *scratch) {
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    if (stage == 0)
      make_scales(c, q);
    else if (stage == 1)
      run_pack(c, q, i);
    else
      run_tile(c, q, i / (int64_t)ox_gemm_i8_tiles(&q->g), (size_t)i % ox_gemm_i8_tiles(&q->g), scratch);
  }
  return NULL;
}

/* ---- load ---- */
ox_status *ox_product_i8_pack(ox_load_ctx *c, const ox_tensor *b, bool trans, ox_product_i8_b **out) {
  *out = NULL;
  if (!b || b->shape.rank < 2 || (b->dtype != OX_U8 && b->dtype != OX_I8)) return NULL;
  ox_product_i8_b *pb = OX_LOAD_NEW(c, ox_product_i8_b);
  int rank = b->shape.rank;
  size_t rows = (size_t)b->shape.dim[rank - 2], cols = (size_t)b->shape.dim[rank - 1], total;
  size_t k = trans ? cols : rows, n = trans ? rows : cols;
  if (!pb) return ox_oom();
  pb->v = ox_gemm_i8_select(c->isa), pb->count = (size_t)ox_shape_span(&b->shape, 0, rank - 2);
  pb->matrix_bytes = OX_ROUND_UP(ox_gemm_i8_b_bytes(pb->v, k, n), (size_t)OX_ALIGN_BYTES);
  if (!ox_mul_ok(pb->matrix_bytes, pb->count, &total)) return ox_oom();
  if (!total) return NULL;
  if (!(pb->packed = ox_new_aligned(c->alloc, total, OX_ALIGN_BYTES))) return ox_oom();
  ox_stop stop = ox_load_stop(c);
  for (size_t i = 0; i < pb->count && !ox_stop_asked(&stop); i++)
    ox_gemm_i8_pack_b(pb->v, (const char *)b->data + i * rows * cols, b->dtype == OX_I8, trans ? 1 : (ptrdiff_t)cols,
                      trans ? (ptrdiff_t)cols : 1, k, n, 0, ox_gemm_i8_panels(pb->v, n),
                      (char *)pb->packed + i * pb->matrix_bytes, &stop);
  *out = pb;
  return NULL;
}

void ox_product_i8_unpack(ox_product_i8_b *b, ox_alloc alloc) {
  if (b) ox_delete(alloc, b->packed, b->matrix_bytes * b->count);
}
