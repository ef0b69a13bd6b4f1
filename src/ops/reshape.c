/* SPDX-License-Identifier: Apache-2.0
 * ops/reshape.c - Reshape, Flatten, Squeeze, Unsqueeze: the same bytes with another shape. They have no kernels,
 * since views are made by the plan. */
#include "base/cksize.h"
#include "base/macros.h"
#include "graph/known.h"
#include "graph/op_def.h"

static const ox_shape unknown = {.rank = -1};
static const ox_shape *shape_in(const ox_infer_ctx *c) { return ox_infer_has(c, 0) ? &c->in[0]->shape : &unknown; }

static ox_status *give(ox_infer_ctx *c, const ox_shape *s) {
  ox_infer_out(c, 0, ox_infer_has(c, 0) ? c->in[0]->dtype : OX_UNDEFINED, s);
  return NULL;
}

/* Input 1's |rank| unknown dimensions, when only the length of the list is known. */
static ox_status *rank_from_list(const ox_infer_ctx *c, const char *op, ox_shape *s) {
  *s = ox_shape_unknown();
  if (!ox_infer_has(c, 1) || c->in[1]->shape.rank != 1 || c->in[1]->shape.dim[0] < 0) return NULL;
  if (c->in[1]->shape.dim[0] > OX_MAX_RANK)
    return ox_fail(OX_LIMIT, "%s: rank %lld, at most %d", op, (long long)c->in[1]->shape.dim[0], OX_MAX_RANK);
  s->rank = (int32_t)c->in[1]->shape.dim[0];
  for (int i = 0; i < s->rank; i++) s->dim[i] = -1;
  return NULL;
}

/* ---- Reshape ---- */

typedef struct {
  int64_t allowzero;
} reshape_attrs;
static const ox_attr_def reshape_attr_defs[] = {OX_ATTR_INT(reshape_attrs, allowzero, 0)};

typedef struct {
  ox_ints shape;
} reshape1_attrs;
static const ox_attr_def reshape1_attr_defs[] = {OX_ATTR_INTS(reshape1_attrs, shape)};

/* Product of |in| over product of |out| but for |skip|; symbols on both sides cancel. -1: not known. */
static int64_t missing_dim(const ox_shape *in, const ox_shape *out, int skip) {
  bool used[OX_MAX_RANK] = {false};
  int64_t known = 1;
  for (int i = 0; i < out->rank; i++) {
    if (i == skip) continue;
    int64_t d = out->dim[i];
    if (d >= 0) {
      known = ox_dim_mul(known, d);
      continue;
    }
    int k = 0;
    while (k < in->rank && (used[k] || in->dim[k] != d || d == -1)) k++;
    if (k == in->rank) return -1;
    used[k] = true;
  }
  int64_t total = 1, symbol = 0;
  for (int i = 0; i < in->rank; i++) {
    if (used[i]) continue;
    if (in->dim[i] >= 0)
      total = ox_dim_mul(total, in->dim[i]);
    else if (symbol || in->dim[i] == -1)
      return -1;
    else
      symbol = in->dim[i];
  }
  if (symbol) return total == known && known > 0 ? symbol : -1;
  return known > 0 && total >= 0 && total % known == 0 ? total / known : -1;
}

static ox_status *reshape_to(ox_infer_ctx *c, const int64_t *want, int n, bool allowzero) {
  const ox_shape *in = shape_in(c);
  ox_shape s = {.rank = n};
  int free_dim = -1;
  bool zero = false;
  for (int i = 0; i < n; i++) {
    s.dim[i] = want[i];
    if (want[i] == -1) {
      if (free_dim >= 0) return ox_fail(OX_INVALID_MODEL, "Reshape: dimensions %d and %d are both -1", free_dim, i);
      free_dim = i;
    } else if (want[i] == 0 && !allowzero) {
      if (in->rank >= 0 && i >= in->rank)
        return ox_fail(OX_SHAPE_MISMATCH, "Reshape: dimension %d is 0, but the input has rank %d", i, in->rank);
      s.dim[i] = in->rank >= 0 ? in->dim[i] : -1;
    } else if (want[i] < 0) {
      return ox_fail(OX_INVALID_MODEL, "Reshape: dimension %d is %lld", i, (long long)want[i]);
    }
    zero |= want[i] == 0;
  }
  if (allowzero && zero && free_dim >= 0) return ox_fail(OX_INVALID_MODEL, "Reshape: 0 and -1 together with allowzero");
  if (free_dim >= 0) s.dim[free_dim] = in->rank >= 0 ? missing_dim(in, &s, free_dim) : -1;
  int64_t have = ox_shape_count(in), got = ox_shape_count(&s);
  if (have >= 0 && free_dim >= 0 && s.dim[free_dim] < 0) { /* all else known: no length fits, or 0 elements */
    int64_t rest = ox_dim_mul(ox_shape_span(&s, 0, free_dim), ox_shape_span(&s, free_dim + 1, n));
    if (rest == 0 && have == 0) s.dim[free_dim] = 0;
    if (rest >= 0) got = rest == 0 ? 0 : -2;
  }
  if (have >= 0 && got != -1 && have != got) {
    char a[OX_SHAPE_TEXT], b[OX_SHAPE_TEXT];
    ox_shape asked = ox_shape_of(n, want);
    return ox_fail(OX_SHAPE_MISMATCH, "Reshape: %s does not fit into %s", ox_shape_text(in, a),
                   ox_shape_text(&asked, b));
  }
  return give(c, &s);
}

static ox_status *reshape_infer(ox_infer_ctx *c) {
  const reshape_attrs *a = c->attrs;
  int64_t want[OX_MAX_RANK];
  ox_shape s;
  int n = 0, known = ox_infer_ints(c, 1, want, OX_MAX_RANK, &n);
  if (known > 0) return reshape_to(c, want, n, a && a->allowzero);
  OX_TRY(rank_from_list(c, "Reshape", &s));
  if (known < 0) return ox_fail(OX_INVALID_MODEL, "Reshape: shape is no list of integers");
  return give(c, &s);
}

static ox_status *reshape1_infer(ox_infer_ctx *c) {
  const reshape1_attrs *a = c->attrs;
  if (a->shape.n > OX_MAX_RANK) return ox_fail(OX_LIMIT, "Reshape: rank %zu, at most %d", a->shape.n, OX_MAX_RANK);
  return reshape_to(c, a->shape.v, (int)a->shape.n, false);
}

/* The list may be known in part. A symbol in it could have the value 0, which means a copy; this is ruled out, as
 * exporters do. */
static void reshape_refine(const ox_known_ctx *c, ox_shape *out) {
  const reshape_attrs *a = c->attrs;
  const ox_shape *in = &c->types[0]->shape;
  const ox_known *k = ox_known_in(c, 1);
  if (!k || k->scalar || k->n > OX_MAX_RANK) return;
  ox_shape s = {.rank = (int32_t)k->n};
  int free_dim = -1;
  bool sure = in->rank >= 0;
  for (uint32_t i = 0; i < k->n; i++) {
    bool number = k->kind[i] == OX_KNOWN_NUMBER;
    s.dim[i] = ox_known_dim(k, i);
    if (number && k->v[i] == 0 && !(a && a->allowzero))
      s.dim[i] = (int)i < in->rank ? in->dim[i] : -1;
    else if (number && k->v[i] == -1)
      sure &= free_dim < 0, free_dim = (int)i;
  }
  if (sure && free_dim >= 0) s.dim[free_dim] = missing_dim(in, &s, free_dim);
  ox_known_fill(out, &s);
}

/* A list of one element and a scalar are the same content. */
static const ox_known *as_list(const ox_known_ctx *c, bool scalar) {
  return c->in[0] ? ox_known_as(c, c->in[0], c->in[0]->dtype, scalar) : NULL;
}

static const ox_known *reshape_known(const ox_known_ctx *c) {
  const ox_known *k = c->in[0], *s = ox_known_in(c, 1);
  int64_t want;
  if (!k || !s || s->scalar || s->n > 1) return NULL;
  if (s->n == 0) return k->n == 1 ? as_list(c, true) : NULL;
  return ox_known_number(s, 0, &want) && (want == -1 || want == k->n) && k->n ? as_list(c, false) : NULL;
}

/* ---- Flatten ---- */

typedef struct {
  int64_t axis;
} flatten_attrs;
static const ox_attr_def flatten_attr_defs[] = {OX_ATTR_INT_IN(flatten_attrs, axis, 1, OX_AXIS_RANGE)};

static ox_status *flatten_infer(ox_infer_ctx *c) {
  const flatten_attrs *a = c->attrs;
  const ox_shape *in = shape_in(c);
  ox_shape s = {.rank = 2, .dim = {-1, -1}};
  if (in->rank >= 0) {
    int64_t axis = a->axis < 0 ? a->axis + in->rank : a->axis;
    if (axis < 0 || axis > in->rank)
      return ox_fail(OX_INVALID_MODEL, "Flatten: axis %lld is outside rank %d", (long long)a->axis, in->rank);
    s.dim[0] = s.dim[1] = 1;
    for (int i = 0; i < in->rank; i++) s.dim[i >= axis] = ox_dim_mul(s.dim[i >= axis], in->dim[i]);
  }
  return give(c, &s);
}

/* ---- Squeeze, Unsqueeze ---- */

typedef struct {
  ox_ints axes;
} axes_attrs;
static const ox_attr_def axes_attr_defs[] = {OX_ATTR_INTS_IN(axes_attrs, axes, OX_AXIS_RANGE)};
static const ox_attr_def axes_required_defs[] = {OX_ATTR_INTS_REQUIRED_IN(axes_attrs, axes, OX_AXIS_RANGE)};

/* The axes from the attribute or input 1 as a set of bits of |rank|. 1: given; 0: given but not known; -1: absent. */
static ox_status *axes_of(ox_infer_ctx *c, const char *op, int rank, uint32_t *out_set, int *out_state) {
  const axes_attrs *a = c->attrs;
  int64_t list[OX_MAX_RANK];
  int n = 0;
  *out_set = 0, *out_state = -1;
  if (a && a->axes.v) {
    if (a->axes.n > OX_MAX_RANK) return ox_fail(OX_LIMIT, "%s: %zu axes, at most %d", op, a->axes.n, OX_MAX_RANK);
    for (size_t i = 0; i < a->axes.n; i++) list[i] = a->axes.v[i];
    n = (int)a->axes.n, *out_state = 1;
  } else if (ox_infer_has(c, 1)) {
    *out_state = ox_infer_ints(c, 1, list, OX_MAX_RANK, &n);
    if (*out_state < 0)
      return ox_fail(OX_INVALID_MODEL, "%s: axes are no list of at most %d integers", op, OX_MAX_RANK);
  }
  for (int i = 0; i < n; i++) {
    int k;
    if (!ox_axis_ok(list[i], rank, &k))
      return ox_fail(OX_INVALID_MODEL, "%s: axis %lld is outside rank %d", op, (long long)list[i], rank);
    if (*out_set >> k & 1) return ox_fail(OX_INVALID_MODEL, "%s: axis %lld is given twice", op, (long long)list[i]);
    *out_set |= 1U << k;
  }
  return NULL;
}

static ox_status *squeeze_infer(ox_infer_ctx *c) {
  const ox_shape *in = shape_in(c);
  ox_shape s = ox_shape_unknown();
  uint32_t set;
  int state;
  if (in->rank < 0) return give(c, &s);
  OX_TRY(axes_of(c, "Squeeze", in->rank, &set, &state));
  if (state == 0) return give(c, &s);
  if (state < 0) { /* every dimension of 1: known only when all are */
    if (!ox_shape_known(in)) return give(c, &s);
    for (int i = 0; i < in->rank; i++) set |= (uint32_t)(in->dim[i] == 1) << i;
  }
  s.rank = 0;
  for (int i = 0; i < in->rank; i++) {
    if (!(set >> i & 1))
      s.dim[s.rank++] = in->dim[i];
    else if (in->dim[i] >= 0 && in->dim[i] != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "Squeeze: dimension %d is %lld, wanted 1", i, (long long)in->dim[i]);
  }
  return give(c, &s);
}

static ox_status *unsqueeze_infer(ox_infer_ctx *c) {
  const axes_attrs *a = c->attrs;
  const ox_shape *in = shape_in(c);
  ox_shape s = ox_shape_unknown();
  int64_t n = a ? (int64_t)a->axes.n : -1;
  uint32_t set;
  int state, k = 0;
  if (!a && ox_infer_has(c, 1)) n = ox_shape_count(&c->in[1]->shape);
  if (in->rank < 0 || n < 0) return give(c, &s);
  if (n > OX_MAX_RANK - in->rank) return ox_fail(OX_LIMIT, "Unsqueeze: rank above %d", OX_MAX_RANK);
  int rank = in->rank + (int)n;
  OX_TRY(axes_of(c, "Unsqueeze", rank, &set, &state));
  s.rank = rank;
  for (int i = 0; i < rank; i++) {
    if (state == 0)
      s.dim[i] = -1;
    else
      s.dim[i] = set >> i & 1 ? 1 : in->dim[k++];
  }
  return give(c, &s);
}

static const ox_known *squeeze_known(const ox_known_ctx *c) {
  return c->in[0] && c->in[0]->n == 1 ? as_list(c, true) : NULL;
}

static const ox_known *unsqueeze_known(const ox_known_ctx *c) {
  const axes_attrs *a = c->attrs;
  const ox_known *axes = ox_known_in(c, 1);
  uint64_t n = a ? a->axes.n : axes ? axes->n : 0;
  return n == 1 && c->in[0] && c->in[0]->scalar ? as_list(c, false) : NULL;
}

enum { ANY = OX_T_ALL };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Reshape", .since = 1, .min_in = 1, .max_in = 1, OX_ATTRS(reshape1_attr_defs),
               .attrs_bytes = sizeof(reshape1_attrs), .traits = OX_VIEW, .infer = reshape1_infer),
     NULL},
    {OX_SCHEMA(.name = "Reshape", .since = 5, .types = {ANY, OX_BIT(OX_I64)}, .min_in = 2, .max_in = 2,
               .traits = OX_VIEW, .value_in = 2, .infer = reshape_infer, .known = reshape_known,
               .refine = reshape_refine),
     NULL},
    {OX_SCHEMA(.name = "Reshape", .since = 14, .types = {ANY, OX_BIT(OX_I64)}, .min_in = 2, .max_in = 2,
               OX_ATTRS(reshape_attr_defs), .attrs_bytes = sizeof(reshape_attrs), .traits = OX_VIEW, .value_in = 2,
               .infer = reshape_infer, .known = reshape_known, .refine = reshape_refine),
     NULL},
    {OX_SCHEMA(.name = "Flatten", .since = 1, .min_in = 1, .max_in = 1, OX_ATTRS(flatten_attr_defs),
               .attrs_bytes = sizeof(flatten_attrs), .traits = OX_VIEW, .infer = flatten_infer),
     NULL},
    {OX_SCHEMA(.name = "Squeeze", .since = 1, .min_in = 1, .max_in = 1, OX_ATTRS(axes_attr_defs),
               .attrs_bytes = sizeof(axes_attrs), .traits = OX_VIEW, .infer = squeeze_infer, .known = squeeze_known),
     NULL},
    {OX_SCHEMA(.name = "Squeeze", .since = 13, .types = {ANY, OX_BIT(OX_I64)}, .min_in = 1, .max_in = 2,
               .traits = OX_VIEW, .value_in = 2, .infer = squeeze_infer, .known = squeeze_known),
     NULL},
    {OX_SCHEMA(.name = "Unsqueeze", .since = 1, .min_in = 1, .max_in = 1, OX_ATTRS(axes_required_defs),
               .attrs_bytes = sizeof(axes_attrs), .traits = OX_VIEW, .infer = unsqueeze_infer,
               .known = unsqueeze_known),
     NULL},
    {OX_SCHEMA(.name = "Unsqueeze", .since = 13, .types = {ANY, OX_BIT(OX_I64)}, .min_in = 2, .max_in = 2,
               .traits = OX_VIEW, .value_in = 2, .infer = unsqueeze_infer, .known = unsqueeze_known),
     NULL},
    {OX_SCHEMA(.name = "ExpandDims", .domain = "com.microsoft", .since = 1, .types = {ANY, OX_BIT(OX_I32)}, .min_in = 2,
               .max_in = 2, .traits = OX_VIEW, .value_in = 2, .infer = unsqueeze_infer),
     NULL},
};
const ox_op_set ox_ops_reshape = {ops, OX_COUNT(ops)};
