/* SPDX-License-Identifier: Apache-2.0
 * exec/pack.c - see pack.h. Claims go through the form (plan/packs.h), so threads of this crew and those of other runs
 * never pack a unit twice. A unit never waits for anything, so a thread that waits for units of others waits for
 * threads that are at work. */
#include "exec/pack.h"

#include <string.h>

#include "base/cksize.h"
#include "base/huge_pages.h"
#include "base/macros.h"
#include "graph/deferred_const.h"
#include "plan/constants.h"

/* Pages of the mapped file go as packing goes on, so that memory never holds a large constant twice. */
enum { MOST_UNREAD = 4 << 20 };

/* What one thread hands to |fn|. */
typedef struct {
  const ox_tensor **in; /* as |wants|, but for |piece| */
  ox_tensor piece;
  char *computed, *scratch;
} hands;

typedef struct {
  const ox_pack_site *at;
  const ox_pack *pack;
  ox_packs *packs;
  ox_packed *form;
  const ox_tensor **wants; /* per input; NULL: not asked for */
  ox_deferred *deferred;   /* the input that comes in pieces is computed; else NULL */
  uint32_t by_piece;       /* which input; n_in: none */
  bool keeps;              /* the constants' pages: a later run reads them again */
  size_t piece_bytes;      /* of the largest that is computed */
  ox_arena *arena;
  hands *hands; /* per thread */
  char *room;   /* theirs */
  size_t room_bytes;
} packing;

/* What an older kernel does not know is not there. */
static bool in_pieces(const ox_pack *p) {
  return p->struct_size >= offsetof(ox_pack, piece) + sizeof p->piece && p->piece;
}

static void give_back_pages(const packing *k) {
  for (uint32_t i = 0; i < k->at->node->n_in && i < 64 && !k->keeps; i++) {
    const ox_tensor *t = k->deferred && i == k->by_piece ? k->deferred->from : k->wants[i];
    if (t) ox_constant_drop(k->at->graph, t);
  }
}

/* The elements of |unit|, where they lie or computed. */
static void hand_piece(const packing *k, hands *h, int64_t unit) {
  int64_t first, n;
  k->pack->piece(k->pack, unit, &first, &n);
  h->piece = *k->wants[k->by_piece];
  if (k->deferred) {
    k->deferred->make(k->deferred->from, k->deferred->arg, first, n, h->computed);
    h->piece.data = h->computed;
  } else {
    h->piece.data = (char *)h->piece.data + (size_t)first * ox_dtype_bits(h->piece.dtype) / 8;
  }
  h->in[k->by_piece] = &h->piece;
}

/* As many units as |end| - |begin|, whichever they are. */
static ox_status *pack_units(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const packing *k = ctx;
  ox_packed *f = k->form;
  size_t each = f->bytes / (size_t)f->n_units + 1;
  hands *h = &k->hands[worker];
  for (int64_t unit; begin < end && ox_packed_claim(f, &unit); begin++) {
    if (k->by_piece < k->at->node->n_in) hand_piece(k, h, unit);
    k->pack->fn(k->pack, h->in, f->data, unit, unit + 1, h->scratch);
    if (atomic_fetch_add_explicit(&f->unread, each, memory_order_relaxed) + each >= MOST_UNREAD) {
      atomic_store_explicit(&f->unread, 0, memory_order_relaxed);
      give_back_pages(k);
    }
    ox_packed_finish(k->packs, f);
  }
  return NULL;
}

static ox_status *pack_all(packing *k) {
  const ox_step_crew *crew = k->at->crew;
  int64_t rest = k->form->n_units - atomic_load_explicit(&k->form->claimed, memory_order_relaxed);
  ox_packed_touch(k->packs, k->form);
  if (rest > 0) OX_TRY(ox_crew_run(crew, rest, pack_units, k));
  while (!ox_packed_ready(k->form)) {
    OX_TRY(ox_watch_check(crew->watch));
    if (ox_packed_wait(k->packs, k->form)) break;
    /* the run that had claimed it may have been stopped */
    OX_TRY(pack_units(k, 0, k->form->n_units, 0));
  }
  return NULL;
}

/* Nothing else reads the constants now, so their pages may go. */
static ox_status *pack_once(packing *k) {
  ox_status *st = pack_all(k);
  give_back_pages(k);
  return st;
}

/* ---- what it is made from ---- */

/* The constants, as they came with the model; those that are computed, and not in pieces, as a whole meanwhile. */
static ox_status *open_constants(packing *k) {
  const ox_pack_site *s = k->at;
  const ox_node *n = s->node;
  k->wants = OX_ARENA_ARRAY(k->arena, const ox_tensor *, n->n_in);
  if (!k->wants) return ox_oom();
  for (uint32_t i = 0; i < n->n_in && i < 64; i++) {
    if (!(k->pack->inputs >> i & 1) || n->in[i] == OX_NONE) continue;
    ox_deferred *deferred = ox_deferred_of(s->graph, n->in[i]);
    k->wants[i] = ox_graph_const_type(s->graph, n->in[i]);
    if (in_pieces(k->pack) && k->wants[i]) k->by_piece = i, k->deferred = deferred;
    if (deferred && !in_pieces(k->pack)) k->wants[i] = ox_deferred_open(s->graph->model, deferred);
  }
  return NULL;
}

static void close_constants(const packing *k) {
  const ox_pack_site *s = k->at;
  if (!k->wants) return;
  give_back_pages(k);
  for (uint32_t i = 0; i < s->node->n_in && i < 64; i++) {
    ox_deferred *deferred = k->wants[i] && !in_pieces(k->pack) ? ox_deferred_of(s->graph, s->node->in[i]) : NULL;
    if (deferred) ox_deferred_close(s->graph->model, deferred);
  }
}

static void find_piece_bytes(packing *k) {
  int64_t first, n;
  for (int64_t u = 0; k->deferred && u < k->form->n_units; u++) {
    k->pack->piece(k->pack, u, &first, &n);
    k->piece_bytes = OX_MAX(k->piece_bytes, (size_t)n * ox_dtype_bits(k->deferred->t.dtype) / 8);
  }
}

static uint32_t threads_of(const packing *k) { return k->at->crew->pool ? OX_MAX(k->at->crew->max_threads, 1u) : 1; }

/* What each thread has, but for room. |*out_each|: bytes of that. */
static ox_status *make_hands(packing *k, size_t *out_each) {
  uint32_t threads = threads_of(k), n_in = k->at->node->n_in;
  find_piece_bytes(k);
  k->piece_bytes = OX_ROUND_UP(k->piece_bytes, (size_t)OX_ALIGN_BYTES);
  k->hands = OX_ARENA_ARRAY(k->arena, hands, threads);
  if (!k->hands || !ox_add_ok(k->piece_bytes, k->pack->scratch_bytes, out_each) || *out_each > SIZE_MAX / 8)
    return ox_oom();
  *out_each = OX_ROUND_UP(*out_each, (size_t)OX_ALIGN_BYTES);
  for (uint32_t i = 0; i < threads; i++)
    if (!(k->hands[i].in = ox_arena_copy(k->arena, k->wants, n_in * sizeof *k->hands[i].in))) return ox_oom();
  return NULL;
}

static void give_room(packing *k, char *room, size_t each) {
  for (uint32_t i = 0; i < threads_of(k); i++)
    k->hands[i].computed = room + each * i, k->hands[i].scratch = k->hands[i].computed + k->piece_bytes;
}

static ox_status *fill_hands(packing *k) {
  size_t each;
  OX_TRY(make_hands(k, &each));
  if (!ox_mul_ok(each, threads_of(k), &k->room_bytes)) return ox_oom();
  if (k->room_bytes && !(k->room = ox_new_aligned(k->arena->alloc, k->room_bytes, OX_ALIGN_BYTES))) return ox_oom();
  if (k->room) give_room(k, k->room, each);
  return NULL;
}

ox_status *ox_pack_constants(const ox_pack_site *s, const ox_pack *p, const void **out_data) {
  ox_alloc alloc = s->graph->model->alloc;
  packing k = {.at = s, .pack = p, .packs = s->unit->packs, .by_piece = s->node->n_in};
  *out_data = NULL;
  OX_TRY(ox_packs_find(k.packs, alloc, p, &k.form));
  if (!ox_packed_ready(k.form)) {
    ox_arena arena;
    ox_arena_init(&arena, alloc);
    k.arena = &arena;
    ox_status *st = open_constants(&k);
    if (!st) st = fill_hands(&k);
    if (!st) st = pack_all(&k);
    close_constants(&k);
    ox_delete(alloc, k.room, k.room_bytes);
    ox_arena_deinit(&arena);
    OX_TRY(st);
  }
  *out_data = k.form->data;
  return NULL;
}

/* ---- memory now, work later ---- */

ox_status *ox_pack_reserve(const ox_pack_site *s, const ox_pack *p, ox_arena *prep, void **out_later) {
  packing *k = OX_ARENA_NEW(prep, packing);
  ox_pack *own = ox_arena_copy(prep, p, sizeof *p);
  if (!k || !own) return ox_oom();
  *k = (packing){.at = s, .pack = own, .packs = s->unit->packs, .by_piece = s->node->n_in, .arena = prep};
  if (in_pieces(p) || p->scratch_bytes)
    return ox_fail(OX_INVALID_ARGUMENT, "a form that is packed later has neither pieces nor scratch");
  for (uint32_t i = 0; i < s->node->n_in && i < 64; i++)
    if ((p->inputs >> i & 1) && s->node->in[i] != OX_NONE && ox_deferred_of(s->graph, s->node->in[i]))
      return ox_fail(OX_INVALID_ARGUMENT, "a form that is packed later is made of constants that lie somewhere");
  OX_TRY(ox_packs_find(k->packs, s->graph->model->alloc, p, &k->form));
  OX_TRY(open_constants(k));
  OX_TRY(fill_hands(k));
  *out_later = k;
  return NULL;
}

ox_status *ox_pack_reserved(const ox_pack_site *s, void *later, const void **out_data) {
  packing *k = later;
  k->at = s;
  if (!ox_packed_ready(k->form)) OX_TRY(pack_once(k));
  *out_data = k->form->data;
  return NULL;
}

/* ---- in runs ---- */

enum {
  LEAST_PASSING = 32 << 10, /* bytes of a form: below that pages are few */
  MOST_PASSING = 32 << 20,  /* nothing is won where the pages that pass are as many as those that stay */
  MOST_SCRATCH = 1 << 20    /* bytes of a thread's, which the context keeps */
};

struct ox_late {
  ox_late *next;
  packing k;
  ox_pack pack;
  ox_pack_site at;
  const void *data; /* what runs read */
  size_t each;      /* bytes of scratch on each thread */
};

/* A constant that is computed as a whole needs memory in each run that packs. */
static bool opens_nothing(const packing *k) {
  const ox_pack_site *s = k->at;
  for (uint32_t i = 0; i < s->node->n_in && i < 64 && !in_pieces(k->pack); i++)
    if ((k->pack->inputs >> i & 1) && s->node->in[i] != OX_NONE && ox_deferred_of(s->graph, s->node->in[i]))
      return false;
  return true;
}

ox_status *ox_pack_for_runs(const ox_pack_site *s, const ox_pack *p, ox_arena *prep, ox_late **list,
                            const void *const **out_place) {
  ox_late *l = OX_ARENA_NEW(prep, ox_late);
  if (!l) return ox_oom();
  *out_place = &l->data;
  l->at = *s, l->pack = *p;
  l->k = (packing){.at = &l->at, .pack = &l->pack, .packs = s->unit->packs, .by_piece = s->node->n_in, .arena = prep};
  if (!list || p->bytes < LEAST_PASSING || !opens_nothing(&l->k)) return ox_pack_constants(s, p, &l->data);
  OX_TRY(ox_packs_find(l->k.packs, s->graph->model->alloc, p, &l->k.form));
  l->data = l->k.form->data;
  if (ox_packed_ready(l->k.form)) return NULL;
  OX_TRY(open_constants(&l->k));
  OX_TRY(make_hands(&l->k, &l->each));
  if (l->each > MOST_SCRATCH) return ox_pack_constants(s, p, &l->data);
  l->next = *list, *list = l;
  return NULL;
}

size_t ox_late_scratch(const ox_late *l) {
  size_t most = 0;
  for (; l; l = l->next) most = OX_MAX(most, l->each);
  return most;
}

/* Where |l| passes, if it does; |*used| bytes are another form's of this step. */
static char *place_to_pass(const ox_late *l, ox_passing *p, size_t *used) {
  size_t bytes = OX_ROUND_UP(l->pack.bytes, (size_t)OX_ALIGN_BYTES);
  if (!p || bytes > p->bytes - *used || atomic_exchange_explicit(&l->k.form->passed, true, memory_order_relaxed))
    return NULL;
  if (!p->data && !(p->data = ox_new_aligned(p->alloc, p->bytes, OX_ALIGN_BYTES))) return NULL;
  *used += bytes;
  if (*used > p->touched) ox_huge_pages_touch(p->data + p->touched, *used - p->touched);
  p->touched = OX_MAX(p->touched, *used & ~(size_t)(OX_HUGE_PAGE_BYTES - 1));
  return p->data + *used - bytes;
}

/* The pages of constants that become larger are fewer than those that the next run takes for them. */
static bool grows(const packing *k) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < k->at->node->n_in; i++)
    if (k->wants[i]) bytes += k->wants[i]->bytes;
  return k->form->bytes > bytes + bytes / 2;
}

/* As a form of its own, which no other step finds. */
static ox_status *pack_passing(packing *k, char *to) {
  ox_packed *stays = k->form, passes = {.bytes = stays->bytes, .data = to, .n_units = stays->n_units, .touched = true};
  k->keeps = grows(k), k->form = &passes;
  ox_status *st = pack_once(k);
  k->keeps = false, k->form = stays;
  return st;
}

static ox_status *pack_late(ox_late *l, const ox_step_crew *crew, char *scratch, size_t scratch_bytes, size_t *used) {
  packing *k = &l->k;
  l->at.crew = crew;
  l->data = k->form->data;
  if (ox_packed_ready(k->form)) return NULL;
  if (l->each) give_room(k, scratch, scratch_bytes);
  char *passing = place_to_pass(l, crew->passing, used);
  if (passing) {
    l->data = passing;
    return pack_passing(k, passing);
  }
  return pack_once(k);
}

ox_status *ox_late_pack(ox_late **list, const ox_step_crew *crew, char *scratch, size_t scratch_bytes) {
  size_t used = 0;
  for (ox_late **at = list, *l; (l = *at);) {
    OX_TRY(pack_late(l, crew, scratch, scratch_bytes, &used));
    if (l->data == l->k.form->data)
      *at = l->next;
    else
      at = &l->next;
  }
  if (!*list && crew->passing) crew->passing->n_late--;
  return NULL;
}

void ox_passing_init(ox_passing *p, ox_alloc alloc) { *p = (ox_passing){.alloc = alloc}; }

void ox_passing_add(ox_passing *p, const ox_late *list) {
  size_t bytes = 0;
  if (list) p->n_late++;
  for (const ox_late *l = list; l; l = l->next)
    if (l->pack.bytes <= MOST_PASSING) bytes += OX_ROUND_UP(l->pack.bytes, (size_t)OX_ALIGN_BYTES);
  p->most = OX_MAX(p->most, bytes);
  p->total = bytes > SIZE_MAX - p->total ? SIZE_MAX : p->total + bytes;
  p->bytes = p->most <= p->total / 2 ? p->most : 0;
}

void ox_passing_end(ox_passing *p) {
  if (OX_LIKELY(!p->bytes)) return;
  if (p->data) ox_delete(p->alloc, p->data, p->bytes);
  p->data = NULL, p->bytes = 0;
}
