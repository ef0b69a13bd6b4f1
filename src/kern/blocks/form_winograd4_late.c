/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_winograd4_late.c - F(4) whose U is made in every run, from the filters as they are. U is four times
 * as large as they: with many channels it comes from memory, and to write its pages for the first time takes longer
 * than some runs do. A row of U for some channels of a pair lies in L2 while the products of all tiles are formed with
 * it.
 *
 * Weights: [group][pair of blocks][ic][tap][32]. Stage 0 transforms the input; in stage 1 a piece of work is a pair
 * and some strips. */
#include <math.h>

#include "base/cksize.h"
#include "kern/blocks/winograd.h"

enum {
  POINTS = 36,
  ROWS = 6,        /* of points */
  CHUNK = 16,      /* blocks of input channels whose U of a row stays in L2, beside M */
  STRIP = 32,      /* tiles */
  MOST_STRIPS = 4, /* of a piece: their M stays in L2 */
  WANTED = 8,      /* pieces of work: each makes U for itself */
  FEW_TILES = 24,  /* fewer are faster with U from memory */
  LARGE_U = 4 << 20
};
/* A first write takes 0.4 ns a byte where pages are small; that shall be worth as much in each of 16 runs. */
static const double ns_per_byte_saved = 0.4 / 16;

typedef struct late_plan {
  ox_wino_plan wino;
  int64_t parts;     /* of the strips */
  size_t u, m_strip; /* floats: of a row for a chunk; of a strip */
} late_plan;

static double cost_ns(const ox_bconv_task *t) {
  ox_wino_work w;
  if (t->g.n_taps[0] != 1 || !ox_wino_work_of(t, OX_WINO_F4, &w)) return INFINITY;
  double make = w.weights / OX_BLOCK * (38 + ox_wino_select(t->isa)->transform_ns[OX_WINO_F4] / 6); /* to L2, mostly */
  double pieces = ceil(w.tiles / (STRIP * MOST_STRIPS)), u_bytes = w.weights * POINTS * sizeof(float);
  double saved = w.tiles >= FEW_TILES && u_bytes >= LARGE_U ? u_bytes * 0.75 * ns_per_byte_saved : 0;
  double late = ox_bconv_weights_ns(t, w.weights * 9); /* once more: each chunk waits for its filters */
  return w.products_ns + make * pieces + w.transforms_ns + 3000 + late - saved;
}

static size_t weight_floats(const ox_bconv_task *t) {
  int64_t n, f[] = {t->g.groups, t->g.ic, OX_ROUND_UP(t->g.oc, OX_BLOCK), 9};
  return ox_conv_product_ok(f, OX_COUNT(f), &n) ? (size_t)n : 0;
}

static bool plan(ox_bconv_plan *head) {
  late_plan *p = (late_plan *)head;
  ox_wino_plan *w = &p->wino;
  int64_t groups = head->task.g.groups;
  if (!ox_wino_plan_counts(w, OX_WINO_F4) || !weight_floats(&head->task)) return false;
  if (w->tiles == 0) return true;
  ox_wino_cut(w, STRIP);
  w->shared = true;
  p->parts = OX_MAX(OX_MIN(OX_CEIL_DIV(WANTED, groups * w->pairs), w->strips), OX_CEIL_DIV(w->strips, MOST_STRIPS));
  w->in_parts = OX_MIN(OX_CEIL_DIV(WANTED, w->strips), w->blocks);
  p->m_strip = (2 * w->most | 1) * OX_BLOCK * POINTS;
  p->u = (size_t)OX_MIN(CHUNK, w->blocks) * OX_BLOCK * OX_WINO_PAIR * ROWS;
  size_t m = (size_t)OX_CEIL_DIV(w->strips, p->parts) * p->m_strip;
  head->scratch_bytes = OX_MAX(ox_wino_rows_floats(OX_WINO_F4), p->u + m) * sizeof(float);
  head->shared_bytes = (size_t)(groups * w->strips) * w->v_floats * sizeof(float);
  head->n_stages = 2;
  head->n_tiles[0] = groups * w->strips * w->in_parts, head->n_tiles[1] = groups * w->pairs * p->parts;
  return true;
}

static void run_in(const late_plan *p, const ox_conv_args *a, int64_t i, float *rows) {
  const ox_wino_plan *w = &p->wino;
  int64_t part = i % w->in_parts, s = i / w->in_parts % w->strips, group = i / w->in_parts / w->strips;
  float *v = (float *)a->shared + (size_t)(group * w->strips + s) * w->v_floats;
  ox_wino_strip_in(w, a, group, s, w->blocks * part / w->in_parts, w->blocks * (part + 1) / w->in_parts, v, rows);
}

/* The products of strips [s0, s1) of |v| with channels [c, c + n) of |filters|. The last points fetch the filters that
 * follow. */
static void multiply(const late_plan *p, const float *v, const float *filters, int64_t c, int64_t n, size_t width,
                     int64_t s0, int64_t s1, float *u, float *m) {
  enum { FETCHING = 9 };
  const ox_wino_plan *w = &p->wino;
  const float *f = filters + c * 9 * (int64_t)width, *next = f + (size_t)n * 9 * width;
  for (size_t i = 0; i < POINTS; i++) {
    size_t column = i % ROWS;
    if (column == 0) w->v->steps[OX_WINO_F4].filter_row(f, (size_t)n, width, (int)(i / ROWS), u);
    for (int64_t s = s0; s < s1; s++) {
      ox_wino_strip strip = ox_wino_strip_of(w, s);
      ox_wino_mul mul = {.ic = (size_t)n, .width = width, .add = c > 0};
      mul.u = u + column * width, mul.u_step = ROWS * width;
      mul.v = v + (size_t)s * w->v_floats + i * strip.v_point + (size_t)c * strip.inputs;
      mul.m = m + (size_t)(s - s0) * p->m_strip + i * strip.m_point;
      if (s == s0 && i >= POINTS - FETCHING) mul.ahead = next + (i + FETCHING - POINTS) * (size_t)n * width;
      ox_wino_mul_window(w, &strip, 0, mul);
    }
  }
}

static void run_out(const late_plan *p, const ox_conv_args *a, int64_t i, float *u) {
  const ox_wino_plan *w = &p->wino;
  const ox_conv_geom *g = &w->head.task.g;
  int64_t part = i % p->parts, pair = i / p->parts % w->pairs, group = i / p->parts / w->pairs;
  int64_t s0 = w->strips * part / p->parts, s1 = w->strips * (part + 1) / p->parts;
  int64_t channels = OX_ROUND_UP(g->oc, OX_BLOCK), oc0 = pair * OX_WINO_PAIR;
  size_t width = (size_t)OX_MIN(channels - oc0, OX_WINO_PAIR);
  const float *filters = a->w + (group * channels + oc0) * g->ic * 9;
  const float *v = (const float *)a->shared + (size_t)(group * w->strips) * w->v_floats;
  float *m = u + p->u;
  for (int64_t c = 0; c < g->ic; c += CHUNK * OX_BLOCK)
    multiply(p, v, filters, c, OX_MIN(CHUNK * OX_BLOCK, g->ic - c), width, s0, s1, u, m);
  for (int64_t s = s0; s < s1; s++) ox_wino_strip_out(w, a, group, s, pair, m + (size_t)(s - s0) * p->m_strip, filters);
}

static void run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                void *scratch) {
  const late_plan *p = (const late_plan *)head;
  for (int64_t i = begin; i < end; i++)
    if (stage == 0)
      run_in(p, a, i, scratch);
    else
      run_out(p, a, i, scratch);
}

extern const ox_bconv_form ox_bconv_form_winograd4_late;
const ox_bconv_form ox_bconv_form_winograd4_late = {.name = "winograd4 late",
                                                    .plan_bytes = sizeof(late_plan),
                                                    .cost_ns = cost_ns,
                                                    .weight_floats = weight_floats,
                                                    .weight_units = ox_wino_weight_units,
                                                    .unit_filter = ox_wino_unit_filter,
                                                    .pack = ox_wino_pack_filters,
                                                    .plan = plan,
                                                    .run = run};
