/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/groups_apart.c - the stages around a form that computes groups apart (groups_apart.h), and their tiles.
 */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/blocks/groups_apart.h"

enum { LEAST = 8 /* channels of a group: of fewer most lanes would be empty */ };
static const double ns_per_line = 2; /* to copy a pixel of a block */

typedef ox_apart_plan apart_plan;

static bool serves(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  if (t->x_plain || t->x_apart || t->y_apart || g->groups < 2 || ox_conv_taps(g) < 1) return false;
  return g->ic >= LEAST && g->oc >= LEAST;
}

static int64_t pixels_of(const int64_t dim[OX_CONV_AXES]) { return dim[0] * dim[1] * dim[2]; }

ox_bconv_task ox_apart_task(const ox_bconv_task *t, bool splits) {
  ox_bconv_task task = *t;
  task.x_apart = splits && t->g.ic % OX_BLOCK, task.y_apart = t->g.oc % OX_BLOCK;
  return task;
}

double ox_apart_cost_ns(const ox_bconv_task *t, const ox_bconv_form *inner, bool splits) {
  const ox_conv_geom *g = &t->g;
  const ox_bconv_task task = ox_apart_task(t, splits);
  if (!serves(t) || (!task.x_apart && !task.y_apart)) return INFINITY;
  double outer = (double)(g->batch * g->groups), lines = 0;
  if (task.x_apart) lines += (double)OX_CEIL_DIV(g->ic, OX_BLOCK) * (double)pixels_of(g->in);
  if (task.y_apart) lines += (double)OX_CEIL_DIV(g->oc, OX_BLOCK) * (double)pixels_of(g->out);
  return inner->cost_ns(&task) + outer * lines * ns_per_line + 1000;
}

/* Reserves |n| blocks' pixels of shared memory; false: too many. */
static bool reserve(size_t *bytes, int64_t outer, int64_t blocks, int64_t pixels) {
  int64_t n, f[] = {outer, blocks, pixels, OX_BLOCK, (int64_t)sizeof(float)};
  return ox_conv_product_ok(f, OX_COUNT(f), &n) && ox_add_ok(*bytes, (size_t)n, bytes);
}

bool ox_apart_plan_init(ox_bconv_plan *head, const ox_bconv_form *inner, bool splits) {
  apart_plan *p = (apart_plan *)head;
  const ox_conv_geom *g = &head->task.g;
  int64_t outer = g->batch * g->groups;
  ox_bconv_plan *in = &p->inner.head;
  in->form = inner, in->task = ox_apart_task(&head->task, splits);
  if (!inner->plan(in)) return false;
  p->in_blocks = OX_CEIL_DIV(g->ic, OX_BLOCK), p->panels = OX_CEIL_DIV(g->oc, OX_BLOCK);
  p->in_pixels = pixels_of(g->in), p->pixels = pixels_of(g->out);
  size_t bytes = 0;
  if (in->task.x_apart && !reserve(&bytes, outer, p->in_blocks, p->in_pixels)) return false;
  p->y_at = bytes;
  if (in->task.y_apart && !reserve(&bytes, outer, p->panels, p->pixels)) return false;
  p->slope_at = bytes;
  if (!reserve(&bytes, g->groups, p->panels, 1)) return false;
  p->inner_at = bytes;
  if (!ox_add_ok(bytes, in->shared_bytes, &head->shared_bytes)) return false;
  head->scratch_bytes = in->scratch_bytes;
  head->n_stages = 1;
  if (outer == 0 || p->pixels == 0) return true; /* no tiles */
  head->n_tiles[0] = outer;
  for (uint32_t i = 0; i < in->n_stages; i++) head->n_tiles[head->n_stages++] = in->n_tiles[i];
  if (in->task.y_apart) head->n_tiles[head->n_stages++] = g->batch * OX_CEIL_DIV(g->groups * g->oc, OX_BLOCK);
  return true;
}

/* ---- tiles ---- */

/* A block of channels [first, first + n) of a tensor in which every |per| channels begin a block of their own. */
static void pick_channels(const apart_plan *p, float *to, const float *from, int64_t first, int64_t n, int64_t per,
                          int64_t pixels) {
  ox_blocks_source sources[OX_BLOCK];
  int64_t last = -1;
  size_t count = 0;
  for (int64_t l = 0; l < n; l++) {
    int64_t c = (first + l) % per, block = (first + l) / per * OX_CEIL_DIV(per, OX_BLOCK) + c / OX_BLOCK;
    if (block != last) {
      sources[count].x = from + block * pixels * OX_BLOCK;
      memset(sources[count++].from, -1, sizeof sources[0].from);
    }
    sources[count - 1].from[l] = (int8_t)(c % OX_BLOCK), last = block;
  }
  ox_blocks_select(p->head.task.isa)->pick(to, sources, count, (size_t)pixels);
}

/* The blocks of |group|, which has |per| channels, of a tensor without gaps between groups. */
static void split(const apart_plan *p, float *to, const float *from, int64_t group, int64_t per, int64_t pixels) {
  for (int64_t c = 0; c < per; c += OX_BLOCK, to += pixels * OX_BLOCK)
    pick_channels(p, to, from, group * per + c, OX_MIN(OX_BLOCK, per - c), p->head.task.g.groups * per, pixels);
}

/* X, Z and slopes of one group of an image. */
static void split_group(const apart_plan *p, const ox_conv_args *a, float *shared, int64_t tile) {
  const ox_conv_geom *g = &p->head.task.g;
  const ox_bconv_task *inner = &p->inner.head.task;
  int64_t group = tile % g->groups, image = tile / g->groups, line = p->pixels * OX_BLOCK;
  int64_t x_blocks = OX_CEIL_DIV(g->groups * g->ic, OX_BLOCK), y_blocks = OX_CEIL_DIV(g->groups * g->oc, OX_BLOCK);
  float *y = shared + p->y_at / sizeof *shared, *slope = shared + p->slope_at / sizeof *shared;
  if (inner->x_apart)
    split(p, shared + tile * p->in_blocks * p->in_pixels * OX_BLOCK, a->x + image * x_blocks * p->in_pixels * OX_BLOCK,
          group, g->ic, p->in_pixels);
  if (inner->y_apart && a->z)
    split(p, y + tile * p->panels * line, a->z + image * y_blocks * line, group, g->oc, p->pixels);
  if (a->slope && image == 0) split(p, slope + group * p->panels * OX_BLOCK, a->slope, group, g->oc, 1);
}

/* A block of Y of an image. */
static void join_block(const apart_plan *p, const ox_conv_args *a, const float *from, int64_t tile) {
  const ox_conv_geom *g = &p->head.task.g;
  int64_t channels = g->groups * g->oc, blocks = OX_CEIL_DIV(channels, OX_BLOCK), line = p->pixels * OX_BLOCK;
  int64_t first = tile % blocks * OX_BLOCK, n = OX_MIN(OX_BLOCK, channels - first);
  pick_channels(p, a->y + tile * line, from + tile / blocks * g->groups * p->panels * line, first, n, g->oc, p->pixels);
}

void ox_apart_run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                  void *scratch) {
  const apart_plan *p = (const apart_plan *)head;
  float *shared = a->shared, *y = shared + p->y_at / sizeof *shared;
  if (stage == 0) {
    for (int64_t i = begin; i < end; i++) split_group(p, a, shared, i);
  } else if (stage <= p->inner.head.n_stages) {
    ox_conv_args inner = *a;
    inner.shared = (char *)a->shared + p->inner_at;
    if (p->inner.head.task.x_apart) inner.x = shared;
    if (p->inner.head.task.y_apart) inner.y = y, inner.z = a->z ? y : NULL;
    if (a->slope) inner.slope = shared + p->slope_at / sizeof *shared;
    p->inner.head.form->run(&p->inner.head, &inner, stage - 1, begin, end, scratch);
  } else {
    for (int64_t i = begin; i < end; i++) join_block(p, a, y, i);
  }
}
