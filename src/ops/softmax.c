/* SPDX-License-Identifier: Apache-2.0
 * ops/softmax.c - Softmax, LogSoftmax, Hardmax: along one axis since version 13; before that, over everything from the
 * axis on, as if the input were a matrix. */
#include <string.h>

#include "kern/move/move.h"
#include "kern/quant/convert.h"
#include "kern/reduce/reduce.h"
#include "kern/softmax/softmax.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t axis;
} softmax_attrs;

static const ox_attr_def last_axis[] = {OX_ATTR_INT_IN(softmax_attrs, axis, -1, OX_AXIS_RANGE)};
static const ox_attr_def second_axis[] = {OX_ATTR_INT_IN(softmax_attrs, axis, 1, OX_AXIS_RANGE)};

static ox_status *infer(ox_infer_ctx *c) {
  const softmax_attrs *a = c->attrs;
  int rank = c->in[0]->shape.rank, k;
  bool whole_tail = c->op_version < 13; /* the tail may be empty, beginning after the last dimension */
  if (rank > 0 && !ox_axis_ok(a->axis, rank, &k) && !(whole_tail && a->axis == rank))
    return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)a->axis, rank);
  return ox_infer_same_as_input(c);
}

typedef enum { SOFTMAX, LOG_SOFTMAX, HARDMAX } kind;
typedef struct {
  kind kind;
  bool tail;
} softmax_state;

static ox_status *load_as(ox_load_ctx *c, bool tail) {
  softmax_state *s = OX_LOAD_NEW(c, softmax_state);
  if (!s) return ox_oom();
  s->kind = c->op[0] == 'S' ? SOFTMAX : c->op[0] == 'L' ? LOG_SOFTMAX : HARDMAX;
  s->tail = tail;
  c->state = s;
  return NULL;
}
static ox_status *load(ox_load_ctx *c) { return load_as(c, false); }
static ox_status *load_tail(ox_load_ctx *c) { return load_as(c, true); }

/* A work item is a row, or |width| columns of an outer slice. Where these are too few for a vector, a slice is turned
 * into rows or, where the columns are short, some slices are put side by side. */
typedef enum { PLAIN, TURNED, GATHERED } way;
typedef struct {
  int64_t n, inner, items, per_tile, width, pieces; /* pieces: column groups of a slice */
  way way;
  int64_t outer, group; /* GATHERED: slices of an item */
} softmax_prep;

enum { COLUMNS = 64 };

static way way_of(const softmax_prep *p, uint32_t dtype, kind k) {
  enum { NARROW = 15, NARROW_LOG = 8, SHORT = 16, LONG = 512, FEW = 4, LANES = 16, MOST = 1 << 17 };
  if (k == HARDMAX || p->inner > (k == LOG_SOFTMAX ? NARROW_LOG : NARROW) || p->inner == 0 ||
      (dtype != OX_F32 && dtype != OX_F64))
    return PLAIN;
  if (p->inner == 1 && (dtype == OX_F32 || p->n >= SHORT)) return PLAIN;
  if (p->n < SHORT) return p->outer > 1 ? GATHERED : PLAIN;
  if (p->n <= LONG && p->inner > FEW && p->outer >= LANES / p->inner) return GATHERED;
  return p->n <= MOST / p->inner ? TURNED : PLAIN; /* of what scratch should hold */
}

static ox_status *prepare(ox_kernel_ctx *c) {
  enum { WORK = 16384 };
  const softmax_attrs *a = c->attrs;
  const softmax_state *s = c->state;
  const ox_shape *x = &c->in[0]->shape;
  softmax_prep *p = ox_ctx_alloc(c, sizeof *p);
  int k = 0;
  if (!p) return ox_oom();
  if (a->axis == x->rank)
    k = x->rank;
  else
    ox_axis_ok(a->axis, x->rank, &k);
  p->n = x->rank == 0 ? 1 : s->tail ? ox_shape_span(x, k, x->rank) : x->dim[k];
  p->inner = s->tail || x->rank == 0 ? 1 : ox_shape_span(x, k + 1, x->rank);
  p->outer = x->rank ? ox_shape_span(x, 0, k) : 1;
  c->prep = p;
  p->way = way_of(p, c->in[0]->dtype, s->kind);
  p->width = OX_MIN(p->inner, COLUMNS), p->group = 1;
  p->pieces = p->inner ? OX_CEIL_DIV(p->inner, OX_MAX(p->width, 1)) : 0;
  if (p->way == GATHERED) p->group = OX_MIN(COLUMNS / p->inner, p->outer), p->width *= p->group;
  p->items = p->n ? OX_CEIL_DIV(p->outer, p->group) * p->pieces : 0;
  p->per_tile = OX_MAX(WORK / OX_MAX(p->n * p->width, 1), 1);
  bool narrow = (OX_BIT(c->in[0]->dtype) & OX_T_FLOAT16S) != 0;
  size_t item = narrow ? sizeof(float) : p->way == PLAIN ? 0 : ox_dtype_bits(c->in[0]->dtype) / 8;
  return ox_ctx_plan(c, ox_tile_count(p->items, p->per_tile), (size_t)(p->n * p->width) * item);
}

static void row_f32(const ox_kernel_ctx *c, kind k, const float *x, float *y, size_t n) {
  enum { LONG = 1 << 16 };
  const ox_softmax_table *t = ox_softmax_select(c->isa);
  ox_stop stop = ox_ctx_stop(c);
  if (n > LONG)
    t->long_row(x, y, n, k == LOG_SOFTMAX, &stop);
  else
    (k == LOG_SOFTMAX ? t->log_row : t->row)(x, y, n);
}

static void item_f32(const ox_kernel_ctx *c, kind k, const float *x, float *y, const softmax_prep *p, size_t width,
                     size_t pitch) {
  ox_stop stop = ox_ctx_stop(c);
  if (p->inner > 1 || p->way == GATHERED)
    ox_softmax_select(c->isa)->columns(x, y, (size_t)p->n, width, pitch, k == LOG_SOFTMAX, &stop);
  else
    row_f32(c, k, x, y, (size_t)p->n);
}

static void item_f64(const ox_kernel_ctx *c, kind k, const double *x, double *y, const softmax_prep *p, size_t width,
                     size_t pitch) {
  const ox_softmax_f64 *t = ox_softmax_f64_select(c->isa);
  ox_stop stop = ox_ctx_stop(c);
  if (p->inner > 1 || p->way == GATHERED)
    t->columns(x, y, (size_t)p->n, width, pitch, k == LOG_SOFTMAX, &stop);
  else
    t->row(x, y, (size_t)p->n, k == LOG_SOFTMAX, &stop);
}

/* Slice |i| as |inner| rows. */
static void item_turned(const ox_kernel_ctx *c, kind k, const softmax_prep *p, int64_t i, void *scratch) {
  bool wide = c->in[0]->dtype == OX_F64;
  int64_t e = wide ? sizeof(double) : sizeof(float), bytes = p->n * p->inner * e;
  ox_transpose_fn turn = ox_transpose_select(e, c->isa);
  ox_stop stop = ox_ctx_stop(c);
  turn((const char *)c->in[0]->data + i * bytes, p->inner * e, scratch, p->n * e, p->n, p->inner);
  for (int64_t j = 0; j < p->inner; j++) {
    void *row = (char *)scratch + j * p->n * e;
    if (wide)
      ox_softmax_f64_select(c->isa)->row(row, row, (size_t)p->n, k == LOG_SOFTMAX, &stop);
    else
      row_f32(c, k, row, row, (size_t)p->n);
  }
  turn(scratch, p->n * e, (char *)c->out[0]->data + i * bytes, p->inner * e, p->inner, p->n);
}

/* Between some slices and their columns side by side; |out|: back again. */
static void gather(const ox_kernel_ctx *c, const softmax_prep *p, int64_t e, int64_t slices, char *at, char *columns,
                   bool out) {
  int64_t width = slices * p->inner * e, slice = p->n * p->inner * e, run = p->inner * e;
  if (p->inner == 1) {
    ox_transpose_fn turn = ox_transpose_select(e, c->isa);
    if (out)
      turn(columns, width, at, slice, p->n, slices);
    else
      turn(at, slice, columns, width, slices, p->n);
    return;
  }
  for (int64_t r = 0; r < p->n; r++, at += run, columns += width)
    if (out)
      ox_copy_lines(columns, run, at, slice, slices, run);
    else
      ox_copy_lines(at, slice, columns, run, slices, run);
}

static void item_gathered(const ox_kernel_ctx *c, kind k, const softmax_prep *p, int64_t i, void *scratch) {
  int64_t e = (int64_t)ox_dtype_bits(c->in[0]->dtype) / 8, first = i * p->group;
  int64_t slices = OX_MIN(p->group, p->outer - first), at = first * p->n * p->inner * e;
  size_t width = (size_t)(slices * p->inner);
  gather(c, p, e, slices, (char *)c->in[0]->data + at, scratch, false);
  if (c->in[0]->dtype == OX_F64)
    item_f64(c, k, scratch, scratch, p, width, width);
  else
    item_f32(c, k, scratch, scratch, p, width, width);
  gather(c, p, e, slices, (char *)c->out[0]->data + at, scratch, true);
}

/* Rows of 16-bit floats are widened into the scratch, |width| columns at a time; a single column piece by piece. */
enum { PIECE = 16384, EACH = 16 };

static void widen(const ox_kernel_ctx *c, int64_t at, const softmax_prep *p, size_t width, float *scratch) {
  ox_load_f32_fn *read = ox_convert_select(c->isa)->load_f32[c->in[0]->dtype];
  int64_t step = p->inner == 1 ? PIECE : p->inner, n = p->inner == 1 ? OX_CEIL_DIV(p->n, PIECE) : p->n;
  size_t some = p->inner == 1 ? PIECE : width, rest = p->inner == 1 ? (size_t)p->n : (size_t)p->n * width;
  for (int64_t r = 0; r < n && !ox_ctx_stopped_each(c, r, EACH); r++)
    read(c->in[0]->data, (size_t)(at + r * step), OX_MIN(some, rest - (size_t)r * some), scratch + (size_t)r * some);
}

static void item_narrow(const ox_kernel_ctx *c, kind k, int64_t at, const softmax_prep *p, size_t width,
                        float *scratch) {
  ox_store_f32_fn *write = ox_convert_select(c->isa)->store_f32[c->out[0]->dtype];
  int64_t step = p->inner == 1 ? PIECE : p->inner, n = p->inner == 1 ? OX_CEIL_DIV(p->n, PIECE) : p->n;
  size_t some = p->inner == 1 ? PIECE : width, rest = p->inner == 1 ? (size_t)p->n : (size_t)p->n * width;
  widen(c, at, p, width, scratch);
  item_f32(c, k, scratch, scratch, p, width, width);
  for (int64_t r = 0; r < n && !ox_ctx_stopped_each(c, r, EACH); r++)
    write(scratch + (size_t)r * some, c->out[0]->data, (size_t)(at + r * step), OX_MIN(some, rest - (size_t)r * some),
          NULL);
}

/* The index of the largest element of each of |width| columns; NaN is the largest, as in ArgMax. */
static void largest_of(const ox_kernel_ctx *c, int64_t at, const softmax_prep *p, size_t width, int64_t *where) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  double best[COLUMNS], v[COLUMNS];
  for (int64_t r = 0; r < p->n && !ox_ctx_stopped_each(c, r, 1024); r++) {
    cv->load_f64[t](c->in[0]->data, (size_t)(at + r * p->inner), width, v);
    for (size_t j = 0; j < width; j++) {
      bool better = r == 0 || v[j] > best[j] || (v[j] != v[j] && best[j] == best[j]);
      best[j] = better ? v[j] : best[j], where[j] = better ? r : where[j];
    }
  }
}

/* The same of rows of |pitch| floats. */
static void largest_f32(const ox_kernel_ctx *c, const float *x, const softmax_prep *p, size_t width, size_t pitch,
                        int64_t *where) {
  const ox_reduce_table *t = ox_reduce_select(c->isa);
  int32_t rows[COLUMNS];
  if (p->inner == 1) {
    where[0] = (int64_t)t->arg_row(x, (size_t)p->n, false, false);
    return;
  }
  t->arg_column(x, width, (size_t)p->n, pitch, false, false, rows);
  for (size_t j = 0; j < width; j++) where[j] = rows[j];
}

/* 1 in the type, whose zero has all bits zero. */
static void put_one(const ox_tensor *y, int64_t i) {
  static const double one = 1;
  if (y->dtype == OX_F32)
    ((float *)y->data)[i] = 1;
  else
    ox_convert_select(0)->store_f64[y->dtype](&one, y->data, (size_t)i, 1, NULL);
}

/* 1 at the first largest element, 0 elsewhere. */
static void item_hardmax(const ox_kernel_ctx *c, int64_t at, const softmax_prep *p, size_t width, void *scratch) {
  int64_t where[COLUMNS];
  uint32_t t = c->in[0]->dtype;
  size_t size = ox_dtype_bits(t) / 8;
  if (t == OX_F64 || p->n > INT32_MAX) {
    largest_of(c, at, p, width, where);
  } else if (t == OX_F32) {
    largest_f32(c, (const float *)c->in[0]->data + at, p, width, (size_t)p->inner, where);
  } else {
    widen(c, at, p, width, scratch);
    largest_f32(c, scratch, p, width, width, where);
  }
  bool whole = (int64_t)width == p->inner; /* the rows of the slice lie one behind the other */
  int64_t rows = whole ? 1 : p->n, each = whole ? p->n * p->inner : (int64_t)width;
  for (int64_t r = 0; r < rows && !ox_ctx_stopped_each(c, r, 1024); r++)
    memset((char *)c->out[0]->data + (size_t)(at + r * p->inner) * size, 0, (size_t)each * size);
  for (size_t j = 0; j < width; j++) put_one(c->out[0], at + where[j] * p->inner + (int64_t)j);
}

/* Rows of floats, short ones several at a time; y may be x. */
static void hardmax_rows(const ox_kernel_ctx *c, const softmax_prep *p, int64_t begin, int64_t end) {
  const ox_reduce_table *t = ox_reduce_select(c->isa);
  const float *x = c->in[0]->data;
  float *y = c->out[0]->data;
  int32_t where[COLUMNS];
  if ((size_t)p->n > t->arg_rows_most) {
    for (int64_t i = begin; i < end && !ox_ctx_stopped_each(c, i - begin, 1024); i++) {
      size_t at = t->arg_row(x + i * p->n, (size_t)p->n, false, false);
      for (int64_t j = 0; j < p->n; j++) y[i * p->n + j] = 0;
      y[i * p->n + (int64_t)at] = 1;
    }
    return;
  }
  for (int64_t i = begin, m; i < end; i += m) {
    m = OX_MIN(end - i, COLUMNS);
    t->arg_rows(x + i * p->n, (size_t)m, (size_t)p->n, false, false, where);
    memset(y + i * p->n, 0, (size_t)(m * p->n) * sizeof *y);
    for (int64_t k = 0; k < m; k++) y[(i + k) * p->n + where[k]] = 1;
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  enum { FEW = 6 }; /* up to so many rows are faster one by one than in a transposed square that is nearly empty */
  (void)stage;
  const softmax_prep *p = c->prep;
  kind k = ((const softmax_state *)c->state)->kind;
  uint32_t t = c->in[0]->dtype;
  int64_t begin, end;
  ox_tile_span(tiles, p->per_tile, p->items, &begin, &end);
  const ox_softmax_table *table = ox_softmax_select(c->isa);
  if (t == OX_F32 && k != HARDMAX && p->inner == 1 && p->items >= FEW && (size_t)p->n <= table->short_most) {
    table->short_rows((const float *)c->in[0]->data + begin * p->n, (float *)c->out[0]->data + begin * p->n,
                      (size_t)(end - begin), (size_t)p->n, k == LOG_SOFTMAX);
    return NULL;
  }
  if (t == OX_F32 && k == LOG_SOFTMAX && p->inner == 1 && (size_t)p->n <= table->log_most) {
    table->log_rows((const float *)c->in[0]->data + begin * p->n, (float *)c->out[0]->data + begin * p->n,
                    (size_t)(end - begin), (size_t)p->n);
    return NULL;
  }
  if (t == OX_F32 && k == SOFTMAX && p->inner == 1 && (size_t)p->n <= table->rows_most) {
    table->rows((const float *)c->in[0]->data + begin * p->n, (float *)c->out[0]->data + begin * p->n,
                (size_t)(end - begin), (size_t)p->n);
    return NULL;
  }
  if (t == OX_F32 && k == HARDMAX && p->inner == 1) {
    hardmax_rows(c, p, begin, end);
    return NULL;
  }
  for (int64_t i = begin; i < end && p->way != PLAIN; i++)
    (p->way == TURNED ? item_turned : item_gathered)(c, k, p, i, scratch);
  for (int64_t i = begin; i < end && p->way == PLAIN; i++) {
    int64_t column = i % p->pieces * p->width, at = i / p->pieces * p->n * p->inner + column;
    size_t width = (size_t)OX_MIN(p->width, p->inner - column);
    if (k == HARDMAX) {
      item_hardmax(c, at, p, width, scratch);
    } else if (t == OX_F32) {
      item_f32(c, k, (const float *)c->in[0]->data + at, (float *)c->out[0]->data + at, p, width, (size_t)p->inner);
    } else if (t == OX_F64) {
      item_f64(c, k, (const double *)c->in[0]->data + at, (double *)c->out[0]->data + at, p, width, (size_t)p->inner);
    } else {
      item_narrow(c, k, at, p, width, scratch);
    }
  }
  return NULL;
}

#define ROW(op, ver, table, load_fn, alias)                                              \
  {                                                                                      \
    OX_SCHEMA(.name = op, .since = ver, .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1, \
              .attrs_bytes = sizeof(softmax_attrs), OX_ATTRS(table), .infer = infer),    \
        OX_KERNEL(.inplace = alias, .load = load_fn, .prepare = prepare, .run = run)     \
  }
#define FAMILY(op, alias) ROW(op, 1, second_axis, load_tail, alias), ROW(op, 13, last_axis, load, alias)

static const ox_op ops[] = {
    FAMILY("Softmax", 1),
    FAMILY("LogSoftmax", 1),
    FAMILY("Hardmax", 1),
};
const ox_op_set ox_ops_softmax = {ops, OX_COUNT(ops)};
