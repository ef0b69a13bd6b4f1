/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_planes.c - plans and tiles of depthwise convolution and of maxima over windows. The outputs of a
 * channel are split into blocks; the inputs of a block are copied to planes in scratch memory (conv_dw_body.h). */
#include <math.h>
#include <string.h>

#include "kern/conv/conv_modes.h"

enum {
  SLOT_FLOATS = 6144,   /* of the channels that go through each step together: they stay in L1 */
  MAX_SLOTS = 8,        /* such channels */
  PLANE_FLOATS = 32768, /* of the planes of a block: they stay in L2 */
  LARGEST = 512,        /* times PLANE_FLOATS: the largest scratch of a block of one output */
  SLACK = 128,          /* floats behind planes and outputs: vectors read and write past the ends */
  BY_TAP_ADVANTAGE = 8  /* planes for each tap must copy so many times less than planes for each phase */
};
/* Estimates: of a float copied, of a tap of an output, of a block. */
static const double copy_ns = 0.1, tap_ns = 0.02, start_ns = 20;

/* Splits the outputs into blocks: halves the outermost axis of a block until |planes| planes, each longer than the
 * block by |reach|, fit. Returns how many floats are copied for all blocks; infinity if even a block of one output is
 * too large. */
static double find_blocks(ox_conv_plan *p, const int64_t *planes, const int64_t *reach) {
  ox_conv_planes *q = &p->planes;
  double n, all = 1;
  for (int a = 0; a < OX_CONV_AXES; a++) q->block[a] = p->g.out[a];
  for (int a = 0;;) {
    n = 1;
    for (int b = 0; b < OX_CONV_AXES; b++) n *= (double)planes[b] * (double)(q->block[b] + reach[b]);
    while (a < OX_CONV_AXES && q->block[a] == 1) a++;
    if (a == OX_CONV_AXES && n > (double)PLANE_FLOATS * LARGEST) return __builtin_inf();
    if (n <= PLANE_FLOATS || a == OX_CONV_AXES) break;
    q->block[a] = (q->block[a] + 1) / 2;
  }
  for (int a = 0; a < OX_CONV_AXES; a++) all *= (double)OX_CEIL_DIV(p->g.out[a], q->block[a]);
  return n * all;
}

/* The activation: bounds if it is a clamp, else a pass of its own. */
static void plan_activation(ox_conv_plan *p) {
  ox_conv_planes *q = &p->planes;
  bool clip = p->act.kind == OX_ACT_CLIP, relu = p->act.kind == OX_ACT_RELU;
  q->post = p->act.kind != OX_ACT_NONE && !clip && !relu;
  q->lo = relu ? 0 : clip ? p->act.a : -__builtin_inff(), q->hi = clip ? p->act.b : __builtin_inff();
}

/* Blocks and their planes: one for each phase of the strides, in which all taps are contiguous reads, or, where few
 * taps are so far apart (dilation 65536) that planes would mostly hold what lies between them, one for each tap. */
static bool plan_blocks(ox_conv_plan *p) {
  const ox_conv_geom *g = &p->g;
  ox_conv_planes *q = &p->planes;
  static const int64_t nothing[OX_CONV_AXES] = {0};
  int64_t reach[OX_CONV_AXES]; /* how much longer than a block a phase plane is */
  for (int a = 0; a < OX_CONV_AXES; a++) {
    int64_t lo = g->tap[a][0], hi = lo;
    for (int64_t t = 1; t < g->n_taps[a]; t++) lo = OX_MIN(lo, g->tap[a][t]), hi = OX_MAX(hi, g->tap[a][t]);
    q->tap_min[a] = lo, reach[a] = (hi - lo) / g->stride[a];
  }
  double by_tap = find_blocks(p, g->n_taps, nothing), by_phase = find_blocks(p, g->stride, reach);
  q->by_tap = by_phase > BY_TAP_ADVANTAGE * by_tap;
  if (q->by_tap)
    find_blocks(p, g->n_taps, nothing), memset(reach, 0, sizeof reach);
  else if (isinf(by_phase))
    return false;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    q->n_planes[a] = q->by_tap ? g->n_taps[a] : g->stride[a];
    q->n_block[a] = OX_CEIL_DIV(g->out[a], q->block[a]), q->phase_len[a] = q->block[a] + reach[a];
  }
  return true;
}

bool ox_conv_planes_plan(ox_conv_plan *p) {
  const ox_conv_geom *g = &p->g;
  ox_conv_planes *q = &p->planes;
  plan_activation(p);
  if (!plan_blocks(p)) return false;
  int64_t blocks = 1, floats = 1, rows = q->block[0] * q->block[1], taps = ox_conv_taps(g);
  for (int a = 0; a < OX_CONV_AXES; a++) blocks *= q->n_block[a], floats *= q->n_planes[a] * q->phase_len[a];
  /* Vectors of a block computed row by row, or as one long row that includes what lies between rows and is then copied.
   */
  int64_t lanes = p->v->lanes, per_row = OX_CEIL_DIV(q->block[2], lanes);
  int64_t flat = ((q->block[0] - 1) * q->phase_len[1] + q->block[1] - 1) * q->phase_len[2] + q->block[2];
  q->by_row = rows * per_row * taps <= OX_CEIL_DIV(flat, lanes) * taps + rows * (per_row * 3 + 4);
  p->table_bytes = (size_t)taps * sizeof(int32_t);
  q->flat_at = floats + SLACK, q->slot = q->flat_at + (q->by_row ? 0 : flat) + SLACK;
  q->slots = blocks == 1 && g->oc == 1 ? OX_MIN(OX_MAX(SLOT_FLOATS / q->slot, 1), MAX_SLOTS) : 1;
  p->scratch_bytes = (size_t)(q->slot * q->slots) * sizeof(float);
  double block_ns = (double)floats * copy_ns + (double)(rows * per_row * lanes) * (double)taps * tap_ns + start_ns;
  int64_t units = g->batch * g->groups * g->oc;
  q->tile_ch = ox_conv_units_per_tile(block_ns * (double)(units * blocks), block_ns * (double)blocks, units);
  if (q->tile_ch <= 1 && blocks > 1) q->tile_ch = 0; /* a tile is one block of one channel */
  p->n_tiles[0] = q->tile_ch ? OX_CEIL_DIV(units, q->tile_ch) : units * blocks;
  p->n_stages = 1;
  return true;
}

void ox_conv_planes_tables(ox_conv_plan *p, void *memory) {
  ox_conv_planes *q = &p->planes;
  const ox_conv_geom *g = &p->g;
  const int64_t *s = g->stride, *len = q->phase_len;
  int64_t plane = len[0] * len[1] * len[2], n = 0;
  q->tap_off = memory;
  for (int64_t d = 0; d < g->n_taps[0]; d++)
    for (int64_t h = 0; h < g->n_taps[1]; h++)
      for (int64_t w = 0; w < g->n_taps[2]; w++) {
        int64_t cd = g->tap[0][d] - q->tap_min[0], ch = g->tap[1][h] - q->tap_min[1], cw = g->tap[2][w] - q->tap_min[2];
        if (q->by_tap) {
          q->tap_off[n] = (int32_t)(n * plane), n++;
          continue;
        }
        int64_t phase = (cd % s[0] * s[1] + ch % s[1]) * s[2] + cw % s[2];
        q->tap_off[n++] = (int32_t)(phase * plane + (cd / s[0] * len[1] + ch / s[1]) * len[2] + cw / s[2]);
      }
}

void ox_conv_planes_tile(const ox_conv_plan *p, const ox_conv_args *a, int64_t tile, float *scratch) {
  const ox_conv_planes *q = &p->planes;
  int64_t blocks = q->n_block[0] * q->n_block[1] * q->n_block[2], oc = p->g.oc;
  if (!q->tile_ch) {
    p->v->depthwise(p, a, tile / blocks, 1, tile % blocks, scratch, OX_CONV_FILL_ALL);
    return;
  }
  int64_t u0 = tile * q->tile_ch, u1 = OX_MIN(u0 + q->tile_ch, p->g.batch * p->g.groups * oc);
  for (int64_t u = u0; u < u1; u += q->slots)
    for (int64_t b = 0; b < blocks; b++) { /* outputs of one input share its planes, all inputs share the padding */
      bool all = blocks > 1 || u == u0;
      p->v->depthwise(p, a, u, OX_MIN(q->slots, u1 - u), b, scratch,
                      all           ? OX_CONV_FILL_ALL
                      : u % oc == 0 ? OX_CONV_FILL_INSIDE
                                    : OX_CONV_FILL_NONE);
    }
}
