/* SPDX-License-Identifier: Apache-2.0
 * device/tail.c - see tail.h, and dev_take_tail of op.h. */
#include "plugins/device/tail.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "plugins/device/plan.h"

/* ---- one operator ---- */

/* Operator, step, step if the value is input 1 (-1: not possible), names of attributes a and b, their defaults. */
#define OPERATORS(X)                                                                               \
  X(Add, TAIL_ADD, TAIL_ADD, 0, 0, 0, 0)                                                           \
  X(Sub, TAIL_SUB, TAIL_RSUB, 0, 0, 0, 0)                                                          \
  X(Mul, TAIL_MUL, TAIL_MUL, 0, 0, 0, 0)                                                           \
  X(Div, TAIL_DIV, TAIL_RDIV, 0, 0, 0, 0)                                                          \
  X(Min, TAIL_MIN, TAIL_MIN, 0, 0, 0, 0)                                                           \
  X(Max, TAIL_MAX, TAIL_MAX, 0, 0, 0, 0)                                                           \
  X(Sum, TAIL_ADD, TAIL_ADD, 0, 0, 0, 0)                                                           \
  X(Pow, TAIL_POW, -1, 0, 0, 0, 0)                                                                 \
  X(PRelu, TAIL_PRELU, -1, 0, 0, 0, 0)                                                             \
  X(Mod, TAIL_MOD, -1, 0, 0, 0, 0)                                                                 \
  X(Abs, TAIL_ABS, -1, 0, 0, 0, 0)                                                                 \
  X(Neg, TAIL_NEG, -1, 0, 0, 0, 0)                                                                 \
  X(Reciprocal, TAIL_RECIPROCAL, -1, 0, 0, 0, 0)                                                   \
  X(Sqrt, TAIL_SQRT, -1, 0, 0, 0, 0)                                                               \
  X(Exp, TAIL_EXP, -1, 0, 0, 0, 0)                                                                 \
  X(Log, TAIL_LOG, -1, 0, 0, 0, 0)                                                                 \
  X(Floor, TAIL_FLOOR, -1, 0, 0, 0, 0)                                                             \
  X(Ceil, TAIL_CEIL, -1, 0, 0, 0, 0)                                                               \
  X(Round, TAIL_ROUND, -1, 0, 0, 0, 0)                                                             \
  X(Sin, TAIL_SIN, -1, 0, 0, 0, 0)                                                                 \
  X(Cos, TAIL_COS, -1, 0, 0, 0, 0)                                                                 \
  X(Tanh, TAIL_TANH, -1, 0, 0, 0, 0)                                                               \
  X(Sigmoid, TAIL_SIGMOID, -1, 0, 0, 0, 0)                                                         \
  X(Erf, TAIL_ERF, -1, 0, 0, 0, 0)                                                                 \
  X(Sign, TAIL_SIGN, -1, 0, 0, 0, 0)                                                               \
  X(Softplus, TAIL_SOFTPLUS, -1, 0, 0, 0, 0)                                                       \
  X(Softsign, TAIL_SOFTSIGN, -1, 0, 0, 0, 0)                                                       \
  X(Mish, TAIL_MISH, -1, 0, 0, 0, 0)                                                               \
  X(Relu, TAIL_RELU, -1, 0, 0, 0, 0)                                                               \
  X(LeakyRelu, TAIL_LEAKY, -1, "alpha", 0, 0.01f, 0)                                               \
  X(Elu, TAIL_ELU, -1, "alpha", 0, 1, 0)                                                           \
  X(Selu, TAIL_SELU, -1, "alpha", "gamma", 1.67326319217681884765625f, 1.05070102214813232421875f) \
  X(Celu, TAIL_CELU, -1, "alpha", 0, 1, 0)                                                         \
  X(Clip, TAIL_CLIP, -1, "min", "max", -INFINITY, INFINITY)                                        \
  X(HardSigmoid, TAIL_HARD_SIGMOID, -1, "alpha", "beta", 0.2f, 0.5f)                               \
  X(HardSwish, TAIL_HARD_SWISH, -1, 0, 0, 0, 0)                                                    \
  X(ThresholdedRelu, TAIL_THRESHOLDED, -1, "alpha", 0, 1, 0)                                       \
  X(Gelu, TAIL_GELU, -1, 0, 0, 0, 0)                                                               \
  X(Swish, TAIL_SILU, -1, "alpha", 0, 1, 0)

/* Operators of com.microsoft, all with one input. */
#define OPERATORS_MS(X)                       \
  X(Gelu, TAIL_GELU, -1, 0, 0, 0, 0)          \
  X(FastGelu, TAIL_GELU_TANH, -1, 0, 0, 0, 0) \
  X(QuickGelu, TAIL_SILU, -1, "alpha", 0, 1.702f, 0)

#define ROW(name, step, reversed, a, b, a0, b0) {step, reversed, a, b, a0, b0},
#define NAME(name, step, reversed, a, b, a0, b0) #name,
#define NAME_MS(name, step, reversed, a, b, a0, b0) "com.microsoft:" #name,
static const struct {
  int step, reversed;
  const char *a, *b;
  float a0, b0;
} rows[] = {OPERATORS(ROW) OPERATORS_MS(ROW)};
const char *const dev_tail_ops[] = {OPERATORS(NAME) OPERATORS_MS(NAME_MS) NULL};

static size_t row_of(const dev_node *n) {
  const char *domain = n->host->node_domain(n->graph, n->index), *op = dev_node_op(n);
  size_t row = 0;
  while (row < OX_COUNT(rows) && !dev_op_is_called(dev_tail_ops[row], "", domain, op)) row++;
  return row;
}

/* Reads a constant of one float; false: it is none. */
static bool number_of(const ox_tensor *t, float *out) {
  if (!t || (t->dtype != OX_F32 && t->dtype != OX_F16) || t->bytes != (t->dtype == OX_F32 ? 4 : 2)) return false;
  if (t->dtype == OX_F32)
    memcpy(out, t->data, sizeof *out);
  else
    *out = ox_f16_to_f32(*(const ox_u16u *)t->data);
  return true;
}

/* Clip's bounds are inputs from version 11 on. */
static bool clip_bounds(const dev_node *n, tail_step *s) {
  float *const to[] = {&s->a, &s->b};
  for (size_t i = 1; i <= 2 && dev_node_version(n) >= 11; i++)
    if (dev_in(n, i) != UINT32_MAX && !number_of(dev_in_constant(n, i), to[i - 1])) return false;
  return !(s->a > s->b); /* the result would have to be the upper bound */
}

bool dev_tail_step(const dev_node *n, uint32_t value, tail_step *out, uint32_t *out_operand) {
  size_t row = row_of(n), n_in = dev_in_count(n);
  *out_operand = UINT32_MAX;
  if (row == OX_COUNT(rows)) return false;
  bool binary = rows[row].step < TAIL_ABS, second = binary && n_in == 2 && dev_in(n, 0) != value;
  *out = (tail_step){.op = second ? rows[row].reversed : rows[row].step, .operand = -1, .div = 1, .mod = 1};
  out->a = rows[row].a ? dev_attr_float(n, rows[row].a, rows[row].a0) : rows[row].a0;
  out->b = rows[row].b ? dev_attr_float(n, rows[row].b, rows[row].b0) : rows[row].b0;
  if (out->op < 0 || dev_in(n, second) != value) return false;
  if (!binary) {
    if (out->op == TAIL_CLIP) return clip_bounds(n, out);
    if (out->op == TAIL_GELU_TANH && n_in > 1) return false; /* it has a bias */
    if (out->op == TAIL_GELU && dev_attr_is(n, "approximate", "tanh", "none")) out->op = TAIL_GELU_TANH;
    return true;
  }
  if (n_in != 2 || (out->op == TAIL_MOD && !dev_attr_int(n, "fmod", 0))) return false;
  if (dev_node_version(n) < 7) return false; /* has the old broadcasting rules */
  if (!number_of(dev_in_constant(n, !second), &out->a)) *out_operand = dev_in(n, !second);
  return true;
}

/* Parameters of an activation are the list activation_params, or activation_alpha and activation_beta. */
static void activation_numbers(const dev_node *n, tail_step *s) {
  ox_attr_view a;
  if (n->host->node_attr(n->graph, n->index, "activation_params", &a)) {
    if (a.n > 0) s->a = a.floats[0];
    if (a.n > 1) s->b = a.floats[1];
  }
  s->a = dev_attr_float(n, "activation_alpha", s->a), s->b = dev_attr_float(n, "activation_beta", s->b);
}

bool dev_tail_activation(const dev_node *n, dev_tail *t) {
  if (dev_attr_is(n, "activation", "", "")) return true;
  for (size_t i = 0; i < OX_COUNT(rows) && t->params.n < TAIL_STEPS; i++) {
    const char *colon = strchr(dev_tail_ops[i], ':');
    if (rows[i].step < TAIL_ABS || !dev_attr_is(n, "activation", colon ? colon + 1 : dev_tail_ops[i], "")) continue;
    tail_step s = {.op = rows[i].step, .operand = -1, .div = 1, .mod = 1, .a = rows[i].a0, .b = rows[i].b0};
    activation_numbers(n, &s);
    t->params.step[t->params.n++] = s;
    return true;
  }
  return false;
}

bool dev_tail_place(const ox_shape *o, const ox_shape *y, tail_step *s) {
  int64_t div = 1, mod = 1;
  int d = y->rank - 1, lead = y->rank - o->rank;
  if (lead < 0) return false;
  while (d >= lead && o->dim[d - lead] == 1) div *= y->dim[d--];
  while (d >= lead && o->dim[d - lead] == y->dim[d]) mod *= y->dim[d--];
  for (; d >= lead; d--)
    if (o->dim[d - lead] != 1) return false;
  s->div = (int)div, s->mod = (int)mod;
  return div > 0 && mod > 0;
}

/* ---- collecting the tail of a node ---- */

/* The number of nodes after |from| that read |value| on the device; the first two are stored in |readers|. */
static size_t readers_of(const dev_node *from, uint32_t value, dev_node *readers) {
  size_t n = 0;
  for (size_t i = from->index + 1; i < from->host->node_count(from->graph); i++) {
    dev_node node = *from;
    bool reads = false;
    node.index = i;
    if (from->lies && dev_out(&node, 0) != UINT32_MAX && from->lies[dev_out(&node, 0)] == DEV_WITH_HOST) continue;
    for (size_t k = 0; k < dev_in_count(&node); k++) reads |= dev_in(&node, k) == value;
    if (reads && n < 2) readers[n] = node;
    n += reads;
  }
  return n;
}

/* Is |value| internal to the part, so that it need not be stored? */
static bool is_inner(const dev_plan *p, uint32_t value) {
  return p->values[value].kind == DEV_PLACE_WORK && p->values[value].same == value;
}

bool dev_only_reader(const dev_plan *p, const dev_node *head, uint32_t value, dev_node *out) {
  dev_node readers[2];
  if (!is_inner(p, value) || readers_of(head, value, readers) != 1) return false;
  *out = readers[0];
  return true;
}

/* Is |value| available when node |head| runs? */
static bool is_early(const dev_plan *p, const dev_node *head, uint32_t value) {
  size_t producer = head->host->value_producer(p->part->graph, value);
  return producer == SIZE_MAX || producer < head->index;
}

static bool same_shape(const ox_shape *a, const ox_shape *b) {
  return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

/* Are the two readers of |value| the nodes of v * sigmoid(v), which is one step? |*out| is then the Mul. */
static bool is_silu(const dev_plan *p, uint32_t value, const dev_node *readers, dev_node *out) {
  const dev_node *sigmoid = &readers[0];
  dev_node after[2];
  uint32_t s = dev_out(sigmoid, 0);
  if (strcmp(dev_node_op(sigmoid), "Sigmoid") != 0 || strcmp(dev_node_op(&readers[1]), "Mul") != 0) return false;
  if (!is_inner(p, s) || readers_of(sigmoid, s, after) != 1 || after[0].index != readers[1].index) return false;
  *out = after[0];
  return dev_in(out, 0) == value || dev_in(out, 1) == value;
}

/* Finds the node that can extend |t|, and converts it to a step; false: there is none. */
static bool follow(dev_plan *p, const dev_node *head, const dev_tail *t, dev_node *next, tail_step *step,
                   uint32_t *operand) {
  dev_node readers[2];
  if (!is_inner(p, t->out)) return false;
  size_t n = readers_of(head, t->out, readers);
  *operand = UINT32_MAX;
  if (n == 2 && is_silu(p, t->out, readers, next)) {
    *step = (tail_step){.op = TAIL_SILU, .operand = -1, .div = 1, .mod = 1, .a = 1};
    p->taken[readers[0].index] = 1;
    return true;
  }
  if (n != 1 || !dev_tail_step(&readers[0], t->out, step, operand)) return false;
  *next = readers[0];
  const ox_shape *y = dev_shape(p, t->out);
  if (!same_shape(dev_shape(p, dev_out(next, 0)), y) || *operand == t->out) return false;
  if (*operand == UINT32_MAX) return true;
  return dev_dtype(p, *operand) == dev_dtype(p, t->out) && is_early(p, head, *operand) &&
         dev_tail_place(dev_shape(p, *operand), y, step);
}

static ox_status *take(dev_plan *p, const dev_node *n, int n_operands, dev_tail *out) {
  dev_node next;
  tail_step step;
  uint32_t operand;
  out->out = dev_out(n, 0);
  while (out->params.n < TAIL_STEPS && n_operands < TAIL_OPERANDS && follow(p, n, out, &next, &step, &operand)) {
    if (operand != UINT32_MAX) {
      out->operands[n_operands] = dev_value(p, operand);
      step.operand = n_operands++;
    }
    out->params.step[out->params.n++] = step;
    out->out = dev_out(&next, 0);
    p->taken[next.index] = 1;
  }
  return NULL;
}

ox_status *dev_take_tail(dev_plan *p, const dev_node *n, dev_tail *out) {
  memset(out, 0, sizeof *out);
  return take(p, n, 0, out);
}

ox_status *dev_take_tail_after(dev_plan *p, const dev_node *n, const tail_step *first, uint32_t operand,
                               dev_tail *out) {
  memset(out, 0, sizeof *out);
  out->params.step[0] = *first, out->params.n = 1;
  if (operand != UINT32_MAX) out->operands[0] = dev_value(p, operand), out->params.step[0].operand = 0;
  return take(p, n, operand != UINT32_MAX, out);
}
