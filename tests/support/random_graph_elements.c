/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph_elements.c - steps of random models: what works on each element. */
#include "base/macros.h"
#include "support/random_maker.h"

void maker_activation(maker *m, int x) {
  static const char *const ops[] = {"Relu", "Relu",        "Relu",     "HardSwish", "LeakyRelu", "Sigmoid", "Tanh",
                                    "Elu",  "HardSigmoid", "Softplus", "Abs",       "Neg",       "Erf",     "Selu"};
  uint32_t op = maker_pick(m, OX_COUNT(ops));
  maker_value v = *maker_use(m, x);
  int y = maker_add(m, v.shape, v.size + 0.7);
  maker_put(m, "  v%d = %s", y, ops[op]);
  if (ops[op][0] == 'L') maker_put(m, " <alpha = %.2f>", MAKER_ONE_OF(m, 1, 10, 100, 0, -50) / 100.0);
  maker_put(m, " (v%d)\n", x);
  if (maker_chance(m, 20)) maker_clip(m, y);
}

void maker_prelu(maker *m, int x) {
  maker_value v = m->value[x];
  maker_shape s = {0};
  if (v.shape.rank < 2) return;
  if (maker_chance(m, 75)) {
    s = (maker_shape){v.shape.rank - 1, {v.shape.dim[1], 1, 1, 1, 1}};
  } else {
    s = (maker_shape){1, {v.shape.dim[v.shape.rank - 1]}};
  }
  if (maker_count(&s) > MAKER_CONSTANT) return;
  maker_use(m, x);
  int slope = maker_floats(m, s, -0.5, 0.5);
  maker_put(m, "  v%d = PRelu (v%d, w%d)\n", maker_add(m, v.shape, v.size), x, slope);
}

void maker_clip(maker *m, int x) {
  static const double bounds[][2] = {{0, 6}, {0, 1}, {-1, 1}, {-0.5, 0.25}, {0.125, 0.75}, {0, 0.5}};
  maker_value v = *maker_use(m, x);
  const double *b = bounds[maker_pick(m, OX_COUNT(bounds))];
  int kind = MAKER_ONE_OF(m, 0, 0, 1, 2), low = maker_float(m, b[0]), high = maker_float(m, b[1]);
  int y = maker_add(m, v.shape, v.size);
  if (kind == 0) maker_put(m, "  v%d = Clip (v%d, w%d, w%d)\n", y, x, low, high);
  if (kind == 1) maker_put(m, "  v%d = Clip (v%d, w%d)\n", y, x, low);
  if (kind == 2) maker_put(m, "  v%d = Clip (v%d, , w%d)\n", y, x, high);
}

/* Functions as exporters write them out: rules find them. */
void maker_written_out(maker *m, int x) {
  maker_value v = *maker_use(m, x);
  int kind = MAKER_ONE_OF(m, 0, 1, 2), y = 0;
  if (kind == 0) { /* Swish */
    int s = maker_add(m, v.shape, 1);
    y = maker_add(m, v.shape, v.size);
    maker_put(m, "  v%d = Sigmoid (v%d) v%d = Mul (v%d, v%d)\n", s, x, y, x, s);
    m->value[s].used = true;
    return;
  }
  int a = maker_float(m, kind == 1 ? 3 : 1.4142135), b = maker_float(m, kind == 1 ? 0 : 1);
  int c = maker_float(m, kind == 1 ? 6 : 0.5);
  y = maker_add(m, v.shape, v.size);
  if (kind == 1) /* HardSwish */
    maker_put(m, "  a%d = Add (v%d, w%d) b%d = Clip (a%d, w%d, w%d) c%d = Mul (v%d, b%d) v%d = Div (c%d, w%d)\n", y, x,
              a, y, y, b, c, y, x, y, y, y, c);
  else /* Gelu */
    maker_put(m,
              "  a%d = Div (v%d, w%d) b%d = Erf (a%d) c%d = Add (b%d, w%d) d%d = Mul (v%d, c%d) v%d = Mul (d%d, w%d)\n",
              y, x, a, y, y, y, y, b, y, x, y, y, y, c);
}

/* Whether y can be broadcast with x. */
static bool meet(const maker_shape *x, const maker_shape *y, maker_shape *out) {
  *out = x->rank >= y->rank ? *x : *y;
  for (int i = 1; i <= out->rank; i++) {
    int64_t p = i <= x->rank ? x->dim[x->rank - i] : 1, q = i <= y->rank ? y->dim[y->rank - i] : 1;
    if (p != q && p != 1 && q != 1) return false;
    out->dim[out->rank - i] = OX_MAX(p, q);
  }
  return maker_fits(out, 1);
}

/* A constant beside |s|: a scalar, one for each channel, one for some axes. */
static int constant_beside(maker *m, const maker_shape *s) {
  maker_shape c = {0};
  if (maker_chance(m, 40) && s->rank >= 2) {
    c = (maker_shape){s->rank - 1, {s->dim[1], 1, 1, 1, 1}};
  } else if (maker_chance(m, 70)) {
    int from = (int)maker_pick(m, (uint32_t)s->rank + 1);
    for (int i = from; i < s->rank; i++) c.dim[c.rank++] = maker_chance(m, 60) ? s->dim[i] : 1;
  }
  if (maker_count(&c) > MAKER_CONSTANT) c = (maker_shape){0};
  return maker_floats(m, c, -1, 1);
}

void maker_binary(maker *m, int x) {
  static const char *const ops[] = {"Add", "Add", "Add", "Mul", "Mul", "Sub", "Max", "Min"};
  const char *op = ops[maker_pick(m, OX_COUNT(ops))];
  maker_value v = *maker_use(m, x);
  maker_shape out = v.shape;
  double size = v.size + 1;
  int y = -1, tries = maker_chance(m, 60) ? 8 : 0;
  for (; tries && y < 0; tries--) { /* a branch meets another */
    int k = (int)maker_pick(m, (uint32_t)m->n_values);
    if (k != x && !m->value[k].hidden && meet(&v.shape, &m->value[k].shape, &out)) y = k;
  }
  if (y >= 0) {
    double other = maker_use(m, y)->size;
    size = op[1] == 'u' && op[0] == 'M' ? v.size * other : v.size + other;
  } else {
    out = v.shape;
  }
  char side = y >= 0 ? 'v' : 'w';
  if (size > 16) op = "Max";
  if (y < 0) y = constant_beside(m, &v.shape);
  int z = maker_add(m, out, op[1] == 'a' ? v.size : size);
  if (maker_chance(m, 70))
    maker_put(m, "  v%d = %s (v%d, %c%d)\n", z, op, x, side, y);
  else
    maker_put(m, "  v%d = %s (%c%d, v%d)\n", z, op, side, y, x);
}

void maker_batch_norm(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 2 || v.shape.dim[1] > MAKER_CONSTANT) return;
  maker_shape c = {1, {v.shape.dim[1]}};
  maker_use(m, x);
  int scale = maker_floats(m, c, -1.2, 1.2), shift = maker_floats(m, c, -0.5, 0.5),
      mean = maker_floats(m, c, -0.3, 0.3);
  int variance = maker_floats(m, c, 0.5, 1.5), y = maker_add(m, v.shape, v.size + 0.5);
  maker_put(m, "  v%d = BatchNormalization (v%d, w%d, w%d, w%d, w%d)\n", y, x, scale, shift, mean, variance);
}
