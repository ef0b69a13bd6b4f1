/* SPDX-License-Identifier: Apache-2.0
 * ops/topk.c - TopK along an axis: a heap of the best k so far, which is sorted at the end; or, if k is a large part
 * of the row, a radix sort of the row. Of equal elements the earlier is better. */
#include <math.h>
#include <string.h>

#include "kern/move/move.h"
#include "kern/reduce/reduce.h"
#include "ops/shared/tiles.h"
#include "ops/shared/topk_heap.h"
#include "ops/shared/topk_row.h"

typedef struct {
  int64_t axis, largest, sorted, k;
} topk_attrs;

static const ox_attr_def attr_k[] = {
    OX_ATTR_INT_IN(topk_attrs, axis, -1, OX_AXIS_RANGE),
    OX_ATTR_INT(topk_attrs, largest, 1),
    OX_ATTR_INT_REQUIRED_IN(topk_attrs, k, 0, INT64_MAX),
};
static const ox_attr_def input_k[] = {
    OX_ATTR_INT_IN(topk_attrs, axis, -1, OX_AXIS_RANGE),
    OX_ATTR_INT(topk_attrs, largest, 1),
    OX_ATTR_INT(topk_attrs, sorted, 1),
    OX_ATTR_INT_IN(topk_attrs, k, -1, 0, INT64_MAX),
};

static ox_status *check_k(int64_t k, int64_t extent) {
  if (k < 0 || (extent >= 0 && k > extent))
    return ox_fail(OX_INVALID_ARGUMENT, "TopK: k is %lld where the axis has %lld elements", (long long)k,
                   (long long)extent);
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  const topk_attrs *a = c->attrs;
  ox_shape s = c->in[0]->shape;
  int axis, n;
  int64_t k = a->k;
  if (ox_infer_has(c, 1)) {
    int known = ox_infer_ints(c, 1, &k, 1, &n);
    if (known < 0 || (known > 0 && n != 1)) return ox_fail(OX_INVALID_MODEL, "k must be one integer");
    if (!known) k = -1;
    if (known) OX_TRY(check_k(k, -1));
  }
  if (s.rank >= 0) {
    if (!ox_axis_ok(a->axis, s.rank, &axis))
      return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)a->axis, (int)s.rank);
    if (k >= 0) OX_TRY(check_k(k, s.dim[axis]));
    s.dim[axis] = k;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  ox_infer_out(c, 1, OX_I64, &s);
  return NULL;
}

static int64_t k_of(const ox_kernel_ctx *c) {
  const topk_attrs *a = c->attrs;
  if (!ox_ctx_has(c, 1)) return a->k;
  const ox_tensor *t = c->in[1];
  if (!t->data) return -1;
  return t->dtype == OX_I32 ? *(const int32_t *)t->data : *(const int64_t *)t->data;
}

typedef struct {
  int64_t rows, n, inner, k, per_tile;
  int64_t columns; /* of floats along another axis: so many columns are transposed to rows at a time; 0: they are not */
} topk_prep;

enum { COLUMNS = 16, LONGEST_COLUMN = 1 << 14, LONGEST_SORT = 1 << 20, SHORTEST_SORT = 256 };

/* Is k such a large part of the row that all of it is sorted? */
static bool sorts(int64_t n, int64_t k) { return n >= SHORTEST_SORT && n <= LONGEST_SORT && k >= n / 8; }

/* Bytes for one worker: rows of floats, followed by the heap or by the two buffers of a sort. */
static size_t scratch_bytes(const ox_kernel_ctx *c, const topk_prep *p, int64_t k) {
  int64_t room = !sorts(p->n, k) ? k : c->in[0]->dtype == OX_F32 ? p->n : 2 * p->n;
  return (size_t)(p->columns * p->n) * sizeof(float) + (size_t)room * sizeof(entry) + OX_ALIGN_BYTES;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  enum { WORK = 8192 };
  const topk_attrs *a = c->attrs;
  topk_prep *p = ox_ctx_alloc(c, sizeof *p);
  int64_t outer;
  if (!p) return ox_oom();
  OX_TRY(ox_axis_split(&c->in[0]->shape, a->axis, &outer, &p->n, &p->inner));
  p->k = k_of(c);
  p->rows = outer * p->inner;
  p->per_tile = OX_MAX(WORK / OX_MAX(p->n, 1), 1);
  if (c->in[0]->dtype == OX_F32 && p->inner > 1 && p->n <= LONGEST_COLUMN) p->columns = OX_MIN(COLUMNS, p->inner);
  c->prep = p;
  if (p->k < 0) return ox_ctx_plan(c, 1, scratch_bytes(c, p, p->n));
  OX_TRY(check_k(p->k, p->n));
  return ox_ctx_plan(c, p->k ? ox_tile_count(p->rows, p->per_tile) : 0, scratch_bytes(c, p, p->k));
}

/* A bound that at least k of n elements exceed, and that is close to the k-th best: takes the best element of each of
 * several columns, and finds by bisection a value that k of these reach. False: no bound was found. */
static bool likely_bound(const ox_reduce_table *t, const float *x, int64_t n, int64_t k, bool below, float *out_bound) {
  enum { MOST = 1024, STEP = 64, STEPS = 10, ROWS = 4 };
  float best[MOST];
  int64_t columns = OX_CEIL_DIV(2 * OX_MIN(k, MOST), STEP) * STEP;
  if (columns > MOST || n / ROWS < columns) return false;
  for (int64_t i = 0; i < columns; i++) best[i] = below ? INFINITY : -INFINITY;
  t->column[below ? OX_FOLD_MIN : OX_FOLD_MAX](best, x, (size_t)columns, NULL, (size_t)(n / columns), (size_t)columns);
  double lo = t->row[OX_FOLD_MIN](best, (size_t)columns, 0), hi = t->row[OX_FOLD_MAX](best, (size_t)columns, 0);
  if (!isfinite(lo) || !isfinite(hi)) return false;
  double reached = below ? hi : lo, beyond = below ? lo : hi;
  for (int step = 0; step < STEPS; step++) {
    float mid = (float)(0.5 * (reached + beyond));
    int32_t there = 0;
    for (int64_t i = 0; i < columns; i += STEP) { /* of a length that the compiler knows */
      if (below)
        for (int j = 0; j < STEP; j++) there += best[i + j] <= mid;
      else
        for (int j = 0; j < STEP; j++) there += best[i + j] >= mid;
    }
    *(there >= k ? &reached : &beyond) = (double)mid;
  }
  double slack = fabs(reached) * 1e-6 + 1e-30; /* elements that reach the bound shall exceed it */
  *out_bound = (float)(below ? reached + slack : reached - slack);
  return true;
}

/* Contiguous floats: elements that are no better than the bound, and later than the heap's worst, are skipped by
 * vectors. */
static void gather_f32(const ox_kernel_ctx *c, const float *x, int64_t n, int64_t k, entry *h) {
  const ox_reduce_table *t = ox_reduce_select(c->isa);
  enum { LONG = 4096 };
  bool below = !((const topk_attrs *)c->attrs)->largest;
  uint64_t flip = below ? UINT64_MAX : 0;
  float bound = NAN;
  if (!likely_bound(t, x, n, k, below, &bound)) bound = NAN;
  for (int64_t i = 0, held = 0, round = 0; i < n && !ox_ctx_stopped_each(c, round, 64); round++) {
    float worst = held < k ? bound : x[h[0].at];
    int64_t end = OX_MIN(n, i + LONG);
    if (worst == worst) i += (int64_t)t->next_beyond(x + i, (size_t)(end - i), worst, below);
    if (i == end) continue;
    offer(c, h, k, held, (entry){key_f64((double)x[i]) ^ flip, i});
    held += held < k;
    i++;
  }
}

/* The index of the first result of row |r|; the others are |inner| apart. */
static int64_t place_of(const topk_prep *p, int64_t k, int64_t r) { return r / p->inner * k * p->inner + r % p->inner; }

static void put_f32(const ox_kernel_ctx *c, const float *x, int64_t from, int64_t to) {
  if (ox_ctx_wants(c, 0)) ((float *)c->out[0]->data)[to] = x[from];
  if (ox_ctx_wants(c, 1)) ((int64_t *)c->out[1]->data)[to] = from;
}

/* A float's bits in descending order of what is better; as key_f64. */
static uint32_t sort_key(float v, uint32_t flip) {
  uint32_t u;
  v += 0.0f;
  memcpy(&u, &v, sizeof u);
  u = v != v ? UINT32_MAX : u >> 31 ? ~u : u | UINT32_C(1) << 31;
  return ~u ^ flip;
}

/* Radix sort by 11 bits, the lowest first; stable. */
static void sort_f32(const ox_kernel_ctx *c, const float *x, int64_t n, int64_t k, int64_t step, int64_t out,
                     uint64_t *both) {
  enum { BITS = 11, BINS = 1 << BITS, PASSES = 3 };
  uint32_t count[PASSES][BINS] = {{0}}, flip = ((const topk_attrs *)c->attrs)->largest ? 0 : UINT32_MAX;
  uint64_t *from = both, *to = both + n;
  for (int64_t i = 0; i < n; i++) {
    uint32_t key = sort_key(x[i], flip);
    from[i] = (uint64_t)key << 32 | (uint64_t)i;
    for (int pass = 0; pass < PASSES; pass++) count[pass][key >> pass * BITS & (BINS - 1)]++;
  }
  for (int pass = 0; pass < PASSES; pass++) {
    uint32_t at = 0, *bin = count[pass];
    for (int b = 0; b < BINS; b++) {
      uint32_t m = bin[b];
      bin[b] = at, at += m;
    }
    for (int64_t i = 0; i < n; i++) to[bin[from[i] >> (32 + pass * BITS) & (BINS - 1)]++] = from[i];
    uint64_t *done = to;
    to = from, from = done;
  }
  for (int64_t i = 0; i < k; i++) put_f32(c, x, (int64_t)(uint32_t)from[i], out + i * step);
}

/* The best few of a short row by insertion: an element that is better than the last of them is moved to its place. */
enum { FEW = 16, SHORT_ROW = 256 };
static void few_f32(const ox_kernel_ctx *c, const float *x, int64_t n, int64_t k, int64_t out, int64_t step) {
  uint32_t flip = ((const topk_attrs *)c->attrs)->largest ? 0 : UINT32_MAX;
  uint64_t first[FEW]; /* the key above the place: smaller is better, and no two are equal */
  for (int64_t i = 0; i < n; i++) {
    uint64_t e = (uint64_t)sort_key(x[i], flip) << 32 | (uint64_t)i;
    int64_t at = i < k ? i : k;
    if (i >= k && e > first[k - 1]) continue;
    for (at -= i >= k; at > 0 && first[at - 1] > e; at--) first[at] = first[at - 1];
    first[at] = e;
  }
  for (int64_t i = 0; i < k; i++) put_f32(c, x, (int64_t)(uint32_t)first[i], out + i * step);
}

/* k = 1. False: there is a NaN, which needs the general code. */
static bool best_f32(const ox_kernel_ctx *c, const float *x, int64_t n, int64_t out) {
  bool below = !((const topk_attrs *)c->attrs)->largest;
  int64_t at = (int64_t)ox_reduce_select(c->isa)->arg_row(x, (size_t)n, below, false);
  if (below && x[at] != x[at]) return false;
  put_f32(c, x, at, out);
  return true;
}

/* A row of contiguous floats. */
static void row_f32(const ox_kernel_ctx *c, const float *x, int64_t n, int64_t k, int64_t out, int64_t step,
                    void *room) {
  if (k == 1 && best_f32(c, x, n, out)) return;
  if (k <= FEW && n <= SHORT_ROW) {
    few_f32(c, x, n, k, out, step);
    return;
  }
  if (sorts(n, k)) {
    sort_f32(c, x, n, k, step, out, room);
    return;
  }
  gather_f32(c, x, n, k, room);
  if (!ox_ctx_stopped(c)) empty_heap(c, room, k, (const char *)x, sizeof *x, 1, out, step);
}

/* Rows [r, end) of one slice, columns of it: transposed into |room| first. */
static void columns_f32(const ox_kernel_ctx *c, const topk_prep *p, int64_t k, int64_t r, int64_t end, float *room) {
  const float *x = (const float *)c->in[0]->data + r / p->inner * p->n * p->inner + r % p->inner;
  void *rest = room + OX_ROUND_UP(p->columns * p->n, 2);
  ox_transpose_select(sizeof *x, c->isa)((const char *)x, p->inner * (int64_t)sizeof *x, (char *)room,
                                         p->n * (int64_t)sizeof *x, p->n, end - r);
  for (int64_t i = r; i < end; i++) row_f32(c, room + (i - r) * p->n, p->n, k, place_of(p, k, i), p->inner, rest);
}

static void row_any(const ox_kernel_ctx *c, const topk_prep *p, int64_t k, int64_t r, entry *room) {
  const ox_topk_row row = {c, r / p->inner * p->n * p->inner + r % p->inner, p->n, p->inner,
                           !((const topk_attrs *)c->attrs)->largest};
  ox_topk_row_best(&row, k, sorts(p->n, k), place_of(p, k, r), room);
}

static void run_rows(const ox_kernel_ctx *c, const topk_prep *p, int64_t k, int64_t begin, int64_t end, void *scratch) {
  bool flat = c->in[0]->dtype == OX_F32 && p->inner == 1;
  for (int64_t r = begin, next; r < end; r = next) {
    next = r + 1;
    if (flat) {
      row_f32(c, (const float *)c->in[0]->data + r * p->n, p->n, k, r * k, 1, scratch);
    } else if (p->columns) {
      next = OX_MIN(OX_MIN(r + p->columns, (r / p->inner + 1) * p->inner), end);
      columns_f32(c, p, k, r, next, scratch);
    } else {
      row_any(c, p, k, r, scratch);
    }
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const topk_prep *p = c->prep;
  int64_t begin, end, k = p->k, axis_dim = k;
  ox_tile_span(tiles, p->per_tile, p->rows, &begin, &end);
  if (k < 0) { /* only the run knows k */
    int axis = 0;
    ox_shape s = c->in[0]->shape;
    k = axis_dim = k_of(c);
    OX_TRY(check_k(k, p->n));
    ox_axis_ok(((const topk_attrs *)c->attrs)->axis, s.rank, &axis);
    s.dim[axis] = axis_dim;
    for (uint32_t i = 0; i < 2; i++)
      if (ox_ctx_wants(c, i) && !ox_ctx_output(c, i, &s)) return ox_oom();
    begin = 0, end = p->rows;
  }
  if (k > 0) run_rows(c, p, k, begin, end, scratch);
  return NULL;
}

#define ROW(ver, most, table)                                                                                   \
  {                                                                                                             \
    OX_SCHEMA(.name = "TopK", .since = ver, .types = {OX_T_NUMBER, OX_T_INDEX}, .min_in = most, .max_in = most, \
              .min_out = 1, .max_out = 2, .attrs_bytes = sizeof(topk_attrs), OX_ATTRS(table), .value_in = 2,    \
              .infer = infer),                                                                                  \
        OX_KERNEL(.prepare = prepare, .run = run)                                                               \
  }

static const ox_op ops[] = {
    ROW(1, 1, attr_k),
    ROW(10, 2, input_k),
};
const ox_op_set ox_ops_topk = {ops, OX_COUNT(ops)};
