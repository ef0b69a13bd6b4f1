/* SPDX-License-Identifier: Apache-2.0
 * opt/known.c - propagates shapes through the integer arithmetic that exporters write around Reshape and Slice. */
#include "opt/known.h"

#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

typedef struct list {
  int64_t v[OX_KNOWN_MAX];
  uint8_t kind[OX_KNOWN_MAX];
  uint32_t n;
} list;

static const ox_known *keep(ox_arena *a, uint32_t dtype, bool scalar, const list *l) {
  ox_known *k = OX_ARENA_NEW(a, ox_known);
  if (!k) return NULL;
  k->dtype = dtype, k->scalar = scalar, k->n = l->n;
  k->v = ox_arena_copy(a, l->v, l->n * sizeof l->v[0]);
  k->kind = ox_arena_copy(a, l->kind, l->n);
  return k->v && k->kind ? k : NULL;
}

static void push(list *l, int64_t v, uint8_t kind) { l->v[l->n] = kind ? v : 0, l->kind[l->n++] = kind; }

static void push_dim(list *l, int64_t d) {
  push(l, d, d >= 0 ? OX_KNOWN_NUMBER : d < -1 ? OX_KNOWN_SYMBOL : OX_KNOWN_NOT);
}

const ox_known *ox_known_of_tensor(ox_arena *a, const ox_tensor *t) {
  int64_t n = ox_shape_count(&t->shape);
  if (t->kind != OX_TENSOR || t->shape.rank > 1 || n < 0 || n > OX_KNOWN_MAX || (n && !t->data)) return NULL;
  if (t->dtype != OX_I64 && t->dtype != OX_I32) return NULL;
  list l = {.n = 0};
  for (int64_t i = 0; i < n; i++)
    push(&l, t->dtype == OX_I64 ? ((const ox_i64u *)t->data)[i] : ((const ox_i32u *)t->data)[i], OX_KNOWN_NUMBER);
  return keep(a, t->dtype, t->shape.rank == 0, &l);
}

const ox_tensor *ox_known_tensor(ox_arena *a, const ox_known *k) {
  for (uint32_t i = 0; i < k->n; i++)
    if (k->kind[i] != OX_KNOWN_NUMBER) return NULL;
  size_t size = k->dtype == OX_I64 ? 8 : 4;
  char *data = ox_arena_alloc(a, k->n * size);
  ox_tensor *t = OX_ARENA_NEW(a, ox_tensor);
  if (!data || !t) return NULL;
  for (uint32_t i = 0; i < k->n; i++) {
    int32_t narrow = (int32_t)k->v[i];
    if (size == 4 && narrow != k->v[i]) return NULL;
    memcpy(data + i * size, size == 8 ? (const void *)&k->v[i] : &narrow, size);
  }
  ox_shape s = k->scalar ? ox_shape_scalar() : ox_shape_of(1, (int64_t[]){k->n});
  *t = ox_tensor_view(k->dtype, &s, data);
  return t;
}

static int64_t attr_int(const ox_node *n, const char *name, int64_t absent) {
  const ox_attr *a = ox_node_attr(n, name);
  return a && a->v.kind == OX_ATTR_INT_KIND ? a->v.i : absent;
}

/* ---- operators ---- */

typedef struct args {
  ox_arena *arena;
  const ox_node *n;
  int64_t opset;
  const ox_type *const *types;
  const ox_known *const *in;
} args;

static bool number(const ox_known *k, uint32_t i, int64_t *out) {
  if (!k || i >= k->n || k->kind[i] != OX_KNOWN_NUMBER) return false;
  *out = k->v[i];
  return true;
}

static const ox_known *of_shape(const args *x) {
  const ox_type *t = x->types[0];
  if (!t || t->kind != OX_TENSOR || t->shape.rank < 0) return NULL;
  int64_t rank = t->shape.rank, from = attr_int(x->n, "start", 0), to = attr_int(x->n, "end", rank);
  from = OX_MAX(OX_MIN(from < 0 ? from + rank : from, rank), 0);
  to = OX_MAX(OX_MIN(to < 0 ? to + rank : to, rank), 0);
  list l = {.n = 0};
  for (int64_t i = from; i < to; i++) push_dim(&l, t->shape.dim[i]);
  return keep(x->arena, OX_I64, false, &l);
}

static const ox_known *of_size(const args *x) {
  list l = {.n = 0};
  int64_t n = x->types[0] && x->types[0]->kind == OX_TENSOR ? ox_shape_count(&x->types[0]->shape) : -1;
  if (n < 0) return NULL;
  push(&l, n, OX_KNOWN_NUMBER);
  return keep(x->arena, OX_I64, true, &l);
}

static const ox_known *of_gather(const args *x) {
  const ox_known *data = x->in[0], *at = x->in[1];
  list l = {.n = 0};
  int64_t axis = attr_int(x->n, "axis", 0), i;
  if (!data || data->scalar || !at || (axis != 0 && axis != -1)) return NULL;
  for (uint32_t k = 0; k < at->n; k++) {
    if (!number(at, k, &i)) return NULL;
    i = i < 0 ? i + data->n : i;
    if (i < 0 || i >= data->n) return NULL; /* run reports it */
    push(&l, data->v[i], data->kind[i]);
  }
  return keep(x->arena, data->dtype, at->scalar, &l);
}

static const ox_known *of_concat(const args *x) {
  list l = {.n = 0};
  int64_t axis = attr_int(x->n, "axis", 0);
  if (axis != 0 && axis != -1) return NULL;
  uint32_t dtype = 0;
  for (uint32_t i = 0; i < x->n->n_in; i++) {
    const ox_known *k = x->in[i];
    const ox_type *t = x->types[i];
    int64_t n = k ? k->n : t && t->kind == OX_TENSOR && t->shape.rank == 1 ? t->shape.dim[0] : -1;
    if (n < 0 || l.n + n > OX_KNOWN_MAX || (k && k->scalar) || !t) return NULL;
    if (t->dtype != OX_I64 && t->dtype != OX_I32) return NULL;
    dtype = t->dtype;
    for (int64_t e = 0; e < n; e++) push(&l, k ? k->v[e] : 0, k ? k->kind[e] : OX_KNOWN_NOT);
  }
  return keep(x->arena, dtype, false, &l);
}

/* The same content under another shape of rank 0 or 1. */
static const ox_known *reshaped(const args *x, bool scalar) {
  const ox_known *k = x->in[0];
  if (!k) return NULL;
  ox_known *copy = ox_arena_copy(x->arena, k, sizeof *k);
  if (copy) copy->scalar = scalar;
  return copy;
}

static const ox_known *of_unsqueeze(const args *x) {
  if (!x->in[0] || !x->in[0]->scalar) return NULL;
  const ox_attr *a = ox_node_attr(x->n, "axes");
  uint64_t n = a ? a->v.n : x->n->n_in > 1 && x->in[1] ? x->in[1]->n : 0;
  return n == 1 ? reshaped(x, false) : NULL;
}

static const ox_known *of_squeeze(const args *x) { return x->in[0] && x->in[0]->n == 1 ? reshaped(x, true) : NULL; }

static const ox_known *of_reshape(const args *x) {
  const ox_known *k = x->in[0], *s = x->n->n_in > 1 ? x->in[1] : NULL;
  if (!k || !s || s->scalar || s->n > 1) return NULL;
  if (s->n == 0) return k->n == 1 ? reshaped(x, true) : NULL;
  int64_t want;
  return number(s, 0, &want) && (want == -1 || want == k->n) && k->n ? reshaped(x, false) : NULL;
}

static const ox_known *of_cast(const args *x) {
  const ox_known *k = x->in[0];
  int64_t to = attr_int(x->n, "to", 0);
  if (!k || (to != OX_I64 && to != OX_I32)) return NULL;
  for (uint32_t i = 0; i < k->n; i++)
    if (to == OX_I32 && k->kind[i] == OX_KNOWN_NUMBER && k->v[i] != (int32_t)k->v[i]) return NULL;
  ox_known *copy = ox_arena_copy(x->arena, k, sizeof *k);
  if (copy) copy->dtype = (uint32_t)to;
  return copy;
}

static const ox_known *of_slice(const args *x) {
  const ox_known *k = x->in[0];
  int64_t from, to, step = 1, axis = 0;
  if (!k || k->scalar) return NULL;
  if (x->opset < 10) {
    const ox_attr *s = ox_node_attr(x->n, "starts"), *e = ox_node_attr(x->n, "ends"), *ax = ox_node_attr(x->n, "axes");
    if (!s || !e || s->v.n != 1 || e->v.n != 1 || (ax && ax->v.n != 1)) return NULL;
    from = s->v.ints[0], to = e->v.ints[0], axis = ax ? ax->v.ints[0] : 0;
  } else {
    uint32_t n = x->n->n_in;
    if (n < 3 || !number(x->in[1], 0, &from) || !number(x->in[2], 0, &to) || x->in[1]->n != 1) return NULL;
    if (n > 3 && x->n->in[3] != OX_NONE && !number(x->in[3], 0, &axis)) return NULL;
    if (n > 4 && x->n->in[4] != OX_NONE && !number(x->in[4], 0, &step)) return NULL;
  }
  if ((axis != 0 && axis != -1) || step != 1) return NULL;
  int64_t n = k->n;
  from = OX_MAX(OX_MIN(from < 0 ? from + n : from, n), 0);
  to = OX_MAX(OX_MIN(to < 0 ? to + n : to, n), 0);
  list l = {.n = 0};
  for (int64_t i = from; i < to; i++) push(&l, k->v[i], k->kind[i]);
  return keep(x->arena, k->dtype, false, &l);
}

/* Add, Sub, Mul, Div of one element; symbols only meet their neutral element. */
static void arith(char op, int64_t a, uint8_t ka, int64_t b, uint8_t kb, list *l) {
  int64_t r = 0;
  bool both = ka == OX_KNOWN_NUMBER && kb == OX_KNOWN_NUMBER, ok = false;
  switch (op) {
    case '+':
      ok = both && !__builtin_add_overflow(a, b, &r);
      break;
    case '-':
      ok = both && !__builtin_sub_overflow(a, b, &r);
      break;
    case '*':
      ok = both && !__builtin_mul_overflow(a, b, &r);
      break;
    default:
      ok = both && b != 0 && !(a == INT64_MIN && b == -1);
      r = ok ? a / b : 0;
  }
  int64_t neutral = op == '+' || op == '-' ? 0 : 1;
  if (ok)
    push(l, r, OX_KNOWN_NUMBER);
  else if (ka == OX_KNOWN_SYMBOL && kb == OX_KNOWN_NUMBER && b == neutral)
    push(l, a, ka);
  else if (kb == OX_KNOWN_SYMBOL && ka == OX_KNOWN_NUMBER && a == neutral && (op == '+' || op == '*'))
    push(l, b, kb);
  else
    push(l, 0, OX_KNOWN_NOT);
}

static const ox_known *of_arith(const args *x, char op) {
  const ox_known *a = x->in[0], *b = x->n->n_in > 1 ? x->in[1] : NULL;
  if (!a || !b || a->dtype != OX_I64 || (a->n != b->n && a->n != 1 && b->n != 1)) return NULL;
  list l = {.n = 0};
  uint32_t n = a->n == 1 ? b->n : a->n;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t ia = a->n == 1 ? 0 : i, ib = b->n == 1 ? 0 : i;
    arith(op, a->v[ia], a->kind[ia], b->v[ib], b->kind[ib], &l);
  }
  return keep(x->arena, OX_I64, a->scalar && b->scalar, &l);
}

static const ox_known *of_identity(const args *x) { return x->in[0]; }
static const ox_known *of_add(const args *x) { return of_arith(x, '+'); }
static const ox_known *of_sub(const args *x) { return of_arith(x, '-'); }
static const ox_known *of_mul(const args *x) { return of_arith(x, '*'); }
static const ox_known *of_div(const args *x) { return of_arith(x, '/'); }

static const struct {
  const char *op;
  const ox_known *(*fn)(const args *x);
} rows[] = {{"Shape", of_shape},       {"Gather", of_gather},   {"Concat", of_concat}, {"Unsqueeze", of_unsqueeze},
            {"Squeeze", of_squeeze},   {"Reshape", of_reshape}, {"Cast", of_cast},     {"Slice", of_slice},
            {"Identity", of_identity}, {"Add", of_add},         {"Sub", of_sub},       {"Mul", of_mul},
            {"Div", of_div},           {"Size", of_size}};

const ox_known *ox_known_eval(ox_arena *a, const ox_node *n, int64_t opset, const ox_type *const *types,
                              const ox_known *const *in) {
  if (*n->domain || !n->n_in || n->in[0] == OX_NONE) return NULL;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    if (strcmp(rows[i].op, n->op) == 0) return rows[i].fn(&(args){a, n, opset, types, in});
  return NULL;
}

/* ---- shapes from partly known lists ---- */

static int64_t dim_of(const ox_known *k, uint32_t i) {
  return k->kind[i] == OX_KNOWN_NOT || (k->kind[i] == OX_KNOWN_NUMBER && k->v[i] < 0) ? -1 : k->v[i];
}

/* The dimension written as -1: what the input has and the rest of the output has not. */
static int64_t missing_dim(const ox_shape *in, const ox_shape *out, int skip) {
  bool used[OX_MAX_RANK] = {false};
  int64_t have = 1, rest = 1, symbol = 0;
  for (int i = 0; i < out->rank; i++) {
    if (i == skip) continue;
    if (out->dim[i] >= 0) {
      have = ox_dim_mul(have, out->dim[i]);
      continue;
    }
    int k = 0;
    while (k < in->rank && (used[k] || in->dim[k] != out->dim[i] || in->dim[k] == -1)) k++;
    if (k == in->rank) return -1;
    used[k] = true;
  }
  for (int i = 0; i < in->rank; i++) {
    if (used[i]) continue;
    if (in->dim[i] < 0 && (symbol || in->dim[i] == -1)) return -1;
    if (in->dim[i] < 0)
      symbol = in->dim[i];
    else
      rest = ox_dim_mul(rest, in->dim[i]);
  }
  if (have <= 0 || rest < 0) return -1;
  if (symbol) return rest == have ? symbol : -1;
  return rest % have == 0 ? rest / have : -1;
}

static void refine_reshape(const ox_node *n, const ox_type *in, const ox_known *k, ox_shape *out) {
  ox_shape s = {.rank = (int32_t)k->n};
  int skip = -1;
  bool allowzero = attr_int(n, "allowzero", 0) != 0, sure = in->shape.rank >= 0;
  for (uint32_t i = 0; i < k->n; i++) {
    s.dim[i] = dim_of(k, i);
    if (k->kind[i] == OX_KNOWN_NUMBER && k->v[i] == 0 && !allowzero)
      s.dim[i] = (int)i < in->shape.rank ? in->shape.dim[i] : -1;
    else if (k->kind[i] == OX_KNOWN_NUMBER && k->v[i] == -1)
      sure &= skip < 0, skip = (int)i;
    /* a symbol might turn out as 0 and mean a copy, or be anything that the run computes: trust it as exporters do */
  }
  if (sure && skip >= 0) s.dim[skip] = missing_dim(&in->shape, &s, skip);
  for (int i = 0; i < s.rank; i++)
    if (out->rank < 0 || out->dim[i] == -1)
      continue;
    else
      s.dim[i] = out->dim[i];
  *out = s;
}

void ox_known_refine(const ox_node *n, const ox_type *const *types, const ox_known *const *in, ox_shape *out) {
  if (*n->domain || !n->n_in || !types[0]) return;
  bool reshape = strcmp(n->op, "Reshape") == 0, expand = strcmp(n->op, "Expand") == 0;
  bool fill = strcmp(n->op, "ConstantOfShape") == 0;
  const ox_known *k = fill ? in[0] : (reshape || expand) && n->n_in > 1 ? in[1] : NULL;
  if (!k || k->scalar || k->n > OX_MAX_RANK || (out->rank >= 0 && out->rank != (int)k->n && !expand)) return;
  if (reshape) {
    refine_reshape(n, types[0], k, out);
    return;
  }
  ox_shape s = {.rank = (int32_t)k->n}, both;
  for (uint32_t i = 0; i < k->n; i++) s.dim[i] = dim_of(k, i);
  if (expand) {
    ox_status *st = ox_shape_broadcast(&types[0]->shape, &s, &both);
    if (st || both.rank < 0) {
      ox_status_free(st); /* the operator itself reports what does not fit */
      return;
    }
    s = both;
  }
  if (out->rank >= 0 && out->rank != s.rank) return;
  for (int i = 0; i < s.rank; i++)
    if (out->rank >= 0 && out->dim[i] != -1) s.dim[i] = out->dim[i];
  *out = s;
}
