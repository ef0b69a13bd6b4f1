/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_strassen_run.c - the tiles of Strassen's form: sums of X strip by strip; group by group of
 * panels, the products of all strips. What the halves leave over is computed by the direct form's products. */
#include <math.h>

#include "kern/blocks/bconv_strassen.h"
#include "kern/variants.h"

OX_VARIANTS_SELECT(ox_sw_variant, ox_sw__, ox_sw_select)

typedef ox_sw_plan plan;

enum { KEPT = 256 << 10 /* bytes of weights that stay in L2 */ };

typedef struct tile {
  const plan *p;
  const ox_conv_args *a;
  int64_t image, px, n, half, strips; /* pixels [px, px + n); half: of them, rounded up: the halves may share one */
  int64_t g0, g1;                     /* groups */
  float *sums, *t, *c;
  ox_bconv_seg *segs;
} tile;

/* All of the pixels of tile |i|. */
static tile pixels_at(const plan *p, const ox_conv_args *a, int64_t i, float *sums) {
  tile t = {.p = p, .a = a, .sums = sums, .image = i / p->tiles_px};
  int64_t j = i % p->tiles_px, first = p->all_strips * j / p->tiles_px, end = p->all_strips * (j + 1) / p->tiles_px;
  t.px = p->pixels * first / p->all_strips, t.n = p->pixels * end / p->all_strips - t.px;
  t.half = OX_CEIL_DIV(t.n, 2), t.strips = OX_CEIL_DIV(t.half, p->v->mr);
  return t;
}

static tile tile_at(const plan *p, const ox_conv_args *a, int64_t i, void *scratch) {
  tile t = pixels_at(p, a, i / p->tiles_m, scratch);
  t.g0 = i % p->tiles_m * p->tile_m, t.g1 = OX_MIN(t.g0 + p->tile_m, p->groups);
  t.t = (float *)scratch + p->strips * p->strip_floats;
  t.c = t.t + p->t_floats;
  t.segs = (ox_bconv_seg *)(t.c + p->strips * p->c_floats);
  return t;
}

/* Floats from the first pixel of a block of X to that of output |pixel|. */
static int64_t place_of(const plan *p, int64_t pixel) {
  const ox_conv_geom *g = &p->head.task.g;
  if (!p->gathers) return pixel * OX_BLOCK;
  int64_t w = pixel % g->out[2], h = pixel / g->out[2] % g->out[1], d = pixel / g->out[2] / g->out[1];
  return ((d * g->stride[0] * g->in[1] + h * g->stride[1]) * g->in[2] + w * g->stride[2]) * OX_BLOCK;
}

static const float *x_of(const tile *t, int64_t block) {
  return t->a->x + (t->image * t->p->x_blocks + block) * t->p->in_pixels * OX_BLOCK;
}
static int64_t y_of(const tile *t, int64_t panel, int64_t pixel) {
  return ((t->image * t->p->panels + panel) * t->p->pixels + pixel) * OX_BLOCK;
}

/* The activation of |n| pixels of panels [q0, q1). */
static void finish(const tile *t, int64_t px, int64_t n, int64_t q0, int64_t q1) {
  const plan *p = t->p;
  const float *slope = t->a->slope;
  for (int64_t q = q0; q < q1; q++) {
    float *y = t->a->y + y_of(t, q, px);
    if (slope) p->direct->bend(y, slope + q * OX_BLOCK, (size_t)n);
    if (p->post) p->direct->finish(&p->head.task.act, y, (size_t)(n * OX_BLOCK));
  }
}

/* ---- the direct way ---- */

/* Pixels [px, px + n) of panels [q0, q1), over blocks [b0, b1) of X. */
static void plain(const tile *t, int64_t px, int64_t n, int64_t q0, int64_t q1, int64_t b0, int64_t b1) {
  const plan *p = t->p;
  const ox_conv_geom *g = &p->head.task.g;
  int64_t step = p->gathers ? g->stride[2] * OX_BLOCK : OX_BLOCK, oc = g->oc - (p->panels - 1) * OX_BLOCK;
  for (int64_t b = b0; b < b1; b++)
    t->segs[b - b0] = (ox_bconv_seg){(b - b0) * p->in_pixels * OX_BLOCK, OX_MIN(g->ic - b * OX_BLOCK, OX_BLOCK), 0};
  ox_bconv_mul m = {.segs = t->segs, .n_segs = (size_t)(b1 - b0), .w_panel = (size_t)(g->ic * OX_BLOCK)};
  m.x_step = (size_t)step, m.n_strips = 1, m.y_panel = (size_t)(p->pixels * OX_BLOCK);
  m.first = b0 == 0, m.last = b1 == p->x_blocks, m.lo = p->lo, m.hi = p->hi;
  for (int64_t q = q0, np; q < q1; q += np) {
    ox_bconv_tile reg = ox_bconv_next(p->direct, q1 - q, q1 == p->panels ? oc : OX_BLOCK);
    np = reg.np;
    m.w = t->a->w + (q * g->ic + b0 * OX_BLOCK) * OX_BLOCK;
    m.bias = t->a->bias ? t->a->bias + q * OX_BLOCK : NULL, m.channels = (size_t)(g->oc - q * OX_BLOCK);
    for (int64_t i = 0, some; i < n; i += some) {
      int64_t at = px + i, y = y_of(t, q, at);
      some = OX_MIN(n - i, reg.mr);
      if (p->gathers) some = OX_MIN(some, g->out[2] - at % g->out[2]); /* of a row */
      int64_t half = (some + 1) / 2;
      m.x[0] = x_of(t, b0) + place_of(p, at), m.x[1] = m.x[0] + half * step;
      m.y[0] = t->a->y + y, m.y[1] = m.y[0] + half * OX_BLOCK;
      m.z[0] = t->a->z ? t->a->z + y : NULL, m.z[1] = t->a->z ? m.z[0] + half * OX_BLOCK : NULL;
      reg.mul[some - 1](&m);
    }
  }
  if (m.last) finish(t, px, n, q0, q1);
}

/* ---- a strip ---- */

typedef struct strip {
  int64_t at, n, px[2]; /* the first of both halves' pixels */
  float *sums;
} strip;

static strip strip_of(const tile *t, int64_t i) {
  int64_t at = t->half * i / t->strips, n = t->half * (i + 1) / t->strips - at;
  return (strip){at, n, {t->px + at, t->px + t->n - t->half + at}, t->sums + i * t->p->strip_floats};
}

/* Channels of a step: blocks [first, first + n) of X beside [first + n, first + 2 n). */
typedef struct part {
  int64_t first, n;
} part;

static part part_of(const plan *p, int64_t i) {
  int64_t begin = p->halves * i / p->parts, end = p->halves * (i + 1) / p->parts;
  return (part){2 * begin, end - begin};
}

static void make_sums(const tile *t, const strip *s, part k) {
  const plan *p = t->p;
  size_t at[2][OX_SW_MOST_PIXELS];
  for (int64_t i = 0; i < s->n; i++)
    for (int h = 0; h < 2; h++) at[h][i] = (size_t)place_of(p, s->px[h] + i);
  ox_sw_sums m = {.at = {at[0], at[1]}, .pixels = (size_t)s->n, .singles = p->gathers};
  m.to_sum = (size_t)(p->halves * s->n * OX_BLOCK);
  for (int64_t b = 0; b < k.n; b++) {
    m.a[0] = m.a[2] = x_of(t, k.first + b), m.a[1] = m.a[3] = x_of(t, k.first + k.n + b);
    m.to = s->sums + (k.first / 2 + b) * s->n * OX_BLOCK;
    p->v->sums(&m);
  }
}

/* The factors of all steps for panels from |q| on; |made|: sums of weights are there. */
static void set_steps(const tile *t, const strip *s, part k, int64_t q, bool made, ox_sw_step *step) {
  const plan *p = t->p;
  const size_t panel = (size_t)(p->head.task.g.ic * OX_BLOCK), own = (size_t)(k.n * OX_BLOCK * OX_BLOCK);
  const size_t block = (size_t)(s->n * OX_BLOCK), sum = (size_t)p->halves * block;
  const float *w11 = t->a->w + (size_t)q * panel + k.first * OX_BLOCK * OX_BLOCK, *w21 = w11 + own;
  const float *w12 = w11 + (size_t)p->v->np * panel, *w22 = w12 + own;
  const float *sums = s->sums + (size_t)(k.first / 2) * block, *x[3] = {sums + 4 * sum, sums + 5 * sum, sums + 6 * sum};
  size_t x_block = block, t_floats = (size_t)p->v->np * own;
  float *t1 = t->t, *t2 = t1 + t_floats, *t3 = t2 + t_floats, *t4 = t3 + t_floats;
  if (!p->gathers) {
    x[0] = x_of(t, k.first) + s->px[0] * OX_BLOCK, x[1] = x_of(t, k.first + k.n) + s->px[0] * OX_BLOCK;
    x[2] = x_of(t, k.first + k.n) + s->px[1] * OX_BLOCK, x_block = (size_t)(p->in_pixels * OX_BLOCK);
  }
  step[0] = (ox_sw_step){x[0], x_block, w11, NULL, panel, 0, NULL, NULL};
  step[1] = (ox_sw_step){sums, block, w12, w11, panel, panel, t1, NULL};
  step[2] = (ox_sw_step){sums + sum, block, w22, t1, panel, own, t2, NULL};
  step[3] = (ox_sw_step){sums + 2 * sum, block, w22, w12, panel, panel, t3, NULL};
  step[4] = (ox_sw_step){x[2], x_block, w21, t2, panel, own, t4, NULL};
  step[5] = (ox_sw_step){sums + 3 * sum, block, w22, NULL, panel, 0, NULL, NULL};
  step[6] = (ox_sw_step){x[1], x_block, w21, NULL, panel, 0, NULL, NULL};
  for (int i = 1; made && i <= OX_SW_SUMS; i++) step[i].w = step[i].to, step[i].w_panel = own, step[i].less = NULL;
}

/* What is fetched meanwhile: weights of the next part or group; the next strip's pixels where their sums are next. */
static void look_ahead(const tile *t, const strip *s, int64_t j, int64_t g, int64_t i, ox_sw_mul *m) {
  const plan *p = t->p;
  const int64_t width = 2 * p->v->np, lines = p->head.task.g.ic * OX_BLOCK;
  const bool more = i + 1 < p->parts, last = g + 1 == t->g1;
  if (lines * p->panels * (int64_t)sizeof(float) > KEPT) {
    const part next = part_of(p, more ? i + 1 : 0);
    const int64_t group = more ? g : last ? (t->g1 == p->groups ? 0 : t->g1) : g + 1, all = 2 * next.n * OX_BLOCK;
    const float *w = t->a->w + group * width * lines + next.first * OX_BLOCK * OX_BLOCK;
    m->ahead = w + all * j / t->strips * OX_BLOCK, m->ahead_end = w + all * (j + 1) / t->strips * OX_BLOCK;
    m->w_panel = (size_t)lines;
    m->ahead_n = (size_t)OX_CEIL_DIV(OX_CEIL_DIV(all, t->strips), OX_SW_STEPS * (int64_t)m->blocks);
  }
  if (p->gathers || s->at + s->n == t->half || g > t->g0) return;
  const part now = part_of(p, i);
  const float *x0 = x_of(t, now.first), *x1 = x_of(t, now.first + now.n);
  m->fetch_block = (size_t)(p->in_pixels * OX_BLOCK);
  m->step[0].fetch = x0 + (s->px[0] + s->n) * OX_BLOCK, m->step[6].fetch = x1 + (s->px[0] + s->n) * OX_BLOCK;
  m->step[1].fetch = x0 + (s->px[1] + s->n) * OX_BLOCK, m->step[4].fetch = x1 + (s->px[1] + s->n) * OX_BLOCK;
}

/* A part of the channels of one strip and the group of panels from |q| on. */
static void multiply(const tile *t, const strip *s, int64_t index, int64_t q, int64_t i) {
  const plan *p = t->p;
  const part k = part_of(p, i);
  const bool whole = 2 * p->halves == p->x_blocks; /* nothing is left over */
  ox_sw_mul m = {
      .blocks = (size_t)k.n, .to_panel = (size_t)(k.n * OX_BLOCK * OX_BLOCK), .c = t->c + index * p->c_floats};
  m.y_panel = (size_t)(p->pixels * OX_BLOCK), m.bias = t->a->bias ? t->a->bias + q * OX_BLOCK : NULL;
  m.first = i == 0, m.last = i == p->parts - 1, m.lo = whole ? p->lo : -INFINITY, m.hi = whole ? p->hi : INFINITY;
  for (int h = 0; h < 2; h++) {
    m.y[h] = t->a->y + y_of(t, q, s->px[h]);
    m.z[h] = t->a->z && whole ? t->a->z + y_of(t, q, s->px[h]) : NULL;
  }
  set_steps(t, s, k, q, index > 0, m.step);
  look_ahead(t, s, index, q / (2 * p->v->np), i, &m);
  bool ordinary = (index ? p->v->mul : p->v->make)[s->n - 1](&m);
  if (!m.last) return;
  int64_t end = q + 2 * p->v->np;
  for (int h = 0; h < 2; h++) {
    if (OX_UNLIKELY(!ordinary))
      plain(t, s->px[h], s->n, q, end, 0, 2 * p->halves);
    else if (whole)
      finish(t, s->px[h], s->n, q, end);
  }
}

/* ---- tiles ---- */

static void run_tile(const tile *t) {
  const plan *p = t->p;
  const int64_t width = 2 * p->v->np, most = p->groups * width;
  for (int64_t g = t->g0; g < t->g1; g++) {
    for (int64_t i = 0; i < p->parts; i++)
      for (int64_t j = 0; j < t->strips; j++) {
        strip s = strip_of(t, j);
        if (g == t->g0) make_sums(t, &s, part_of(p, i));
        multiply(t, &s, j, g * width, i);
      }
    if (2 * p->halves < p->x_blocks) plain(t, t->px, t->n, g * width, (g + 1) * width, 2 * p->halves, p->x_blocks);
  }
  if (t->g1 == p->groups && most < p->panels) plain(t, t->px, t->n, most, p->panels, 0, p->x_blocks);
}

void ox_sw_run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
               void *scratch) {
  const plan *p = (const plan *)head;
  (void)stage;
  for (int64_t i = begin; i < end; i++) {
    tile t = tile_at(p, a, i, scratch);
    run_tile(&t);
  }
}
