/* SPDX-License-Identifier: Apache-2.0
 * ops/binary.c - element-wise operators of two inputs, with NumPy broadcasting and, before version 7, the standard's
 * older rule: if |broadcast| is set, B's dimensions are aligned with A's from |axis| on. */
#include <string.h>

#include "graph/known.h"
#include "graph/node_activation.h"
#include "graph/tape.h"
#include "kern/binary/binary.h"
#include "kern/binary/broadcast.h"
#include "kern/quant/convert.h"
#include "onyx/onyx.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t axis, broadcast, fmod;
  const char *direction;
  bool has_axis;
} binary_attrs;

static const ox_attr_def legacy_attrs[] = {
    OX_ATTR_INT_HAS_IN(binary_attrs, axis, 0, OX_AXIS_RANGE),
    OX_ATTR_INT(binary_attrs, broadcast, 0),
};
static const ox_attr_def mod_attrs[] = {OX_ATTR_INT(binary_attrs, fmod, 0)};
static const ox_attr_def shift_attrs[] = {OX_ATTR_STR(binary_attrs, direction, NULL)};

static const struct {
  const char *op;
  ox_binary fn;
} functions[] = {
    {"Add", OX_BIN_ADD},      {"And", OX_BIN_AND},           {"BitShift", OX_BIN_SHL}, {"BitwiseAnd", OX_BIN_AND},
    {"BitwiseOr", OX_BIN_OR}, {"BitwiseXor", OX_BIN_XOR},    {"Div", OX_BIN_DIV},      {"Equal", OX_BIN_EQ},
    {"Greater", OX_BIN_GT},   {"GreaterOrEqual", OX_BIN_GE}, {"Less", OX_BIN_LT},      {"LessOrEqual", OX_BIN_LE},
    {"Mod", OX_BIN_MOD},      {"Mul", OX_BIN_MUL},           {"Or", OX_BIN_OR},        {"PRelu", OX_BIN_PRELU},
    {"Sub", OX_BIN_SUB},      {"Xor", OX_BIN_XOR},
};

static ox_status *find_function(const char *op, const binary_attrs *a, ox_binary *out_fn) {
  size_t i = 0;
  while (i < OX_COUNT(functions) && strcmp(functions[i].op, op) != 0) i++;
  if (i == OX_COUNT(functions)) return ox_fail(OX_FAIL, "%s is not a binary function", op);
  *out_fn = functions[i].fn;
  if (*out_fn == OX_BIN_MOD && a->fmod) *out_fn = OX_BIN_FMOD;
  if (*out_fn == OX_BIN_SHL) {
    if (!a->direction || (strcmp(a->direction, "LEFT") != 0 && strcmp(a->direction, "RIGHT") != 0))
      return ox_fail(OX_INVALID_MODEL, "attribute 'direction': wanted LEFT or RIGHT, got '%s'",
                     a->direction ? a->direction : "");
    if (a->direction[0] == 'R') *out_fn = OX_BIN_SHR;
  }
  return NULL;
}

/* B's shape by the older rule: ones are appended after its last dimension. */
static ox_status *legacy_shape(const binary_attrs *a, const ox_shape *sa, const ox_shape *sb, ox_shape *out) {
  *out = *sb;
  if (!a || !a->broadcast || !a->has_axis || sa->rank < 0 || sb->rank < 0) return NULL;
  int at = 0, tail;
  if (sb->rank == 0) return NULL;
  if (!ox_axis_ok(a->axis, sa->rank, &at) || (tail = sa->rank - at - sb->rank) < 0)
    return ox_fail(OX_SHAPE_MISMATCH, "axis %lld: %d dimensions do not fit into %d", (long long)a->axis, sb->rank,
                   sa->rank);
  for (int i = 0; i < tail; i++) out->dim[out->rank++] = 1;
  return NULL;
}

static ox_status *infer_shape(ox_infer_ctx *c, const binary_attrs *legacy, ox_shape *out, uint32_t *dtype) {
  ox_shape b;
  *dtype = ox_infer_dtype_of(c, 0, 1);
  OX_TRY(legacy_shape(legacy, &c->in[0]->shape, &c->in[1]->shape, &b));
  return ox_shape_broadcast(&c->in[0]->shape, &b, out);
}

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape s;
  uint32_t dtype = OX_UNDEFINED;
  OX_TRY(infer_shape(c, NULL, &s, &dtype));
  ox_infer_out(c, 0, dtype, &s);
  return NULL;
}

static ox_status *infer_compare(ox_infer_ctx *c) {
  OX_TRY(infer(c));
  c->out[0].dtype = OX_BOOL;
  return NULL;
}

static ox_status *infer_legacy(ox_infer_ctx *c) {
  ox_shape s;
  uint32_t dtype = OX_UNDEFINED;
  OX_TRY(infer_shape(c, c->attrs, &s, &dtype));
  ox_infer_out(c, 0, dtype, &s);
  return NULL;
}

static ox_status *infer_legacy_compare(ox_infer_ctx *c) {
  OX_TRY(infer_legacy(c));
  c->out[0].dtype = OX_BOOL;
  return NULL;
}

/* PRelu before version 7 gives a slope of [C] to dimension 1; later the slope broadcasts like any B. */
static ox_status *infer_prelu(ox_infer_ctx *c) {
  ox_infer_out(c, 0, ox_infer_dtype_of(c, 0, 1), &c->in[0]->shape);
  return NULL;
}

typedef struct {
  ox_binary fn;
  bool legacy, channel_slope;
  binary_attrs attrs;
} binary_state;

static ox_status *load_as(ox_load_ctx *c, bool legacy, bool channel_slope) {
  static const binary_attrs none;
  binary_state *s = OX_LOAD_NEW(c, binary_state);
  if (!s) return ox_oom();
  s->attrs = c->attrs ? *(const binary_attrs *)c->attrs : none;
  s->legacy = legacy, s->channel_slope = channel_slope;
  c->state = s;
  return find_function(c->op, &s->attrs, &s->fn);
}
static ox_status *load(ox_load_ctx *c) { return load_as(c, false, false); }
static ox_status *load_legacy(ox_load_ctx *c) { return load_as(c, true, false); }
static ox_status *load_prelu6(ox_load_ctx *c) { return load_as(c, false, true); }

typedef struct {
  ox_bcast bcast;
  int64_t tile;
  bool gather; /* rows are too short for a call each */
  int repeats; /* gather: 1 + the index of the operand that is the same in all rows of a plane, while the other is
                  dense; 0: none */
} binary_prep;

/* Rows below which spreading the operands over a block first is faster than a call per row: in bytes, and in elements
 * if both have to be spread. */
enum { SHORT_ROW = 192, SHORT_BOTH = 48 };

static bool has_short_rows(const ox_bcast *b, uint32_t dtype) {
  int64_t most = SHORT_ROW * 8 / ox_dtype_bits(dtype), row = b->dim[b->rank - 1];
  return b->rank > 1 && row < (b->dense[0] || b->dense[1] ? most : OX_MIN(most, SHORT_BOTH));
}

/* Is an operand a short row that repeats, as a gate or a constant per channel is with channels last? */
static int repeating(const ox_bcast *b) {
  int last = b->rank - 1;
  for (int k = 0; k < 2; k++)
    if (b->dense[1 - k] && b->stride[k][last] == 1 && b->stride[k][last - 1] == 0) return k + 1;
  return 0;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const binary_state *s = c->state;
  const ox_shape *out = &c->out[0]->shape;
  ox_shape b = c->in[1]->shape, sum;
  binary_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  if (s->legacy) OX_TRY(legacy_shape(&s->attrs, &c->in[0]->shape, &c->in[1]->shape, &b));
  if (s->channel_slope && b.rank == 1 && b.dim[0] != 1 && out->rank >= 2)
    for (int i = 2; i < out->rank; i++) b.dim[b.rank++] = 1;
  OX_TRY(ox_shape_broadcast(&c->in[0]->shape, &b, &sum));
  if (!ox_shape_equal(&sum, out)) { /* PRelu: the slope must not widen X */
    char tb[OX_SHAPE_TEXT], to[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "%s does not broadcast to %s", ox_shape_text(&b, tb), ox_shape_text(out, to));
  }
  ox_bcast_init(&p->bcast, out, 2, (const ox_shape *[]){&c->in[0]->shape, &b});
  p->gather = has_short_rows(&p->bcast, c->in[0]->dtype);
  p->repeats = p->gather ? repeating(&p->bcast) : 0;
  c->prep = p;
  p->tile = s->fn == OX_BIN_MOD || s->fn == OX_BIN_FMOD ? OX_TILE_SLOW
            : p->gather && !p->repeats                  ? OX_TILE_MATH
                                                        : OX_TILE_CHEAP;
  return ox_plan_elements(c, p->tile);
}

static bool equal_strings(const ox_str *a, const ox_str *b) {
  return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static void strings(const ox_str *a, const ox_str *b, uint8_t *y, size_t n, unsigned scalar) {
  size_t sa = !(scalar & OX_BIN_A_SCALAR), sb = !(scalar & OX_BIN_B_SCALAR);
  for (size_t i = 0; i < n; i++) y[i] = equal_strings(&a[i * sa], &b[i * sb]);
}

/* One run of native elements: the whole of the work when types need no widening. */
typedef struct {
  const ox_kernel_ctx *c;
  const ox_convert *cv;
  ox_binary_fn *fn; /* NULL: strings */
  uint32_t dtype, out_dtype;
  size_t size, out_size;
  bool widen;
} runner;

static void run_widened(const runner *r, const char *a, const char *b, char *y, size_t n, unsigned scalar) {
  float fa[OX_CONVERT_BLOCK], fb[OX_CONVERT_BLOCK];
  uint8_t fy[OX_CONVERT_BLOCK];
  bool compare = r->out_dtype == OX_BOOL;
  if (scalar & OX_BIN_A_SCALAR) r->cv->load_f32[r->dtype](a, 0, 1, fa);
  if (scalar & OX_BIN_B_SCALAR) r->cv->load_f32[r->dtype](b, 0, 1, fb);
  float a0 = fa[0];
  for (size_t i = 0; i < n; i += OX_CONVERT_BLOCK) {
    size_t m = OX_MIN(n - i, OX_CONVERT_BLOCK);
    if (!(scalar & OX_BIN_A_SCALAR))
      r->cv->load_f32[r->dtype](a, i, m, fa);
    else
      fa[0] = a0; /* restores what the result overwrote */
    if (!(scalar & OX_BIN_B_SCALAR)) r->cv->load_f32[r->dtype](b, i, m, fb);
    r->fn(fa, fb, compare ? (void *)fy : (void *)fa, m, scalar);
    if (compare)
      memcpy(y + i, fy, m);
    else
      r->cv->store_f32[r->dtype](fa, y, i, m, NULL);
  }
}

static void run_row(const runner *r, const char *a, const char *b, char *y, size_t n, unsigned scalar) {
  if (!r->fn)
    strings((const ox_str *)a, (const ox_str *)b, (uint8_t *)y, n, scalar);
  else if (r->widen)
    run_widened(r, a, b, y, n, scalar);
  else
    r->fn(a, b, y, n, scalar);
}

static void run_gathered(const runner *r, const ox_bcast *bc, int64_t begin, int64_t end) {
  enum { BLOCK = 256 };
  uint64_t ga[BLOCK * 2], gb[BLOCK * 2];
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t n = OX_MIN(end - i, BLOCK);
    const char *a = (const char *)r->c->in[0]->data, *b = (const char *)r->c->in[1]->data;
    if (bc->dense[0])
      a += (size_t)i * r->size;
    else
      ox_bcast_gather(bc, 0, a, r->size, i, n, ga), a = (const char *)ga;
    if (bc->dense[1])
      b += (size_t)i * r->size;
    else
      ox_bcast_gather(bc, 1, b, r->size, i, n, gb), b = (const char *)gb;
    run_row(r, a, b, (char *)r->c->out[0]->data + (size_t)i * r->out_size, (size_t)n, 0);
  }
}

/* Writes operand |k| of the outputs from |at| on to |to|, as often as it fits; returns the number of elements. */
static int64_t repeat(const ox_bcast *bc, int k, const char *src, size_t size, int64_t at, char *to, size_t room) {
  size_t row = (size_t)bc->dim[bc->rank - 1] * size, n = row;
  ox_bcast_gather(bc, k, src, size, at, bc->dim[bc->rank - 1], to);
  for (; 2 * n <= room; n *= 2) memcpy(to + n, to, n);
  return (int64_t)(n / size);
}

/* Plane by plane: the row that repeats is written out several times to a buffer once, which is then used for all
 * rows. */
static void run_repeating(const runner *r, const ox_bcast *bc, int k, int64_t begin, int64_t end) {
  enum { ROOM = 4096 };
  uint64_t memory[ROOM / 8];
  const char *x = r->c->in[1 - k]->data, *row = (const char *)memory;
  int64_t plane = bc->dim[bc->rank - 1] * bc->dim[bc->rank - 2];
  size_t room = OX_MIN(sizeof memory, 2 * (size_t)plane * r->size);
  for (int64_t i = begin, next; i < end; i = next) {
    next = OX_MIN((i / plane + 1) * plane, end);
    int64_t most = repeat(bc, k, r->c->in[k]->data, r->size, i, (char *)memory, room);
    for (int64_t j = i; j < next; j += most) {
      const char *a = x + (size_t)j * r->size;
      char *y = (char *)r->c->out[0]->data + (size_t)j * r->out_size;
      run_row(r, k ? a : row, k ? row : a, y, (size_t)OX_MIN(most, next - j), 0);
    }
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const binary_state *s = c->state;
  const binary_prep *p = c->prep;
  runner r = {.c = c, .cv = ox_convert_select(c->isa), .dtype = c->in[0]->dtype, .out_dtype = c->out[0]->dtype};
  r.size = ox_dtype_bits(r.dtype) / 8, r.out_size = ox_dtype_bits(r.out_dtype) / 8;
  r.widen = (OX_BIT(r.dtype) & OX_T_FLOAT16S) != 0;
  if (r.dtype != OX_STRING) {
    r.fn = ox_binary_select(c->isa)->fn[s->fn][r.widen ? OX_F32 : r.dtype];
    if (!r.fn) return ox_fail(OX_NOT_IMPLEMENTED, "not defined for %s", ox_dtype_name(r.dtype));
  }
  int64_t begin, end;
  ox_tile_span(tiles, p->tile, p->bcast.count, &begin, &end);
  if (p->gather) {
    if (p->repeats)
      run_repeating(&r, &p->bcast, p->repeats - 1, begin, end);
    else
      run_gathered(&r, &p->bcast, begin, end);
    return NULL;
  }
  ox_bcast_run at;
  for (bool ok = ox_bcast_first(&p->bcast, begin, end, &at); ok; ok = ox_bcast_next(&p->bcast, &at)) {
    unsigned scalar = (at.step[0] ? 0u : OX_BIN_A_SCALAR) | (at.step[1] ? 0u : OX_BIN_B_SCALAR);
    run_row(&r, (const char *)c->in[0]->data + (size_t)at.off[0] * r.size,
            (const char *)c->in[1]->data + (size_t)at.off[1] * r.size,
            (char *)c->out[0]->data + (size_t)at.at * r.out_size, (size_t)at.n, scalar);
  }
  return NULL;
}

enum { T_BOOL = OX_BIT(OX_BOOL) };

/* One element of Add, Sub, Mul, Div, with the results of the loops for overflow and division by 0. A symbolic operand
 * is known only if the other is the neutral element. */
static void known_element(char op, int64_t a, uint8_t ka, int64_t b, uint8_t kb, ox_known_list *l) {
  int64_t r = 0, neutral = op == 'A' || op == 'S' ? 0 : 1;
  bool both = ka == OX_KNOWN_NUMBER && kb == OX_KNOWN_NUMBER;
  switch (op) {
    case 'A':
      (void)__builtin_add_overflow(a, b, &r);
      break;
    case 'S':
      (void)__builtin_sub_overflow(a, b, &r);
      break;
    case 'M':
      (void)__builtin_mul_overflow(a, b, &r);
      break;
    default:
      if (b == -1)
        (void)__builtin_sub_overflow(0, a, &r);
      else
        r = b ? a / b : 0;
  }
  if (both)
    ox_known_push(l, r, OX_KNOWN_NUMBER);
  else if (ka == OX_KNOWN_SYMBOL && kb == OX_KNOWN_NUMBER && b == neutral)
    ox_known_push(l, a, ka);
  else if (kb == OX_KNOWN_SYMBOL && ka == OX_KNOWN_NUMBER && a == neutral && (op == 'A' || op == 'M'))
    ox_known_push(l, b, kb);
  else
    ox_known_push(l, 0, OX_KNOWN_NOT);
}

static const ox_known *known(const ox_known_ctx *c) {
  const ox_known *a = c->in[0], *b = ox_known_in(c, 1);
  if (!a || !b || a->dtype != OX_I64 || (a->n != b->n && a->n != 1 && b->n != 1)) return NULL;
  ox_known_list l = {.n = 0};
  uint32_t n = a->n == 1 ? b->n : a->n;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t ia = a->n == 1 ? 0 : i, ib = b->n == 1 ? 0 : i;
    known_element(c->op[0], a->v[ia], a->kind[ia], b->v[ib], b->kind[ib], &l);
  }
  return ox_known_keep(c, OX_I64, a->scalar && b->scalar, &l);
}

/* ---- derivatives ---- */

static ox_status *gradient_add(ox_tape *t, const ox_node *n, ox_id g) {
  OX_TRY(ox_tape_credit(t, n->in[0], g));
  return ox_tape_credit(t, n->in[1], g);
}

static ox_status *gradient_sub(ox_tape *t, const ox_node *n, ox_id g) {
  OX_TRY(ox_tape_credit(t, n->in[0], g));
  return ox_tape_credit_op(t, n->in[1], "Neg", g, OX_NONE);
}

static ox_status *gradient_mul(ox_tape *t, const ox_node *n, ox_id g) {
  OX_TRY(ox_tape_credit_op(t, n->in[0], "Mul", g, n->in[1]));
  return ox_tape_credit_op(t, n->in[1], "Mul", g, n->in[0]);
}

/* d (a / b) / d b = -(a / b) / b */
static ox_status *gradient_div(ox_tape *t, const ox_node *n, ox_id g) {
  ox_id share;
  OX_TRY(ox_tape_emit(t, "Div", g, n->in[1], &share));
  OX_TRY(ox_tape_credit(t, n->in[0], share));
  OX_TRY(ox_tape_emit(t, "Mul", share, n->out[0], &share));
  return ox_tape_credit_op(t, n->in[1], "Neg", share, OX_NONE);
}

/* With one slope, a LeakyRelu. */
static bool one_slope(const ox_graph *g, const ox_node *n, ox_activation *a) {
  const ox_tensor *t = n->n_in == 2 ? ox_graph_const(g, n->in[1]) : NULL;
  if (!t || t->kind != OX_TENSOR || !t->data || ox_shape_count(&t->shape) != 1) return false;
  a->params[0] = (float)ox_tensor_element(t, 0), a->n_params = 1;
  return true;
}

#define ROW(op, ver, mask, infer_fn, load_fn, alias, ...)                                                           \
  {                                                                                                                 \
    OX_SCHEMA(.name = op, .since = ver, .types = {mask}, .vars = "TT", .min_in = 2, .max_in = 2, .infer = infer_fn, \
              __VA_ARGS__),                                                                                         \
        OX_KERNEL(.inplace = alias, .load = load_fn, .prepare = prepare, .run = run)                                \
  }
#define ATTRS(table) .attrs_bytes = sizeof(binary_attrs), OX_ATTRS(table)
#define PLAIN .attrs = NULL
#define ARITHMETIC(op, d)                                                                                    \
  ROW(op, 1, OX_T_NUMBER, infer_legacy, load_legacy, 3, ATTRS(legacy_attrs), .known = known, .gradient = d), \
      ROW(op, 7, OX_T_NUMBER, infer, load, 3, .known = known, .gradient = d)
#define LOGIC(op) \
  ROW(op, 1, T_BOOL, infer_legacy, load_legacy, 3, ATTRS(legacy_attrs)), ROW(op, 7, T_BOOL, infer, load, 3, PLAIN)
#define COMPARE(op, mask)                                                      \
  ROW(op, 1, mask, infer_legacy_compare, load_legacy, 0, ATTRS(legacy_attrs)), \
      ROW(op, 7, mask, infer_compare, load, 0, PLAIN)

static const ox_op ops[] = {
    ARITHMETIC("Add", gradient_add),
    ARITHMETIC("Sub", gradient_sub),
    ARITHMETIC("Mul", gradient_mul),
    ARITHMETIC("Div", gradient_div),
    LOGIC("And"),
    LOGIC("Or"),
    LOGIC("Xor"),
    COMPARE("Equal", OX_T_NUMBER | OX_BIT(OX_BOOL) | OX_BIT(OX_STRING)),
    COMPARE("Less", OX_T_NUMBER),
    COMPARE("Greater", OX_T_NUMBER),
    ROW("LessOrEqual", 12, OX_T_NUMBER, infer_compare, load, 0, PLAIN),
    ROW("GreaterOrEqual", 12, OX_T_NUMBER, infer_compare, load, 0, PLAIN),
    ROW("Mod", 10, OX_T_NUMBER, infer, load, 3, ATTRS(mod_attrs)),
    ROW("BitShift", 11, OX_T_INT, infer, load, 3, ATTRS(shift_attrs)),
    ROW("BitwiseAnd", 18, OX_T_INT, infer, load, 3, PLAIN),
    ROW("BitwiseOr", 18, OX_T_INT, infer, load, 3, PLAIN),
    ROW("BitwiseXor", 18, OX_T_INT, infer, load, 3, PLAIN),
    ROW("PRelu", 1, OX_T_NUMBER, infer_prelu, load_prelu6, 3, PLAIN),
    ROW("PRelu", 7, OX_T_NUMBER, infer_prelu, load, 3, OX_IS_ACTIVATION("LeakyRelu", one_slope)),
};
const ox_op_set ox_ops_binary = {ops, OX_COUNT(ops)};
