/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph_bodies.c - steps of random models: If, Loop and Scan, whose bodies are made of other steps, and
 * sequences. */
#include "support/random_maker.h"

/* The values of a body from number |first| on are nobody's outside. */
static void leave_body(maker *m, int first) {
  for (int v = first; v < m->n_values; v++) m->value[v].hidden = m->value[v].used = true;
  m->depth--;
}

/* A few steps from v<x> on, in a body that begins here: the value that they end in, perhaps x. */
static int put_steps(maker *m, int x) {
  int n = 1 + (int)maker_pick(m, 3), y = x;
  m->depth++;
  for (int i = 0; i < n && m->n_drawn < MAKER_DRAWN; i++) {
    int before = m->n_values;
    maker_draw_step(m)(m, y);
    if (m->n_values > before && !m->value[m->n_values - 1].hidden) y = m->n_values - 1;
  }
  return y;
}

/* A branch that is an expression of the model's input |x|. */
static maker_value put_branch(maker *m, const char *name, int x) {
  int first = m->n_values, id = m->n_bodies++;
  maker_put(m, "%s = zg%d () => (%s[] zr%d) {\n", name, id, maker_type(m), id);
  int y = put_steps(m, x);
  maker_value v = m->value[y];
  maker_put(m, "  zr%d = Identity (v%d) }", id, y);
  leave_body(m, first);
  return v;
}

/* The condition is a constant, or one that nobody knows before the run. */
void maker_if(maker *m, int x) {
  if (m->depth >= 2 || m->n_values > MAKER_BODY_VALUES) return;
  bool then = maker_chance(m, 50), known = maker_chance(m, 30);
  int id = m->n_bodies++, w = known ? maker_integers(m, "bool", (maker_shape){0}, then, then) : maker_float(m, 1000);
  maker_use(m, x);
  if (!known)
    maker_put(m, "  zm%d = ReduceMax <keepdims = 0> (v%d) w%d = %s (zm%d, w%d)\n", id, x, m->n_weights,
              then ? "Less" : "Greater", id, w),
        w = m->n_weights++;
  maker_put(m, "  zo%d = If <", id);
  maker_value a = put_branch(m, "then_branch", x);
  maker_put(m, ", ");
  maker_value b = put_branch(m, "else_branch", x), *taken = then ? &a : &b;
  maker_put(m, "> (w%d)\n", w);
  maker_put(m, "  v%d = Identity (zo%d)\n", maker_add(m, taken->shape, taken->size), id);
}

/* A value goes around and stays as large as it is; what is made of it is gathered. */
void maker_loop(maker *m, int x) {
  maker_value v = m->value[x];
  int64_t times = MAKER_ONE_OF(m, 1, 2, 3);
  if (m->depth >= 1 || m->n_values > MAKER_BODY_VALUES || v.shape.rank > 4) return;
  maker_use(m, x);
  int id = m->n_bodies++, trip = maker_ints_of(m, (maker_shape){0}, &times), first = m->n_values;
  int half = maker_float(m, 0.5), keep = maker_integers(m, "bool", (maker_shape){0}, 1, 1),
      s = maker_add(m, v.shape, v.size);
  bool early = maker_chance(m, 30);
  maker_put(
      m, "  zo%d, zp%d = Loop <body = zg%d (int64 zi%d, bool zc%d, %s[] v%d) => (bool zd%d, %s[] zt%d, %s[] zr%d) {\n",
      id, id, id, id, id, maker_type(m), s, id, maker_type(m), id, maker_type(m), id);
  maker_use(m, s);
  int y = put_steps(m, s);
  maker_value made = m->value[y];
  if (early) /* of three rounds the last one does not come */
    maker_put(m, "  w%d = Constant <value_ints = [1]> () w%d = Squeeze (w%d) zd%d = Less (zi%d, w%d)\n", m->n_weights,
              m->n_weights + 1, m->n_weights, id, id, m->n_weights + 1),
        m->n_weights += 2, times = times > 2 ? 2 : times;
  else
    maker_put(m, "  zd%d = Identity (zc%d)\n", id, id);
  maker_put(m,
            "  za%d = Mul (v%d, w%d) zb%d = Mul (v%d, w%d) zt%d = Add (za%d, zb%d) zr%d = Identity (v%d) }> (w%d, w%d, "
            "v%d)\n",
            id, s, half, id, x, half, id, id, id, id, y, trip, keep, x);
  leave_body(m, first);
  maker_shape all = {made.shape.rank + 1, {times}};
  for (int i = 0; i < made.shape.rank && i + 1 < MAKER_RANK; i++) all.dim[i + 1] = made.shape.dim[i];
  maker_put(m, "  v%d = Identity (zo%d)\n", maker_add(m, v.shape, v.size), id);
  if (made.shape.rank < MAKER_RANK - 1 && maker_fits(&all, 1))
    maker_put(m, "  v%d = Identity (zp%d)\n", maker_add(m, all, made.size), id);
}

/* Along the first axis, from either end; the state is a mean of what came by. */
void maker_scan(maker *m, int x) {
  maker_value v = m->value[x];
  maker_shape row = {v.shape.rank - 1, {0}};
  for (int i = 0; i < row.rank; i++) row.dim[i] = v.shape.dim[i + 1];
  if (v.shape.rank < 2 || m->depth >= 1 || m->n_values > MAKER_BODY_VALUES || maker_count(&row) > MAKER_CONSTANT ||
      v.shape.dim[0] > 8)
    return;
  maker_use(m, x);
  int id = m->n_bodies++, start = maker_floats(m, row, -1, 1), half = maker_float(m, 0.5), first = m->n_values;
  int s = maker_add(m, row, v.size), backwards = maker_chance(m, 40);
  maker_put(m,
            "  zo%d, zp%d = Scan <num_scan_inputs = 1, scan_input_directions = [%d], body = zg%d (%s[] zh%d, %s[] "
            "ze%d) => (%s[] zt%d, "
            "%s[] zr%d) {\n  za%d = Add (zh%d, ze%d) v%d = Mul (za%d, w%d) zt%d = Identity (v%d)\n",
            id, id, backwards, id, maker_type(m), id, maker_type(m), id, maker_type(m), id, maker_type(m), id, id, id,
            id, s, id, half, id, s);
  maker_use(m, s);
  int y = put_steps(m, s);
  maker_value made = m->value[y];
  maker_put(m, "  zr%d = Identity (v%d) }> (w%d, v%d)\n", id, y, start, x);
  leave_body(m, first);
  maker_shape all = {made.shape.rank + 1, {v.shape.dim[0]}};
  for (int i = 0; i < made.shape.rank && i + 1 < MAKER_RANK; i++) all.dim[i + 1] = made.shape.dim[i];
  maker_put(m, "  v%d = Identity (zo%d)\n", maker_add(m, row, v.size), id);
  if (made.shape.rank < MAKER_RANK - 1 && maker_fits(&all, 1))
    maker_put(m, "  v%d = Identity (zp%d)\n", maker_add(m, all, made.size), id);
}

/* Cut into a sequence: one of it, or all in one again. */
void maker_sequence(maker *m, int x) {
  maker_value v = m->value[x];
  if (v.shape.rank < 1) return;
  int axis = (int)maker_pick(m, (uint32_t)v.shape.rank), id = m->n_bodies++;
  int64_t whole = v.shape.dim[axis], parts[2] = {1 + (int64_t)maker_pick(m, (uint32_t)whole), 0}, at = 0;
  if ((parts[1] = whole - parts[0]) < 1) return;
  maker_use(m, x);
  int sizes = maker_ints(m, parts, 2);
  maker_put(m, "  zs%d = SplitToSequence <axis = %d> (v%d, w%d)\n", id, axis, x, sizes);
  if (maker_chance(m, 40)) {
    at = maker_pick(m, 2);
    int w = maker_ints_of(m, (maker_shape){0}, &at);
    v.shape.dim[axis] = parts[at];
    maker_put(m, "  v%d = SequenceAt (zs%d, w%d)\n", maker_add(m, v.shape, v.size), id, w);
  } else if (maker_chance(m, 50)) {
    maker_put(m, "  v%d = ConcatFromSequence <axis = %d> (zs%d)\n", maker_add(m, v.shape, v.size), axis, id);
  } else {
    int w = maker_ints_of(m, (maker_shape){0}, &at);
    v.shape.dim[axis] += parts[0];
    if (!maker_fits(&v.shape, 1)) v.shape.dim[axis] = 0;
    maker_put(m, "  zf%d = SequenceAt (zs%d, w%d) zt%d = SequenceInsert (zs%d, zf%d)\n", id, id, w, id, id, id);
    if (v.shape.dim[axis])
      maker_put(m, "  v%d = ConcatFromSequence <axis = %d> (zt%d)\n", maker_add(m, v.shape, v.size), axis, id);
  }
}
