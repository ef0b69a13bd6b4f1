/* SPDX-License-Identifier: Apache-2.0
 * ops/unique.c - Unique: distinct elements or slices, by a stable merge sort of their indices. */
#include <string.h>

#include "base/cksize.h"
#include "ops/move/deferred.h"

typedef struct {
  int64_t axis, sorted;
  bool has_axis;
} unique_attrs;
static const ox_attr_def attr_defs[] = {OX_ATTR_INT_HAS_IN(unique_attrs, axis, 0, OX_AXIS_RANGE),
                                        OX_ATTR_INT(unique_attrs, sorted, 1)};

/* ---- order of elements: NaN is last and equals itself ---- */

typedef int (*compare_fn)(const void *, const void *);

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b) ? 1 : ((a) != (a)) - ((b) != (b)))
#define COMPARE(name, type, get)                  \
  static int name(const void *x, const void *y) { \
    const type *a = x, *b = y;                    \
    return ORDER(get(*a), get(*b));               \
  }
#define SAME(x) (x)
COMPARE(cmp_f32, float, SAME)
COMPARE(cmp_f64, double, SAME)
COMPARE(cmp_f16, uint16_t, ox_f16_to_f32)
COMPARE(cmp_bf16, uint16_t, ox_bf16_to_f32)
COMPARE(cmp_i8, int8_t, SAME)
COMPARE(cmp_u8, uint8_t, SAME)
COMPARE(cmp_i16, int16_t, SAME)
COMPARE(cmp_u16, uint16_t, SAME)
COMPARE(cmp_i32, int32_t, SAME)
COMPARE(cmp_u32, uint32_t, SAME)
COMPARE(cmp_i64, int64_t, SAME)
COMPARE(cmp_u64, uint64_t, SAME)

static int cmp_c64(const void *x, const void *y) {
  int c = cmp_f32(x, y);
  return c ? c : cmp_f32((const float *)x + 1, (const float *)y + 1);
}
static int cmp_c128(const void *x, const void *y) {
  int c = cmp_f64(x, y);
  return c ? c : cmp_f64((const double *)x + 1, (const double *)y + 1);
}
static int cmp_str(const void *x, const void *y) {
  const ox_str *a = x, *b = y;
  size_t n = OX_MIN(a->n, b->n);
  int c = n ? memcmp(a->p, b->p, n) : 0;
  return c ? c : ORDER(a->n, b->n);
}

static const compare_fn compare_of[OX_DTYPE_COUNT] = {
    [OX_F32] = cmp_f32, [OX_F64] = cmp_f64, [OX_F16] = cmp_f16,   [OX_BF16] = cmp_bf16,
    [OX_I8] = cmp_i8,   [OX_U8] = cmp_u8,   [OX_BOOL] = cmp_u8,   [OX_I16] = cmp_i16,
    [OX_U16] = cmp_u16, [OX_I32] = cmp_i32, [OX_U32] = cmp_u32,   [OX_I64] = cmp_i64,
    [OX_U64] = cmp_u64, [OX_C64] = cmp_c64, [OX_C128] = cmp_c128, [OX_STRING] = cmp_str,
};

/* The items: |n| slices of a tensor that is outer x n x inner elements. */
typedef struct items {
  const char *data;
  int64_t outer, n, inner, elem;
  compare_fn compare;
  const ox_kernel_ctx *node;
} items;

static int compare_items(const items *t, int64_t a, int64_t b) {
  for (int64_t o = 0; o < t->outer; o++)
    for (int64_t i = 0; i < t->inner; i++) {
      int c = t->compare(t->data + ((o * t->n + a) * t->inner + i) * t->elem,
                         t->data + ((o * t->n + b) * t->inner + i) * t->elem);
      if (c) return c;
    }
  return 0;
}

/* Stable; |spare| has room for n. The result is in |order|, unless the run is stopped. */
static void sort_items(const items *t, int64_t *order, int64_t *spare) {
  int64_t *from = order, *to = spare;
  for (int64_t width = 1; width < t->n; width *= 2) {
    for (int64_t lo = 0; lo < t->n; lo += 2 * width) {
      int64_t mid = OX_MIN(lo + width, t->n), hi = OX_MIN(lo + 2 * width, t->n), a = lo, b = mid;
      for (int64_t k = lo; k < hi; k++) {
        if (ox_ctx_stopped_each(t->node, k, 256)) return;
        to[k] = a < mid && (b >= hi || compare_items(t, from[a], from[b]) <= 0) ? from[a++] : from[b++];
      }
    }
    int64_t *swap = from;
    from = to, to = swap;
  }
  if (from != order) memcpy(order, from, (size_t)t->n * sizeof *order);
}

/* ---- plain numbers: radix sort of keys that order as the numbers do ---- */

/* A key that compares like element |i|: sign flipped for integers, all bits for negative floats; -0 is 0, NaN is last.
 */
static uint64_t key_of(const ox_tensor *t, int64_t i) {
  double d;
  uint64_t u;
  switch (t->dtype) {
    case OX_I64:
      return ((const uint64_t *)t->data)[i] ^ (uint64_t)1 << 63;
    case OX_I32:
      return ((const uint32_t *)t->data)[i] ^ 0x80000000U;
    case OX_I16:
      return ((const uint16_t *)t->data)[i] ^ 0x8000U;
    case OX_I8:
      return ((const uint8_t *)t->data)[i] ^ 0x80U;
    case OX_U64:
      return ((const uint64_t *)t->data)[i];
    case OX_U32:
      return ((const uint32_t *)t->data)[i];
    case OX_U16:
      return ((const uint16_t *)t->data)[i];
    case OX_F64:
      d = ((const double *)t->data)[i];
      break;
    case OX_F32:
      d = (double)((const float *)t->data)[i];
      break;
    case OX_F16:
      d = (double)ox_f16_to_f32(((const uint16_t *)t->data)[i]);
      break;
    case OX_BF16:
      d = (double)ox_bf16_to_f32(((const uint16_t *)t->data)[i]);
      break;
    default:
      return ((const uint8_t *)t->data)[i];
  }
  if (d != d) return UINT64_MAX;
  d += 0.0;
  memcpy(&u, &d, sizeof u);
  return u >> 63 ? ~u : u | (uint64_t)1 << 63;
}

static bool has_key(uint32_t dtype) { return (OX_T_NUMBER >> dtype & 1) || dtype == OX_BOOL; }

enum { COPIED = 1 << 14 }; /* elements between two checks for a stop */

/* Stable, eight bits a pass; passes in which all keys agree are left out. Arrays of n; the result is in |order|, unless
 * the run is stopped. */
static void sort_keys(const ox_kernel_ctx *c, uint64_t *keys, int64_t *order, uint64_t *spare_keys, int64_t *spare,
                      int64_t n) {
  uint64_t differ = 0, *k0 = keys, *k1 = spare_keys;
  int64_t *o0 = order, *o1 = spare;
  for (int64_t i = 1; i < n && !ox_ctx_stopped_each(c, i, 16384); i++) differ |= keys[i] ^ keys[0];
  for (int shift = 0; shift < 64; shift += 8) {
    int64_t start[257] = {0};
    if (!(differ >> shift & 255)) continue;
    for (int64_t i = 0; i < n && !ox_ctx_stopped_each(c, i, 16384); i++) start[(k0[i] >> shift & 255) + 1]++;
    for (int b = 0; b < 256; b++) start[b + 1] += start[b];
    if (ox_ctx_stopped(c)) return; /* not all are counted */
    for (int64_t i = 0; i < n && !ox_ctx_stopped_each(c, i, 4096); i++) {
      int64_t at = start[k0[i] >> shift & 255]++;
      k1[at] = k0[i], o1[at] = o0[i];
    }
    uint64_t *k = k0;
    int64_t *o = o0;
    k0 = k1, k1 = k, o0 = o1, o1 = o;
  }
  for (int64_t i = 0; o0 != order && i < n && !ox_ctx_stopped(c); i += COPIED) {
    size_t m = (size_t)OX_MIN(n - i, COPIED);
    memcpy(order + i, o0 + i, m * sizeof *order);
    memcpy(keys + i, k0 + i, m * sizeof *keys);
  }
}

static ox_status *infer(ox_infer_ctx *c) {
  const unique_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = {.rank = 1, .dim = {-1}}, list = s, inverse = s;
  int axis;
  if (a->has_axis) {
    s = c->in[0]->shape;
    if (s.rank >= 0) {
      if (!ox_axis_ok(a->axis, s.rank, &axis))
        return ox_fail(OX_INVALID_MODEL, "Unique: axis %lld is outside rank %d", (long long)a->axis, s.rank);
      inverse.dim[0] = s.dim[axis], s.dim[axis] = -1;
    }
  } else {
    inverse.dim[0] = ox_shape_count(&c->in[0]->shape);
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  ox_infer_out(c, 1, OX_I64, &list);
  ox_infer_out(c, 2, OX_I64, &inverse);
  ox_infer_out(c, 3, OX_I64, &list);
  return NULL;
}

/* Items: at most the elements, or the slices along the axis. */
static int64_t room_for(const ox_kernel_ctx *c) {
  const unique_attrs *a = c->attrs;
  int64_t n = ox_shape_count(&c->in[0]->shape);
  int axis;
  if (a && a->has_axis && ox_axis_ok(a->axis, c->in[0]->shape.rank, &axis)) n = c->in[0]->shape.dim[axis];
  return OX_MAX(n, 0) + 1;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  if (ox_mul_ok((size_t)room_for(c), 7 * sizeof(int64_t), &c->shared_bytes)) return NULL;
  return ox_fail(OX_LIMIT, "Unique: %lld items are too many", (long long)room_for(c) - 1);
}

/* Groups of equal items, in arrays of n: the first item of each group, its size, each item's group. */
typedef struct groups {
  int64_t *first, *count, *of, n;
} groups;

/* Groups in sorted order; the first of equal items comes first since the sort is stable. */
static void group_sorted(const items *t, const uint64_t *keys, const int64_t *order, groups *g) {
  g->n = 0;
  for (int64_t k = 0; k < t->n && !ox_ctx_stopped_each(t->node, k, 1024); k++) {
    if (k == 0 || (keys ? keys[k - 1] != keys[k] : compare_items(t, order[k - 1], order[k]) != 0))
      g->first[g->n] = order[k], g->count[g->n] = 0, g->n++;
    g->count[g->n - 1]++, g->of[order[k]] = g->n - 1;
  }
}

/* Renumbers the groups in order of their first items. |rank|: room for n; |spare|: room for n. */
static void order_by_first(const items *t, groups *g, int64_t *rank, int64_t *spare) {
  int64_t next = 0;
  for (int64_t i = 0; i < g->n; i++) rank[i] = -1;
  for (int64_t i = 0; i < t->n && !ox_ctx_stopped_each(t->node, i, 4096); i++) {
    int64_t *r = &rank[g->of[i]];
    if (*r < 0) spare[next] = g->count[g->of[i]], *r = next++;
    g->of[i] = *r;
  }
  memcpy(g->count, spare, (size_t)g->n * sizeof *spare);
  for (int64_t i = t->n - 1; i >= 0; i--) g->first[g->of[i]] = i;
}

static ox_status *give_list(const ox_kernel_ctx *c, uint32_t i, const int64_t *v, int64_t n) {
  ox_shape s = {.rank = 1, .dim = {n}};
  void *out;
  if (!ox_ctx_wants(c, i)) return NULL;
  OX_TRY(ox_output_at_run(c, i, &s, &out));
  if (n) memcpy(out, v, (size_t)n * sizeof *v);
  return NULL;
}

/* |slot|: the outputs for first items, inverse indices and counts. */
static ox_status *unique(const ox_kernel_ctx *c, const unique_attrs *a, const uint32_t *slot) {
  const ox_tensor *in = c->in[0];
  items t = {.data = in->data,
             .outer = 1,
             .n = ox_shape_count(&in->shape),
             .inner = 1,
             .elem = ox_dtype_bits(in->dtype) / 8,
             .compare = in->dtype < OX_DTYPE_COUNT ? compare_of[in->dtype] : NULL,
             .node = c};
  ox_shape s = {.rank = 1};
  int axis = 0;
  if (!t.compare) return ox_fail(OX_NOT_IMPLEMENTED, "Unique of %s", ox_dtype_name(in->dtype));
  int64_t room = room_for(c), *w = c->shared;
  if (a->has_axis) {
    s = in->shape;
    OX_TRY(ox_axis_split(&s, a->axis, &t.outer, &t.n, &t.inner));
    (void)ox_axis_ok(a->axis, s.rank, &axis);
  }
  int64_t *order = w, *spare = w + room;
  groups g = {w + 2 * room, w + 3 * room, w + 4 * room, 0};
  for (int64_t i = 0; i < t.n && !ox_ctx_stopped_each(c, i, 16384); i++) order[i] = i;
  uint64_t *keys = NULL;
  if (t.outer == 1 && t.inner == 1 && has_key(in->dtype)) {
    keys = (uint64_t *)(w + 5 * room);
    for (int64_t i = 0; i < t.n && !ox_ctx_stopped_each(c, i, 4096); i++) keys[i] = key_of(in, i);
    sort_keys(c, keys, order, (uint64_t *)(w + 6 * room), spare, t.n);
  } else {
    sort_items(&t, order, spare);
  }
  if (ox_ctx_stopped(c)) return NULL; /* the order may have gaps */
  group_sorted(&t, keys, order, &g);
  if (ox_ctx_stopped(c)) return NULL;
  if (!a->sorted) order_by_first(&t, &g, order, spare);
  s.dim[axis] = g.n;
  if (ox_ctx_wants(c, 0)) {
    void *data;
    OX_TRY(ox_output_at_run(c, 0, &s, &data));
    int64_t bytes = t.inner * t.elem;
    for (int64_t o = 0; o < t.outer && bytes; o++)
      for (int64_t k = 0; k < g.n && !ox_ctx_stopped_each(c, k, 256); k++)
        memcpy((char *)data + (o * g.n + k) * bytes, t.data + (o * t.n + g.first[k]) * bytes, (size_t)bytes);
  }
  OX_TRY(give_list(c, slot[0], g.first, g.n));
  OX_TRY(give_list(c, slot[1], g.of, t.n));
  return give_list(c, slot[2], g.count, g.n);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  return unique(c, c->attrs, (uint32_t[]){1, 2, 3});
}

#define UNIQUE                                                                                                  \
  .name = "Unique", .types = {OX_T_ALL & ~OX_T_SUBBYTE & ~OX_T_FLOAT8}, .min_in = 1, .max_in = 1, .min_out = 1, \
  .max_out = 4, .infer = infer
#define UNIQUE_KERNEL .prepare = prepare, .run = run

/* com.microsoft: first occurrence decides the order; outputs are values, inverse indices, counts. */
static ox_status *contrib_infer(ox_infer_ctx *c) {
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape list = {.rank = 1, .dim = {-1}}, all = {.rank = 1, .dim = {ox_shape_count(&c->in[0]->shape)}};
  ox_infer_out(c, 0, c->in[0]->dtype, &list);
  ox_infer_out(c, 1, OX_I64, &all);
  ox_infer_out(c, 2, OX_I64, &list);
  return NULL;
}

static ox_status *contrib_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  return unique(c, &(unique_attrs){0}, (uint32_t[]){UINT32_MAX, 1, 2});
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Unique", .domain = "com.microsoft", .since = 1,
               .types = {OX_T_ALL & ~OX_T_SUBBYTE & ~OX_T_FLOAT8}, .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 3,
               .infer = contrib_infer),
     OX_KERNEL(.prepare = prepare, .run = contrib_run)},
    {OX_SCHEMA(UNIQUE, .since = 11, OX_ATTRS(attr_defs), .attrs_bytes = sizeof(unique_attrs)),
     OX_KERNEL(UNIQUE_KERNEL)},
};
const ox_op_set ox_ops_unique = {ops, OX_COUNT(ops)};
