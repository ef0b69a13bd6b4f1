/* SPDX-License-Identifier: Apache-2.0
 * exec/stretch.c - see stretch.h. */
#include "exec/stretch.h"

#include "base/macros.h"
#include "exec/lifetimes.h"
#include "exec/step_run.h"

/* ---- what is worth it ---- */

/* A node of the graph costs 5 ns, one that goes to another thread some 100 ns (2 processors of a guest, 2026): steps of
 * 100 ns already gain, a few of them in all do not. MOST_BYTES: what values and scratch of a stretch may take, since
 * none of it is used twice. PAUSE_NS: an idle worker watches for work for 20 to 200 us (docs/task.md). */
enum { LEAST_STEPS = 4, LEAST_NS = 4000, MOST_BYTES = 1 << 20, PAUSE_NS = 100 * 1000 };
/* Most of the work that may lie on one way through. Two branches that meet once have a half, and gain; nets where a
 * side branch leaves and comes back every few steps have 0.6 to 0.75, and lose 5 to 10 % to values that change
 * processors. */
static const double most_in_a_row = 0.55;

/* What a step takes at least, in ns; rates of a fast core out of its cache, so that slow ones only have more to gain.
 */
static double least_ns(const ox_step *s) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < s->c.n_in; i++) bytes += s->c.in[i] ? s->c.in[i]->bytes : 0;
  for (uint32_t i = 0; i < s->c.n_out; i++) bytes += s->c.out[i] ? s->c.out[i]->bytes : 0;
  return 30 + ox_step_flops(s) / 200 + (double)bytes / 100;
}

static size_t bytes_of(const ox_step *s) {
  size_t bytes = ox_step_area(s);
  for (uint32_t i = 0; i < s->c.n_out; i++) bytes += s->c.out[i] ? s->c.out[i]->bytes : 0;
  return bytes;
}

static bool is_small(const ox_step *s) {
  if (s->mode != OX_MODE_STATIC || s->unit->kind != OX_UNIT_KERNEL) return false;
  for (uint32_t i = 0; i < s->c.n_stages; i++)
    if (s->c.n_tiles[i] > 1) return false;
  return bytes_of(s) <= MOST_BYTES;
}

static bool does_nothing(const ox_step *s) { return s->mode == OX_MODE_DONE || s->mode == OX_MODE_VIEW; }

/* When a value is there, in a stretch that begins at 0. */
typedef struct {
  uint32_t stretch; /* that the time is of: one above the index of its first step */
  double ns;
} moment;

static double when(const moment *m, ox_id v, uint32_t stretch) {
  return v != OX_NONE && m[v].stretch == stretch ? m[v].ns : 0;
}

/* The longest way through against all the work. */
static bool is_worth(const ox_context *c, uint32_t first, uint32_t last, moment *m) {
  double all = 0, longest = 0;
  for (uint32_t i = first; i <= last; i++) {
    const ox_step *s = &c->steps[i];
    if (s->mode == OX_MODE_DONE) continue;
    double ns = s->mode == OX_MODE_VIEW ? 0 : least_ns(s), start = 0;
    for (uint32_t k = 0; k < s->node->n_in; k++) start = OX_MAX(start, when(m, s->node->in[k], first + 1));
    for (uint32_t k = 0; k < s->node->n_out; k++)
      if (s->node->out[k] != OX_NONE) m[s->node->out[k]] = (moment){first + 1, start + ns};
    all += ns, longest = OX_MAX(longest, start + ns);
  }
  return all >= LEAST_NS && longest <= most_in_a_row * all;
}

/* The stretch that begins at step |first|: its last step, and how many do something. */
static uint32_t reach(const ox_context *c, uint32_t first, uint32_t *out_n) {
  uint32_t last = first;
  size_t bytes = 0;
  *out_n = 0;
  for (uint32_t i = first; i < c->n_steps; i++) {
    const ox_step *s = &c->steps[i];
    if (does_nothing(s)) continue;
    if (!is_small(s) || (bytes += bytes_of(s)) > MOST_BYTES) break;
    last = i, ++*out_n;
  }
  return last;
}

static bool may_have_some(const ox_context *c) {
  bool on_host = !c->devices.n_memories && !c->devices.streams;
  return on_host && c->env->pool && c->env->max_threads > 1 && !c->workspace->limit && c->n_steps >= LEAST_STEPS;
}

static ox_status *find(ox_context *c, moment *m, bool *out_any) {
  *out_any = false;
  for (uint32_t i = 0, n; i < c->n_steps; i++) {
    if (!is_small(&c->steps[i])) continue;
    uint32_t last = reach(c, i, &n);
    if (n >= LEAST_STEPS && is_worth(c, i, last, m)) {
      ox_stretch *t = OX_ARENA_NEW(&c->arena, ox_stretch);
      if (!t) return ox_oom();
      *t = (ox_stretch){.first = i, .last = last};
      for (uint32_t k = i; k <= last; k++) c->steps[k].stretch = t;
      *out_any = true;
    }
    i = last;
  }
  return NULL;
}

/* ---- two plans ---- */

static ox_status *note_offsets(const ox_context *c, size_t **out_offsets, ox_arena *a) {
  uint32_t n = c->plan->graph->n_values;
  *out_offsets = OX_ARENA_ARRAY(a, size_t, n);
  if (!*out_offsets) return ox_oom();
  for (ox_id v = 0; v < n; v++)
    if (c->slots[v].home == OX_HOME_SLAB) (*out_offsets)[v] = c->slots[v].offset;
  return NULL;
}

static ox_status *plan_both(ox_context *c) {
  size_t bytes;
  ox_stretches *all = OX_ARENA_NEW(&c->arena, ox_stretches);
  if (!all) return ox_oom();
  OX_TRY(note_offsets(c, &all->offsets[0], &c->arena));
  OX_TRY(ox_lifetimes_plan_apart(c, &bytes));
  OX_TRY(note_offsets(c, &all->offsets[1], &c->arena));
  c->values_bytes = OX_MAX(c->values_bytes, bytes);
  all->apart = true; /* where ox_lifetimes_plan_apart has left the slots */
  c->stretches = all;
  return NULL;
}

ox_status *ox_stretches_find(ox_context *c) {
  size_t bytes = (c->plan->graph->n_values + 1) * sizeof(moment);
  bool any;
  if (!may_have_some(c)) return NULL;
  moment *m = ox_new_zeroed(c->env->alloc, bytes);
  if (!m) return ox_oom();
  ox_status *st = find(c, m, &any);
  ox_delete(c->env->alloc, m, bytes);
  return st || !any ? st : plan_both(c);
}

size_t ox_stretches_area(const ox_context *c) {
  size_t most = 0, bytes = 0;
  for (uint32_t i = 0; i < c->n_steps; i++) {
    const ox_step *s = &c->steps[i];
    if (!s->stretch || s->mode != OX_MODE_STATIC) continue;
    bytes = ox_step_area(s) + (s->stretch->first == i ? 0 : bytes);
    most = OX_MAX(most, bytes);
  }
  return most;
}

static void place(ox_context *c, bool apart) {
  const size_t *offsets = c->stretches->offsets[apart];
  char *area = c->shared;
  for (ox_id v = 0; v < c->plan->graph->n_values; v++)
    if (c->slots[v].home == OX_HOME_SLAB) c->slots[v].t.data = c->slab.at + offsets[v];
  for (uint32_t i = 0; i < c->n_steps; i++) {
    ox_step *s = &c->steps[i];
    if (!s->stretch || s->mode != OX_MODE_STATIC) continue;
    if (s->stretch->first == i || !apart) area = c->shared;
    s->c.shared = area, area += ox_step_area(s);
    s->scratch = apart ? area - ox_step_rounded(s->c.scratch_per_worker) : c->scratch;
  }
  c->stretches->apart = apart;
}

void ox_stretches_place(ox_context *c) {
  if (c->stretches) place(c, c->stretches->apart);
}

/* ---- runs ---- */

bool ox_stretches_begin(ox_context *c) {
  ox_stretches *all = c->stretches;
  bool in_order = c->crew.watch || c->crew.profile || c->passing.n_late, apart = false;
  int64_t now = ox_clock_ns();
  all->began_ns = 0;
  if (in_order || now - all->ended_ns >= PAUSE_NS) {
    ox_two_ways_break(&all->ways);
  } else {
    apart = ox_two_ways_next(&all->ways);
    all->began_ns = now;
  }
  if (apart != all->apart) place(c, apart);
  return apart;
}

void ox_stretches_end(ox_context *c) {
  ox_stretches *all = c->stretches;
  all->ended_ns = ox_clock_ns();
  if (all->began_ns) ox_two_ways_note(&all->ways, all->apart, all->ended_ns - all->began_ns);
}

/* ---- graphs ---- */

/* One step, all of its stages. */
static ox_status *run_step(void *payload, uint32_t unit) {
  ox_step *s = payload;
  ox_context *c = s->owner;
  (void)unit;
  ox_status *st = ox_step_run(s, &c->crew, s->scratch, 0);
  if (OX_LIKELY(!st)) return NULL;
  pthread_mutex_lock(&c->lock);
  st = ox_workspace_explain(c->workspace, s, st);
  pthread_mutex_unlock(&c->lock);
  return ox_context_note(c, s->unit, st);
}

/* |node_of|: per value, the node that makes it, if one of this stretch does; a view is made where its input is.
 */
static ox_status *link_step(ox_stretch *t, ox_step *s, uint32_t *node_of, uint32_t *parents) {
  const ox_node *n = s->node;
  uint32_t n_parents = 0, made;
  if (s->mode == OX_MODE_DONE) return NULL;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != OX_NONE && node_of[n->in[k]] != OX_NONE) parents[n_parents++] = node_of[n->in[k]];
  if (s->mode == OX_MODE_VIEW)
    made = node_of[n->in[0]];
  else
    OX_TRY(ox_task_graph_add(t->graph, run_step, s, 1, parents, n_parents, &made));
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != OX_NONE) node_of[n->out[k]] = made;
  return NULL;
}

static ox_status *link(ox_context *c, ox_stretch *t, ox_arena *scratch) {
  uint32_t n_values = c->plan->graph->n_values, most = 0;
  for (uint32_t i = t->first; i <= t->last; i++) most = OX_MAX(most, c->steps[i].node->n_in);
  uint32_t *node_of = OX_ARENA_ARRAY(scratch, uint32_t, n_values), *parents = OX_ARENA_ARRAY(scratch, uint32_t, most);
  if (!node_of || !parents) return ox_oom();
  for (uint32_t v = 0; v < n_values; v++) node_of[v] = OX_NONE;
  OX_TRY(ox_task_graph_create(&t->graph));
  for (uint32_t i = t->first; i <= t->last; i++) OX_TRY(link_step(t, &c->steps[i], node_of, parents));
  return NULL;
}

ox_status *ox_stretches_link(ox_context *c) {
  ox_status *st = NULL;
  ox_arena scratch;
  ox_arena_init(&scratch, c->env->alloc);
  for (uint32_t i = 0; i < c->n_steps && !st; i++) {
    ox_stretch *t = c->steps[i].stretch;
    if (!t) continue;
    ox_arena_reset(&scratch);
    st = link(c, t, &scratch);
    i = t->last;
  }
  ox_arena_deinit(&scratch);
  return st;
}

void ox_stretches_release(ox_context *c) {
  for (uint32_t i = 0; i < c->n_steps; i++) {
    ox_stretch *t = c->steps[i].stretch;
    if (!t) continue;
    ox_task_graph_destroy(t->graph);
    i = t->last;
  }
}

/* Views need nothing but the addresses that the run has bound. */
ox_status *ox_stretch_run(ox_context *c, const ox_stretch *t) {
  for (uint32_t i = t->first; i <= t->last; i++)
    if (c->steps[i].mode == OX_MODE_VIEW) c->steps[i].c.out[0]->data = c->steps[i].c.in[0]->data;
  c->in_stretch = true;
  ox_status *st = ox_task_graph_run_max(c->crew.pool, c->crew.max_threads, t->graph);
  c->in_stretch = false;
  return st;
}
