/* SPDX-License-Identifier: Apache-2.0
 * task/task_graph_run.c - running a prepared graph. The protocol is explained and proved in task_graph.h. */
#include "task/frame.h"
#include "task/grow.h"
#include "task/system/park.h"
#include "task/task_graph.h"
#include "task/wake.h"

enum {
  HELPER_LOOKS = 64
}; /* a helper without nodes checks so often before it leaves: joining again costs two exchanges */

typedef struct ox_graph_run {
  ox_task_graph *graph;
  atomic_uint left;   /* nodes that have not ended */
  atomic_uint parked; /* 1: the owner sleeps */
  _Atomic(ox_status *) error;
  ox_gate gate;
  bool wakes; /* sleeping workers are woken for offers */
} ox_graph_run;

/* One thread in one run. */
typedef struct participant {
  ox_pool *pool;
  ox_graph_slot *slot; /* NULL: alone */
  ox_graph_run *run;
  ox_graph_node *nodes;
  ox_graph_wait *waits;
  uint32_t *next;
  ox_graph_lane *lane;
  uint32_t slot_index, index; /* index: 0 for the owner, else the worker's */
  uint32_t head, count;       /* the private stack: first node + 1 */
  uint32_t done, ran;         /* ended but not reported; ended in all */
} participant;

static participant join(ox_pool *pool, uint32_t slot_index, uint32_t index, ox_graph_run *run) {
  ox_graph_slot *slot = &pool->graphs[slot_index];
  ox_graph_lane *lane = index ? &pool->workers[index]->graph_lanes[slot_index] : &slot->lane;
  ox_task_graph *g = run->graph;
  return (participant){pool, slot, run, g->nodes, g->waits, g->next, lane, slot_index, index, 0, 0, 0, 0};
}

static inline bool has_failed(const ox_graph_run *run) {
  return OX_UNLIKELY(atomic_load_explicit(&run->error, memory_order_relaxed) != NULL);
}

static void wake_owner(ox_graph_run *run) {
  if (OX_LIKELY(!atomic_load_explicit(&run->parked, memory_order_seq_cst))) return;
  if (atomic_exchange_explicit(&run->parked, 0, memory_order_seq_cst)) ox_park_wake(&run->parked, 0);
}

/* The slot's copy of the gate. It is one word, as it may be read while one run ends and the next begins. */
static ox_gate gate_of(const ox_graph_slot *slot) {
  uint32_t word = atomic_load_explicit(&slot->gate, memory_order_seq_cst);
  return (ox_gate){word >> 16, word & 0xffff};
}

/* Offers the older half of the stack. */
static void offer(participant *p) {
  uint32_t give = p->count / 2, keep = p->count - give, last = p->head - 1;
  for (uint32_t i = 1; i < keep; i++) last = p->next[last] - 1;
  uint64_t chain = (uint64_t)give << 32 | p->next[last];
  p->next[last] = 0, p->count = keep;
  atomic_exchange_explicit(&p->lane->chain, chain, memory_order_seq_cst);                            /* P1 */
  if (p->run->wakes && ox_pool_any_asleep(p->pool)) ox_pool_wake_admitted(p->pool, p->run->gate, 1); /* P2 */
  if (p->index) wake_owner(p->run);
}

/* Moves all of a lane's chain to our stack, which is empty. */
static bool take(participant *p, ox_graph_lane *lane) {
  if (!atomic_load_explicit(&lane->chain, memory_order_relaxed)) return false;
  /* acquire: pairs with the exchange in offer(); seq_cst costs the same */
  uint64_t chain = atomic_exchange_explicit(&lane->chain, 0, memory_order_seq_cst);
  p->head = (uint32_t)chain, p->count = (uint32_t)(chain >> 32);
  return chain;
}

static inline ox_graph_lane *lane_of(ox_pool *pool, uint32_t slot, uint32_t index) {
  return index ? &pool->workers[index]->graph_lanes[slot] : &pool->graphs[slot].lane;
}

/* Our own offer first, then those of the threads after us, in turn. */
static bool take_any(participant *p) {
  uint32_t n = ox_pool_threads(p->pool);
  for (uint32_t k = 0, i = p->index; k < n; k++, i = i + 1 < n ? i + 1 : 0)
    if (take(p, lane_of(p->pool, p->slot_index, i))) return true;
  return false;
}

typedef struct units {
  ox_unit_fn fn;
  void *payload;
} units;

static ox_status *run_units(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  const units *u = ctx;
  for (int64_t i = begin; i < end; i++) {
    ox_status *st = u->fn(u->payload, (uint32_t)i);
    if (st) return st;
  }
  return NULL;
}

static inline void run_node(participant *p, uint32_t index) {
  const ox_graph_node *node = &p->nodes[index];
  ox_status *st = NULL;
  if (OX_LIKELY(node->fn && !has_failed(p->run))) {
    if (OX_LIKELY(node->n_units == 1))
      st = node->fn(node->payload, 0);
    else
      st = ox_task_for(p->pool, node->n_units, run_units, &(units){node->fn, node->payload});
  }
  if (OX_UNLIKELY(st != NULL)) ox_keep_first(&p->run->error, st);
  for (uint32_t k = 0; k < node->n_children; k++) {
    uint32_t child = node->children[k];
    ox_graph_wait *w = &p->waits[child];
    if (atomic_load_explicit(&w->left, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&w->left, 1, memory_order_acq_rel) != 1)
      continue;
    atomic_store_explicit(&w->left, w->n_parents, memory_order_relaxed); /* for the next run */
    p->next[child] = p->head;
    p->head = child + 1, p->count++;
  }
}

static void run_stack(participant *p) {
  while (p->head) {
    if (p->count > 1 && p->slot && !atomic_load_explicit(&p->lane->chain, memory_order_relaxed)) offer(p);
    uint32_t index = p->head - 1;
    p->head = p->next[index], p->count--;
    run_node(p, index);
    p->done++;
  }
}

/* Subtracts the nodes that we ran from |left|; true when all nodes of the run have ended. */
static bool report(participant *p) {
  uint32_t n = p->done, left;
  if (!n) return !atomic_load_explicit(&p->run->left, memory_order_acquire);
  p->ran += n, p->done = 0;
  /* acq_rel: the owner sees what the nodes wrote. seq_cst for wake_owner, which comes after. */
  left = atomic_fetch_sub_explicit(&p->run->left, n, memory_order_seq_cst) - n;
  if (!left && p->index) wake_owner(p->run);
  return !left;
}

/* The owner sleeps until there is an offer or the last node has ended. */
static void sleep_until_offer(participant *p) {
  atomic_store_explicit(&p->run->parked, 1, memory_order_seq_cst);
  bool any = !atomic_load_explicit(&p->run->left, memory_order_seq_cst);
  uint32_t n = ox_pool_threads(p->pool);
  for (uint32_t i = 0; i < n && !any; i++)
    any = atomic_load_explicit(&lane_of(p->pool, p->slot_index, i)->chain, memory_order_seq_cst);
  while (!any && atomic_load_explicit(&p->run->parked, memory_order_seq_cst)) ox_park_wait(&p->run->parked, 1);
  atomic_store_explicit(&p->run->parked, 0, memory_order_seq_cst);
}

/* The owner, without nodes, spins, then sleeps, until there are some or the run has ended. */
static void wait_for_nodes(participant *p) {
  uint64_t start = 0;
  for (;;) {
    for (int i = 0; i < OX_LOOKS_PER_ASK; i++) {
      if (!atomic_load_explicit(&p->run->left, memory_order_acquire) || take_any(p)) return;
      ox_pause();
    }
    uint64_t now = ox_thread_now_ns();
    if (!start) start = now;
    if (p->pool->policy->waiter_watches(p->pool, now - start)) continue;
    p->pool->policy->waiter_sleeps(p->pool, p->slot);
    sleep_until_offer(p);
  }
}

/* No helper may look at the run any more. One may be descheduled just before it leaves: so watch, then sleep. */
static void dismiss_helpers(ox_graph_slot *slot) {
  atomic_store_explicit(&slot->run, NULL, memory_order_seq_cst);
  for (int i = 0; i < 256; i++) {
    if (!atomic_load_explicit(&slot->helpers, memory_order_seq_cst)) return;
    ox_pause();
  }
  ox_park_until_zero(&slot->helpers);
  /* A late helper may count itself meanwhile, so only the flag is cleared. */
  atomic_fetch_and_explicit(&slot->helpers, ~OX_PARK_WAITING, memory_order_seq_cst);
}

static bool help_slot(ox_pool *pool, uint32_t slot_index, uint32_t index) {
  ox_graph_slot *slot = &pool->graphs[slot_index];
  ox_worker *w = pool->workers[index];
  atomic_fetch_add_explicit(&slot->helpers, 1, memory_order_seq_cst);
  ox_graph_run *run = atomic_load_explicit(&slot->run, memory_order_seq_cst);
  uint32_t ran = 0;
  if (run && ox_gate_admits(run->gate, index)) {
    participant p = join(pool, slot_index, index, run);
    for (int looks = 0; looks < HELPER_LOOKS; looks++) {
      if (take_any(&p)) {
        ox_worker_helps(w, slot);
        run_stack(&p);
        ox_worker_helps(w, NULL);
        looks = 0;
      }
      if (report(&p)) break;
      ox_pause();
    }
    ran = p.ran;
  }
  if (atomic_fetch_sub_explicit(&slot->helpers, 1, memory_order_seq_cst) == (OX_PARK_WAITING | 1))
    ox_park_wake(&slot->helpers, 1);
  ox_count(&w->units, ran);
  return ran;
}

static bool offers_any(const ox_pool *pool, uint32_t slot, uint32_t index) {
  if (!atomic_load_explicit(&pool->graphs[slot].run, memory_order_seq_cst)) return false;
  if (!ox_gate_admits(gate_of(&pool->graphs[slot]), index)) return false;
  uint32_t n = ox_pool_threads(pool);
  for (uint32_t i = 0; i < n; i++)
    if (atomic_load_explicit(&lane_of((ox_pool *)pool, slot, i)->chain, memory_order_seq_cst)) return true;
  return false;
}

bool ox_graphs_help(ox_pool *pool, uint32_t index) {
  uint32_t used = atomic_load_explicit(&pool->n_graphs, memory_order_relaxed);
  for (uint32_t i = 0; i < used; i++)
    if (offers_any(pool, i, index) && help_slot(pool, i, index)) return true;
  return false;
}

bool ox_graphs_any(const ox_pool *pool, uint32_t index) {
  uint32_t used = atomic_load_explicit(&pool->n_graphs, memory_order_seq_cst);
  for (uint32_t i = 0; i < used; i++)
    if (offers_any(pool, i, index)) return true;
  return false;
}

/* Takes a free slot. NULL: there is none, the caller runs the graph alone. */
static ox_graph_slot *take_slot(ox_pool *pool, uint32_t *out_index) {
  for (uint32_t i = 0; i < OX_GRAPH_SLOTS; i++) {
    ox_graph_slot *slot = &pool->graphs[i];
    if (atomic_load_explicit(&slot->busy, memory_order_relaxed)) continue;
    if (atomic_exchange_explicit(&slot->busy, 1, memory_order_acquire)) continue; /* pairs with the end's release */
    uint32_t used = atomic_load_explicit(&pool->n_graphs, memory_order_seq_cst);
    while (used <= i && !atomic_compare_exchange_weak_explicit(&pool->n_graphs, &used, i + 1, memory_order_seq_cst,
                                                               memory_order_relaxed)) {
    }
    *out_index = i;
    return slot;
  }
  return NULL;
}

static void push_roots(participant *p, const ox_task_graph *g) {
  for (uint32_t i = g->n_roots; i-- > 0;) {
    p->next[g->roots[i]] = p->head;
    p->head = g->roots[i] + 1;
  }
  p->count = g->n_roots;
}

static void run_shared(participant *p, ox_task_graph *g) {
  ox_pool *pool = p->pool;
  ox_loop_note note = {.wake = OX_WAKE_SOME};
  if (ox_pool_any_asleep(pool)) pool->policy->graph_begins(pool, g, g->n_nodes, &note);
  p->run->wakes = note.wake == OX_WAKE_SOME;
  atomic_store_explicit(&p->slot->gate, p->run->gate.first << 16 | p->run->gate.cap, memory_order_seq_cst);
  atomic_store_explicit(&p->slot->run, p->run, memory_order_seq_cst);
  for (;;) {
    run_stack(p);
    if (take_any(p)) continue;
    if (report(p)) break;
    wait_for_nodes(p);
  }
  dismiss_helpers(p->slot);
  if (note.ends) pool->policy->loop_ended(pool, &note, p->ran, (uint32_t)g->n_nodes);
  atomic_store_explicit(&p->slot->busy, 0, memory_order_release); /* pairs with take_slot */
}

/* Opens enough workers (grow.h) for a run on |cap| threads (0: all), beside other runs. */
static void open_workers(ox_pool *pool, uint32_t slot_index, uint32_t cap) {
  uint32_t size = ox_pool_threads(pool), want = cap ? cap : size;
  uint32_t used = atomic_load_explicit(&pool->n_graphs, memory_order_relaxed);
  for (uint32_t i = 0; i < used && want < size; i++) {
    ox_gate other = gate_of(&pool->graphs[i]);
    bool runs = i != slot_index && atomic_load_explicit(&pool->graphs[i].run, memory_order_relaxed);
    if (runs && other.cap) want += other.cap - 1;
  }
  if (ox_pool_open(pool) < want) ox_pool_grow(pool, want);
}

static ox_status *run_prepared(ox_pool *pool, uint32_t max_threads, ox_task_graph *g) {
  ox_graph_run run = {.graph = g};
  atomic_store_explicit(&run.left, (uint32_t)g->n_nodes, memory_order_relaxed);
  if (pool) ox_pool_renew(pool);
  bool flush = pool && (pool->opts.flags & OX_POOL_FLUSH_DENORMALS);
  unsigned mode = flush ? ox_thread_flush_denormals() : 0;
  uint32_t slot_index = 0;
  bool alone = !pool || max_threads == 1 || ox_pool_threads(pool) <= 1;
  ox_graph_slot *slot = alone ? NULL : take_slot(pool, &slot_index);
  participant p = {.pool = pool, .run = &run, .nodes = g->nodes, .waits = g->waits, .next = g->next};
  if (slot) {
    if (OX_UNLIKELY(ox_pool_open(pool) < ox_pool_threads(pool))) open_workers(pool, slot_index, max_threads);
    run.gate = ox_gate_choose(ox_pool_threads(pool), ox_pool_open(pool), slot_index, max_threads);
    p = join(pool, slot_index, 0, &run);
  }
  push_roots(&p, g);
  if (slot)
    run_shared(&p, g);
  else
    run_stack(&p);
  if (flush) ox_thread_restore_denormals(mode);
  return atomic_load_explicit(&run.error, memory_order_acquire); /* pairs with ox_keep_first */
}

ox_status *ox_task_graph_run(ox_pool *pool, ox_task_graph *g) { return ox_task_graph_run_max(pool, 0, g); }

ox_status *ox_task_graph_run_max(ox_pool *pool, uint32_t max_threads, ox_task_graph *g) {
  if (!g || !g->n_nodes) return NULL;
  if (atomic_exchange_explicit(&g->running, true, memory_order_acquire)) /* pairs with the release below */
    return ox_fail(OX_INVALID_ARGUMENT, "the graph is already running");
  ox_status *st = g->prepared ? NULL : ox_graph_prepare(g);
  ox_task_frame frame = {.task = ox_task_current(), .pool = pool};
  ox_task_push_frame(&frame);
  if (!st) st = run_prepared(pool, max_threads, g);
  ox_task_pop_frame(&frame);
  atomic_store_explicit(&g->running, false, memory_order_release);
  return st;
}
