/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph_moves.c - steps of random models: what only moves elements. */
#include "base/macros.h"
#include "support/random_maker.h"

static bool side_by_side(const maker_shape *x, const maker_shape *y, int axis) {
  if (x->rank != y->rank) return false;
  for (int i = 0; i < x->rank; i++)
    if (i != axis && x->dim[i] != y->dim[i]) return false;
  return true;
}

void maker_concat(maker *m, int x) {
  maker_value v = m->value[x];
  int in[3] = {x}, n = 1;
  if (v.shape.rank < 1) return;
  int axis = (int)maker_pick(m, (uint32_t)v.shape.rank);
  for (int tries = 0; tries < 12 && n < 3; tries++) {
    int k = (int)maker_pick(m, (uint32_t)m->n_values);
    if (m->value[k].hidden || !side_by_side(&v.shape, &m->value[k].shape, axis)) continue;
    in[n++] = k, v.shape.dim[axis] += m->value[k].shape.dim[axis], v.size = OX_MAX(v.size, m->value[k].size);
  }
  if (!maker_fits(&v.shape, 1)) return;
  maker_put(m, "  v%d = Concat <axis = %d> (", maker_add(m, v.shape, v.size), axis);
  for (int i = 0; i < n; i++) {
    maker_use(m, in[i]);
    maker_put(m, "%sv%d", i ? ", " : "", in[i]);
  }
  maker_put(m, ")\n");
}

void maker_split(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 1) return;
  int axis = (int)maker_pick(m, (uint32_t)v.shape.rank);
  int64_t whole = v.shape.dim[axis];
  if (whole < 2) return;
  int64_t parts[2] = {1 + (int64_t)maker_pick(m, (uint32_t)whole - 1), 0};
  if (whole % 2 == 0 && maker_chance(m, 50)) parts[0] = whole / 2;
  parts[1] = whole - parts[0];
  maker_use(m, x);
  int sizes = maker_ints(m, parts, 2), y[2];
  for (int i = 0; i < 2; i++) {
    v.shape.dim[axis] = parts[i];
    y[i] = maker_add(m, v.shape, v.size);
  }
  maker_put(m, "  v%d, v%d = Split <axis = %d> (v%d, w%d)\n", y[0], y[1], axis, x, sizes);
}

void maker_slice(maker *m, int x) {
  maker_value v = m->value[x];
  int64_t first[MAKER_RANK], end[MAKER_RANK], axes[MAKER_RANK], step[MAKER_RANK];
  int n = 0;
  for (int i = 0; i < v.shape.rank; i++) {
    int64_t d = v.shape.dim[i];
    if (maker_chance(m, 50)) continue;
    axes[n] = maker_chance(m, 30) ? i - v.shape.rank : i, step[n] = MAKER_ONE_OF(m, 1, 1, 1, 2, 3);
    first[n] = (int64_t)maker_pick(m, (uint32_t)OX_MIN(d, 3)), end[n] = d - (int64_t)maker_pick(m, 3);
    if (end[n] <= first[n]) end[n] = d;
    v.shape.dim[i] = (end[n] - first[n] + step[n] - 1) / step[n];
    if (maker_chance(m, 25)) { /* backwards, from one of the last to the start */
      first[n] = -1 - (int64_t)maker_pick(m, (uint32_t)OX_MIN(d, 2)), end[n] = -100000,
      step[n] = MAKER_ONE_OF(m, -1, -2);
      v.shape.dim[i] = (d + first[n]) / -step[n] + 1;
    }
    n++;
  }
  if (!n) return;
  maker_use(m, x);
  int w = maker_ints(m, first, n);
  maker_ints(m, end, n), maker_ints(m, axes, n), maker_ints(m, step, n);
  maker_put(m, "  v%d = Slice (v%d, w%d, w%d, w%d, w%d)\n", maker_add(m, v.shape, v.size), x, w, w + 1, w + 2, w + 3);
}

void maker_pad(maker *m, int x) {
  maker_value v = m->value[x];
  const char *mode = maker_chance(m, 75) ? "constant" : maker_chance(m, 50) ? "edge" : "reflect";
  int64_t pads[2 * MAKER_RANK];
  if (v.shape.rank < 1) return;
  bool image = v.shape.rank >= 3 && maker_chance(m, 60); /* what a convolution could do itself */
  for (int i = 0; i < v.shape.rank; i++)
    for (int e = 0; e < 2; e++) {
      int64_t p = image && i < 2 ? 0 : MAKER_ONE_OF(m, 0, 0, 1, 2);
      pads[e * v.shape.rank + i] = mode[0] == 'r' ? OX_MIN(p, v.shape.dim[i] - 1) : p;
    }
  for (int i = 0; i < v.shape.rank; i++) v.shape.dim[i] += pads[i] + pads[v.shape.rank + i];
  if (!maker_fits(&v.shape, 1)) return;
  maker_use(m, x);
  int p = maker_ints(m, pads, 2 * v.shape.rank);
  int fill = maker_float(m, maker_chance(m, 60) ? 0 : MAKER_ONE_OF(m, -1, 1) * 0.75);
  int y = maker_add(m, v.shape, v.size + 0.75);
  if (mode[0] == 'c' && maker_chance(m, 60))
    maker_put(m, "  v%d = Pad <mode = \"constant\"> (v%d, w%d, w%d)\n", y, x, p, fill);
  else
    maker_put(m, "  v%d = Pad <mode = \"%s\"> (v%d, w%d)\n", y, mode, x, p);
  if (image) maker_conv(m, y);
}

void maker_transpose(maker *m, int x) {
  maker_value v = *maker_use(m, x);
  int64_t perm[MAKER_RANK];
  maker_shape out = v.shape;
  for (int i = 0; i < out.rank; i++) perm[i] = i;
  for (int i = out.rank - 1; i > 0; i--) {
    int k = (int)maker_pick(m, (uint32_t)i + 1);
    int64_t t = perm[i];
    perm[i] = perm[k], perm[k] = t;
  }
  for (int i = 0; i < out.rank; i++) out.dim[i] = v.shape.dim[perm[i]];
  int y = maker_add(m, out, v.size);
  maker_put(m, "  v%d = Transpose ", y);
  if (out.rank) maker_put(m, "<"), maker_put_list(m, "perm", perm, out.rank), maker_put(m, "> ");
  maker_put(m, "(v%d)\n", x);
}

/* Two axes become one, an axis of 1 comes or goes, all become one or two. */
void maker_reshape(maker *m, int x) {
  maker_value v = *maker_use(m, x);
  maker_shape s = {0};
  int kind = MAKER_ONE_OF(m, 0, 1, 2, 3), rank = v.shape.rank;
  if (kind == 0 && rank >= 2) {
    int at = (int)maker_pick(m, (uint32_t)rank - 1);
    for (int i = 0; i < rank; i++)
      if (i == at + 1)
        s.dim[s.rank - 1] *= v.shape.dim[i];
      else
        s.dim[s.rank++] = v.shape.dim[i];
  } else if (kind == 1 && rank < 5) {
    int at = (int)maker_pick(m, (uint32_t)rank + 1);
    for (int i = 0; i <= rank; i++) s.dim[s.rank++] = i == at ? 1 : v.shape.dim[i - (i > at)];
  } else if (kind == 2 && rank >= 1) {
    s = (maker_shape){2, {v.shape.dim[0], maker_count(&v.shape) / v.shape.dim[0]}};
  } else {
    s = (maker_shape){1, {maker_count(&v.shape)}};
  }
  int64_t to[MAKER_RANK];
  for (int i = 0; i < s.rank; i++) to[i] = s.dim[i];
  if (maker_chance(m, 40)) to[maker_pick(m, (uint32_t)s.rank)] = -1;
  int shape = maker_ints(m, to, s.rank);
  maker_put(m, "  v%d = Reshape (v%d, w%d)\n", maker_add(m, s, v.size), x, shape);
}
