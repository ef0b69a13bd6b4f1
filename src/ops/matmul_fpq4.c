/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_fpq4.c - com.microsoft.MatMulFpQ4: A times 4-bit weights in the blob of ONNX Runtime's old quantizer. Of
 * each column of B, block by block: the scale as a float, for type 1 a zero point, then two codes a byte, in pieces of
 * 16 bytes that hold 32 elements: the first 16 in the low halves. */
#include <string.h>

#include "base/cksize.h"
#include "kern/ml/row_products.h"
#include "ops/shared/check.h"

enum { A, BLOB, SHAPE, PIECE = 32 };

typedef struct fpq4_attrs {
  int64_t blk_quant_type;
} fpq4_attrs;
static const ox_attr_def table[] = {OX_ATTR_INT(fpq4_attrs, blk_quant_type, 1)};

/* Elements of a block, 0: no such type; 8 is the zero of types without their own. */
static int64_t block_length(int64_t type) {
  static const int64_t lengths[] = {PIECE, PIECE, 2 * PIECE};
  return type >= 0 && type < (int64_t)OX_COUNT(lengths) ? lengths[type] : 0;
}
static int64_t block_bytes(int64_t type) { return (int64_t)sizeof(float) + (type == 1) + block_length(type) / 2; }

static ox_status *infer(ox_infer_ctx *c) {
  const fpq4_attrs *a = c->attrs;
  int64_t kn[2] = {-1, -1}, bytes = -1;
  int n = 0, known = ox_infer_ints(c, SHAPE, kn, 2, &n);
  ox_shape y = c->in[A]->shape;
  if (!block_length(a->blk_quant_type))
    return ox_fail(OX_NOT_IMPLEMENTED, "MatMulFpQ4: blk_quant_type %lld", (long long)a->blk_quant_type);
  if (known < 0 || (known && (n != 2 || kn[0] < 1 || kn[1] < 0)))
    return ox_fail(OX_INVALID_MODEL, "MatMulFpQ4: B_shape must be two numbers, rows and columns");
  if (y.rank == 0 || (y.rank > 0 && known && y.dim[y.rank - 1] >= 0 && y.dim[y.rank - 1] != kn[0]))
    return ox_fail(OX_SHAPE_MISMATCH, "MatMulFpQ4: A must have %lld columns", (long long)kn[0]);
  OX_TRY(ox_infer_shape_is(c, BLOB, 1, &bytes));
  int64_t have = ox_infer_dim(c, BLOB, 0);
  if (known && have >= 0 &&
      (!ox_mul_i64_ok(OX_CEIL_DIV(kn[0], block_length(a->blk_quant_type)), block_bytes(a->blk_quant_type), &bytes) ||
       !ox_mul_i64_ok(bytes, kn[1], &bytes) || have != bytes))
    return ox_fail(OX_SHAPE_MISMATCH, "MatMulFpQ4: %lld bytes of B for %lld x %lld", (long long)have, (long long)kn[0],
                   (long long)kn[1]);
  if (y.rank > 0) y.dim[y.rank - 1] = known ? kn[1] : -1;
  ox_infer_out(c, 0, OX_F32, &y);
  return NULL;
}

typedef struct fpq4_prep {
  int64_t rows, k, n;
} fpq4_prep;

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[A]->shape;
  fpq4_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t panel, sums;
  if (!p) return ox_oom();
  p->rows = ox_shape_span(x, 0, x->rank - 1), p->k = x->dim[x->rank - 1];
  p->n = c->out[0]->shape.dim[x->rank - 1];
  if (!ox_mul_ok((size_t)p->k, OX_PANEL_ROWS * sizeof(float), &panel) ||
      !ox_mul_ok((size_t)p->rows, OX_PANEL_ROWS * sizeof(float), &sums) || !ox_add_ok(panel, sums, &sums))
    return ox_fail(OX_LIMIT, "MatMulFpQ4: %lld rows of %lld", (long long)p->rows, (long long)p->k);
  return ox_ctx_plan(c, p->rows ? OX_CEIL_DIV(p->n, OX_PANEL_ROWS) : 0, sums);
}

/* Column |column| of B into |to|, elements OX_PANEL_ROWS apart. */
static void widen(const ox_kernel_ctx *c, const fpq4_prep *p, int64_t column, float *to) {
  int64_t type = ((const fpq4_attrs *)c->attrs)->blk_quant_type, length = block_length(type);
  const uint8_t *at = (const uint8_t *)c->in[BLOB]->data + column * OX_CEIL_DIV(p->k, length) * block_bytes(type);
  for (int64_t first = 0; first < p->k; first += length, at += length / 2) {
    float scale;
    memcpy(&scale, at, sizeof scale);
    at += sizeof scale;
    int zero = type == 1 ? *at++ : 8;
    for (int64_t i = 0; i < OX_MIN(length, p->k - first); i++) {
      uint8_t byte = at[i / PIECE * (PIECE / 2) + i % (PIECE / 2)];
      int code = i % PIECE < PIECE / 2 ? byte & 15 : byte >> 4;
      to[(first + i) * OX_PANEL_ROWS] = (float)(code - zero) * scale;
    }
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const fpq4_prep *p = c->prep;
  float *panel = scratch, *sums = panel + p->k * OX_PANEL_ROWS;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t first = t * OX_PANEL_ROWS, n = OX_MIN(p->n - first, OX_PANEL_ROWS);
    if (n < OX_PANEL_ROWS) memset(panel, 0, (size_t)(p->k * OX_PANEL_ROWS) * sizeof *panel);
    for (int64_t i = 0; i < n; i++) widen(c, p, first + i, panel + i);
    ox_row_panels panels = {panel, n, p->k};
    ox_row_products_run(&panels, c->isa, false, c->in[A]->data, p->rows, sums, OX_PANEL_ROWS);
    for (int64_t r = 0; r < p->rows; r++)
      memcpy((float *)c->out[0]->data + r * p->n + first, sums + r * OX_PANEL_ROWS, (size_t)n * sizeof(float));
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MatMulFpQ4", .domain = "com.microsoft", .since = 1,
               .types = {OX_BIT(OX_F32), OX_BIT(OX_U8), OX_BIT(OX_I64)}, .min_in = 3, .max_in = 3,
               .value_in = 1 << SHAPE, OX_ATTRS(table), .attrs_bytes = sizeof(fpq4_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_matmul_fpq4 = {ops, OX_COUNT(ops)};
