/* SPDX-License-Identifier: Apache-2.0
 * ops/sparse_matmul.c - com.microsoft.SparseToDenseMatMul: a sparse matrix times a dense one. Sparse initializers
 * and constants are dense when an operator gets them; their zeros are skipped. A sparse value, an input of the
 * graph, is first sorted by the result's rows: its entries come in any order, and those of one position are added.
 * Floats are summed in double, integers wrap around. */
#include <string.h>

#include "kern/quant/convert.h"
#include "ops/shared/check.h"

enum { A, B };
typedef struct sparse_attrs {
  int64_t transA, transB;
  float alpha;
} sparse_attrs;
static const ox_attr_def table[] = {OX_ATTR_INT(sparse_attrs, transA, 0), OX_ATTR_INT(sparse_attrs, transB, 0),
                                    OX_ATTR_FLOAT(sparse_attrs, alpha, 1)};

static ox_status *infer(ox_infer_ctx *c) {
  const sparse_attrs *a = c->attrs;
  bool ta = a->transA != 0, tb = a->transB != 0;
  if (c->in[A]->optional || (c->in[A]->kind != OX_TENSOR && c->in[A]->kind != OX_SPARSE))
    return ox_fail(OX_INVALID_MODEL, "SparseToDenseMatMul: A is neither a sparse tensor nor a tensor");
  if (c->in[B]->optional || c->in[B]->kind != OX_TENSOR)
    return ox_fail(OX_INVALID_MODEL, "SparseToDenseMatMul: B is not a tensor");
  OX_TRY(ox_infer_shape_is(c, A, 2, (int64_t[]){-1, -1}));
  OX_TRY(ox_infer_shape_is(c, B, 2, (int64_t[]){-1, -1}));
  int64_t inner = ox_infer_dim(c, A, !ta), other = ox_infer_dim(c, B, tb);
  if (inner >= 0 && other >= 0 && inner != other)
    return ox_fail(OX_SHAPE_MISMATCH, "SparseToDenseMatMul: A has %lld columns, B %lld rows", (long long)inner,
                   (long long)other);
  ox_shape y = ox_shape_of(2, (int64_t[]){ox_infer_dim(c, A, ta), ox_infer_dim(c, B, !tb)});
  ox_infer_out(c, 0, c->in[A]->dtype, &y);
  return NULL;
}

/* An entry of a sparse A, sorted by the result's rows. */
typedef struct entry {
  int64_t k; /* the row of B that it takes */
  union {
    double f;
    int64_t i;
  } a;
} entry;
typedef struct ordered {
  entry *entries;
  int64_t *first; /* of each row, and where the last one ends */
} ordered;

enum { ORDER, MULTIPLY };

/* A tile is a row; its sums are eight bytes each. The entries of a sparse A are sorted before, by one tile. */
static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *y = &c->out[0]->shape;
  if ((size_t)y->dim[1] > SIZE_MAX / 64)
    return ox_fail(OX_LIMIT, "SparseToDenseMatMul: rows of %lld", (long long)y->dim[1]);
  OX_TRY(ox_ctx_plan(c, y->dim[1] ? y->dim[0] : 0, 2 * (size_t)y->dim[1] * sizeof(double)));
  if (c->in[A]->kind != OX_SPARSE) return NULL;
  c->n_stages = 2, c->n_tiles[MULTIPLY] = c->n_tiles[ORDER], c->n_tiles[ORDER] = 1;
  c->shared_bytes = sizeof(ordered);
  return NULL;
}

/* ---- sparse values ---- */

static int64_t index_at(const ox_tensor *indices, int64_t i) {
  int64_t v;
  memcpy(&v, (const char *)indices->data + (size_t)i * sizeof v, sizeof v); /* may lie in a message, unaligned */
  return v;
}

/* The position of entry |i| of |a|: at[0] its row, at[1] its column. */
static ox_status *find_entry(const ox_tensor *a, int64_t i, int64_t at[2]) {
  const ox_tensor *indices = (const ox_tensor *)a->data + 1;
  int64_t rows = a->shape.dim[0], columns = a->shape.dim[1];
  if (indices->shape.rank == 2) {
    at[0] = index_at(indices, 2 * i), at[1] = index_at(indices, 2 * i + 1);
  } else {
    int64_t place = index_at(indices, i);
    at[0] = columns && place >= 0 ? place / columns : -1, at[1] = columns ? place % columns : -1;
  }
  if (at[0] >= 0 && at[0] < rows && at[1] >= 0 && at[1] < columns) return NULL;
  return ox_fail(OX_INVALID_ARGUMENT, "SparseToDenseMatMul: index %lld of A is outside of [%lld,%lld]", (long long)i,
                 (long long)rows, (long long)columns);
}

static ox_status *check_parts(const ox_tensor *a, int64_t *out_n) {
  const ox_tensor *values = a->data, *indices = values + 1;
  *out_n = values->shape.dim[0];
  bool pairs = indices->shape.rank == 2 && indices->shape.dim[1] == 2, linear = indices->shape.rank == 1;
  if (values->shape.rank == 1 && values->dtype == a->dtype && indices->dtype == OX_I64 && (pairs || linear) &&
      indices->shape.dim[0] == *out_n)
    return NULL;
  char v[OX_SHAPE_TEXT], i[OX_SHAPE_TEXT];
  return ox_fail(OX_INVALID_ARGUMENT, "SparseToDenseMatMul: A has values of shape %s with indices of shape %s",
                 ox_shape_text(&values->shape, v), ox_shape_text(&indices->shape, i));
}

static void read_entry(const ox_kernel_ctx *c, const ox_tensor *values, int64_t i, entry *out) {
  const ox_convert *cv = ox_convert_select(c->isa);
  size_t item = ox_dtype_bits(values->dtype) / 8;
  int64_t aligned;
  memcpy(&aligned, (const char *)values->data + (size_t)i * item, item);
  if (OX_BIT(values->dtype) & OX_T_FLOAT)
    cv->load_f64[values->dtype](&aligned, 0, 1, &out->a.f);
  else
    cv->load_i64[values->dtype](&aligned, 0, 1, &out->a.i);
}

/* Empties all rows, so that no row reads entries that were not sorted. */
static ox_status *stop(ordered *o, int64_t rows) {
  memset(o->first, 0, (size_t)(rows + 1) * sizeof *o->first);
  return NULL;
}

/* Counts the entries of each row, then puts each behind those of the rows before. */
static ox_status *order(const ox_kernel_ctx *c, ordered *out) {
  const ox_tensor *a = c->in[A];
  int side = ((const sparse_attrs *)c->attrs)->transA != 0; /* which index is the result's row */
  int64_t n, at[2], rows = c->out[0]->shape.dim[0];
  OX_TRY(check_parts(a, &n));
  out->entries = ox_ctx_run_array(c, n, sizeof *out->entries);
  out->first = ox_ctx_run_array(c, rows + 1, sizeof *out->first);
  if (!out->entries || !out->first) return ox_oom();
  memset(out->first, 0, (size_t)(rows + 1) * sizeof *out->first);
  for (int64_t i = 0; i < n; i++) {
    if (ox_ctx_stopped_each(c, i, 1024)) return stop(out, rows);
    OX_TRY(find_entry(a, i, at));
    out->first[at[side]]++;
  }
  for (int64_t r = 0; r < rows; r++) out->first[r + 1] += out->first[r];
  for (int64_t i = n; i-- > 0;) { /* backwards: each row's end moves to its begin, and entries stay in order */
    if (ox_ctx_stopped_each(c, i, 1024)) return stop(out, rows);
    OX_TRY(find_entry(a, i, at));
    entry *e = &out->entries[--out->first[at[side]]];
    e->k = at[!side];
    read_entry(c, a->data, i, e);
  }
  return NULL;
}

/* ---- rows ---- */

/* Elements of a dense A's row |row| and of B's row |k|, as they lie. */
typedef struct steps {
  int64_t inner, columns, a_row, a_step, b_row, b_step;
} steps;

static steps steps_of(const ox_kernel_ctx *c) {
  const sparse_attrs *at = c->attrs;
  const int64_t *a = c->in[A]->shape.dim, *b = c->in[B]->shape.dim;
  steps s = {a[!at->transA], c->out[0]->shape.dim[1], a[1], 1, b[1], 1};
  if (at->transA) s.a_row = 1, s.a_step = a[1];
  if (at->transB) s.b_row = 1, s.b_step = b[1];
  return s;
}

/* Adds |a| times B's row |k| to |sum|. */
static void add_f64(const ox_kernel_ctx *c, const steps *s, int64_t k, double a, double *sum, double *spare) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[B]->dtype;
  if (s->b_step == 1) cv->load_f64[t](c->in[B]->data, (size_t)(k * s->b_row), (size_t)s->columns, spare);
  for (int64_t i = 0; i < s->columns && s->b_step != 1; i++)
    cv->load_f64[t](c->in[B]->data, (size_t)(k * s->b_row + i * s->b_step), 1, &spare[i]);
  for (int64_t i = 0; i < s->columns; i++) sum[i] += a * spare[i];
}

static void add_i64(const ox_kernel_ctx *c, const steps *s, int64_t k, int64_t a, int64_t *sum, int64_t *spare) {
  const ox_convert *cv = ox_convert_select(c->isa);
  for (int64_t i = 0; i < s->columns; i++)
    cv->load_i64[c->in[B]->dtype](c->in[B]->data, (size_t)(k * s->b_row + i * s->b_step), 1, &spare[i]);
  for (int64_t i = 0; i < s->columns; i++) sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)a * (uint64_t)spare[i]);
}

static void row_f64(const ox_kernel_ctx *c, const steps *s, const ordered *o, int64_t row, double *sum, double *spare) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[A]->dtype;
  for (int64_t i = 0; i < s->columns; i++) sum[i] = 0;
  for (int64_t e = o ? o->first[row] : 0; o && e < o->first[row + 1]; e++) {
    if (ox_ctx_stopped_each(c, e, 64)) return;
    add_f64(c, s, o->entries[e].k, o->entries[e].a.f, sum, spare);
  }
  for (int64_t k = 0; !o && k < s->inner; k++) {
    double a;
    cv->load_f64[t](c->in[A]->data, (size_t)(row * s->a_row + k * s->a_step), 1, &a);
    if (a != 0) add_f64(c, s, k, a, sum, spare);
  }
  for (int64_t i = 0; i < s->columns; i++) sum[i] *= (double)((const sparse_attrs *)c->attrs)->alpha;
  cv->store_f64[t](sum, c->out[0]->data, (size_t)(row * s->columns), (size_t)s->columns, NULL);
}

static void row_i64(const ox_kernel_ctx *c, const steps *s, const ordered *o, int64_t row, int64_t *sum,
                    int64_t *spare) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[A]->dtype;
  int64_t alpha = (int64_t)((const sparse_attrs *)c->attrs)->alpha;
  for (int64_t i = 0; i < s->columns; i++) sum[i] = 0;
  for (int64_t e = o ? o->first[row] : 0; o && e < o->first[row + 1]; e++) {
    if (ox_ctx_stopped_each(c, e, 64)) return;
    add_i64(c, s, o->entries[e].k, o->entries[e].a.i, sum, spare);
  }
  for (int64_t k = 0; !o && k < s->inner; k++) {
    int64_t a;
    cv->load_i64[t](c->in[A]->data, (size_t)(row * s->a_row + k * s->a_step), 1, &a);
    if (a != 0) add_i64(c, s, k, a, sum, spare);
  }
  for (int64_t i = 0; i < s->columns; i++) sum[i] = (int64_t)((uint64_t)sum[i] * (uint64_t)alpha);
  cv->store_i64[t](sum, c->out[0]->data, (size_t)(row * s->columns), (size_t)s->columns, NULL);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const ordered *o = c->in[A]->kind == OX_SPARSE ? c->shared : NULL;
  steps s = steps_of(c);
  if (o && stage == ORDER) return order(c, c->shared);
  for (int64_t row = tiles.begin; row < tiles.end; row++)
    if (OX_BIT(c->in[A]->dtype) & OX_T_FLOAT)
      row_f64(c, &s, o, row, scratch, (double *)scratch + s.columns);
    else
      row_i64(c, &s, o, row, scratch, (int64_t *)scratch + s.columns);
  return NULL;
}

#define NUMBERS (OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_I32) | OX_BIT(OX_I64) | OX_BIT(OX_U32) | OX_BIT(OX_U64))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "SparseToDenseMatMul", .domain = "com.microsoft", .since = 1, .types = {NUMBERS}, .vars = "TT",
               .min_in = 2, .max_in = 2, .traits = OX_ANY_KIND, OX_ATTRS(table), .attrs_bytes = sizeof(sparse_attrs),
               .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_sparse_matmul = {ops, OX_COUNT(ops)};
