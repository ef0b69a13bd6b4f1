/* SPDX-License-Identifier: Apache-2.0
 * session/state_grow.c - keys and values that grow where they are: in memory with room for more rows behind those of
 * each head, where a run adds its own. A run that fails has written behind the rows that the state has. */
#include <string.h>

#include "base/macros.h"
#include "exec/growing.h"
#include "session/state.h"

enum { MORE_ROWS = 32 /* at least, when there is no room */ };

/* ---- which ---- */

static ox_state_cache *cache_of(ox_state *st, uint32_t unit) {
  for (uint32_t i = 0; i < st->n_caches; i++)
    if (st->caches[i].unit == unit) return &st->caches[i];
  st->caches[st->n_caches] = (ox_state_cache){.unit = unit};
  return &st->caches[st->n_caches++];
}

/* Keys and values lie apart by the same number of rows, so both are wanted. */
static bool is_whole(const ox_session *s, const ox_state_cache *c) {
  if (!c->slot[0] || !c->slot[1]) return false;
  const ox_graph_value *values = s->model->graph->values;
  uint32_t k = values[s->inputs[c->slot[0]->in]].type.dtype, v = values[s->inputs[c->slot[1]->in]].type.dtype;
  return k && k == v && ox_dtype_bits(k) % 8 == 0;
}

ox_status *ox_state_find_caches(ox_state *st) {
  const ox_session *s = st->session;
  uint32_t n = 0;
  st->caches = OX_ARENA_ARRAY(&st->arena, ox_state_cache, st->n + 1);
  if (!st->caches) return ox_oom();
  for (uint32_t i = 0; i < st->n; i++) {
    uint32_t which, unit = ox_growing_find(s->plan, s->inputs[st->slots[i].in], st->slots[i].out, &which);
    if (unit != OX_NONE) cache_of(st, unit)->slot[which] = &st->slots[i];
  }
  for (uint32_t i = 0; i < st->n_caches; i++)
    if (is_whole(s, &st->caches[i])) st->caches[n++] = st->caches[i];
  st->n_caches = n;
  return NULL;
}

/* ---- memory ---- */

void ox_state_copy(const ox_state_slot *x, int axis, int64_t n, void *to, int64_t to_room) {
  const ox_tensor *t = ox_value_get(x->held);
  size_t row = (size_t)ox_shape_span(&t->shape, axis + 1, t->shape.rank) * (ox_dtype_bits(t->dtype) / 8);
  size_t step = (size_t)(x->room ? x->room : t->shape.dim[axis]) * row, line = (size_t)n * row;
  for (int64_t i = 0; line && i < ox_shape_span(&t->shape, 0, axis); i++)
    memcpy((char *)to + (size_t)i * (size_t)to_room * row, (const char *)t->data + (size_t)i * step, line);
}

/* |x| with room for |room| rows in each head; 0: a plain value. It stays the value that it is for the run under way. */
static ox_status *move(const ox_state *st, ox_state_slot *x, int64_t room) {
  ox_tensor t = *ox_value_get(x->held);
  ox_shape shape = t.shape;
  int64_t rows = shape.dim[OX_CACHE_ROWS];
  ox_value *v;
  t.shape.dim[OX_CACHE_ROWS] = room ? room : rows;
  if (!ox_tensor_size(&t)) return ox_fail(OX_LIMIT, "'%s' is too large", x->input);
  OX_TRY(ox_status_note(ox_value_make(st->alloc, t.dtype, &t.shape, t.bytes, &v), "'%s'", x->input));
  ox_state_copy(x, OX_CACHE_ROWS, rows, ox_value_data(v), room ? room : rows);
  ox_tensor *now = ox_value_tensor(v);
  now->shape = shape;
  (void)ox_tensor_size(now);
  ox_value_swap(x->held, v);
  ox_value_release(v);
  x->room = room;
  return NULL;
}

static ox_status *move_both(const ox_state *st, ox_state_cache *c, int64_t room) {
  for (int i = 0; i < 2; i++)
    if (c->slot[i]->room != room) OX_TRY(move(st, c->slot[i], room));
  return NULL;
}

/* Room for |rows|: for twice what there was, if there is memory for that. */
static ox_status *make_room(const ox_state *st, ox_state_cache *c, int64_t rows) {
  int64_t room = c->slot[0]->room;
  if (rows <= room && room == c->slot[1]->room) return NULL;
  if (rows > INT64_MAX / 4 || room > INT64_MAX / 4) return ox_fail(OX_LIMIT, "%lld tokens", (long long)rows);
  int64_t more = OX_MAX(OX_MAX(rows + MORE_ROWS, 2 * room), st->reserved);
  ox_status *status = move_both(st, c, more);
  if (!status || more == rows || ox_status_code(status) != OX_OUT_OF_MEMORY) return status;
  ox_status_free(status);
  return move_both(st, c, rows);
}

/* ---- a run ---- */

/* Is what the run reads what the state has? */
static bool reads_held(const ox_call *call, const ox_state_slot *x) {
  return x->held && call->bound[x->in] == ox_value_get(x->held);
}

static ox_status *begin_cache(const ox_state *st, const ox_call *call, const ox_context *cx, ox_state_cache *c) {
  if (!reads_held(call, c->slot[0]) || !reads_held(call, c->slot[1])) return NULL;
  const ox_shape *k = &ox_value_get(c->slot[0]->held)->shape, *v = &ox_value_get(c->slot[1]->held)->shape;
  if (k->rank != 4 || v->rank != 4 || k->dim[OX_CACHE_ROWS] != v->dim[OX_CACHE_ROWS]) return NULL;
  int64_t rows = ox_growing_rows(cx, c->unit, k->dim[OX_CACHE_ROWS]);
  if (rows < k->dim[OX_CACHE_ROWS]) return NULL;
  OX_TRY(make_room(st, c, rows));
  c->grows = true;
  return NULL;
}

ox_status *ox_state_begin(ox_state *st, ox_session *s, ox_call *call, ox_context *cx, bool devices) {
  bool here = s == st->session && !devices; /* else units are others, or memory is */
  for (uint32_t i = 0; i < st->n; i++) st->slots[i].grows = false;
  for (uint32_t i = 0; i < st->n_caches; i++) {
    ox_state_cache *c = &st->caches[i];
    c->grows = false;
    if (here) OX_TRY(begin_cache(st, call, cx, c));
    for (int k = 0; k < 2; k++) {
      ox_state_slot *x = c->slot[k];
      if (!c->grows && x->room && reads_held(call, x)) OX_TRY(move(st, x, 0));
      x->grows = c->grows;
    }
  }
  for (uint32_t i = 0; i < st->n_caches; i++) {
    if (!st->caches[i].grows) continue;
    ox_growing_set(cx, st->caches[i].unit, st->caches[i].slot[0]->room);
    call->grows = st;
  }
  return NULL;
}

void ox_state_end(ox_state *st, ox_context *cx) {
  for (uint32_t i = 0; i < st->n_caches; i++)
    if (st->caches[i].grows) ox_growing_set(cx, st->caches[i].unit, 0);
}

ox_status *ox_state_lend(ox_state *st, uint32_t index, const ox_shape *shape, bool *out_lent, void **out_data) {
  for (uint32_t i = 0; i < st->n; i++) {
    ox_state_slot *x = &st->slots[i];
    if (!x->grows || x->out != index) continue;
    const ox_shape *was = &ox_value_get(x->held)->shape;
    for (int d = 0; d < 4; d++)
      if (shape->rank != 4 || (d == OX_CACHE_ROWS ? shape->dim[d] > x->room : shape->dim[d] != was->dim[d]))
        return ox_fail(OX_INCOMPATIBLE, "output '%s' is not what was foreseen", x->output);
    x->after = *shape;
    *out_lent = true, *out_data = ox_value_data(x->held);
    return NULL;
  }
  return NULL;
}
