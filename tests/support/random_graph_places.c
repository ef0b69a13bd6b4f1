/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph_places.c - steps of random models: what takes elements from, or puts them to, places that
 * constants name; and what repeats or folds axes. */
#include "base/macros.h"
#include "support/random_maker.h"

/* Gather and GatherElements, also from the end. */
void maker_gather(maker *m, int x) {
  maker_value v = m->value[x];
  maker_shape out = v.shape, index = {0};
  if (v.shape.rank < 1) return;
  int axis = (int)maker_pick(m, (uint32_t)v.shape.rank), d = (int)v.shape.dim[axis];
  bool each = maker_chance(m, 40);
  if (each) { /* an index for each element */
    for (int i = 0; i < out.rank; i++)
      if (i == axis || maker_chance(m, 30)) out.dim[i] = 1 + (int64_t)maker_pick(m, (uint32_t)out.dim[i]);
    index = out;
  } else {
    index.rank = MAKER_ONE_OF(m, 0, 1, 1, 2);
    for (int i = 0; i < index.rank; i++) index.dim[i] = MAKER_ONE_OF(m, 1, 2, 3, 5);
    out.rank = v.shape.rank - 1 + index.rank;
    if (out.rank > 5) return;
    for (int i = 0; i < index.rank; i++) out.dim[axis + i] = index.dim[i];
    for (int i = axis + 1; i < v.shape.rank; i++) out.dim[i - 1 + index.rank] = v.shape.dim[i];
  }
  if (!maker_fits(&out, 1) || maker_count(&index) > MAKER_CONSTANT) return;
  maker_use(m, x);
  int w = maker_integers(m, maker_chance(m, 30) ? "int32" : "int64", index, -d, d - 1), y = maker_add(m, out, v.size);
  maker_put(m, "  v%d = %s <axis = %d> (v%d, w%d)\n", y, each ? "GatherElements" : "Gather",
            maker_chance(m, 30) ? axis - v.shape.rank : axis, x, w);
}

/* Rows of a value change places, replaced by constants or with these added: no place has two that replace. */
void maker_scatter(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 1 || v.shape.dim[0] < 2) return;
  bool elements = maker_chance(m, 50), add = maker_chance(m, 50);
  maker_shape update = v.shape;
  int64_t rows = v.shape.dim[0], n = add ? MAKER_ONE_OF(m, 1, 3, 5) : 1 + (int64_t)maker_pick(m, 2);
  if (elements) n = OX_MIN(n, rows);
  update.dim[0] = n;
  if (maker_count(&update) > MAKER_CONSTANT) return;
  maker_use(m, x);
  int from = add ? (int)-rows : 0, w;
  if (elements && add) {
    w = maker_integers(m, "int64", update, from, (int)rows - 1);
  } else if (elements) { /* what lies in a column goes to two places that differ */
    int64_t turn[MAKER_CONSTANT], each = maker_count(&update) / n;
    for (int64_t i = 0; i < each * n; i++)
      turn[i] = i < each ? (int64_t)maker_pick(m, (uint32_t)rows) : (turn[i - each] + 1) % rows;
    w = maker_ints_of(m, update, turn);
  } else {
    int64_t at[8];
    for (int i = 0; i < n; i++) at[i] = add || i == 0 ? (int64_t)maker_pick(m, (uint32_t)rows) : (at[i - 1] + 1) % rows;
    w = maker_ints_of(m, (maker_shape){2, {n, 1}}, at);
  }
  int values = maker_floats(m, update, -1, 1), y = maker_add(m, v.shape, v.size + (add ? (double)n : 1));
  maker_put(m, "  v%d = %s ", y, elements ? "ScatterElements" : "ScatterND");
  if (add) maker_put(m, "<reduction = \"add\"> ");
  maker_put(m, "(v%d, w%d, w%d)\n", x, w, values);
}

/* One of two by a constant mask that is broadcast. */
void maker_where(maker *m, int x) {
  maker_value v = *maker_use(m, x);
  maker_shape mask = {0};
  int from = (int)maker_pick(m, (uint32_t)v.shape.rank + 1);
  for (int i = from; i < v.shape.rank; i++) mask.dim[mask.rank++] = maker_chance(m, 70) ? v.shape.dim[i] : 1;
  if (maker_count(&mask) > MAKER_CONSTANT) mask = (maker_shape){0};
  int w = maker_integers(m, "bool", mask, 0, 1), other = maker_floats(m, (maker_shape){0}, -1, 1);
  int y = maker_add(m, v.shape, v.size + 1);
  if (maker_chance(m, 50))
    maker_put(m, "  v%d = Where (w%d, v%d, w%d)\n", y, w, x, other);
  else
    maker_put(m, "  v%d = Where (w%d, w%d, v%d)\n", y, w, other, x);
}

/* Expand and Tile. */
void maker_repeat(maker *m, int x) {
  maker_value v = m->value[x];
  int64_t to[MAKER_RANK];
  maker_shape out = v.shape;
  bool tile = maker_chance(m, 50);
  if (v.shape.rank < 1) return;
  for (int i = 0; i < out.rank; i++) {
    int64_t by = MAKER_ONE_OF(m, 1, 1, 2, 3);
    if (tile || out.dim[i] == 1) out.dim[i] *= by;
    to[i] = tile ? by : maker_chance(m, 30) ? v.shape.dim[i] : out.dim[i];
    if (!tile) out.dim[i] = OX_MAX(to[i], v.shape.dim[i]);
  }
  if (!maker_fits(&out, 1)) return;
  maker_use(m, x);
  int w = maker_ints(m, to, out.rank), y = maker_add(m, out, v.size);
  maker_put(m, "  v%d = %s (v%d, w%d)\n", y, tile ? "Tile" : "Expand", x, w);
}

/* Channels become places, or the other way round. */
void maker_depth(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank != 4) return;
  int64_t *d = v.shape.dim, by = MAKER_ONE_OF(m, 2, 2, 3);
  bool to_space = d[1] % (by * by) == 0;
  if (!to_space && (d[2] % by || d[3] % by)) return;
  maker_use(m, x);
  if (to_space)
    d[1] /= by * by, d[2] *= by, d[3] *= by;
  else
    d[1] *= by * by, d[2] /= by, d[3] /= by;
  maker_put(m, "  v%d = %s <blocksize = %d", maker_add(m, v.shape, v.size), to_space ? "DepthToSpace" : "SpaceToDepth",
            (int)by);
  if (to_space) maker_put(m, ", mode = \"%s\"", maker_chance(m, 50) ? "DCR" : "CRD");
  maker_put(m, "> (v%d)\n", x);
}
