/* SPDX-License-Identifier: Apache-2.0
 * session/value_api.c - ox_value: reference-counted, owns all its data; sessions reuse the memory of released ones. */
#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "base/cksize.h"
#include "base/macros.h"
#include "graph/shape.h"
#include "session/deep_copy.h"
#include "session/device_memory.h"
#include "session/value.h"

struct ox_value {
  atomic_size_t refs;
  ox_alloc alloc;
  ox_tensor t;
  void *owned; /* memory of a tensor of its own, |capacity| bytes */
  size_t capacity;
  ox_arena arena; /* memory of strings, sequences, maps */
  void (*release)(void *ctx);
  void *ctx;
  ox_recycler *home;
  ox_value *next; /* in the recycler */
  size_t room;    /* bytes of the caller's, behind this */
  ox_memory *memory; /* where the data lies; NULL: the host's */
  void *block;       /* of |memory|, t.bytes of it; NULL: the data is somebody else's */
};

#define ROOM_AT ((sizeof(ox_value) + 15) & ~(size_t)15)

enum { LEAST_KEPT = 64, MOST_KEPT = 256, RUNS_KEPT = 2, GROWS_BY = 8 };

struct ox_recycler {
  atomic_size_t refs; /* the session's, and one per value that is not kept here */
  ox_alloc alloc;
  pthread_mutex_t lock;
  ox_value *kept; /* the latest first */
  size_t n_kept, most_kept;
  bool closed;
};

/* ---- memory ---- */

static void leave_memory(ox_value *v) {
  ox_memory_give(v->memory, v->block, v->t.bytes);
  ox_memory_release(v->memory);
  v->memory = NULL, v->block = NULL;
}

static void destroy(ox_value *v) {
  if (v->release) v->release(v->ctx);
  if (v->memory) leave_memory(v);
  ox_delete(v->alloc, v->owned, v->capacity);
  ox_arena_deinit(&v->arena);
  ox_delete(v->alloc, v, ROOM_AT + v->room);
}

static ox_status *make(ox_alloc alloc, size_t room, ox_value **out_value) {
  size_t bytes;
  ox_value *v = ox_add_ok(ROOM_AT, room, &bytes) ? ox_new_zeroed(alloc, bytes) : NULL;
  *out_value = v;
  if (!v) return ox_oom();
  atomic_init(&v->refs, 1);
  v->alloc = alloc, v->room = room;
  ox_arena_init(&v->arena, alloc);
  return NULL;
}

/* |spare|: bytes more, if there are any. */
static ox_status *give_memory(ox_value *v, size_t bytes, size_t spare) {
  if (!ox_add_ok(bytes, OX_PAD_BYTES, &v->capacity))
    return ox_fail(OX_LIMIT, "a tensor of %zu bytes is too large", bytes);
  size_t most;
  if (spare && ox_add_ok(v->capacity, spare, &most) && (v->owned = ox_new_aligned(v->alloc, most, OX_ALIGN_BYTES)))
    v->capacity = most;
  else
    v->owned = ox_new_aligned(v->alloc, v->capacity, OX_ALIGN_BYTES);
  if (!v->owned) return ox_fail(OX_OUT_OF_MEMORY, "no memory for a tensor of %zu bytes", bytes);
  v->t.data = v->owned;
  return NULL;
}

ox_value *ox_value_retain(ox_value *v) {
  if (v) atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
  return v;
}

static void recycler_drop(ox_recycler *r) {
  if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
  pthread_mutex_destroy(&r->lock);
  ox_delete(r->alloc, r, sizeof *r);
}

/* The value that nobody has wanted for longest. */
static ox_value *take_oldest(ox_recycler *r) {
  ox_value **at = &r->kept;
  while ((*at)->next) at = &(*at)->next;
  ox_value *v = *at;
  *at = NULL, r->n_kept--;
  return v;
}

void ox_value_release(ox_value *v) {
  /* acq_rel: the last holder sees every use by the others */
  if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) return;
  ox_recycler *r = v->home;
  v->home = NULL;
  if (!r) {
    destroy(v);
    return;
  }
  if (v->memory) leave_memory(v);
  pthread_mutex_lock(&r->lock);
  ox_value *leaves = v;
  if (!r->closed) {
    v->next = r->kept, r->kept = v, r->n_kept++;
    leaves = r->n_kept > r->most_kept ? take_oldest(r) : NULL;
  }
  pthread_mutex_unlock(&r->lock);
  if (leaves) destroy(leaves);
  recycler_drop(r);
}

ox_status *ox_recycler_create(ox_alloc alloc, uint32_t n_outputs, ox_recycler **out_recycler) {
  ox_recycler *r = ox_new_zeroed(alloc, sizeof *r);
  *out_recycler = r;
  if (!r) return ox_oom();
  atomic_init(&r->refs, 1);
  r->alloc = alloc, r->most_kept = OX_MIN(OX_MAX((size_t)LEAST_KEPT, (size_t)n_outputs * RUNS_KEPT), (size_t)MOST_KEPT);
  pthread_mutex_init(&r->lock, NULL);
  return NULL;
}

static void empty(ox_recycler *r, bool close) {
  pthread_mutex_lock(&r->lock);
  ox_value *v = r->kept;
  r->kept = NULL, r->n_kept = 0, r->closed |= close;
  pthread_mutex_unlock(&r->lock);
  while (v) {
    ox_value *next = v->next;
    destroy(v);
    v = next;
  }
}

void ox_recycler_trim(ox_recycler *r) { empty(r, false); }

void ox_recycler_release(ox_recycler *r) {
  if (!r) return;
  empty(r, true);
  recycler_drop(r);
}

static size_t bytes_of_tensor(const ox_value *v) { return v->capacity; }
static size_t bytes_of_arena(const ox_value *v) { return v->arena.total; }

/* The kept value with the least memory, as |bytes_of| has it, that |need| > 0 fits in without wasting three quarters of
 * it; else the largest of the smaller ones that have at least |least| > 0. */
static ox_value *take_kept(ox_recycler *r, size_t (*bytes_of)(const ox_value *v), size_t need, size_t least) {
  pthread_mutex_lock(&r->lock);
  ox_value **best = NULL, **small = NULL;
  for (ox_value **at = &r->kept; *at; at = &(*at)->next) {
    size_t has = bytes_of(*at);
    if (has >= need && (has / 4 <= need || has <= 4096) && (!best || has < bytes_of(*best))) best = at;
    if (has < need && has >= least && (!small || has > bytes_of(*small))) small = at;
  }
  if (!best) best = small;
  ox_value *v = best ? *best : NULL;
  if (v) *best = v->next, r->n_kept--;
  pthread_mutex_unlock(&r->lock);
  return v;
}

/* |v| is the caller's now, and comes back to |r| when it is released. */
static void lend(ox_recycler *r, ox_value *v, ox_value **out_value) {
  atomic_store_explicit(&v->refs, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
  v->home = r;
  *out_value = v;
}

ox_status *ox_value_take(ox_recycler *r, uint32_t dtype, const ox_shape *shape, size_t bytes, bool grows,
                         ox_value **out_value) {
  ox_status *st = NULL;
  size_t need = bytes + OX_PAD_BYTES, least = grows ? need / 2 : SIZE_MAX; /* what it may have grown out of */
  ox_value *v = take_kept(r, bytes_of_tensor, need, least);
  *out_value = NULL;
  if (v && v->capacity < need) {
    ox_delete(v->alloc, v->owned, v->capacity);
    v->owned = NULL;
  }
  if (!v) OX_TRY(make(r->alloc, 0, &v));
  if (!v->owned) OX_TRY_TO(failed, st, give_memory(v, bytes, grows ? bytes / GROWS_BY : 0));
  v->t = (ox_tensor){.kind = OX_TENSOR, .dtype = dtype, .data = v->owned, .bytes = bytes, .shape = *shape};
  lend(r, v, out_value);
  return NULL;
failed:
  destroy(v);
  return st;
}

ox_status *ox_value_make(ox_alloc alloc, uint32_t dtype, const ox_shape *shape, size_t bytes, ox_value **out_value) {
  ox_value *v;
  *out_value = NULL;
  OX_TRY(make(alloc, 0, &v));
  ox_status *st = give_memory(v, bytes, 0);
  if (st) {
    destroy(v);
    return st;
  }
  v->t.kind = OX_TENSOR, v->t.dtype = dtype, v->t.shape = *shape, v->t.bytes = bytes;
  *out_value = v;
  return NULL;
}

ox_tensor *ox_value_tensor(ox_value *v) { return &v->t; }

void ox_value_swap(ox_value *a, ox_value *b) {
  ox_tensor t = a->t;
  void *owned = a->owned;
  size_t capacity = a->capacity;
  a->t = b->t, a->owned = b->owned, a->capacity = b->capacity;
  b->t = t, b->owned = owned, b->capacity = capacity;
}

/* A kept value without memory of the host. */
static ox_value *take_bare(ox_recycler *r) {
  pthread_mutex_lock(&r->lock);
  ox_value **at = &r->kept;
  while (*at && ((*at)->capacity || (*at)->arena.total)) at = &(*at)->next;
  ox_value *v = *at;
  if (v) *at = v->next, r->n_kept--;
  pthread_mutex_unlock(&r->lock);
  return v;
}

/* The block comes from the arena of |m| and goes back there; what is kept is the value around it. */
ox_status *ox_value_take_in(ox_recycler *r, ox_memory *m, uint32_t dtype, const ox_shape *shape, size_t bytes,
                            ox_value **out_value) {
  ox_value *v = take_bare(r);
  *out_value = NULL;
  if (!v) OX_TRY(make(r->alloc, 0, &v));
  ox_status *st = ox_memory_take(m, bytes, &v->block);
  if (st) {
    destroy(v);
    return st;
  }
  v->t = (ox_tensor){.kind = OX_TENSOR, .dtype = dtype, .data = v->block, .bytes = bytes, .shape = *shape};
  v->memory = ox_memory_retain(m);
  lend(r, v, out_value);
  return NULL;
}

/* ---- deep copies ---- */

ox_status *ox_value_clone(ox_alloc alloc, const ox_tensor *from, ox_value **out_value) {
  ox_value *v;
  *out_value = NULL;
  OX_TRY(make(alloc, 0, &v));
  ox_status *st = ox_copy_deep(&v->arena, from, &v->t);
  if (st)
    destroy(v);
  else
    *out_value = v;
  return st;
}

ox_status *ox_value_take_copy(ox_recycler *r, const ox_tensor *from, ox_value **out_value) {
  ox_value *v = take_kept(r, bytes_of_arena, OX_MAX(ox_deep_bytes(from), 1), 1);
  *out_value = NULL;
  if (!v) OX_TRY(make(r->alloc, 0, &v));
  ox_arena_reset(&v->arena);
  ox_status *st = ox_copy_deep(&v->arena, from, &v->t);
  if (st) {
    destroy(v);
    return st;
  }
  lend(r, v, out_value);
  return NULL;
}

/* ---- the public calls ---- */

static ox_alloc alloc_of(const ox_env *env) { return env ? env->alloc : ox_alloc_heap(); }

static ox_status *check_shape(uint32_t dtype, const int64_t *dims, size_t rank, ox_tensor *out) {
  if (rank > OX_MAX_RANK) return ox_fail(OX_LIMIT, "rank %zu is above %d", rank, OX_MAX_RANK);
  ox_shape s = ox_shape_of((int)rank, dims);
  if (!ox_dtype_bits(dtype)) return ox_fail(OX_INVALID_ARGUMENT, "no such element type: %u", dtype);
  *out = (ox_tensor){.kind = OX_TENSOR, .dtype = dtype, .shape = s};
  int64_t n = ox_shape_count(&s);
  char text[OX_SHAPE_TEXT];
  if (n < 0 || !ox_dtype_bytes(dtype, n, &out->bytes) || out->bytes > SIZE_MAX / 8)
    return ox_fail(OX_LIMIT, "shape %s of %s is not a possible size", ox_shape_text(&s, text), ox_dtype_name(dtype));
  return NULL;
}

ox_status *ox_value_create(ox_env *env, uint32_t dtype, const int64_t *dims, size_t rank, ox_value **out_value) {
  ox_value *v;
  ox_tensor t;
  *out_value = NULL;
  OX_TRY(check_shape(dtype, dims, rank, &t));
  OX_TRY(make(alloc_of(env), 0, &v));
  v->t = t;
  ox_status *st = give_memory(v, t.bytes, 0);
  if (st) {
    destroy(v);
    return st;
  }
  memset(v->owned, 0, v->capacity);
  *out_value = v;
  return NULL;
}

ox_status *ox_value_wrap(ox_env *env, uint32_t dtype, const int64_t *dims, size_t rank, void *data, size_t bytes,
                         void (*release)(void *ctx), void *ctx, ox_value **out_value) {
  ox_value *v;
  ox_tensor t;
  *out_value = NULL;
  OX_TRY(check_shape(dtype, dims, rank, &t));
  if (bytes < t.bytes || (t.bytes && !data))
    return ox_fail(OX_INVALID_ARGUMENT, "the tensor needs %zu bytes, got %zu", t.bytes, data ? bytes : 0);
  OX_TRY(make(alloc_of(env), 0, &v));
  v->t = t, v->t.data = data, v->release = release, v->ctx = ctx;
  *out_value = v;
  return NULL;
}

ox_status *ox_value_create_copy(ox_env *env, const ox_tensor *from, ox_value **out_value) {
  return ox_value_clone(alloc_of(env), from, out_value);
}

ox_status *ox_value_view(ox_env *env, const ox_tensor *t, size_t room, void (*release)(void *room),
                         ox_value **out_value) {
  ox_value *v;
  *out_value = NULL;
  OX_TRY(make(alloc_of(env), room, &v));
  v->t = *t, v->release = release, v->ctx = ox_value_room(v);
  *out_value = v;
  return NULL;
}

void *ox_value_room(ox_value *v) { return v->room ? (char *)v + ROOM_AT : NULL; }

const ox_tensor *ox_value_get(const ox_value *v) { return &v->t; }
void *ox_value_data(ox_value *v) { return v->t.data; }

/* ---- on devices ---- */

static ox_status *check_numbers(uint32_t dtype, const int64_t *dims, size_t rank, ox_tensor *out) {
  if (dtype == OX_STRING) return ox_fail(OX_INVALID_ARGUMENT, "strings lie in host memory only");
  return check_shape(dtype, dims, rank, out);
}

ox_status *ox_value_create_in(ox_memory *m, uint32_t dtype, const int64_t *dims, size_t rank, ox_value **out_value) {
  ox_value *v;
  ox_tensor t;
  *out_value = NULL;
  if (!m) return ox_value_create(NULL, dtype, dims, rank, out_value);
  OX_TRY(check_numbers(dtype, dims, rank, &t));
  OX_TRY(make(m->env->alloc, 0, &v));
  v->t = t, v->memory = ox_memory_retain(m);
  ox_status *st = ox_memory_take(m, t.bytes, &v->block);
  if (st) {
    destroy(v);
    return st;
  }
  v->t.data = v->block;
  *out_value = v;
  return NULL;
}

ox_status *ox_value_wrap_in(ox_memory *m, uint32_t dtype, const int64_t *dims, size_t rank, void *data, size_t bytes,
                            void (*release)(void *ctx), void *ctx, ox_value **out_value) {
  ox_tensor t;
  *out_value = NULL;
  OX_TRY(check_numbers(dtype, dims, rank, &t));
  OX_TRY(ox_value_wrap(m ? m->env : NULL, dtype, dims, rank, data, bytes, release, ctx, out_value));
  (*out_value)->memory = ox_memory_retain(m);
  return NULL;
}

ox_memory *ox_value_memory(const ox_value *v) { return v->memory; }

void ox_value_set_memory(ox_value *v, ox_memory *m) {
  ox_memory_retain(m);
  ox_memory_release(v->memory);
  v->memory = m;
}

ox_status *ox_value_copy_to(const ox_value *from, ox_value *to) {
  const ox_tensor *a = &from->t, *b = &to->t;
  if (a->kind != OX_TENSOR || b->kind != OX_TENSOR || a->dtype != b->dtype || a->bytes != b->bytes ||
      a->dtype == OX_STRING)
    return ox_fail(OX_INVALID_ARGUMENT, "a copy is of one tensor of numbers to another of its type and size");
  return ox_memory_copy(to->memory, b->data, from->memory, a->data, a->bytes);
}
