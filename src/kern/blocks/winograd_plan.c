/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_plan.c - what Winograd's convolution serves, what it costs, how it is cut. By shapes and
 * instruction set alone. */
#include <math.h>

#include "base/cksize.h"
#include "kern/blocks/winograd.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_wino_variant, ox_wino__, ox_wino_select)

/* ---- cost ---- */

static bool serves(const ox_bconv_task *t, ox_wino_kind k) {
  const ox_conv_geom *g = &t->g;
  if (t->exact || t->x_plain || g->groups < 1 || g->ic < 1 || g->oc < 1) return false;
  if (g->groups > 1 && (g->ic % OX_BLOCK || g->oc % OX_BLOCK)) return false;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    if (g->stride[a] != (a ? ox_wino_stride(k) : 1) || g->n_taps[a] != (a ? 3 : 1)) return false;
    int64_t d = a ? ox_wino_dilation(g, a) : 1;
    if (d < 1 || (d > 1 && ox_wino_stride(k) > 1)) return false;
    if (d > 1 && d >= g->in[a]) return false; /* one tap inside: others are faster */
    for (int64_t i = 1; i < g->n_taps[a]; i++)
      if (g->tap[a][i] != g->tap[a][i - 1] + d) return false;
  }
  return g->tap[0][0] == 0 && g->in[0] == g->out[0];
}

/* Images that are woven into one along |axis|, and the tiles of each. */
static int64_t woven(const ox_conv_geom *g, int axis, int m, int64_t *out_tiles) {
  int64_t n = OX_MAX(OX_MIN(ox_wino_dilation(g, axis), g->out[axis]), 1);
  *out_tiles = OX_CEIL_DIV(OX_CEIL_DIV(g->out[axis], n), m);
  return n;
}

static const double bytes_per_ns = 33; /* of weights from memory, of a core */

bool ox_wino_work_of(const ox_bconv_task *t, ox_wino_kind k, ox_wino_work *out) {
  const ox_conv_geom *g = &t->g;
  if (!serves(t, k)) return false;
  const int m = ox_wino_m(k), n = ox_wino_n(k);
  const ox_wino_variant *v = ox_wino_select(t->isa);
  double groups = (double)g->groups, ic = (double)OX_CEIL_DIV(g->ic, OX_BLOCK),
         oc = (double)OX_CEIL_DIV(g->oc, OX_BLOCK);
  int64_t down, across, in_h = woven(g, 1, m, &down), in_w = woven(g, 2, m, &across);
  double images = (double)g->batch * (double)g->out[0] * (double)in_h * (double)in_w;
  double tiles = images * (double)down * (double)across;
  *out = (ox_wino_work){.weights = groups * (double)g->ic * oc * OX_BLOCK, .tiles = tiles};
  double sums = out->weights * n * n * fmax(tiles, 4) / v->macs_per_ns;
  if (g->oc % OX_WINO_PAIR && g->oc % OX_WINO_PAIR <= OX_BLOCK) sums += sums / oc / 5; /* an odd block is slower */
  out->products_ns = sums, out->transforms_ns = groups * tiles * (ic + oc) * v->transform_ns[k];
  return true;
}

double ox_wino_cost_ns(const ox_bconv_task *t, ox_wino_kind k) {
  ox_wino_work w;
  if (!ox_wino_work_of(t, k, &w)) return INFINITY;
  double bytes = w.weights * ox_wino_weights(k) * ox_wino_weights(k) * 4;
  return fmax(w.products_ns, bytes / bytes_per_ns) + bytes / 200 + w.transforms_ns + 1000;
}

/* ---- plan ---- */

enum {
  LEAST_TILES = 14, /* of a strip: fewer read the weights too often */
  MOST_TILES = 20,  /* more leave L2 */
  MOST_SHARED = 32, /* of a strip that several pieces of work read */
  WANTED = 16       /* pieces of work */
};
static const double ns_piece_min = 15e3;

ox_wino_strip ox_wino_strip_of(const ox_wino_plan *p, int64_t s, int64_t *out_begin) {
  *out_begin = p->tiles * s / p->strips;
  size_t n = (size_t)(p->tiles * (s + 1) / p->strips - *out_begin);
  /* odd numbers of cache lines: the points of a tile lie in different sets of the cache */
  return (ox_wino_strip){n, ((size_t)p->blocks * n | 1) * OX_BLOCK, (2 * n | 1) * OX_BLOCK};
}

/* Strips alone where there are at least half as many as wanted. Else the strips' blocks and pairs are divided too,
 * which takes a stage more and writes the whole transformed input to memory: on one thread it is 10 % slower. */
static void divide(ox_wino_plan *p) {
  double total = ox_wino_cost_ns(&p->head.task, p->kind) / (double)p->head.task.g.groups;
  int64_t wanted = (int64_t)fmin(fmax(total / ns_piece_min, 1), WANTED);
  int64_t tiles = OX_MAX(OX_MIN(p->tiles / wanted, MOST_TILES), LEAST_TILES);
  p->strips = OX_CEIL_DIV(p->tiles, tiles);
  p->in_parts = p->out_parts = 1;
  p->shared = p->strips * 2 < wanted && p->pairs > 1;
  if (!p->shared) return;
  p->strips = OX_CEIL_DIV(p->tiles, MOST_SHARED);
  int64_t parts = OX_CEIL_DIV(wanted, p->strips);
  p->in_parts = OX_MIN(p->blocks, parts), p->out_parts = OX_MIN(p->pairs, parts);
}

static bool sizes_ok(const int64_t *v, int n) {
  int64_t all = 1;
  for (int i = 0; i < n; i++)
    if (v[i] < 0 || !ox_mul_i64_ok(all, v[i], &all)) return false;
  return all < (int64_t)1 << 48;
}

bool ox_wino_plan_counts(ox_wino_plan *p, ox_wino_kind k) {
  ox_bconv_plan *head = &p->head;
  const ox_conv_geom *g = &head->task.g;
  const int64_t m = ox_wino_m(k), points = ox_wino_n(k) * ox_wino_n(k);
  int64_t x[] = {g->batch, g->groups, g->ic + OX_BLOCK, g->in[0], g->in[1], g->in[2], points};
  int64_t y[] = {g->batch, g->groups, g->oc + OX_BLOCK, g->out[0], g->out[1] + m, g->out[2] + m, points};
  if (!sizes_ok(x, OX_COUNT(x)) || !sizes_ok(y, OX_COUNT(y)) || !ox_wino_weight_floats(&head->task, k)) return false;
  p->kind = k, p->v = ox_wino_select(head->task.isa);
  p->blocks = OX_CEIL_DIV(g->ic, OX_BLOCK), p->pairs = OX_CEIL_DIV(g->oc, OX_WINO_PAIR);
  p->woven[0] = woven(g, 1, (int)m, &p->down), p->woven[1] = woven(g, 2, (int)m, &p->across);
  p->tiles = g->batch * g->out[0] * p->woven[0] * p->woven[1] * p->down * p->across;
  head->n_stages = 1;
  return true;
}

bool ox_wino_plan_init(ox_bconv_plan *head, ox_wino_kind k) {
  ox_wino_plan *p = (ox_wino_plan *)head;
  const ox_conv_geom *g = &head->task.g;
  const int64_t points = ox_wino_n(k) * ox_wino_n(k);
  if (!ox_wino_plan_counts(p, k)) return false;
  if (p->tiles == 0) return true;
  divide(p);
  size_t most = (size_t)OX_CEIL_DIV(p->tiles, p->strips);
  p->v_floats = ((size_t)p->blocks * most | 1) * OX_BLOCK * (size_t)points;
  size_t m_floats = (2 * most | 1) * OX_BLOCK * (size_t)points, rows = ox_wino_rows_floats(k);
  head->scratch_bytes = (OX_MAX(rows, m_floats) + (p->shared ? 0 : p->v_floats)) * sizeof(float);
  int64_t strips = g->groups * p->strips;
  head->n_tiles[0] = strips;
  if (!p->shared) return true;
  head->shared_bytes = (size_t)strips * p->v_floats * sizeof(float);
  head->n_stages = 2;
  head->n_tiles[0] = strips * p->in_parts, head->n_tiles[1] = strips * p->out_parts;
  return true;
}
