/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph_sums.c - steps of random models: products, and what works along axes. */
#include "base/macros.h"
#include "support/random_maker.h"

/* x times itself, turned. */
static void square(maker *m, int x) {
  maker_value v = m->value[x];
  int64_t perm[MAKER_RANK];
  int r = v.shape.rank;
  maker_shape turned = v.shape, out = v.shape;
  turned.dim[r - 1] = v.shape.dim[r - 2], turned.dim[r - 2] = v.shape.dim[r - 1], out.dim[r - 1] = v.shape.dim[r - 2];
  double size = v.size * v.size * (double)v.shape.dim[r - 1];
  if (size > 16 || !maker_fits(&out, v.shape.dim[r - 1])) return;
  maker_use(m, x);
  int t = maker_add(m, turned, v.size);
  int y = maker_add(m, out, size);
  for (int i = 0; i < r; i++) perm[i] = i;
  perm[r - 1] = r - 2, perm[r - 2] = r - 1;
  maker_put(m, "  v%d = Transpose <", t), maker_put_list(m, "perm", perm, r), maker_put(m, "> (v%d)\n", x);
  maker_put(m, "  v%d = MatMul (v%d, v%d)\n", y, x, t);
  maker_use(m, t);
}

void maker_matmul(maker *m, int x) {
  maker_value v = m->value[x];
  int r = v.shape.rank;
  if (r < 1) return;
  if (r >= 2 && maker_chance(m, 25)) {
    square(m, x);
    return;
  }
  int64_t k = v.shape.dim[r - 1], n = MAKER_ONE_OF(m, 1, 3, 8, 17, 33);
  maker_shape out = v.shape;
  out.dim[r - 1] = n;
  if (k * n > MAKER_CONSTANT || !maker_fits(&out, k)) return;
  maker_use(m, x);
  maker_scales scales;
  int w = maker_sum_weights(m, (maker_shape){2, {k, n}}, k, 1, &scales);
  maker_put(m, "  v%d = MatMul (v%d, w%d)\n", maker_add(m, out, v.size), x, w);
  if (maker_chance(m, 50)) { /* a bias */
    maker_rounds_bias(m, &scales);
    int b = maker_floats(m, (maker_shape){1, {n}}, -0.5, 0.5), y = maker_add(m, out, v.size + 0.5);
    maker_put(m, "  v%d = Add (v%d, w%d)\n", y, y - 1, b);
    maker_use(m, y - 1);
  }
  if (maker_chance(m, 30)) maker_activation(m, m->n_values - 1);
}

void maker_gemm(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank != 2) return;
  bool turn_a = maker_chance(m, 25), turn_b = maker_chance(m, 50);
  int64_t rows = v.shape.dim[turn_a], k = v.shape.dim[!turn_a], n = MAKER_ONE_OF(m, 1, 3, 8, 17, 33);
  maker_shape out = {2, {rows, n}}, b = {2, {turn_b ? n : k, turn_b ? k : n}};
  maker_shape biases[] = {{1, {n}}, {2, {1, n}}, {1, {1}}, {2, {rows, 1}}, {0}};
  if (k * n > MAKER_CONSTANT || !maker_fits(&out, k)) return;
  maker_use(m, x);
  maker_scales scales;
  int w = maker_sum_weights(m, b, k, !turn_b, &scales), c = -1;
  if (maker_chance(m, 70)) {
    bool usual = maker_chance(m, 50);
    if (!usual) maker_rounds_bias(m, &scales);
    c = usual ? maker_bias(m, x, &scales, n) : maker_floats(m, biases[maker_pick(m, OX_COUNT(biases))], -0.5, 0.5);
  }
  int y = maker_add(m, out, v.size + 0.5);
  maker_put(m, "  v%d = Gemm <transA = %d, transB = %d, alpha = %.2f, beta = %.2f> (v%d, w%d", y, turn_a, turn_b,
            MAKER_ONE_OF(m, 100, 100, 50) / 100.0, MAKER_ONE_OF(m, 100, 100, 25) / 100.0, x, w);
  if (c >= 0) maker_put(m, ", w%d", c);
  maker_put(m, ")\n");
  if (maker_chance(m, 40)) maker_activation(m, y);
}

void maker_softmax(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 1) return;
  maker_use(m, x);
  int axis = (int)maker_pick(m, 2 * (uint32_t)v.shape.rank) - v.shape.rank;
  bool logarithm = maker_chance(m, 20);
  int y = maker_add(m, v.shape, logarithm ? v.size + 4 : 1);
  maker_put(m, "  v%d = %s <axis = %d> (v%d)\n", y, logarithm ? "LogSoftmax" : "Softmax", axis, x);
}

/* An epsilon that keeps the roundings of nearly equal elements small, also those to halves and bytes. */
static double epsilon_of(const maker *m) { return m->kind == MAKER_BYTES ? 1 : m->kind == MAKER_HALVES ? 0.1 : 0.01; }

void maker_layer_norm(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 1 || v.shape.dim[v.shape.rank - 1] > MAKER_CONSTANT) return;
  maker_use(m, x);
  maker_shape s = {1, {v.shape.dim[v.shape.rank - 1]}};
  int scale = maker_floats(m, s, 0.5, 1.5), bias = maker_floats(m, s, -0.5, 0.5), y = maker_add(m, v.shape, 3);
  maker_put(m, "  v%d = LayerNormalization <axis = -1, epsilon = %.2f> (v%d, w%d, w%d)\n", y, epsilon_of(m), x, scale,
            bias);
}

void maker_reduce(maker *m, int x) {
  static const char *const ops[] = {"ReduceMean", "ReduceMean", "ReduceSum",       "ReduceMax",
                                    "ReduceMin",  "ReduceL2",   "ReduceLogSumExp", "ReduceL1"};
  maker_value v = m->value[x];
  const char *op = ops[maker_pick(m, OX_COUNT(ops))];
  bool keep = maker_chance(m, 50), sum = op[6] == 'S' || op[6] == 'L';
  maker_shape out = {0};
  int64_t axes[MAKER_RANK];
  int n = 0;
  for (int i = 0; i < v.shape.rank; i++) {
    bool gone = maker_chance(m, 45);
    if (gone) axes[n++] = maker_chance(m, 30) ? i - v.shape.rank : i;
    if (gone && sum) v.size *= (double)v.shape.dim[i];
    if (!gone || keep) out.dim[out.rank++] = gone ? 1 : v.shape.dim[i];
  }
  if (!n || v.size > 32) return;
  maker_use(m, x);
  m->has_ties |= op[7] == 'e'; /* ReduceMean */
  bool as_input = m->opset >= 18 || op[6] == 'S';
  int w = as_input ? maker_ints(m, axes, n) : -1, y = maker_add(m, out, v.size);
  maker_put(m, "  v%d = %s <keepdims = %d", y, op, keep);
  if (!as_input) maker_put(m, ", "), maker_put_list(m, "axes", axes, n);
  maker_put(m, "> (v%d", x);
  if (as_input) maker_put(m, ", w%d", w);
  maker_put(m, ")\n");
}

/* Means over images, or over neighbouring channels. */
void maker_norm(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 3 || v.shape.dim[1] > MAKER_CONSTANT) return;
  maker_use(m, x);
  maker_shape c = {1, {v.shape.dim[1]}};
  if (maker_chance(m, 40)) {
    int size = MAKER_ONE_OF(m, 1, 3, 5), y = maker_add(m, v.shape, v.size);
    maker_put(m, "  v%d = LRN <size = %d, alpha = 0.3, beta = 0.6> (v%d)\n", y, size, x);
    return;
  }
  int scale = maker_floats(m, c, 0.5, 1.5), shift = maker_floats(m, c, -0.5, 0.5), y = maker_add(m, v.shape, 3);
  maker_put(m, "  v%d = InstanceNormalization <epsilon = %.2f> (v%d, w%d, w%d)\n", y, epsilon_of(m), x, scale, shift);
}

void maker_cumsum(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 1) return;
  int axis = (int)maker_pick(m, (uint32_t)v.shape.rank);
  double size = v.size * (double)v.shape.dim[axis];
  if (size > 16) return;
  maker_use(m, x);
  int w = maker_integers(m, "int32", (maker_shape){0}, axis, axis), exclusive = (int)maker_pick(m, 2),
      reverse = (int)maker_pick(m, 2);
  maker_put(m, "  v%d = CumSum <exclusive = %d, reverse = %d> (v%d, w%d)\n", maker_add(m, v.shape, size), exclusive,
            reverse, x, w);
}
