/* SPDX-License-Identifier: Apache-2.0
 * exec/run_memory.c - an arena. What a loop's iterations leave in it is collected by copying, for what is alive is
 * known between two iterations: the values that are carried on. They move to the spare arena, the arena goes back to
 * where it was when the loop began, and they move back. Since that waits until several times as much was taken as was
 * alive the last time, it costs no more than a few copies of each byte that was taken. */
#include "exec/run_memory.h"

#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

enum { WAIT_BYTES = 1 << 20, WAIT_TIMES = 3, LEAST_CAPACITY = 64 };

void ox_run_memory_init(ox_run_memory *m, ox_alloc alloc) {
  memset(m, 0, sizeof *m);
  ox_arena_init(&m->arena, alloc);
  ox_arena_init(&m->spare, alloc);
}

void ox_run_memory_deinit(ox_run_memory *m) {
  ox_arena_deinit(&m->arena);
  ox_arena_deinit(&m->spare);
}

void ox_run_memory_reset(ox_run_memory *m) {
  ox_arena_reset(&m->arena);
  ox_arena_reset(&m->spare);
  m->innermost = NULL, m->taken = 0;
  if (m->next_growing) memset(m->growing, 0, sizeof m->growing);
  m->next_growing = 0;
}

void ox_run_memory_trim(ox_run_memory *m) {
  ox_arena_trim(&m->arena);
  ox_arena_trim(&m->spare);
}

static void *get(void *arena, size_t bytes) { return ox_arena_alloc(arena, bytes); }

/* What |bytes| take in the arena. */
static bool cost_of(size_t bytes, size_t *out) {
  size_t align = bytes >= 64 ? 64 : 16;
  if (!ox_add_ok(bytes, align - 1, out)) return false;
  *out &= ~(align - 1);
  return true;
}

void *ox_run_memory_take(ox_run_memory *m, ox_workspace *w, size_t bytes) {
  size_t cost;
  if (!cost_of(bytes, &cost) || OX_UNLIKELY(!ox_workspace_take_for_run(w, cost))) return NULL;
  void *data = ox_workspace_get(w, get, &m->arena, bytes);
  if (data) m->taken += cost;
  return data;
}

/* ---- arrays that grow ---- */

static bool since(const ox_run_mark *mark, const ox_growing_array *g) { return !mark || g->taken >= mark->taken; }

static ox_growing_array *find_growing(ox_run_memory *m, const void *p) {
  for (uint32_t i = 0; p && i < OX_COUNT(m->growing); i++)
    if (m->growing[i].p == p) return &m->growing[i];
  return NULL;
}

/* An array from before a loop is not extended in it: what the loop adds is to go without it. The first time an array
 * has room for no more than is wanted, since most are extended once. */
void *ox_run_memory_extend(ox_run_memory *m, ox_workspace *w, const void *p, size_t used, size_t more) {
  size_t need, capacity;
  ox_growing_array *g = find_growing(m, p);
  if (!ox_add_ok(used, more, &need)) return NULL;
  if (g && g->used == used && need <= g->capacity && since(m->innermost, g)) {
    g->used = need;
    return (void *)(uintptr_t)p;
  }
  if (!g || !ox_mul_ok(need, 2, &capacity)) capacity = need;
  capacity = OX_MAX(capacity, LEAST_CAPACITY);
  size_t taken = m->taken;
  void *grown = ox_run_memory_take(m, w, capacity);
  if (!grown) return NULL;
  if (used) memcpy(grown, p, used);
  if (!g) g = &m->growing[m->next_growing++ % OX_COUNT(m->growing)];
  *g = (ox_growing_array){grown, need, capacity, taken};
  return grown;
}

/* ---- what iterations leave ---- */

void ox_run_memory_mark(ox_run_memory *m, const ox_workspace *w, ox_run_mark *mark) {
  *mark = (ox_run_mark){ox_arena_here(&m->arena), m->taken, w->of_run, 0};
  m->innermost = mark;
}

/* Walks what values consist of, as far as it lies in |from| behind |place|: what is older refers to nothing newer. */
typedef struct {
  const ox_arena *from;
  ox_arena_place place;
  ox_arena *to; /* NULL: only counts */
  size_t bytes;
} mover;

static bool is_new(const mover *v, const void *p) { return p && ox_arena_holds(v->from, v->place, p); }

/* |*p|, of |bytes|, is there afterwards. False: out of memory. */
static bool move(mover *v, void **p, size_t bytes) {
  size_t cost;
  if (!cost_of(bytes, &cost)) return false;
  v->bytes += cost;
  if (!v->to) return true;
  void *copy = ox_arena_copy(v->to, *p, bytes);
  if (copy) *p = copy;
  return copy != NULL;
}

static bool move_strings(mover *v, const ox_tensor *t) {
  ox_str *s = t->data;
  for (size_t i = 0; i < t->bytes / sizeof *s; i++) {
    void *p = (void *)(uintptr_t)s[i].p;
    if (!is_new(v, p)) continue;
    if (!move(v, &p, s[i].n + 1)) return false;
    if (v->to) s[i].p = p;
  }
  return true;
}

static bool move_content(mover *v, ox_tensor *t);

static bool move_items(mover *v, ox_tensor *t) {
  ox_tensor **items = t->data;
  for (int64_t i = 0; i < t->shape.dim[0]; i++) {
    void *item = items[i];
    if (!is_new(v, item)) continue;
    if (!move(v, &item, sizeof(ox_tensor))) return false;
    if (v->to) items[i] = item;
    if (!move_content(v, item)) return false;
  }
  return true;
}

/* The content of |t|, whose header may be written. An array of characters' places that lies elsewhere is a buffer of
 * the value's own: it stays, and is written, too. */
static bool move_content(mover *v, ox_tensor *t) {
  bool strings = t->kind == OX_TENSOR && t->dtype == OX_STRING, here = is_new(v, t->data);
  if (!t->data || (!here && !strings)) return true;
  if (here && !move(v, &t->data, t->bytes)) return false;
  if (strings) return move_strings(v, t);
  if (t->kind == OX_SEQUENCE) return move_items(v, t);
  for (int i = 0; i < 2 && (t->kind == OX_MAP || t->kind == OX_SPARSE); i++)
    if (!move_content(v, (ox_tensor *)t->data + i)) return false;
  return true;
}

static bool move_all(mover v, ox_tensor *const *values, uint32_t n, size_t *out_bytes) {
  for (uint32_t i = 0; i < n; i++)
    if (!move_content(&v, values[i])) return false;
  if (out_bytes) *out_bytes = v.bytes;
  return true;
}

/* Everything since |mark| is gone. */
static void release(ox_run_memory *m, ox_workspace *w, const ox_run_mark *mark) {
  for (uint32_t i = 0; i < OX_COUNT(m->growing); i++)
    if (m->growing[i].p && since(mark, &m->growing[i])) m->growing[i] = (ox_growing_array){0};
  ox_arena_release(&m->arena, mark->place);
  ox_workspace_give(w, w->of_run - mark->of_run);
  w->of_run = mark->of_run, m->taken = mark->taken;
}

ox_status *ox_run_memory_collect(ox_run_memory *m, ox_workspace *w, ox_run_mark *mark, ox_tensor *const *values,
                                 uint32_t n) {
  size_t above = m->taken - mark->taken, live = 0;
  ox_arena_place begin = {NULL, 0};
  if (above <= WAIT_BYTES || (above - WAIT_BYTES) / WAIT_TIMES <= mark->live) return NULL;
  (void)move_all((mover){&m->arena, mark->place, NULL, 0}, values, n, &live);
  if (live > above / 2 || !ox_workspace_take(w, live)) { /* no gain (texts that share characters), or no room */
    mark->live = above;
    return NULL;
  }
  bool ok = move_all((mover){&m->arena, mark->place, &m->spare, 0}, values, n, NULL);
  if (ok) release(m, w, mark);
  ok = ok && ox_workspace_take_for_run(w, live) && move_all((mover){&m->spare, begin, &m->arena, 0}, values, n, NULL);
  if (ok) m->taken += live;
  mark->live = live;
  ox_arena_reset(&m->spare);
  ox_workspace_give(w, live);
  return ok ? NULL : ox_oom();
}
