/* SPDX-License-Identifier: Apache-2.0
 * ops/scatter_grid.c - ai.onyx.ScatterGrid(data, updates, list 0, list 1, ...): ScatterND whose tuples of indices are a
 * grid, as in x[:, a:b] = y: updates[i, j, ...] replaces data[list 0[i], list 1[j], ...]. A list of one index serves a
 * whole axis. Made by a rule, so that the tuples are never written.
 *
 * Stage 0 copies (nothing to do in place). In stage 1 a tile owns a range of data along one axis, so that two updates
 * of the same element are written by one tile, in their order. */
#include <string.h>

#include "graph/op_def.h"
#include "kern/move/gather_scatter.h"
#include "ops/move/scatter_base.h"
#include "ops/shared/tiles.h"

enum { DATA, UPDATES, LISTS };

static ox_status *check_shapes(const ox_shape *data, const ox_shape *up, int k) {
  bool fits = data->rank < 0 || up->rank < 0 || (up->rank == data->rank && k <= data->rank);
  for (int i = k; fits && i < data->rank && i < up->rank; i++)
    fits = data->dim[i] < 0 || up->dim[i] < 0 || data->dim[i] == up->dim[i];
  char d[OX_SHAPE_TEXT], u[OX_SHAPE_TEXT];
  return fits ? NULL
              : ox_fail(OX_SHAPE_MISMATCH, "ScatterGrid: updates %s do not fit data %s with %d lists of indices",
                        ox_shape_text(up, u), ox_shape_text(data, d), k);
}

static ox_status *infer(ox_infer_ctx *c) {
  for (uint32_t i = LISTS; i < c->n_in; i++)
    if (!c->in[i]) return ox_fail(OX_INVALID_MODEL, "ScatterGrid: input %u is missing", i);
  OX_TRY(ox_infer_same_as_input(c));
  if (!ox_infer_has(c, DATA) || !ox_infer_has(c, UPDATES)) return NULL;
  return check_shapes(&c->in[DATA]->shape, &c->in[UPDATES]->shape, (int)c->n_in - LISTS);
}

typedef struct grid_plan {
  int k, owner; /* lists; the axis that tiles divide */
  int64_t tiles, elem, inner;
  int64_t n[OX_MAX_RANK], step[OX_MAX_RANK];     /* positions in updates; 0: the list has one index */
  int64_t dim[OX_MAX_RANK], stride[OX_MAX_RANK]; /* of data, strides in elements */
} grid_plan;

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *data = &c->in[DATA]->shape, *up = &c->in[UPDATES]->shape;
  grid_plan *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->k = (int)c->n_in - LISTS;
  OX_TRY(check_shapes(data, up, p->k));
  p->elem = ox_dtype_bits(c->in[DATA]->dtype) / 8, p->inner = ox_shape_span(data, p->k, data->rank);
  for (int i = 0; i < p->k; i++) {
    const ox_shape *list = &c->in[LISTS + i]->shape;
    p->n[i] = up->dim[i], p->step[i] = list->rank == 1 && list->dim[0] != 1;
    if (list->rank != 1 || (list->dim[0] != 1 && list->dim[0] != p->n[i]))
      return ox_fail(OX_SHAPE_MISMATCH, "ScatterGrid: list %d has %lld indices, updates have %lld", i,
                     (long long)(list->rank == 1 ? list->dim[0] : -1), (long long)p->n[i]);
    p->dim[i] = data->dim[i], p->stride[i] = ox_shape_span(data, i + 1, data->rank);
    if (i + 1 < p->k && p->n[i] > p->n[p->owner]) p->owner = i; /* the last axis holds runs of elements */
  }
  const int64_t written = ox_shape_count(up) * p->elem;
  p->tiles = written ? OX_MAX(ox_move_tiles(written, p->dim[p->owner]), 1) : 0;
  ox_scatter_book(c, p->tiles);
  return NULL;
}

static ox_index list_of(const ox_kernel_ctx *c, int axis) {
  return (ox_index){c->in[LISTS + axis]->data, c->in[LISTS + axis]->dtype == OX_I64};
}

/* Every index lies inside data. */
static ox_status *check_list(const ox_kernel_ctx *c, const grid_plan *p, int axis) {
  const ox_index x = list_of(c, axis);
  for (int64_t i = 0; i < c->in[LISTS + axis]->shape.dim[0]; i++)
    if (ox_index_in(&x, i, p->dim[axis]) < 0) return ox_index_error("ScatterGrid", &x, i, p->dim[axis]);
  return NULL;
}

/* Whether the last list counts up by one, so that a row of updates is one run of data. */
static bool last_is_run(const ox_kernel_ctx *c, const grid_plan *p) {
  const int last = p->k - 1;
  const ox_index x = list_of(c, last);
  if (!p->step[last]) return p->n[last] == 1;
  for (int64_t i = 1; i < p->n[last]; i++)
    if (ox_index_in(&x, i, p->dim[last]) != ox_index_in(&x, i - 1, p->dim[last]) + 1) return false;
  return true;
}

/* The row of updates at |from| goes to the places that the last list names, counted from |to|. */
static void put_row(const ox_kernel_ctx *c, const grid_plan *p, char *to, const char *from, bool run, ox_range own) {
  const int last = p->k - 1;
  const ox_index x = list_of(c, last);
  const size_t bytes = (size_t)(p->inner * p->elem);
  if (run && p->owner != last) {
    memcpy(to + ox_index_in(&x, 0, p->dim[last]) * p->stride[last] * p->elem, from, (size_t)p->n[last] * bytes);
    return;
  }
  for (int64_t i = 0; i < p->n[last]; i++, from += bytes) {
    int64_t at = ox_index_in(&x, i * p->step[last], p->dim[last]);
    if (p->owner == last && (at < own.begin || at >= own.end)) continue;
    char *place = to + at * p->stride[last] * p->elem;
    if (bytes == sizeof(uint32_t))
      memcpy(place, from, sizeof(uint32_t)); /* one store */
    else
      memcpy(place, from, bytes);
  }
}

/* All updates in order, as far as the tile owns their places. */
static void put_rows(const ox_kernel_ctx *c, const grid_plan *p, ox_range own) {
  int64_t i[OX_MAX_RANK] = {0}, rows = 1;
  const int last = p->k - 1;
  const bool run = last_is_run(c, p);
  const char *from = c->in[UPDATES]->data;
  for (int a = 0; a < last; a++) rows *= p->n[a];
  for (int64_t row = 0; row < rows; row++, from += p->n[last] * p->inner * p->elem) {
    int64_t to = 0;
    bool mine = true;
    for (int a = 0; a < last; a++) {
      const ox_index x = list_of(c, a);
      int64_t at = ox_index_in(&x, i[a] * p->step[a], p->dim[a]);
      if (a == p->owner) mine = at >= own.begin && at < own.end;
      to += at * p->stride[a];
    }
    if (mine) put_row(c, p, (char *)c->out[0]->data + to * p->elem, from, run, own);
    for (int a = last - 1; a >= 0 && ++i[a] == p->n[a]; a--) i[a] = 0;
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const grid_plan *p = c->prep;
  if (stage == 0) return ox_scatter_copy(c, tiles), NULL;
  for (int a = 0; a < p->k; a++) OX_TRY(check_list(c, p, a));
  put_rows(c, p, ox_units_of(tiles, p->tiles, p->dim[p->owner]));
  return NULL;
}

enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };
static const ox_op ops[] = {
    {OX_SCHEMA(.domain = "ai.onyx", .name = "ScatterGrid", .since = 1, .types = {ANY, ANY, OX_T_INDEX}, .vars = "TT.",
               .min_in = 3, .max_in = OX_VARIADIC, .infer = infer),
     OX_KERNEL(.inplace = 1, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_scatter_grid = {ops, OX_COUNT(ops)};
