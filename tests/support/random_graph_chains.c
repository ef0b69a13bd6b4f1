/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph_chains.c - steps of random models: recurrent networks, attention and norms as exporters write
 * them out, shapes that are computed, Einsum, TopK. */
#include <math.h>
#include <stdio.h>

#include "base/macros.h"
#include "support/random_maker.h"

/* The value itself if it has three axes; one of three that it is reshaped to, or -1. */
static int with_three_axes(maker *m, int x) {
  maker_value v = m->value[x];
  int64_t *d = v.shape.dim;
  if (v.shape.rank == 3) return x;
  if (v.shape.rank != 2 && v.shape.rank != 4) return -1;
  v.shape = v.shape.rank == 2 ? (maker_shape){3, {1, d[0], d[1]}} : (maker_shape){3, {d[0] * d[1], d[2], d[3]}};
  maker_use(m, x);
  int shape = maker_ints(m, v.shape.dim, 3), y = maker_add(m, v.shape, v.size);
  maker_put(m, "  v%d = Reshape (v%d, w%d)\n", y, x, shape);
  return y;
}

/* LSTM, GRU or RNN over the first axis of three. */
void maker_recurrent(maker *m, int x) {
  static const struct {
    const char *op;
    int gates;
  } kinds[] = {{"LSTM", 4}, {"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  static const char *const ways[] = {"forward", "reverse", "bidirectional"};
  if ((x = with_three_axes(m, x)) < 0) return;
  maker_value v = m->value[x];
  int kind = MAKER_ONE_OF(m, 0, 1, 2, 3), way = MAKER_ONE_OF(m, 0, 0, 1, 2), gates = kinds[kind].gates;
  int64_t dirs = way == 2 ? 2 : 1, h = MAKER_ONE_OF(m, 1, 3, 8, 16), seq = v.shape.dim[0], batch = v.shape.dim[1],
          in = v.shape.dim[2];
  maker_shape all = {4, {seq, dirs, batch, h}}, last = {3, {dirs, batch, h}}, wx = {3, {dirs, gates * h, in}},
              wh = {3, {dirs, gates * h, h}}, wb = {2, {dirs, 2 * gates * h}};
  if (maker_count(&wx) > 2 * MAKER_CONSTANT || maker_count(&wh) > 2 * MAKER_CONSTANT ||
      !maker_fits(&all, gates * (in + h)))
    return;
  maker_use(m, x);
  int w = maker_floats(m, wx, -1 / sqrt((double)in), 1 / sqrt((double)in));
  int r = maker_floats(m, wh, -1 / sqrt((double)h), 1 / sqrt((double)h));
  int b = maker_chance(m, 70) ? maker_floats(m, wb, -0.5, 0.5) : -1;
  int lengths = maker_chance(m, 25) ? maker_integers(m, "int32", (maker_shape){1, {batch}}, 1, (int)seq) : -1;
  int start = maker_chance(m, 40) && maker_count(&last) <= MAKER_CONSTANT ? maker_floats(m, last, -1, 1) : -1;
  int y = maker_add(m, all, 1), end = maker_chance(m, 50) ? maker_add(m, last, 1) : -1;
  maker_put(m, "  v%d", y);
  if (end >= 0) maker_put(m, ", v%d", end);
  maker_put(m, " = %s <hidden_size = %d, direction = \"%s\"", kinds[kind].op, (int)h, ways[way]);
  if (kinds[kind].gates == 3) maker_put(m, ", linear_before_reset = %d", (int)maker_pick(m, 2));
  if (maker_chance(m, 15)) maker_put(m, ", clip = 1.5");
  maker_put(m, "> (v%d, w%d, w%d", x, w, r);
  if (b >= 0) maker_put(m, ", w%d", b);
  if (b < 0 && (lengths >= 0 || start >= 0)) maker_put(m, ", ");
  if (lengths >= 0) maker_put(m, ", w%d", lengths);
  if (lengths < 0 && start >= 0) maker_put(m, ", ");
  if (start >= 0) maker_put(m, ", w%d", start);
  maker_put(m, ")\n");
}

/* A product with weights, and heads of it: [batch, heads, steps, of a head], or turned. */
static void put_heads(maker *m, int x, int id, const char *name, maker_shape w, int to, const char *perm) {
  maker_scales scales;
  int k = maker_sum_weights(m, w, w.dim[0], 1, &scales), bias = -1;
  if (maker_chance(m, 50)) {
    maker_rounds_bias(m, &scales);
    bias = maker_floats(m, (maker_shape){1, {w.dim[1]}}, -0.5, 0.5);
  }
  maker_put(m, "  %sm%d = MatMul (v%d, w%d) ", name, id, x, k);
  if (bias >= 0) maker_put(m, "%sb%d = Add (%sm%d, w%d) ", name, id, name, id, bias);
  maker_put(m, "%sr%d = Reshape (%s%c%d, w%d) %st%d = Transpose <perm = [%s]> (%sr%d)\n", name, id, name,
            bias >= 0 ? 'b' : 'm', id, to, name, id, perm, name, id);
}

/* Attention over three axes, as it is exported. */
void maker_attention(maker *m, int x) {
  if ((x = with_three_axes(m, x)) < 0) return;
  maker_value v = m->value[x];
  int64_t heads = MAKER_ONE_OF(m, 1, 2, 3), of = MAKER_ONE_OF(m, 4, 8, 5), in = v.shape.dim[2], steps = v.shape.dim[1];
  maker_shape w = {2, {in, heads * of}}, out = {3, {v.shape.dim[0], steps, heads * of}}, mask = {2, {steps, steps}};
  if (maker_count(&w) > MAKER_CONSTANT || !maker_fits(&out, in + steps) || maker_count(&mask) > MAKER_CONSTANT) return;
  maker_use(m, x);
  int to = maker_ints(m, (const int64_t[]){0, 0, heads, of}, 4),
      back = maker_ints(m, (const int64_t[]){0, 0, heads * of}, 3);
  int by = maker_float(m, sqrt((double)of)), add = maker_chance(m, 40) ? maker_floats(m, mask, -2, 0) : -1;
  int id = m->n_bodies++;
  put_heads(m, x, id, "zq", w, to, "0, 2, 1, 3");
  put_heads(m, x, id, "zk", w, to, "0, 2, 3, 1");
  put_heads(m, x, id, "zu", w, to, "0, 2, 1, 3");
  maker_put(m, "  zs%d = MatMul (zqt%d, zkt%d) zd%d = Div (zs%d, w%d) ", id, id, id, id, id, by);
  if (add >= 0) maker_put(m, "za%d = Add (zd%d, w%d) ", id, id, add);
  maker_put(
      m,
      "zp%d = Softmax <axis = -1> (z%c%d) zo%d = MatMul (zp%d, zut%d) zx%d = Transpose <perm = [0, 2, 1, 3]> (zo%d)\n",
      id, add >= 0 ? 'a' : 'd', id, id, id, id, id, id);
  maker_put(m, "  v%d = Reshape (zx%d, w%d)\n", maker_add(m, out, v.size), id, back);
}

/* Attention with a cache: what is in front of keys and values, which have masks made of them or rows that choose. */
void maker_decoder(maker *m, int x) {
  if ((x = with_three_axes(m, x)) < 0) return;
  maker_value v = m->value[x];
  int64_t heads = MAKER_ONE_OF(m, 1, 2, 3), of = MAKER_ONE_OF(m, 4, 8, 5), in = v.shape.dim[2], steps = v.shape.dim[1];
  maker_shape w = {2, {in, heads * of}}, out = {3, {v.shape.dim[0], steps, heads * of}}, mask = {2, {steps, 2 * steps}};
  if (maker_count(&w) > MAKER_CONSTANT || !maker_fits(&out, in + 2 * steps) || maker_count(&mask) > MAKER_CONSTANT)
    return;
  maker_use(m, x);
  int to = maker_ints(m, (const int64_t[]){0, 0, heads, of}, 4),
      back = maker_ints(m, (const int64_t[]){0, 0, heads * of}, 3), by = maker_float(m, sqrt((double)of));
  int id = m->n_bodies++;
  static const char *const parts[] = {"zq", "zk", "zu", "zg", "zh"}; /* zg, zh: the past */
  for (int i = 0; i < 5; i++) put_heads(m, x, id, parts[i], w, to, "0, 2, 1, 3");
  maker_put(m, "  zc%d = Concat <axis = 2> (zgt%d, zkt%d) ze%d = Concat <axis = -2> (zht%d, zut%d) ", id, id, id, id,
            id, id);
  maker_put(m, "zf%d = Transpose <perm = [0, 1, 3, 2]> (zc%d) zs%d = MatMul (zqt%d, zf%d) zd%d = Div (zs%d, w%d) ", id,
            id, id, id, id, id, id, by);
  char last = 'd';
  if (m->kind == MAKER_FLOATS && maker_chance(m, 40)) {
    int cond = maker_integers(m, "bool", mask, 0, 1), low = maker_float(m, -3e38);
    maker_put(m, "zw%d = Where (w%d, zd%d, w%d) ", id, cond, id, low), last = 'w';
  }
  if (maker_chance(m, 50)) {
    int row = maker_floats(m, (maker_shape){2, {of, 1}}, -0.5, 0.5);
    maker_put(m, "zm%d = MatMul (z%c%d, w%d) zn%d = Transpose <perm = [0, 1, 3, 2]> (zm%d) za%d = Add (z%c%d, zn%d) ",
              id, maker_chance(m, 50) ? 'c' : 'e', id, row, id, id, id, last, id, id);
    last = 'a';
  }
  maker_put(m, "zp%d = Softmax <axis = -1> (z%c%d) zo%d = MatMul (zp%d, ze%d) ", id, last, id, id, id, id);
  maker_put(m, "zx%d = Transpose <perm = [0, 2, 1, 3]> (zo%d)\n", id, id);
  maker_put(m, "  v%d = Reshape (zx%d, w%d)\n", maker_add(m, out, v.size), id, back);
}

/* LayerNormalization or RMSNormalization, written out. */
void maker_norm_written_out(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 2 || v.shape.dim[v.shape.rank - 1] > MAKER_CONSTANT) return;
  int64_t axis = -1;
  bool centred = maker_chance(m, 50);
  maker_use(m, x);
  int id = m->n_bodies++, two = maker_float(m, 2), epsilon = maker_float(m, m->kind == MAKER_FLOATS ? 0.01 : 1);
  int scale = maker_floats(m, (maker_shape){1, {v.shape.dim[v.shape.rank - 1]}}, 0.5, 1.5);
  int w = m->opset >= 18 ? maker_ints(m, &axis, 1) : -1, y = maker_add(m, v.shape, 3);
  char from[16] = "v", attribute[32] = "", input[16] = "";
  int n = x;
  snprintf(w < 0 ? attribute : input, w < 0 ? sizeof attribute : sizeof input, w < 0 ? "<axes = [-1]> " : ", w%d", w);
  if (centred) {
    maker_put(m, "  zm%d = ReduceMean %s(v%d%s) zc%d = Sub (v%d, zm%d)\n", id, attribute, x, input, id, x, id);
    snprintf(from, sizeof from, "zc"), n = id;
  }
  if (maker_chance(m, 50))
    maker_put(m, "  zq%d = Pow (%s%d, w%d)", id, from, n, two);
  else
    maker_put(m, "  zq%d = Mul (%s%d, %s%d)", id, from, n, from, n);
  maker_put(m,
            " ze%d = ReduceMean %s(zq%d%s) zf%d = Add (ze%d, w%d) zr%d = Sqrt (zf%d) zd%d = Div (%s%d, zr%d) v%d = Mul "
            "(zd%d, w%d)\n",
            id, attribute, id, input, id, id, epsilon, id, id, id, from, n, id, y, id, scale);
}

/* What a value's own shape says: a Reshape that keeps its first axis, an Expand to it, a Slice to one of its sizes. */
void maker_shape_of(maker *m, int x) {
  maker_value v = m->value[x];
  int kind = MAKER_ONE_OF(m, 0, 1, 2), r = v.shape.rank, id = m->n_bodies++;
  int64_t zero = 0, one = 1, minus = -1;
  if (r < 2) return;
  maker_use(m, x);
  maker_put(m, "  zs%d = Shape (v%d)\n", id, x);
  if (kind == 0) {
    maker_shape flat = {2, {v.shape.dim[0], maker_count(&v.shape) / v.shape.dim[0]}};
    int at = maker_ints_of(m, (maker_shape){0}, &zero), axes = maker_ints(m, &zero, 1), rest = maker_ints(m, &minus, 1);
    maker_put(
        m, "  zg%d = Gather <axis = 0> (zs%d, w%d) zu%d = Unsqueeze (zg%d, w%d) zc%d = Concat <axis = 0> (zu%d, w%d)\n",
        id, id, at, id, id, axes, id, id, rest);
    maker_put(m, "  v%d = Reshape (v%d, zc%d)\n", maker_add(m, flat, v.size), x, id);
  } else if (kind == 1) {
    int w = maker_floats(m, (maker_shape){1, {1}}, -1, 1), y = maker_add(m, v.shape, v.size + 1);
    maker_put(m, "  ze%d = Expand (w%d, zs%d) v%d = Add (v%d, ze%d)\n", id, w, id, y, x, id);
  } else {
    maker_shape cut = v.shape;
    int from = maker_ints(m, &one, 1), axes = maker_ints(m, (const int64_t[]){r - 1}, 1),
        first = maker_ints(m, &zero, 1);
    int last = maker_ints(m, (const int64_t[]){r - 1}, 1), end = maker_ints(m, (const int64_t[]){r}, 1);
    if (cut.dim[r - 1] > 1) cut.dim[r - 1]--;
    int begin = cut.dim[r - 1] < v.shape.dim[r - 1] ? from : first;
    maker_put(m, "  zt%d = Slice (zs%d, w%d, w%d) v%d = Slice (v%d, w%d, zt%d, w%d)\n", id, id, last, end,
              maker_add(m, cut, v.size), x, begin, id, axes);
  }
}

/* The last axis with weights, or a value with itself. */
void maker_einsum(maker *m, int x) {
  maker_value v = m->value[x];
  int r = v.shape.rank;
  if (r < 2) return;
  int64_t k = v.shape.dim[r - 1], n = MAKER_ONE_OF(m, 1, 3, 8, 17);
  maker_shape out = v.shape;
  bool itself = maker_chance(m, 30);
  out.dim[r - 1] = itself ? v.shape.dim[r - 2] : n;
  if (!maker_fits(&out, k) || k * n > MAKER_CONSTANT || (itself && v.size * v.size * (double)k > 16)) return;
  maker_use(m, x);
  if (itself) {
    maker_put(m, "  v%d = Einsum <equation = \"...ij,...kj->...ik\"> (v%d, v%d)\n",
              maker_add(m, out, v.size * v.size * (double)k), x, x);
    return;
  }
  double most = 1.7 / sqrt((double)k);
  bool turned = maker_chance(m, 50);
  int w = maker_floats(m, (maker_shape){2, {turned ? n : k, turned ? k : n}}, -most, most);
  maker_put(m, "  v%d = Einsum <equation = \"...j,%s->...k\"> (v%d, w%d)\n", maker_add(m, out, v.size),
            turned ? "kj" : "jk", x, w);
}

/* The values, not where they were: of two that are nearly equal either may come first. */
void maker_top(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 1) return;
  int axis = (int)maker_pick(m, (uint32_t)v.shape.rank), id = m->n_bodies++;
  int64_t k = 1 + (int64_t)maker_pick(m, (uint32_t)v.shape.dim[axis]);
  maker_use(m, x);
  int w = maker_ints(m, &k, 1);
  v.shape.dim[axis] = k;
  maker_put(m, "  v%d, zi%d = TopK <axis = %d, largest = %d> (v%d, w%d)\n", maker_add(m, v.shape, v.size), id, axis,
            (int)maker_pick(m, 2), x, w);
}
