/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_depthwise.c - the form for depthwise convolutions, one input and one output channel per group: a
 * block of channels is computed in the lanes of vectors. Weights: [block][tap][16]. */
#include <math.h>
#include <string.h>

#include "kern/blocks/window.h"

/* Pixels up to which a map is one tile. The 1x1 convolutions before and after cut larger maps in the same way, so
 * a thread often reads what it has just written. */
enum { WHOLE = 112 };

typedef struct depthwise_plan {
  ox_bconv_plan head;
  ox_window window;
  int64_t blocks;
  int64_t tile_rows, row_tiles; /* a tile: rows of one block of one image; the upper rows of all maps come first */
} depthwise_plan;

static int64_t blocks_of(const ox_conv_geom *g) { return OX_CEIL_DIV(g->groups, OX_BLOCK); }

/* A multiplication per tap and output, and the loads and stores of X and Y. */
static double cost_ns(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  if (g->ic != 1 || g->oc != 1 || t->x_plain) return INFINITY;
  double vectors = (double)OX_BLOCK / ox_window_select(t->isa)->lanes * (double)(g->batch * blocks_of(g));
  double in = (double)(g->in[0] * g->in[1] * g->in[2]), out = (double)(g->out[0] * g->out[1] * g->out[2]);
  const double tap_ns = 0.2, move_ns = 0.6; /* of one vector */
  return vectors * (out * (double)ox_conv_taps(g) * tap_ns + (in + out) * move_ns);
}

static size_t weight_floats(const ox_bconv_task *t) {
  return (size_t)(blocks_of(&t->g) * ox_conv_taps(&t->g) * OX_BLOCK);
}

static int64_t weight_units(const ox_bconv_task *t) { return blocks_of(&t->g); }

static int64_t unit_filter(const ox_bconv_task *t, int64_t u) { return OX_MIN(u * OX_BLOCK, t->g.groups); }

static void pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop) {
  const ox_f32u *src = w;
  int64_t taps = ox_conv_taps(&t->g);
  ox_stop_pace pace = {.stop = stop};
  for (int64_t u = u0; u < u1 && !ox_stop_moved(&pace, (size_t)(taps * OX_BLOCK) * sizeof(float)); u++)
    for (int64_t c = 0; c < OX_BLOCK; c++) {
      int64_t channel = u * OX_BLOCK + c;
      for (int64_t i = 0; i < taps; i++)
        dst[(u * taps + i) * OX_BLOCK + c] = channel < t->g.groups ? src[(channel - u0 * OX_BLOCK) * taps + i] : 0;
    }
}

static bool plan(ox_bconv_plan *head) {
  depthwise_plan *p = (depthwise_plan *)head;
  const ox_conv_geom *g = &head->task.g;
  p->blocks = blocks_of(g);
  if (!ox_window_init(&p->window, OX_WINDOW_CONV, g, &head->task.act, head->task.isa)) return false;
  int64_t rows = g->out[0] * g->out[1], planes = g->batch * p->blocks;
  p->tile_rows = ox_window_tile_rows(&p->window, planes);
  p->row_tiles = OX_CEIL_DIV(rows, p->tile_rows);
  if (p->row_tiles == 1 && rows * g->out[2] > WHOLE) p->row_tiles = 2, p->tile_rows = OX_CEIL_DIV(rows, 2);
  head->n_stages = 1, head->n_tiles[0] = g->out[2] ? planes * p->row_tiles : 0;
  head->scratch_bytes = p->window.scratch_bytes;
  return true;
}

static int64_t n_sums(const ox_bconv_plan *head) { return ((const depthwise_plan *)head)->row_tiles; }

static void run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                void *scratch) {
  const depthwise_plan *p = (const depthwise_plan *)head;
  const ox_conv_geom *g = &head->task.g;
  int64_t in_rows = g->in[0] * g->in[1], rows = g->out[0] * g->out[1], taps = ox_conv_taps(g);
  (void)stage;
  for (int64_t t = begin; t < end; t++) {
    int64_t planes = g->batch * p->blocks, plane = t % planes, block = plane % p->blocks, r = t / planes;
    int64_t r0 = r * p->tile_rows;
    float bias[OX_BLOCK] = {0};
    for (int64_t c = 0; a->bias && c < OX_MIN(OX_BLOCK, g->groups - block * OX_BLOCK); c++)
      bias[c] = a->bias[block * OX_BLOCK + c];
    int64_t at = plane * rows * g->out[2] * OX_BLOCK;
    ox_window_plane w = {.x = a->x + plane * in_rows * g->in[2] * OX_BLOCK,
                         .ring = in_rows,
                         .pitch = g->in[2] * OX_BLOCK,
                         .w = a->w + block * taps * OX_BLOCK,
                         .bias = bias,
                         .z = a->z ? a->z + at : NULL,
                         .slope = a->slope ? a->slope + block * OX_BLOCK : NULL,
                         .y = a->y + at,
                         .sums = a->sums ? a->sums + (plane * p->row_tiles + r) * OX_BLOCK : NULL};
    if (w.sums) memset(w.sums, 0, OX_BLOCK * sizeof *w.sums);
    ox_window_rows(&p->window, &w, r0, OX_MIN(r0 + p->tile_rows, rows), scratch);
  }
}

extern const ox_bconv_form ox_bconv_form_depthwise;
const ox_bconv_form ox_bconv_form_depthwise = {.name = "depthwise",
                                               .plan_bytes = sizeof(depthwise_plan),
                                               .cost_ns = cost_ns,
                                               .weight_floats = weight_floats,
                                               .weight_units = weight_units,
                                               .unit_filter = unit_filter,
                                               .pack = pack,
                                               .n_sums = n_sums,
                                               .plan = plan,
                                               .run = run};
