/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_tune.c - measures the forms of a convolution between tensors in blocks, on one thread: tiles
 * depend on the task alone, so the fastest form on one thread is the fastest on several, and the choice does not
 * depend on their number. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/blocks/bconv.h"

/* Forms that are expected to need this many times as long as the cheapest are not tried. */
static const double worth_trying = 4;
enum { MOST_FLOATS = 1 << 27 /* of each tensor of a measurement */ };

typedef struct trial {
  const ox_bconv_task *task;
  const ox_bconv_form *form;
  ox_bconv_plan *plan;
  ox_conv_args args;
  char *scratch;
} trial;

/* ---- the name of a task ---- */

static size_t put_axes(char *out, size_t n, const char *word, const int64_t *v) {
  return (size_t)snprintf(out, n, " %s %lldx%lldx%lld", word, (long long)v[0], (long long)v[1], (long long)v[2]);
}

/* Everything that a form's time may depend on, but for the activation; taps by their first offset and their step. */
static bool name_task(const ox_bconv_task *t, char out[OX_TUNE_KEY]) {
  const ox_conv_geom *g = &t->g;
  int64_t first[OX_CONV_AXES], step[OX_CONV_AXES];
  for (int a = 0; a < OX_CONV_AXES; a++) {
    if (g->n_taps[a] < 1) return false;
    first[a] = g->tap[a][0], step[a] = g->n_taps[a] > 1 ? g->tap[a][1] - first[a] : 1;
    for (int64_t k = 1; k < g->n_taps[a]; k++)
      if (g->tap[a][k] != first[a] + k * step[a]) return false;
  }
  size_t at = (size_t)snprintf(out, OX_TUNE_KEY, "bconv%s%s batch %lld groups %lld ic %lld oc %lld",
                               t->x_plain ? " image" : "", t->exact ? " exact" : "", (long long)g->batch,
                               (long long)g->groups, (long long)g->ic, (long long)g->oc);
  const struct {
    const char *word;
    const int64_t *v;
  } rows[] = {{"in", g->in},   {"out", g->out}, {"taps", g->n_taps},
              {"from", first}, {"step", step},  {"stride", g->stride}};
  for (size_t i = 0; i < OX_COUNT(rows) && at < OX_TUNE_KEY; i++)
    at += put_axes(out + at, OX_TUNE_KEY - at, rows[i].word, rows[i].v);
  return at < OX_TUNE_KEY;
}

/* ---- one form ---- */

static void run_once(void *ctx) {
  const trial *r = ctx;
  for (uint32_t s = 0; s < r->plan->n_stages; s++)
    r->form->run(r->plan, &r->args, s, 0, r->plan->n_tiles[s], r->scratch);
}

static int64_t blocks_of(int64_t channels) { return OX_CEIL_DIV(channels, (int64_t)OX_BLOCK) * OX_BLOCK; }

/* Floats of a tensor of |channels| and |extent|; 0: none, or too many. */
static size_t tensor_floats(int64_t batch, int64_t channels, const int64_t *extent) {
  int64_t all[] = {batch, channels, extent[0], extent[1], extent[2]}, n = 1;
  for (size_t i = 0; i < OX_COUNT(all); i++)
    if (all[i] < 1 || !ox_mul_i64_ok(n, all[i], &n) || n > MOST_FLOATS) return 0;
  return (size_t)n;
}

/* One allocation for several parts; without |base| it only adds up their bytes. */
typedef struct room {
  size_t bytes;
  char *base;
} room;

static void *take(room *r, size_t bytes) {
  void *p = r->base ? r->base + r->bytes : NULL;
  r->bytes += OX_ROUND_UP(bytes + OX_PAD_BYTES, (size_t)OX_ALIGN_BYTES);
  return p;
}

/* Places all parts of a trial in |r|. */
static void lay_out(trial *t, room *r, float **w, float **x) {
  const ox_conv_geom *g = &t->task->g;
  int64_t ic = g->groups * g->ic, oc = g->groups * g->oc;
  size_t plain = (size_t)(oc * g->ic * g->n_taps[0] * g->n_taps[1] * g->n_taps[2]);
  r->bytes = 0;
  t->plan = take(r, t->form->plan_bytes);
  *x = take(r, tensor_floats(g->batch, t->task->x_plain ? ic : blocks_of(ic), g->in) * sizeof(float));
  *w = take(r, plain * sizeof(float));
  t->args.y = take(r, tensor_floats(g->batch, blocks_of(oc), g->out) * sizeof(float));
  t->args.bias = take(r, (size_t)blocks_of(oc) * sizeof(float));
  t->args.w = take(r, t->form->weight_floats(t->task) * sizeof(float));
}

static void fill(float *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = (float)((i * 2654435761u) >> 8 & 0xffff) / 65536.0f - 0.5f;
}

static bool plan(trial *t) {
  memset(t->plan, 0, t->form->plan_bytes);
  t->plan->form = t->form, t->plan->task = *t->task;
  return t->form->plan(t->plan);
}

static double measure_with(trial *t, room *r, ox_alloc alloc) {
  float *w, *x;
  lay_out(t, r, &w, &x);
  fill(x, (size_t)((char *)w - (char *)x) / sizeof *x);
  fill(w, (size_t)((char *)t->args.y - (char *)w) / sizeof *w);
  fill((float *)(uintptr_t)t->args.bias, (size_t)blocks_of(t->task->g.groups * t->task->g.oc));
  t->args.x = x;
  if (!plan(t)) return INFINITY;
  size_t floats = t->form->weight_floats(t->task), shared = t->plan->shared_bytes, bytes;
  if (floats)
    t->form->pack(t->task, (float *)(uintptr_t)t->args.w, w, 0, t->form->weight_units(t->task), NULL);
  else
    t->args.w = w;
  if (!ox_add_ok(shared, t->plan->scratch_bytes, &bytes) || !ox_add_ok(bytes, 4 * OX_PAD_BYTES, &bytes))
    return INFINITY;
  char *memory = ox_new_aligned(alloc, bytes, OX_ALIGN_BYTES);
  if (!memory) return INFINITY;
  t->args.shared = memory;
  t->scratch = memory + OX_ROUND_UP(shared + OX_PAD_BYTES, (size_t)OX_ALIGN_BYTES);
  double ns = ox_tune_time(run_once, t);
  ox_delete(alloc, memory, bytes);
  return ns;
}

/* INFINITY: it could not be measured. */
static double measure(const ox_bconv_task *task, const ox_bconv_form *form) {
  const ox_conv_geom *g = &task->g;
  ox_alloc alloc = ox_tune_alloc(task->tune);
  trial t = {.task = task, .form = form};
  room r = {0};
  float *w, *x;
  if (!tensor_floats(g->batch, blocks_of(g->groups * g->ic), g->in) ||
      !tensor_floats(g->batch, blocks_of(g->groups * g->oc), g->out) ||
      !tensor_floats(g->groups * g->oc, g->ic, g->n_taps))
    return INFINITY;
  lay_out(&t, &r, &w, &x);
  size_t bytes = r.bytes;
  if (!(r.base = ox_new_aligned(alloc, bytes, OX_ALIGN_BYTES))) return INFINITY;
  double ns = measure_with(&t, &r, alloc);
  ox_delete(alloc, r.base, bytes);
  return ns;
}

/* ---- all forms ---- */

static void measure_all(const ox_bconv_task *t, const char *name) {
  ox_tune_way ways[OX_TUNE_WAYS];
  size_t n_forms, n = 0;
  const ox_bconv_form *const *forms = ox_bconv_forms(&n_forms);
  double least = INFINITY;
  for (size_t i = 0; i < n_forms; i++) least = OX_MIN(least, forms[i]->cost_ns(t));
  for (size_t i = 0; i < n_forms && n < OX_TUNE_WAYS; i++) {
    double cost = forms[i]->cost_ns(t);
    if (!(cost < INFINITY && cost <= worth_trying * least)) continue;
    ways[n] = (ox_tune_way){forms[i]->name, measure(t, forms[i])};
    n += ways[n].ns < INFINITY;
  }
  ox_tune_put(t->tune, name, ways, n);
}

const ox_bconv_form *ox_bconv_measured(const ox_bconv_task *t) {
  char name[OX_TUNE_KEY];
  if (!name_task(t, name)) return NULL;
  const char *best = ox_tune_find(t->tune, name);
  if (!best && ox_tune_measures(t->tune)) {
    ox_tune_begin(t->tune);
    if (!ox_tune_find(t->tune, name)) measure_all(t, name);
    ox_tune_end(t->tune);
    best = ox_tune_find(t->tune, name);
  }
  size_t n_forms;
  const ox_bconv_form *const *forms = ox_bconv_forms(&n_forms);
  for (size_t i = 0; i < n_forms && best; i++)
    if (strcmp(forms[i]->name, best) == 0 && forms[i]->cost_ns(t) < INFINITY) return forms[i];
  return NULL;
}
