/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph_bytes.c - models of bytes: values that go through them, weights and biases that were them. */
#include <math.h>
#include <stdio.h>

#include "base/macros.h"
#include "support/random_maker.h"

maker_bytes maker_draw_bytes(maker *m, double size) {
  if (m->form.size == size && maker_chance(m, 40)) return m->form; /* nothing is lost on the way */
  bool is_signed = maker_chance(m, 50);
  double step = size * (0.7 + maker_pick(m, 1001) / 1000.0) / 127;
  int zero = maker_chance(m, 50) ? 0 : (int)maker_pick(m, 61) - 30;
  m->form = (maker_bytes){is_signed ? "int8" : "uint8", size, {1, {(float)step}}, is_signed ? zero : 128 + zero};
  if (!is_signed && maker_chance(m, 25)) m->form.zero = 0; /* behind a Relu */
  m->quantum = fmax(m->quantum, step);
  return m->form;
}

/* How far, in steps, and of a value or a scale: more than float32 is off by where sums of some hundred products are
 * made bytes. */
static const double nudge_steps = 2e-4, nudge_scale = 1e-6;

/* v<x> as it is to become bytes of this step: what |name| stands for is set to. */
static void put_nudged(maker *m, int x, int y, double step, char name[16]) {
  int way = maker_nudge(m);
  bool scaled = m->written == RANDOM_NEARER || m->written == RANDOM_FARTHER;
  maker_scales by = {1, {(float)(scaled ? 1 + way * nudge_scale : way * (nudge_steps * step + m->slack))}};
  snprintf(name, 16, way ? "n%d" : "v%d", way ? y : x);
  if (way) maker_put(m, "  n%d = %s (v%d, w%d)\n", y, scaled ? "Mul" : "Add", x, maker_scale(m, &by));
}

void maker_through_bytes(maker *m, int x) {
  if (m->kind != MAKER_BYTES || m->n_values == MAKER_VALUES) return;
  maker_value v = *maker_use(m, x);
  maker_bytes f = maker_draw_bytes(m, v.size);
  int scale = maker_scale(m, &f.scale), zero = maker_integers(m, f.type, (maker_shape){0}, f.zero, f.zero);
  int y = maker_add(m, v.shape, v.size);
  char from[16];
  m->value[y].scale = f.scale.v[0];
  put_nudged(m, x, y, f.scale.v[0], from);
  maker_put(m, "  q%d = QuantizeLinear (%s, w%d, w%d) v%d = DequantizeLinear (q%d, w%d, w%d)\n", y, from, scale, zero,
            y, y, scale, zero);
}

static int names(maker *m) { return m->n_weights++; } /* of a value that stands where a weight does */

int maker_sum_weights(maker *m, maker_shape s, int64_t terms, int axis, maker_scales *out_scales) {
  double most = 1.7 / sqrt((double)terms); /* a variance of 1 / terms */
  out_scales->n = 0;
  if (m->kind != MAKER_BYTES || maker_chance(m, 20)) return maker_floats(m, s, -most, most);
  bool each = s.dim[axis] > 1 && s.dim[axis] <= MAKER_SCALES && maker_chance(m, 50);
  bool is_signed = each || maker_chance(m, 75);
  out_scales->n = each ? (int)s.dim[axis] : 1;
  for (int i = 0; i < out_scales->n; i++) out_scales->v[i] = (float)(most / 127 * (64 + maker_pick(m, 65)) / 128);
  int w = maker_integers(m, is_signed ? "int8" : "uint8", s, is_signed ? -127 : 1, is_signed ? 127 : 255);
  int scale = maker_scale(m, out_scales);
  maker_shape zeros = {each, {out_scales->n}};
  int zero = maker_integers(m, is_signed ? "int8" : "uint8", zeros, is_signed ? 0 : 128, is_signed ? 0 : 128);
  int y = names(m);
  maker_put(m, "  w%d = DequantizeLinear <axis = %d> (w%d, w%d, w%d)\n", y, each ? axis : 1, w, scale, zero);
  return y;
}

void maker_rounds_bias(maker *m, const maker_scales *weights) {
  m->has_ties |= weights->n > 0;
  for (int i = 0; i < weights->n; i++) m->slack = fmax(m->slack, 0.5 * m->quantum * (double)weights->v[i]);
}

int maker_bias(maker *m, int x, const maker_scales *weights, int64_t n) {
  float by = m->value[x].scale;
  if (!(by > 0) || weights->n == 0 || maker_chance(m, 20)) {
    maker_rounds_bias(m, weights);
    return maker_floats(m, (maker_shape){1, {n}}, -0.5, 0.5);
  }
  maker_scales s = *weights;
  float largest = 0;
  for (int i = 0; i < s.n; i++) s.v[i] *= by, largest = fmaxf(largest, s.v[i]);
  int most = (int)fmin(0.5 / largest, 1000000);
  int w = maker_integers(m, "int32", (maker_shape){1, {n}}, -most, most), scale = maker_scale(m, &s);
  int zero = maker_integers(m, "int32", (maker_shape){s.n > 1, {s.n}}, 0, 0), y = names(m);
  maker_put(m, "  w%d = DequantizeLinear <axis = 0> (w%d, w%d, w%d)\n", y, w, scale, zero);
  return y;
}

/* A product as dynamic quantization writes it. */
void maker_dynamic(maker *m, int x) {
  maker_value v = m->value[x];
  int r = v.shape.rank;
  if (m->kind != MAKER_BYTES || r < 2) return;
  int64_t k = v.shape.dim[r - 1], n = MAKER_ONE_OF(m, 1, 3, 8, 17);
  maker_shape out = v.shape;
  out.dim[r - 1] = n;
  if (k * n > MAKER_CONSTANT || !maker_fits(&out, k)) return;
  maker_use(m, x);
  m->quantum = fmax(m->quantum, 3 * v.size / 255);
  maker_scales s = {1, {(float)(1.7 / sqrt((double)k) / 127)}};
  int w = maker_integers(m, "int8", (maker_shape){2, {k, n}}, -127, 127), scale = maker_scale(m, &s);
  int y = maker_add(m, out, v.size);
  char from[16];
  put_nudged(m, x, y, 2 * v.size / 255, from);
  maker_put(m, "  a%d, b%d, c%d = DynamicQuantizeLinear (%s) d%d = MatMulInteger (a%d, w%d, c%d)\n", y, y, y, from, y,
            y, w, y);
  maker_put(m, "  e%d = Cast <to = 1> (d%d) f%d = Mul (b%d, w%d) v%d = Mul (e%d, f%d)\n", y, y, y, y, scale, y, y, y);
  if (maker_chance(m, 50)) {
    int b = maker_floats(m, (maker_shape){1, {n}}, -0.5, 0.5), z = maker_add(m, out, v.size + 0.5);
    maker_use(m, y);
    maker_put(m, "  v%d = Add (v%d, w%d)\n", z, y, b);
  }
}

/* QLinearMatMul, or QLinearConv of 1 x 1 or of 3 x 3. */
void maker_qlinear(maker *m, int x) {
  maker_value v = m->value[x];
  int r = v.shape.rank;
  bool conv = r == 4;
  if (m->kind != MAKER_BYTES || r < 2) return;
  int64_t side = conv ? MAKER_ONE_OF(m, 1, 3) : 1, c = v.shape.dim[conv ? 1 : r - 1], n = MAKER_ONE_OF(m, 1, 3, 8, 17);
  int64_t terms = c * side * side;
  maker_shape out = v.shape, shape = conv ? (maker_shape){4, {n, c, side, side}} : (maker_shape){2, {c, n}};
  out.dim[conv ? 1 : r - 1] = n;
  if (terms * n > MAKER_CONSTANT || !maker_fits(&out, terms)) return;
  maker_use(m, x);
  maker_bytes in = maker_draw_bytes(m, v.size), to = maker_draw_bytes(m, v.size);
  if (in.type[0] != to.type[0]) to = in; /* in and out are of one type */
  maker_scales s = {1, {(float)(1.7 / sqrt((double)terms) / 127 * (1 + nudge_scale * maker_nudge(m)))}};
  int xs = maker_scale(m, &in.scale), xz = maker_integers(m, in.type, (maker_shape){0}, in.zero, in.zero);
  int ys = maker_scale(m, &to.scale), yz = maker_integers(m, to.type, (maker_shape){0}, to.zero, to.zero);
  int w = maker_integers(m, "int8", shape, -127, 127), ws = maker_scale(m, &s);
  int wz = maker_integers(m, "int8", (maker_shape){0}, 0, 0), y = maker_add(m, out, v.size);
  char from[16];
  put_nudged(m, x, y, in.scale.v[0], from);
  maker_put(m, "  a%d = QuantizeLinear (%s, w%d, w%d) b%d = %s", y, from, xs, xz, y,
            conv ? "QLinearConv" : "QLinearMatMul");
  if (conv) maker_put(m, " <pads = [%d, %d, %d, %d]>", (int)side / 2, (int)side / 2, (int)side / 2, (int)side / 2);
  maker_put(m, " (a%d, w%d, w%d, w%d, w%d, w%d, w%d, w%d) v%d = DequantizeLinear (b%d, w%d, w%d)\n", y, xs, xz, w, ws,
            wz, ys, yz, y, y, ys, yz);
  m->value[y].scale = to.scale.v[0];
}
