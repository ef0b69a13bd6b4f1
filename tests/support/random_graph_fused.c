/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph_fused.c - steps of random models: functions that are one operator in newer standards or in
 * com.microsoft, and that domain's operators of bytes. */
#include <math.h>

#include "base/macros.h"
#include "support/random_maker.h"

/* Gelu and its like, with a bias or without. */
static void put_gelu(maker *m, int x, maker_shape row) {
  int kind = MAKER_ONE_OF(m, 0, 1, 2, 3, 4), w = kind < 2 ? maker_floats(m, row, -0.5, 0.5) : -1;
  int y = maker_add(m, m->value[x].shape, m->value[x].size + 0.5);
  if (kind == 0) maker_put(m, "  v%d = com.microsoft.BiasGelu (v%d, w%d)\n", y, x, w);
  if (kind == 1) maker_put(m, "  v%d = com.microsoft.FastGelu (v%d, w%d)\n", y, x, w);
  if (kind == 2) maker_put(m, "  v%d = com.microsoft.FastGelu (v%d)\n", y, x);
  if (kind == 3) maker_put(m, "  v%d = com.microsoft.QuickGelu <alpha = 1.702> (v%d)\n", y, x);
  if (kind == 4 && m->opset >= 20)
    maker_put(m, "  v%d = Gelu <approximate = \"%s\"> (v%d)\n", y, maker_chance(m, 50) ? "tanh" : "none", x);
  else if (kind == 4)
    maker_put(m, "  v%d = com.microsoft.Gelu (v%d)\n", y, x);
}

static void put_norm(maker *m, int x, maker_shape row) {
  maker_value v = m->value[x];
  int kind = MAKER_ONE_OF(m, 0, 1, 2), scale = maker_floats(m, row, 0.5, 1.5), bias = maker_floats(m, row, -0.5, 0.5);
  double epsilon = m->kind == MAKER_FLOATS ? 0.01 : 1;
  if (kind == 0 && v.shape.rank == 3) {
    maker_put(m, "  v%d = com.microsoft.SkipLayerNormalization <epsilon = %.2f> (v%d, v%d, w%d, w%d)\n",
              maker_add(m, v.shape, 3), epsilon, x, x, scale, bias);
  } else if (kind == 1 && v.shape.rank >= 3 && m->opset >= 21) {
    int64_t c = v.shape.dim[1], groups = c % 2 ? c : maker_chance(m, 50) ? 2 : 1;
    maker_shape channels = {1, {c}};
    if (c > MAKER_CONSTANT) return;
    int each = maker_floats(m, channels, 0.5, 1.5), add = maker_floats(m, channels, -0.5, 0.5);
    maker_put(m, "  v%d = GroupNormalization <epsilon = %.2f, num_groups = %d> (v%d, w%d, w%d)\n",
              maker_add(m, v.shape, 3), epsilon, (int)groups, x, each, add);
  } else if (m->opset >= 23) {
    maker_put(m, "  v%d = RMSNormalization <epsilon = %.2f, axis = -1> (v%d, w%d)\n", maker_add(m, v.shape, 3), epsilon,
              x, scale);
  }
}

/* Attention of a value to itself: four axes, or three whose last one is the heads. */
static void put_attention(maker *m, int x) {
  maker_value v = m->value[x];
  int r = v.shape.rank, heads = MAKER_ONE_OF(m, 1, 2), causal = (int)maker_pick(m, 2);
  int64_t of = v.shape.dim[r - 1] / (r == 3 ? heads : 1), steps = v.shape.dim[r - 2];
  if (r < 3 || r > 4 || (r == 3 && v.shape.dim[2] % heads) || !maker_fits(&v.shape, steps) ||
      v.size * v.size * sqrt((double)of) > 16)
    return;
  if (m->opset >= 23 && maker_chance(m, 70)) {
    int y = maker_add(m, v.shape, v.size);
    maker_put(m, "  v%d = Attention <is_causal = %d", y, causal);
    if (r == 3) maker_put(m, ", q_num_heads = %d, kv_num_heads = %d", heads, heads);
    maker_put(m, "> (v%d, v%d, v%d)\n", x, x, x);
  } else if (r == 3) {
    maker_put(m, "  v%d = com.microsoft.MultiHeadAttention <num_heads = %d, unidirectional = %d> (v%d, v%d, v%d)\n",
              maker_add(m, v.shape, v.size), heads, causal, x, x, x);
  }
}

static void put_product(maker *m, int x) {
  maker_value v = m->value[x];
  int r = v.shape.rank, turned = maker_chance(m, 50);
  int64_t k = v.shape.dim[r - 1], n = MAKER_ONE_OF(m, 1, 3, 8, 17), block = 16;
  double most = 1.7 / sqrt((double)k);
  maker_shape out = v.shape, w = {2, {turned ? n : k, turned ? k : n}};
  out.dim[r - 1] = n;
  if (k * n > MAKER_CONSTANT || !maker_fits(&out, k)) return;
  if (m->kind == MAKER_BYTES || maker_chance(m, 50)) {
    int f = maker_floats(m, w, -most, most);
    maker_put(m, "  v%d = com.microsoft.FusedMatMul <transB = %d, alpha = 0.75> (v%d, w%d)\n",
              maker_add(m, out, v.size), turned, x, f);
    return;
  }
  int64_t blocks = (k + block - 1) / block; /* four bits each, 8 is 0 */
  int q = maker_integers(m, "uint8", (maker_shape){3, {n, blocks, block / 2}}, 0, 255);
  int scale = maker_floats(m, (maker_shape){2, {n, blocks}}, most / 16, most / 8);
  maker_put(m, "  v%d = com.microsoft.MatMulNBits <K = %d, N = %d, bits = 4, block_size = %d> (v%d, w%d, w%d)\n",
            maker_add(m, out, v.size), (int)k, (int)n, (int)block, x, q, scale);
}

void maker_fused(maker *m, int x) {
  const maker_value *v = maker_use(m, x);
  int r = v->shape.rank;
  maker_shape row = {1, {r ? v->shape.dim[r - 1] : 1}};
  if (r < 2 || row.dim[0] > MAKER_CONSTANT) return;
  switch (maker_pick(m, 4)) {
    case 0:
      put_gelu(m, x, row);
      return;
    case 1:
      put_norm(m, x, row);
      return;
    case 2:
      put_attention(m, x);
      return;
    default:
      put_product(m, x);
  }
}

/* Those of com.microsoft that have bytes on both sides. What they divide may lie in the middle of two. */
void maker_qlinear_fused(maker *m, int x) {
  maker_value v = m->value[x];
  if (m->kind != MAKER_BYTES || v.shape.rank < 1) return;
  int kind = MAKER_ONE_OF(m, 0, 1, 2, 3, 4, 5), id = m->n_bodies++;
  maker_bytes in = maker_draw_bytes(m, v.size), to = maker_draw_bytes(m, kind == 0 ? 2 * v.size : v.size);
  if (in.type[0] != to.type[0]) to = in;
  if ((kind == 4 && v.shape.rank != 4) || (kind == 1 && v.size > 4)) return;
  maker_use(m, x);
  m->has_ties = true;
  int xs = maker_scale(m, &in.scale), xz = maker_integers(m, in.type, (maker_shape){0}, in.zero, in.zero);
  int ys = maker_scale(m, &to.scale), yz = maker_integers(m, to.type, (maker_shape){0}, to.zero, to.zero);
  maker_shape out = v.shape;
  if (kind == 4) out.dim[2] = out.dim[3] = 1;
  if (kind == 5) out.dim[0] *= 2;
  if (!maker_fits(&out, 1)) return;
  int y = maker_add(m, out, v.size);
  maker_put(m, "  zq%d = QuantizeLinear (v%d, w%d, w%d) zy%d = com.microsoft.", id, x, xs, xz, id);
  if (kind < 2)
    maker_put(m, "QLinear%s (zq%d, w%d, w%d, zq%d, w%d, w%d, w%d, w%d)", kind ? "Mul" : "Add", id, xs, xz, id, xs, xz,
              ys, yz);
  if (kind == 2) maker_put(m, "QLinearSigmoid (zq%d, w%d, w%d, w%d, w%d)", id, xs, xz, ys, yz);
  if (kind == 3) maker_put(m, "QLinearLeakyRelu <alpha = 0.25> (zq%d, w%d, w%d, w%d, w%d)", id, xs, xz, ys, yz);
  if (kind == 4) maker_put(m, "QLinearGlobalAveragePool (zq%d, w%d, w%d, w%d, w%d)", id, xs, xz, ys, yz);
  if (kind == 5)
    maker_put(m, "QLinearConcat <axis = 0> (w%d, w%d, zq%d, w%d, w%d, zq%d, w%d, w%d)", ys, yz, id, xs, xz, id, xs, xz);
  maker_put(m, " v%d = DequantizeLinear (zy%d, w%d, w%d)\n", y, id, ys, yz);
  m->value[y].scale = to.scale.v[0];
}
