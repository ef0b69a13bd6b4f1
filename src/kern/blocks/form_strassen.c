/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/form_strassen.c - 1x1 convolutions of many channels with seven products in place of eight
 * (bconv_strassen.h).
 *
 * A tile is some pixels of an image by the panels of two blocks of C (a *band*). A thread that goes on with another
 * band of the same pixels keeps the sums of pixels that the steps multiply. Output channels that fill no band are
 * computed by the direct form; so is the last band if the number of tiles is odd, since two threads would otherwise
 * wait for one tile. If the number of input blocks is odd, the steps that complete a block of C also multiply the last
 * one. */
#include <math.h>

#include "base/cksize.h"
#include "base/cpu_kind.h"
#include "kern/blocks/bconv_strassen.h"
#include "kern/carried.h"

enum {
  LEAST_PIXELS = 49,  /* of an image: half of them still make strips of at least two thirds of the largest */
  PAIR = 2 * OX_BLOCK /* input channels, of two blocks that are halves of k */
};

typedef struct strassen_plan {
  ox_bconv_plan head;
  ox_conv_geom g;
  const ox_bstrassen_kernels *v;
  const ox_bconv_variant *plain;
  int64_t pixels, in_pixels, blocks; /* of an image */
  int64_t pairs;                     /* of input blocks; there may be one block more */
  int64_t parts, most;               /* an image's pixels are divided into so many parts, of so many pixels at most */
  int64_t bands;                     /* that the steps compute */
  int64_t band;                      /* panels of a band */
  size_t columns;                    /* channels of a block of C */
  /* The direct form, for the output channels behind the bands. Stage 1 has the tiles of half the bands, then half of
   * these, and both again: a thread that steals the upper half gets as much work as is left. */
  ox_bconv_direct_plan rest;
  int64_t n_rest;                             /* tiles of |rest|; 0: there are none */
  int64_t stretches, stretch;                 /* of k; the largest number of pairs of blocks in a stretch */
  size_t step_floats;                         /* of the sums of pixels that a step multiplies, per stretch */
  size_t mixed_at, sums_at, kept_at, segs_at; /* offsets in the scratch, which begins with the places of pixels */
  size_t rest_at;
  float lo, hi;
  bool post; /* the activation is not a clamp: it is a pass of its own */
  bool flat; /* each pixel of Y belongs to the same pixel of X */
} strassen_plan;

extern const ox_bconv_form ox_bconv_form_direct, ox_bconv_form_strassen;

static const ox_bstrassen_kernels *select_kernels(ox_isa have) {
#if OX_BUILD_AVX512
  extern const ox_bstrassen_kernels ox_bstrassen__avx512;
  if (have & OX_AVX512) return &ox_bstrassen__avx512;
#endif
#if OX_BUILD_AVX2
  extern const ox_bstrassen_kernels ox_bstrassen__avx2;
  if (have & OX_AVX2) return &ox_bstrassen__avx2;
#endif
  (void)have;
  return NULL;
}

static int64_t band_channels(const ox_bstrassen_kernels *v) { return 2 * v->panels * OX_BLOCK; }

static bool supports(const ox_bconv_task *t) {
  const ox_conv_geom *g = &t->g;
  const ox_bstrassen_kernels *v = select_kernels(t->isa);
  if (!v || t->exact || t->isa & OX_PLAIN_SUMS) return false;
  if (t->x_plain || g->groups != 1 || ox_conv_taps(g) != 1) return false;
  if (g->ic < PAIR || g->ic % OX_BLOCK || g->oc < band_channels(v) || g->oc % OX_BLOCK) return false;
  for (int a = 0; a < OX_CONV_AXES; a++)
    if (g->tap[a][0] != 0 || (g->out[a] - 1) * g->stride[a] >= g->in[a]) return false;
  bool flat = g->stride[1] * g->stride[2] == 1 && g->in[1] * g->in[2] == g->out[1] * g->out[2];
  if ((g->ic % PAIR && !flat) || (g->oc % band_channels(v) && g->batch != 1)) return false;
  return g->out[0] == 1 && g->in[0] == 1 && g->out[1] * g->out[2] >= LEAST_PIXELS;
}

/* The bands that the steps compute; if that made an odd number of tiles, the last one is left to the direct form. */
static int64_t bands_of(const ox_bstrassen_kernels *v, const ox_conv_geom *g) {
  int64_t parts = OX_CEIL_DIV(g->out[1] * g->out[2], v->tile_pixels), bands = g->oc / band_channels(v);
  return bands - (g->batch == 1 && parts % 2 && bands % 2 && bands > 1);
}

/* A share of the direct form's time, as measured on Zen 4 and, with AVX2, on Zen 3. The fewer input channels there are,
 * the more the additions and stores of products count; the fewer output channels, the more the sums of pixels; with six
 * pixels in a strip, the fewer of them, the more the sums of weights; and large maps are read from memory. Where the
 * pixels that strides leave make short rows, the direct form does not fill its strips. Not where FMAs are faster in
 * relation to the rest, or L3 is slow: CPUs that execute 512-bit vectors whole, Intel's. */
static double cost_ns(const ox_bconv_task *t) {
  if (!supports(t)) return INFINITY;
  const ox_conv_geom *g = &t->g;
  const ox_bstrassen_kernels *v = select_kernels(t->isa);
  double share = (double)(bands_of(v, g) * band_channels(v)) / (double)g->oc;
  double pixels = (double)(g->out[1] * g->out[2]), tile = pixels / ceil(pixels / (double)v->tile_pixels);
  double steps = v->steps_share + v->of_ic / (double)g->ic + v->of_oc / (double)g->oc + v->of_pixels / tile;
  double of = 1 - share + share * (steps + 16e-6 * pixels);
  if (v->most <= 6 && g->stride[1] * g->stride[2] > 1) of *= 0.85;
  bool pays = v->most <= 6 ? !(t->isa & OX_SLOW_L3) : (t->isa & OX_AVX512_HALVES) != 0;
  return ox_bconv_form_direct.cost_ns(t) * (pays ? of : OX_MAX(of, 1.01));
}

/* ---- plan ---- */

static size_t put(size_t *at, size_t bytes) {
  size_t begin = *at;
  *at += OX_ROUND_UP(bytes, (size_t)OX_ALIGN_BYTES);
  return begin;
}

/* Plans the direct form for the channels behind the bands. False: a size overflows. */
static bool plan_rest(strassen_plan *p, size_t *at) {
  ox_bconv_plan *rest = &p->rest.head;
  rest->form = &ox_bconv_form_direct, rest->task = p->head.task, rest->task.g.oc -= p->bands * p->band * OX_BLOCK;
  if (!rest->form->plan(rest)) return false;
  if (rest->n_tiles[0] == 1) {
    p->rest.halved = 0;
    if (ox_bconv_direct_divides(&p->rest)) rest->n_tiles[0] = 2;
    if (rest->n_tiles[0] == 1) p->rest.halved = -1;
  }
  p->n_rest = rest->n_tiles[0], p->rest_at = put(at, rest->scratch_bytes);
  return true;
}

static bool plan(ox_bconv_plan *head) {
  strassen_plan *p = (strassen_plan *)head;
  p->g = head->task.g;
  const ox_conv_geom *g = &p->g;
  int64_t xs[] = {g->batch, g->ic, g->in[1], g->in[2]}, ys[] = {g->batch, g->oc, g->out[1], g->out[2]}, floats;
  if (!ox_conv_product_ok(xs, OX_COUNT(xs), &floats) || !ox_conv_product_ok(ys, OX_COUNT(ys), &floats)) return false;
  if (!ox_bconv_direct_weight_floats(&head->task)) return false;
  p->v = select_kernels(head->task.isa), p->plain = ox_bconv_select(head->task.isa);
  p->post = ox_bconv_clamp(&head->task.act, &p->lo, &p->hi);
  p->in_pixels = g->in[1] * g->in[2], p->pixels = g->out[1] * g->out[2], p->blocks = g->ic / OX_BLOCK;
  p->parts = OX_CEIL_DIV(p->pixels, p->v->tile_pixels), p->most = OX_CEIL_DIV(p->pixels, p->parts);
  p->flat = p->pixels == p->in_pixels && g->stride[1] * g->stride[2] == 1;
  p->bands = bands_of(p->v, g), p->band = 2 * p->v->panels, p->columns = (size_t)(p->v->panels * OX_BLOCK);
  p->pairs = p->blocks / 2;
  p->stretches = OX_CEIL_DIV(p->pairs, p->v->tile_blocks), p->stretch = OX_CEIL_DIV(p->pairs, p->stretches);
  size_t half = (size_t)OX_CEIL_DIV(p->most, 2), at = 0;
  p->step_floats = half * (size_t)p->stretch * OX_BLOCK;
  put(&at, (size_t)p->most * sizeof(ptrdiff_t));
  p->mixed_at = put(&at, (size_t)p->stretches * OX_STRASSEN_STEPS * p->step_floats * sizeof(float));
  p->sums_at = put(&at, OX_STRASSEN_STEPS * half * p->columns * sizeof(float));
  size_t kept = p->v->keeps_sums ? (size_t)p->stretch * OX_BLOCK * p->columns : 0;
  p->kept_at = put(&at, kept * sizeof(float));
  p->segs_at = put(&at, (size_t)p->blocks * sizeof(ox_bconv_seg));
  if (g->oc > p->bands * p->band * OX_BLOCK && !plan_rest(p, &at)) return false;
  head->scratch_bytes = at, head->shared_bytes = sizeof(ox_carried);
  head->n_stages = 2, head->n_tiles[0] = 1;
  int64_t n[] = {g->batch, p->parts, p->bands}, steps;
  return ox_conv_product_ok(n, OX_COUNT(n), &steps) && ox_add_i64_ok(steps, p->n_rest, &head->n_tiles[1]);
}

/* ---- tiles ---- */

typedef struct walk {
  const strassen_plan *p;
  const ox_conv_args *a;
  int64_t band, begin; /* begin: the tile's first pixel in its image */
  size_t n, half;      /* pixels of the tile, and of a block of C: the first |half| and the last |half| */
  size_t strips;       /* of a block of C */
  const float *x;      /* of the image */
  bool in_place;       /* A0 and A3 are read from x, without a copy */
  int64_t y;           /* offset of the tile's first pixel in Y */
  ptrdiff_t *at;
  float *mixed, *sums, *kept;
  ox_bconv_seg *segs;
} walk;

static int64_t stretch_begin(const strassen_plan *p, int64_t s) { return p->pairs * s / p->stretches * 2; }

static walk walk_of(const strassen_plan *p, const ox_conv_args *a, int64_t tile, char *scratch) {
  int64_t part = tile % p->parts, image = tile / p->parts, end = p->pixels * (part + 1) / p->parts;
  walk w = {.p = p, .a = a, .begin = p->pixels * part / p->parts, .at = (ptrdiff_t *)scratch};
  w.n = (size_t)(end - w.begin), w.half = OX_CEIL_DIV(w.n, (size_t)2);
  w.strips = OX_CEIL_DIV(w.half, (size_t)p->v->most);
  w.x = a->x + image * p->blocks * p->in_pixels * OX_BLOCK;
  w.y = (image * (p->g.oc / OX_BLOCK) * p->pixels + w.begin) * OX_BLOCK;
  w.mixed = (float *)(scratch + p->mixed_at), w.sums = (float *)(scratch + p->sums_at);
  w.kept = (float *)(scratch + p->kept_at), w.segs = (ox_bconv_seg *)(scratch + p->segs_at);
  w.in_place = p->flat;
  return w;
}

static float *mixed_at(const walk *w, int64_t s) {
  return w->mixed + (size_t)s * OX_STRASSEN_STEPS * w->p->step_floats;
}

/* The sums of pixels of a tile that the steps multiply, for all stretches of k. */
static void mix_all(const walk *w) {
  const strassen_plan *p = w->p;
  const ox_conv_geom *g = &p->g;
  int64_t block = p->in_pixels * OX_BLOCK;
  for (size_t i = 0; i < w->n; i++) {
    int64_t pixel = w->begin + (int64_t)i, h = pixel / g->out[2] * g->stride[1], x = pixel % g->out[2] * g->stride[2];
    w->at[i] = (ptrdiff_t)((h * g->in[2] + x) * OX_BLOCK);
  }
  for (int64_t s = 0; s < p->stretches; s++) {
    int64_t b0 = stretch_begin(p, s), n = (stretch_begin(p, s + 1) - b0) / 2;
    for (int64_t b = 0; b < n; b++) {
      const float *x[2] = {w->x + (b0 + b) * block, w->x + (b0 + b + n) * block};
      p->v->mix(x, w->at, w->half, w->n, mixed_at(w, s) + (size_t)b * w->half * OX_BLOCK, p->step_floats, !w->in_place);
    }
  }
}

/* Recomputes pixels [i, i + n) of a tile without Strassen: the panels of a block of C, from |q| on. */
static void plain_strip(const walk *w, int64_t q, size_t i, size_t n) {
  const strassen_plan *p = w->p;
  for (int64_t b = 0; b < p->blocks; b++) w->segs[b] = (ox_bconv_seg){b * p->in_pixels * OX_BLOCK, OX_BLOCK, 0};
  size_t panel = (size_t)(p->g.ic * OX_BLOCK), y_panel = (size_t)(p->pixels * OX_BLOCK);
  ox_bconv_mul m = {.segs = w->segs, .n_segs = (size_t)p->blocks, .w_panel = panel, .y_panel = y_panel, .n_strips = 1};
  m.first = m.last = true, m.lo = p->lo, m.hi = p->hi, m.channels = p->columns, m.x_step = OX_BLOCK;
  for (size_t pixel = i; pixel < i + n; pixel++)
    for (int64_t j = q; j < q + p->v->panels; j++) {
      int64_t y = w->y + (j * p->pixels + (int64_t)pixel) * OX_BLOCK;
      m.w = m.ahead = w->a->w + (size_t)j * panel;
      m.x[0] = m.x[1] = w->x + w->at[pixel], m.y[0] = m.y[1] = w->a->y + y;
      m.z[0] = m.z[1] = w->a->z ? w->a->z + y : NULL, m.bias = w->a->bias ? w->a->bias + j * OX_BLOCK : NULL;
      p->plain->mul[0][0](&m);
    }
}

static void activate(const walk *w, const ox_bstrassen_end *e, int64_t q) {
  for (int64_t j = 0; j < w->p->v->panels; j++) {
    float *y = e->y + (size_t)j * e->panel;
    if (w->a->slope)
      w->p->plain->apply_slopes(y, w->a->slope + (q + j) * OX_BLOCK, e->pixels);
    else if (w->p->post)
      w->p->plain->finish(&w->p->head.task.act, y, e->pixels * OX_BLOCK);
  }
}

static float *product_of(const walk *w, size_t step) { return w->sums + step * w->half * w->p->columns; }

/* The first panel of the tile's block |c| of C. */
static int64_t first_panel(const walk *w, uint8_t c) { return w->band * w->p->band + (c & 1) * w->p->v->panels; }

/* What completes the block of C that |step| finishes, for its pixels from |i| on. */
static ox_bstrassen_end end_of(const walk *w, size_t step, size_t i) {
  const strassen_plan *p = w->p;
  uint8_t block = ox_strassen[step].c[0];
  int64_t q = first_panel(w, block);
  size_t first = block >> 1 ? w->n - w->half : 0, n = 0;
  int64_t y = w->y + (q * p->pixels + (int64_t)(first + i)) * OX_BLOCK;
  ox_bstrassen_end e = {.y = w->a->y + y,
                        .z = w->a->z ? w->a->z + y : NULL,
                        .panel = (size_t)(p->pixels * OX_BLOCK),
                        .pixels = (block >> 1 ? w->half : w->n - w->half) - i,
                        .lo = p->lo,
                        .hi = p->hi};
  for (size_t s = 0; s < OX_STRASSEN_STEPS; s++)
    for (int c = 0; c < 2; c++) {
      const ox_strassen_step *x = &ox_strassen[s];
      if (s == step || !x->c_sign[c] || x->c[c] != block) continue;
      const float *from = product_of(w, s) + i * p->columns;
      if (x->c_sign[c] > 0)
        e.plus[n++] = from;
      else
        e.minus = from;
    }
  if (p->blocks % 2 == 0) return e;
  int64_t at = p->blocks - 1;
  e.a_rest = w->x + (at * p->in_pixels + w->begin + (int64_t)(first + i)) * OX_BLOCK;
  e.b_rest = w->a->w + (q * p->g.ic + at * OX_BLOCK) * OX_BLOCK;
  return e;
}

/* Strips of a step, from pixel |i| of its block of C on. |whole|: the step completes that block. */
static void run_strips(const walk *w, ox_bstrassen_strips *t, size_t step, bool whole, size_t i) {
  if (t->n_strips == 0) return;
  t->own = product_of(w, step) + i * w->p->columns;
  if (!whole) {
    w->p->v->multiply(t);
    return;
  }
  uint8_t block = ox_strassen[step].c[0];
  int64_t q = first_panel(w, block);
  ox_bstrassen_end e = end_of(w, step, i);
  size_t first = i + (block >> 1 ? w->n - w->half : 0);
  e.pixels = OX_MIN(e.pixels, t->n_strips * t->m), t->end = &e;
  uint32_t bad = w->p->v->multiply(t);
  for (size_t s = 0; bad; s++, bad >>= 1)
    if (bad & 1) plain_strip(w, q, first + s * t->m, OX_MIN(t->m, e.pixels - s * t->m));
  if (w->a->slope || w->p->post) activate(w, &e, q);
  t->end = NULL;
}

/* What the strips of a tile prefetch one after the other: half a stretch of a panel or a part of it, first the weights
 * that this band needs next, then those of the next band. */
typedef struct feed {
  int64_t part, panel, block, stretch, band; /* block: its number in the order in which the steps need those of B */
  int64_t lines, half;                       /* of the stretch: its first k, and half its number of k */
} feed;

static void feed_stretch(feed *f, const strassen_plan *p) {
  f->lines = stretch_begin(p, f->stretch) * OX_BLOCK;
  f->half = (stretch_begin(p, f->stretch + 1) * OX_BLOCK - f->lines) / 2;
}

/* NULL: there are no more. */
static const float *next_weights(const walk *w, feed *f) {
  static const int8_t order[] = {0, 3, 1, 2};
  const strassen_plan *p = w->p;
  int64_t parts = p->v->fetch_every, each = p->v->panels, q = order[f->block];
  int64_t panel = f->band * p->band + (q & 1) * each + f->panel;
  if (f->band > w->band + 1 || panel * OX_BLOCK >= p->g.oc) return NULL;
  const float *at = w->a->w + (panel * p->g.ic + f->lines + (q >> 1) * f->half + f->half / parts * f->part) * OX_BLOCK;
  if (++f->part < parts) return at;
  f->part = 0;
  if (++f->panel < each) return at;
  f->panel = 0;
  if (++f->block < (int64_t)OX_COUNT(order)) return at;
  f->block = 0;
  if (++f->stretch == p->stretches) f->stretch = 0, f->band++;
  feed_stretch(f, p);
  return at;
}

static void run_step(const walk *w, int64_t s, size_t step, feed *f) {
  const strassen_plan *p = w->p;
  const ox_strassen_step *x = &ox_strassen[step];
  int64_t b0 = stretch_begin(p, s), n = (stretch_begin(p, s + 1) - b0) / 2, k = p->g.ic;
  const float *band = w->a->w + (w->band * p->band * k + b0 * OX_BLOCK) * OX_BLOCK, *b[4];
  for (int64_t q = 0; q < 4; q++) b[q] = band + ((q & 1) * p->v->panels * k + (q >> 1) * n * OX_BLOCK) * OX_BLOCK;
  size_t low = w->half / w->strips, high = w->half % w->strips;
  const float *ahead[OX_BSTRASSEN_STRIPS];
  bool last = s + 1 == p->stretches, whole = step >= OX_STRASSEN_WHOLE && last;
  ox_bstrassen_strips t = {.a = mixed_at(w, s) + step * p->step_floats,
                           .a_block = w->half * OX_BLOCK,
                           .blocks = (size_t)n,
                           .b = {b[x->b[0]], b[x->b[1]]},
                           .b_panel = (size_t)(k * OX_BLOCK),
                           .b_sign = x->b_sign,
                           .b_sum = w->kept,
                           .ahead = ahead,
                           .adds = s > 0,
                           .keeps = !whole || x->c_sign[1]};
  if (whole && x->c_sign[1] && w->a->bias) /* each block of C has one of these two */
    t.bias = w->a->bias + first_panel(w, x->c[0]) * OX_BLOCK;
  if (w->in_place && !x->a_pair) {
    t.a_block = (size_t)(p->in_pixels * OX_BLOCK);
    t.a = w->x + (b0 + (x->a[0] & 1) * n) * (int64_t)t.a_block +
          (w->begin + (int64_t)(x->a[0] >> 1 ? w->n - w->half : 0)) * OX_BLOCK;
  }
  for (size_t i = 0, m = low + 1; m >= low; m--) { /* the longer strips first */
    t.m = m, t.n_strips = m > low ? high : w->strips - high;
    for (size_t strip = 0; strip < t.n_strips; strip++) ahead[strip] = next_weights(w, f);
    run_strips(w, &t, step, whole, i);
    t.has_sum = t.has_sum || t.n_strips > 0;
    t.a += m * t.n_strips * OX_BLOCK, i += m * t.n_strips;
  }
}

/* Tile |i| of the channels that the direct form computes. */
static void run_rest(const strassen_plan *p, const ox_conv_args *a, int64_t i, char *scratch) {
  const ox_bconv_plan *rest = &p->rest.head;
  int64_t channel = p->bands * p->band * OX_BLOCK, y = channel * p->pixels;
  ox_conv_args b = *a;
  b.w += channel * p->g.ic, b.y += y;
  if (b.z) b.z += y;
  if (b.bias) b.bias += channel;
  if (b.slope) b.slope += channel;
  rest->form->run(rest, &b, 0, i, i + 1, scratch + p->rest_at);
}

/* Tile |i| of the bands. |mixed|: the part of the pixels whose sums the scratch holds; -1: none. */
static void run_bands(const strassen_plan *p, const ox_conv_args *a, int64_t i, int64_t *mixed, char *scratch) {
  walk w = walk_of(p, a, i / p->bands, scratch);
  w.band = i % p->bands;
  if (*mixed != i / p->bands) mix_all(&w), *mixed = i / p->bands;
  feed f = {.block = 1, .band = w.band}; /* the first block of B is read at once */
  feed_stretch(&f, p);
  for (int64_t s = 0; s < p->stretches; s++)
    for (size_t step = 0; step < OX_STRASSEN_STEPS; step++) run_step(&w, s, step, &f);
}

static void run(const ox_bconv_plan *head, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                void *scratch) {
  const strassen_plan *p = (const strassen_plan *)head;
  if (stage == 0) {
    ox_carried_begin(a->shared);
    return;
  }
  int64_t none = -1, *mixed = head->task.alone ? ox_carried_of(a->shared, scratch) : NULL;
  int64_t steps = head->n_tiles[1] - p->n_rest, half_steps = steps / 2, half_rest = p->n_rest / 2;
  if (!mixed) mixed = &none;
  if (!p->n_rest) half_steps = steps;
  for (int64_t i = begin; i < end; i++) {
    int64_t half = half_steps + half_rest, upper = i >= half, at = upper ? i - half : i;
    int64_t own_steps = upper ? steps - half_steps : half_steps;
    if (at < own_steps)
      run_bands(p, a, upper * half_steps + at, mixed, scratch);
    else
      run_rest(p, a, upper * half_rest + at - own_steps, scratch);
  }
}

const ox_bconv_form ox_bconv_form_strassen = {.name = "strassen",
                                              .plan_bytes = sizeof(strassen_plan),
                                              .cost_ns = cost_ns,
                                              .weight_floats = ox_bconv_direct_weight_floats,
                                              .weight_units = ox_bconv_direct_weight_units,
                                              .unit_filter = ox_bconv_direct_unit_filter,
                                              .pack = ox_bconv_direct_pack,
                                              .scales = ox_bconv_direct_scales,
                                              .scale = ox_bconv_direct_scale,
                                              .plan = plan,
                                              .run = run};
