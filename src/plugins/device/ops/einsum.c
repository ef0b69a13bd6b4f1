/* SPDX-License-Identifier: Apache-2.0
 * device/ops/einsum.c - Einsum of one operand (a transpose) or of two (a batch of matrix products). Operands and result
 * are used in place if the result ends with the letters of A only and those of B only; else they are transposed. */
#include <string.h>

#include "plugins/device/kernels/move_params.h"
#include "plugins/device/move.h"

enum { A, B, Y, SIDES, MOST_LETTERS = 2 * MOVE_DIMS };

/* A letter: its size, and for each operand and the result its axis (-1: absent) and stride (0: broadcast). */
typedef struct letter {
  char name;
  int64_t size, stride[SIDES];
  int place[SIDES];
} letter;

/* Letters are in the order of the result, then those summed over in the order of A. */
typedef struct equation {
  int n, n_out, rank[SIDES];
  letter letters[MOST_LETTERS];
} equation;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static letter *find(equation *e, char name) {
  for (int i = 0; i < e->n; i++)
    if (e->letters[i].name == name) return &e->letters[i];
  return NULL;
}

/* Adds a letter to a term. False: it occurs twice there, or there are too many. */
static bool put(equation *e, char name, int side) {
  letter *l = find(e, name);
  if (e->rank[side] == MOVE_DIMS || (!l && e->n == MOST_LETTERS)) return false;
  if (!l) l = &e->letters[e->n++], *l = (letter){.name = name, .size = 1, .place = {-1, -1, -1}};
  if (l->place[side] >= 0) return false;
  l->place[side] = e->rank[side]++;
  return true;
}

/* Parses an equation, the result's term first. False: a form that is not supported. */
static bool parse(ox_str text, int operands, equation *e) {
  memset(e, 0, sizeof *e);
  size_t arrow = 0;
  while (arrow + 1 < text.n && (text.p[arrow] != '-' || text.p[arrow + 1] != '>')) arrow++;
  if (arrow + 1 >= text.n) return false;
  for (int pass = 0; pass < 2; pass++) {
    int side = pass ? A : Y;
    for (size_t i = pass ? 0 : arrow + 2; i < (pass ? arrow : text.n); i++) {
      if (text.p[i] == ' ') continue;
      if (text.p[i] == ',' && pass && ++side < operands) continue;
      if (!is_letter(text.p[i]) || !put(e, text.p[i], side)) return false;
    }
    if (pass && side != operands - 1) return false;
    if (!pass) e->n_out = e->n;
  }
  for (int i = 0; i < e->n; i++) { /* a letter of the result is in an operand, a summed one in both */
    const letter *l = &e->letters[i];
    bool in_a = l->place[A] >= 0, in_b = l->place[B] >= 0;
    if (l->place[Y] >= 0 ? !in_a && !in_b : !in_a || !in_b) return false;
  }
  return true;
}

static bool read(const dev_node *n, equation *e) {
  ox_attr_view a;
  return n->host->node_attr(n->graph, n->index, "equation", &a) && dev_in_count(n) <= 2 &&
         parse(a.s, (int)dev_in_count(n), e);
}

static const char *takes(const dev_node *n) {
  equation e;
  const char *why = dev_takes_real(n, 0, MOVE_DIMS);
  if (why) return why;
  if (!read(n, &e)) return REASON("an equation that is a transposition, or a product of two inputs", "{equation}");
  for (size_t i = 0; i < dev_in_count(n); i++)
    if (dev_in_rank(n, i) != e.rank[i]) return REASON("an equation that fits the inputs", "{equation}, {inputs}");
  return NULL;
}

/* Fills in sizes and strides; false: they are inconsistent. */
static bool measure(dev_plan *p, const dev_node *n, equation *e) {
  for (int side = A; side < SIDES; side++) {
    uint32_t value = side == Y ? dev_out(n, 0) : (size_t)side < dev_in_count(n) ? dev_in(n, (size_t)side) : UINT32_MAX;
    int64_t strides[OX_MAX_RANK];
    if (value == UINT32_MAX) continue;
    const ox_shape *s = dev_shape(p, value);
    if (s->rank != e->rank[side]) return false;
    dev_strides(s, strides);
    for (int i = 0; i < e->n; i++) {
      letter *l = &e->letters[i];
      int at = l->place[side];
      if (at < 0) continue;
      if (l->size > 1 && s->dim[at] != 1 && s->dim[at] != l->size) return false;
      if (s->dim[at] != 1) l->size = s->dim[at];
      l->stride[side] = s->dim[at] == 1 ? 0 : strides[at];
    }
  }
  return true;
}

/* Merges letters |begin| to |end| - 1 to one axis of |side|; false: their strides do not allow it. */
static bool join(const equation *e, int begin, int end, int side, int64_t *out_size, int64_t *out_stride) {
  *out_size = 1, *out_stride = 1;
  for (int i = end - 1; i >= begin; i--) {
    const letter *l = &e->letters[i];
    if (l->size == 1) continue;
    if (*out_size == 1)
      *out_stride = l->stride[side];
    else if (l->stride[side] != *out_stride * *out_size)
      return false;
    *out_size *= l->size;
  }
  return true;
}

/* A product in place: the result's last letters occur in B only, those before them in A only; the rest are batches. */
typedef struct layout {
  int first_m, first_n; /* of the result's letters */
  int64_t m, n, k, a_row, a_col, b_row, b_col;
} layout;

static bool is_of(const letter *l, int side) { return l->place[side] >= 0 && l->place[side == A ? B : A] < 0; }

static bool find_layout(const equation *e, layout *out) {
  int64_t unused;
  out->first_n = e->n_out;
  while (out->first_n > 0 && is_of(&e->letters[out->first_n - 1], B) &&
         join(e, out->first_n - 1, e->n_out, B, &unused, &unused))
    out->first_n--;
  out->first_m = out->first_n;
  while (out->first_m > 0 && is_of(&e->letters[out->first_m - 1], A) &&
         join(e, out->first_m - 1, out->first_n, A, &unused, &unused))
    out->first_m--;
  join(e, out->first_n, e->n_out, B, &out->n, &out->b_col),
      join(e, out->first_m, out->first_n, A, &out->m, &out->a_row);
  if (!join(e, e->n_out, e->n, A, &out->k, &out->a_col) || !join(e, e->n_out, e->n, B, &out->k, &out->b_row))
    return false;
  return (out->a_row == 1 || out->a_col == 1) && (out->b_row == 1 || out->b_col == 1);
}

/* Sets the batch axes; false: there are too many. */
static bool find_batches(const equation *e, const layout *l, gemm_params *g) {
  int at = GEMM_BATCHES;
  for (int i = 0; i < GEMM_BATCHES; i++) g->batch[i] = 1;
  for (int i = l->first_m - 1; i >= 0; i--) {
    const letter *x = &e->letters[i];
    if (x->size == 1) continue;
    if (at < GEMM_BATCHES && x->stride[A] == (int64_t)g->a_batch[at] * g->batch[at] &&
        x->stride[B] == (int64_t)g->b_batch[at] * g->batch[at]) {
      g->batch[at] *= (int)x->size;
      continue;
    }
    if (at-- == 0) return false;
    g->batch[at] = (int)x->size, g->a_batch[at] = (int)x->stride[A], g->b_batch[at] = (int)x->stride[B];
  }
  return true;
}

static ox_status *emit_in_place(dev_plan *p, const dev_node *n, const layout *l, dev_product *x, dev_ref a, dev_ref b) {
  dev_tail then;
  DEV_TRY(dev_take_tail(p, n, &then));
  x->g.m = (int)l->m, x->g.n = (int)l->n, x->g.k = (int)l->k;
  x->g.a_row = (int)l->a_row, x->g.a_col = (int)l->a_col, x->g.b_row = (int)l->b_row, x->g.b_col = (int)l->b_col;
  x->a = a, x->b = b, x->c = dev_value(p, then.out), x->then = &then;
  return dev_emit_product(p, x);
}

/* ---- products of transposed operands ---- */

enum { BATCH, ROWS, COLUMNS, SUMMED };

static int role_of(const letter *l) {
  return l->place[Y] < 0 ? SUMMED : is_of(l, A) ? ROWS : is_of(l, B) ? COLUMNS : BATCH;
}

/* Makes the letters of |roles|, in that order, the axes of |m|, between the strides of |side| and a dense layout. */
static int64_t line_up(const equation *e, const int roles[3], int side, bool to_side, dev_move *m) {
  int64_t count = 1, *lined = to_side ? m->from_stride : m->to_stride, *other = to_side ? m->to_stride : m->from_stride;
  for (int r = 0; r < 3; r++)
    for (int i = 0; i < e->n; i++)
      if (role_of(&e->letters[i]) == roles[r])
        m->size[m->rank] = e->letters[i].size, other[m->rank++] = e->letters[i].stride[side];
  for (int d = m->rank - 1; d >= 0; d--) lined[d] = count, count *= m->size[d];
  return count;
}

static int64_t size_of(const equation *e, int role) {
  int64_t n = 1;
  for (int i = 0; i < e->n; i++) n *= role_of(&e->letters[i]) == role ? e->letters[i].size : 1;
  return n;
}

static ox_status *emit_moved(dev_plan *p, const dev_node *n, const equation *e, dev_product *x, dev_ref a, dev_ref b) {
  static const int roles[SIDES][3] = {{BATCH, ROWS, SUMMED}, {BATCH, SUMMED, COLUMNS}, {BATCH, ROWS, COLUMNS}};
  const dev_ref given[2] = {a, b};
  dev_ref lined[SIDES];
  gemm_params *g = &x->g;
  size_t element = (size_t)dev_element_bytes(x->dtype);
  for (int side = A; side <= B; side++) {
    dev_move m = {0};
    lined[side] = dev_temp(p, (size_t)line_up(e, roles[side], side, false, &m) * element);
    DEV_TRY(dev_emit_move(p, &m, x->dtype, given[side], lined[side]));
  }
  dev_move back = {0};
  lined[Y] = dev_temp(p, (size_t)line_up(e, roles[Y], Y, true, &back) * element);
  g->m = (int)size_of(e, ROWS), g->n = (int)size_of(e, COLUMNS), g->k = (int)size_of(e, SUMMED);
  g->a_row = g->k, g->a_col = 1, g->b_row = g->n, g->b_col = 1;
  for (int i = 0; i < GEMM_BATCHES; i++) g->batch[i] = 1, g->a_batch[i] = g->b_batch[i] = 0;
  g->batch[GEMM_BATCHES - 1] = (int)size_of(e, BATCH);
  g->a_batch[GEMM_BATCHES - 1] = g->m * g->k, g->b_batch[GEMM_BATCHES - 1] = g->k * g->n;
  x->a = lined[A], x->b = lined[B], x->c = lined[Y];
  DEV_TRY(dev_emit_product(p, x));
  return dev_emit_move(p, &back, x->dtype, lined[Y], dev_value(p, dev_out(n, 0)));
}

static void swap_sides(equation *e) {
  for (int i = 0; i < e->n; i++) {
    letter *l = &e->letters[i], was = *l;
    l->stride[A] = was.stride[B], l->stride[B] = was.stride[A], l->place[A] = was.place[B], l->place[B] = was.place[A];
  }
}

static ox_status *emit_turned(dev_plan *p, const dev_node *n, const equation *e) {
  dev_move m = {.rank = e->n};
  for (int i = 0; i < e->n; i++)
    m.size[i] = e->letters[i].size, m.from_stride[i] = e->letters[i].stride[A],
    m.to_stride[i] = e->letters[i].stride[Y];
  return dev_emit_move(p, &m, dev_dtype(p, dev_in(n, 0)), dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0)));
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  equation e;
  layout l;
  dev_product x;
  memset(&x, 0, sizeof x);
  if (!read(n, &e) || !measure(p, n, &e)) return dev_refuse(p, "an equation that does not fit");
  if (dev_count(p, dev_out(n, 0)) == 0) return NULL;
  if (dev_in_count(n) == 1) return emit_turned(p, n, &e);
  x.dtype = dev_dtype(p, dev_in(n, 0));
  dev_ref a = dev_value(p, dev_in(n, 0)), b = dev_value(p, dev_in(n, 1));
  for (int turn = 0; turn < 2; turn++) { /* whichever side ends the result is B */
    if (find_layout(&e, &l) && find_batches(&e, &l, &x.g))
      return emit_in_place(p, n, &l, &x, turn ? b : a, turn ? a : b);
    swap_sides(&e);
  }
  return emit_moved(p, n, &e, &x, a, b);
}

static const char *const names[] = {"Einsum", NULL};
DEV_OP(einsum) = {"", names, takes, emit};
