/* SPDX-License-Identifier: Apache-2.0
 * exec/pack.c - see pack.h. Claims go through the form (plan/packs.h), so threads of this crew and those of other runs
 * never pack a unit twice. A unit never waits for anything, so whoever waits for units of others waits for threads that
 * are at work. */
#include "exec/pack.h"

#include "base/cksize.h"
#include "base/macros.h"
#include "graph/made.h"
#include "plan/constants.h"

/* Pages of the mapped file go as packing goes on, so that memory never holds a large constant twice. */
enum { MOST_UNREAD = 4 << 20 };

typedef struct {
  const ox_pack_site *at;
  const ox_pack *pack;
  ox_packs *packs;
  ox_packed *form;
  const ox_tensor **in;
  char *scratch;
} packing;

static void give_back_pages(const packing *k) {
  for (uint32_t i = 0; i < k->at->node->n_in && i < 64; i++)
    if (k->in[i]) ox_constant_drop(k->at->graph, k->in[i]);
}

/* As many units as |end| - |begin|, whichever they are. */
static ox_status *pack_units(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const packing *k = ctx;
  ox_packed *f = k->form;
  size_t each = f->bytes / (size_t)f->n_units + 1;
  char *scratch = k->scratch ? k->scratch + worker * k->pack->scratch_bytes : NULL;
  for (int64_t unit; begin < end && ox_packed_claim(f, &unit); begin++) {
    k->pack->fn(k->pack, k->in, f->data, unit, unit + 1, scratch);
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
  if (rest > 0) OX_TRY(ox_crew_run(crew, rest, pack_units, k));
  while (!ox_packed_ready(k->form)) {
    OX_TRY(ox_watch_check(crew->watch));
    if (ox_packed_wait(k->packs, k->form)) break;
    /* who had claimed it before may have been stopped */
    OX_TRY(pack_units(k, 0, k->form->n_units, 0));
  }
  return NULL;
}

/* The constants that the form is made from, as they came with the model. */
static void find_constants(const packing *k) {
  const ox_pack_site *s = k->at;
  for (uint32_t i = 0; i < s->node->n_in && i < 64; i++)
    if ((k->pack->inputs >> i & 1) && s->node->in[i] != OX_NONE) {
      k->in[i] = ox_graph_const(s->graph, s->node->in[i]);
      ox_made_open(s->graph->model, k->in[i]);
    }
}

static void leave_constants(const packing *k) {
  give_back_pages(k);
  for (uint32_t i = 0; i < k->at->node->n_in && i < 64; i++) ox_made_close(k->at->graph->model, k->in[i]);
}

ox_status *ox_pack_constants(const ox_pack_site *s, const ox_pack *p, const void **out_data) {
  ox_alloc alloc = s->graph->model->alloc;
  packing k = {.at = s, .pack = p, .packs = s->unit->packs};
  *out_data = NULL;
  OX_TRY(ox_packs_find(k.packs, alloc, p, &k.form));
  if (!ox_packed_ready(k.form)) {
    size_t threads = s->crew->pool ? OX_MAX(s->crew->max_threads, 1) : 1, in_bytes = s->node->n_in * sizeof *k.in, bytes;
    if (!ox_mul_ok(threads, p->scratch_bytes, &bytes)) return ox_oom();
    k.in = ox_new_zeroed(alloc, in_bytes);
    if (bytes) k.scratch = ox_new_aligned(alloc, bytes, OX_ALIGN_BYTES);
    ox_status *st = k.in && (k.scratch || !bytes) ? NULL : ox_oom();
    if (!st) {
      find_constants(&k);
      st = pack_all(&k);
      leave_constants(&k);
    }
    ox_delete(alloc, k.in, in_bytes);
    ox_delete(alloc, k.scratch, bytes);
    OX_TRY(st);
  }
  *out_data = k.form->data;
  return NULL;
}
