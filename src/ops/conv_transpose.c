/* SPDX-License-Identifier: Apache-2.0
 * ops/conv_transpose.c - ConvTranspose: every phase of the output is a convolution of its own
 * (kern/conv/transpose.h), a last stage interleaves them; few channels, and windows that do not overlap, use columns
 * instead (kern/conv/deconv_cols.h). And com.microsoft's form of it, whose pads are an input. */
#include <string.h>

#include "base/cksize.h"
#include "kern/conv/deconv_cols.h"
#include "kern/quant/convert.h"
#include "ops/shared/check.h"
#include "ops/shared/conv_node.h"
#include "ops/shared/deconv_shape.h"

enum { X, W, B, PADS = 2, PADS_B /* the bias is the input after pads */, BLOCK = 16384, LINES = 16 };

static const ox_attr_def attr_rows[] = {OX_CONV_ATTR_ROWS(ox_deconv_attrs),
                                        OX_ATTR_INTS_IN(ox_deconv_attrs, output_padding, 0, 1 << 30),
                                        OX_ATTR_INTS_IN(ox_deconv_attrs, output_shape, 0, OX_COUNT_MAX)};

static const ox_attr_def pads_rows[] = {
    OX_ATTR_STR(ox_deconv_attrs, auto_pad, NULL),
    OX_ATTR_INTS_IN(ox_deconv_attrs, dilations, 1, OX_COUNT_MAX),
    OX_ATTR_INT_IN(ox_deconv_attrs, group, 1, 1, OX_COUNT_MAX),
    OX_ATTR_INTS_IN(ox_deconv_attrs, kernel_shape, 1, OX_COUNT_MAX),
    OX_ATTR_INTS_IN(ox_deconv_attrs, strides, 1, OX_COUNT_MAX),
    OX_ATTR_INTS_IN(ox_deconv_attrs, output_padding, 0, 1 << 30),
};

typedef struct phase {
  ox_deconv_phase d;
  ox_conv_plan plan;
  int64_t first[OX_CONV_AXES], n[OX_CONV_AXES]; /* of its outputs; the plan may see them flattened */
  size_t w_at, y_at;                            /* floats: into the packed weights, into the phase buffer */
} phase;

typedef struct ct_state {
  float *w; /* all phases, packed; NULL: not constant, or float64 */
  size_t bytes;
  uint32_t pads, bias; /* inputs; pads 0: an attribute */
} ct_state;

typedef enum { S_WIDEN, S_PACK, S_GATHER, S_CONV, S_JOIN, S_NARROW, S_F64, S_PRODUCTS, S_LINES } stage_kind;

typedef struct ct_prep {
  ox_deconv_axis axis[OX_CONV_AXES];
  int64_t batch, groups, ic, oc, n_phases;
  phase *phases;
  ox_deconv_cols *cols;
  bool wide, single; /* single: the only phase writes the output itself */
  stage_kind kind[OX_MAX_STAGES];
  int64_t per_tile; /* planes */
  size_t in_at[PADS_B + 1], packed_at, phases_at, plan_at, y_at;
} ct_prep;

/* ---- shapes ---- */

static ox_status *infer_with(ox_infer_ctx *c, const ox_deconv_attrs *a, uint32_t bias) {
  ox_shape y;
  uint32_t dtype = ox_infer_dtype_of(c, X, W);
  OX_TRY(ox_deconv_infer_shape(a, &c->in[X]->shape, &c->in[W]->shape, &y));
  if (y.rank >= 0) OX_TRY(ox_infer_shape_is(c, bias, 1, &y.dim[1]));
  ox_infer_out(c, 0, dtype, &y);
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) { return infer_with(c, c->attrs, B); }

/* Without known pads the output's extents are unknown, too. */
static ox_status *infer_pads(ox_infer_ctx *c) {
  ox_deconv_attrs a = *(const ox_deconv_attrs *)c->attrs;
  int64_t pads[2 * OX_SPATIAL_AXES];
  int n = 0, known = ox_infer_has(c, PADS) ? ox_infer_ints(c, PADS, pads, 2 * OX_SPATIAL_AXES, &n) : 1;
  if (known < 0) return ox_fail(OX_INVALID_MODEL, "Pads are no list of at most %d integers", 2 * OX_SPATIAL_AXES);
  if (known) a.pads = (ox_ints){(size_t)n, pads};
  OX_TRY(infer_with(c, &a, PADS_B));
  for (int i = 2; !known && i < c->out[0].shape.rank; i++) c->out[0].shape.dim[i] = -1;
  return NULL;
}

/* ---- phases ---- */

static size_t pack_all(const ox_deconv_axis *axis, int64_t *taps, int64_t groups, int64_t ic, int64_t oc,
                       const float *w, float *dst, const ox_stop *stop) { /* dst NULL: only counts */
  int64_t n = 1, kernel[OX_CONV_AXES] = {axis[0].kernel, axis[1].kernel, axis[2].kernel};
  size_t at = 0;
  ox_deconv_phase_count(axis, &n);
  for (int64_t i = 0; i < n; i++) {
    ox_deconv_phase d;
    ox_deconv_phase_taps(axis, i, taps, &d);
    for (int64_t g = 0; g < groups && dst && !ox_stop_asked(stop); g++)
      ox_deconv_pack(dst + at, w, &d, kernel, ic, oc, g, stop);
    at += ox_deconv_weight_floats(&d, groups, ic, oc);
  }
  return at;
}

static bool by_cols(uint32_t dtype, int64_t groups, int64_t oc, const ox_deconv_axis *axis) {
  return dtype == OX_F32 && groups == 1 && (oc <= OX_DECONV_FEW || ox_deconv_disjoint(axis));
}

static ox_status *load(ox_load_ctx *c) {
  const ox_deconv_attrs *a = c->attrs;
  const ox_tensor *w = c->n_in > W ? c->in_const[W] : NULL;
  ox_deconv_axis axis[OX_CONV_AXES];
  ct_state *s = c->state = OX_LOAD_NEW(c, ct_state);
  int64_t n_phases;
  if (!s) return ox_oom();
  s->pads = c->op[sizeof "ConvTranspose" - 1] ? PADS : 0, s->bias = s->pads ? PADS_B : B;
  if (!w || w->dtype == OX_F64 || w->shape.rank < 3 || w->shape.rank > OX_CONV_AXES + 2 || w->shape.dim[0] % a->group)
    return NULL;
  OX_TRY(ox_deconv_axes(a, &w->shape, axis));
  size_t n = (size_t)ox_shape_count(&w->shape);
  int64_t *taps = OX_LOAD_ARRAY(c, int64_t, (size_t)(axis[0].kernel + axis[1].kernel + axis[2].kernel));
  if (!taps) return ox_oom();
  if (!n || !ox_deconv_phase_count(axis, &n_phases)) return NULL;
  int64_t ic = w->shape.dim[0] / a->group, oc = w->shape.dim[1];
  if (by_cols(w->dtype, a->group, oc, axis)) return NULL; /* columns read the weights in place */
  s->bytes = pack_all(axis, taps, a->group, ic, oc, NULL, NULL, NULL) * sizeof(float);
  float *plain = (float *)w->data;
  if (w->dtype != OX_F32) {
    plain = ox_new_aligned(c->alloc, n * sizeof(float), OX_ALIGN_BYTES);
    if (!plain) return ox_oom();
    ox_convert_select(c->isa)->load_f32[w->dtype](w->data, 0, n, plain);
  }
  s->w = ox_new_aligned(c->alloc, s->bytes, OX_ALIGN_BYTES);
  ox_stop stop = ox_load_stop(c);
  if (s->w) pack_all(axis, taps, a->group, ic, oc, plain, s->w, &stop);
  if (w->dtype != OX_F32) ox_delete(c->alloc, plain, n * sizeof(float));
  if (!s->w) return ox_oom();
  c->consumed |= 1u << W;
  return NULL;
}

static void unload(void *state, ox_alloc alloc) {
  ct_state *s = state;
  if (s) ox_delete(alloc, s->w, s->bytes);
}

/* ---- prepare ---- */

static bool book(ox_kernel_ctx *c, size_t floats, size_t *at) {
  size_t bytes;
  *at = c->shared_bytes;
  if (!ox_mul_ok(floats, sizeof(float), &bytes) || !ox_add_ok(bytes, 2 * OX_PAD_BYTES, &bytes)) return false;
  return ox_add_ok(c->shared_bytes, bytes / OX_ALIGN_BYTES * OX_ALIGN_BYTES, &c->shared_bytes);
}

/* The geometry of phase |i| and its place in the output; counts it only if it has outputs. */
static ox_status *phase_init(ox_kernel_ctx *c, ct_prep *p, int64_t i, phase *ph) {
  const ox_deconv_axis *axis = p->axis;
  int64_t r[OX_CONV_AXES];
  ox_deconv_phase_classes(axis, i, r);
  int64_t kernels = axis[0].kernel + axis[1].kernel + axis[2].kernel;
  int64_t *taps = ox_ctx_alloc(c, (size_t)kernels * 2 * sizeof *taps), *offsets = taps + kernels;
  if (!taps) return ox_oom();
  ox_deconv_phase_taps(axis, i, taps, &ph->d);
  ox_conv_geom g = {.batch = p->batch, .groups = p->groups, .ic = p->ic, .oc = p->oc, .stride = {1, 1, 1}};
  for (int a = 0; a < OX_CONV_AXES; a++) {
    g.in[a] = axis[a].in, g.n_taps[a] = ph->d.n[a], g.tap[a] = offsets;
    ph->first[a] = ox_deconv_first(&axis[a], r[a], &g.out[a]);
    ph->n[a] = g.out[a];
    for (int64_t t = 0; t < g.n_taps[a]; t++) *offsets++ = ox_deconv_offset(&axis[a], ph->first[a], ph->d.taps[a][t]);
  }
  if (!ox_conv_plan_init(&ph->plan, &g, &(ox_act){OX_ACT_NONE, 0, 0}, ox_conv_select(c->isa)))
    return ox_fail(OX_LIMIT, "ConvTranspose: too large");
  void *tables = ox_ctx_alloc(c, ph->plan.table_bytes + 1);
  if (!tables) return ox_oom();
  ox_conv_plan_tables(&ph->plan, tables);
  return NULL;
}

static ox_status *phases_init(ox_kernel_ctx *c, ct_prep *p, size_t *w_floats, size_t *y_floats, size_t *shared) {
  *w_floats = *y_floats = *shared = 0;
  for (int64_t i = 0; i < p->n_phases; i++) {
    phase *ph = &p->phases[i];
    OX_TRY(phase_init(c, p, i, ph));
    const int64_t *out = ph->n;
    ph->w_at = *w_floats, ph->y_at = *y_floats;
    *w_floats += ox_deconv_weight_floats(&ph->d, p->groups, p->ic, p->oc);
    *y_floats += (size_t)(p->batch * p->groups * p->oc * out[0] * out[1] * out[2]);
    *shared = OX_MAX(*shared, ph->plan.shared_bytes);
    c->scratch_per_worker = OX_MAX(c->scratch_per_worker, ph->plan.scratch_bytes);
  }
  return NULL;
}

static void add_stage(ox_kernel_ctx *c, ct_prep *p, stage_kind kind, int64_t tiles) {
  p->kind[c->n_stages] = kind, c->n_tiles[c->n_stages++] = tiles;
}

/* Tiles of the gathering (first) or of the last stage of phase |ph|. */
static int64_t phase_tiles(const phase *ph, bool gather) {
  if (gather) return ph->plan.n_stages > 1 ? ph->plan.n_tiles[0] : 0;
  return ph->plan.n_tiles[ph->plan.n_stages - 1];
}

static ox_status *prepare_f32(ox_kernel_ctx *c, ct_prep *p) {
  const ct_state *s = c->state;
  size_t w_floats, y_floats, shared;
  int64_t y_n = ox_shape_count(&c->out[0]->shape), gather = 0, conv = 0;
  if (!ox_deconv_phase_count(p->axis, &p->n_phases)) return ox_fail(OX_LIMIT, "ConvTranspose: strides are too large");
  p->phases = ox_ctx_alloc(c, (size_t)p->n_phases * sizeof *p->phases);
  if (!p->phases) return ox_oom();
  OX_TRY(phases_init(c, p, &w_floats, &y_floats, &shared));
  p->wide = c->in[X]->dtype != OX_F32, p->single = p->n_phases == 1;
  c->form = p->single ? ox_conv_form(&p->phases[0].plan) : "a convolution for each phase";
  c->n_stages = 0;
  bool ok = true;
  if (p->wide) {
    int64_t tiles = 0;
    for (uint32_t i = 0; i < c->n_in && ok; i++) {
      if (!c->in[i] || (i == W && s->w) || (i && i == s->pads)) continue;
      ok = book(c, (size_t)ox_shape_count(&c->in[i]->shape), &p->in_at[i]);
      tiles += OX_CEIL_DIV(ox_shape_count(&c->in[i]->shape), BLOCK);
    }
    ok = ok && book(c, (size_t)y_n, &p->y_at);
    add_stage(c, p, S_WIDEN, tiles);
  }
  if (!s->w) {
    ok = ok && book(c, w_floats, &p->packed_at);
    add_stage(c, p, S_PACK, 1);
  }
  for (int64_t i = 0; i < p->n_phases; i++)
    gather += phase_tiles(&p->phases[i], true), conv += phase_tiles(&p->phases[i], false);
  /* the phases' gathered inputs live one after the other */
  ok = ok && book(c, shared / sizeof(float) * (size_t)p->n_phases, &p->plan_at) &&
       (p->single || book(c, y_floats, &p->phases_at));
  if (!ok) return ox_fail(OX_LIMIT, "ConvTranspose: the working memory is too large");
  if (gather) add_stage(c, p, S_GATHER, gather);
  add_stage(c, p, S_CONV, conv);
  int64_t planes = p->batch * p->groups * p->oc, pixels = planes ? y_n / planes : 0;
  p->per_tile = OX_MAX(16384 / OX_MAX(pixels, 1), 1);
  if (!p->single) add_stage(c, p, S_JOIN, pixels ? OX_CEIL_DIV(planes, p->per_tile) : 0);
  if (p->wide) add_stage(c, p, S_NARROW, OX_CEIL_DIV(y_n, BLOCK));
  return NULL;
}

/* False: by phases. */
static bool prepare_cols(ox_kernel_ctx *c, ct_prep *p) {
  p->cols = ox_ctx_alloc(c, sizeof *p->cols);
  if (!p->cols || !ox_deconv_cols_init(p->cols, p->axis, p->batch, p->ic, p->oc, c->isa)) return false;
  if (!book(c, p->cols->floats, &p->phases_at)) return false;
  c->form = "products of all taps, summed by lines";
  c->scratch_per_worker = p->cols->scratch, c->n_stages = 0;
  add_stage(c, p, S_PRODUCTS, p->cols->n_products);
  add_stage(c, p, S_LINES, OX_CEIL_DIV(p->cols->n_lines, p->cols->lines_per_tile));
  return true;
}

/* The attributes, with pads from the input that has them; |room|: for those. */
static ox_status *attrs_of(const ox_kernel_ctx *c, int64_t *room, ox_deconv_attrs *out) {
  const ct_state *s = c->state;
  *out = *(const ox_deconv_attrs *)c->attrs;
  if (!s->pads || !ox_ctx_has(c, s->pads)) return NULL;
  const ox_tensor *t = c->in[s->pads];
  int64_t n = ox_shape_count(&t->shape);
  if (n > 2 * OX_SPATIAL_AXES || (n && !t->data))
    return ox_fail(OX_INVALID_MODEL, "ConvTransposeWithDynamicPads: %lld pads", (long long)n);
  if (n) memcpy(room, t->data, (size_t)n * sizeof *room);
  out->pads = (ox_ints){(size_t)n, room};
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  int64_t pads[2 * OX_SPATIAL_AXES];
  ox_deconv_attrs with, *a = &with;
  OX_TRY(attrs_of(c, pads, &with));
  const ox_shape *x = &c->in[X]->shape, *w = &c->in[W]->shape, *y = &c->out[0]->shape;
  ct_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  OX_TRY(ox_deconv_axes_make(a, x, w, y, p->axis));
  p->batch = x->dim[0], p->groups = a->group, p->ic = w->dim[0] / a->group, p->oc = w->dim[1];
  if (by_cols(c->in[X]->dtype, p->groups, p->oc, p->axis) && prepare_cols(c, p)) return NULL;
  if (c->in[X]->dtype != OX_F64) return prepare_f32(c, p);
  p->kind[0] = S_F64, p->per_tile = 1;
  return ox_ctx_plan(c, p->batch * p->groups * p->oc, 0);
}

/* ---- run ---- */
static void *shared_at(const ox_kernel_ctx *c, size_t at) { return (char *)c->shared + at; }

static const float *input_f32(const ox_kernel_ctx *c, const ct_prep *p, uint32_t i) {
  if (!ox_ctx_has(c, i)) return NULL;
  return p->wide ? shared_at(c, p->in_at[i]) : c->in[i]->data;
}

static void widen(const ox_kernel_ctx *c, const ct_prep *p, ox_range tiles) {
  const ct_state *s = c->state;
  int64_t base = 0;
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (!c->in[i] || (i == W && s->w) || (i && i == s->pads)) continue;
    int64_t n = ox_shape_count(&c->in[i]->shape), count = OX_CEIL_DIV(n, BLOCK);
    for (int64_t t = OX_MAX(tiles.begin, base); t < OX_MIN(tiles.end, base + count); t++) {
      int64_t at = (t - base) * BLOCK;
      ox_convert_select(c->isa)->load_f32[c->in[i]->dtype](c->in[i]->data, (size_t)at, (size_t)OX_MIN(BLOCK, n - at),
                                                           (float *)shared_at(c, p->in_at[i]) + at);
    }
    base += count;
  }
}

static void pack(const ox_kernel_ctx *c, const ct_prep *p) {
  int64_t kernel[OX_CONV_AXES] = {p->axis[0].kernel, p->axis[1].kernel, p->axis[2].kernel};
  float *dst = shared_at(c, p->packed_at);
  ox_stop stop = ox_ctx_stop(c);
  for (int64_t i = 0; i < p->n_phases; i++)
    for (int64_t g = 0; g < p->groups; g++)
      ox_deconv_pack(dst + p->phases[i].w_at, input_f32(c, p, W), &p->phases[i].d, kernel, p->ic, p->oc, g, &stop);
}

static float *result(const ox_kernel_ctx *c, const ct_prep *p) {
  return p->wide ? shared_at(c, p->y_at) : c->out[0]->data;
}

static void convolve(const ox_kernel_ctx *c, const ct_prep *p, ox_range tiles, bool gather, void *scratch) {
  const ct_state *s = c->state;
  const float *w = s->w ? s->w : shared_at(c, p->packed_at);
  size_t shared = 0;
  for (int64_t i = 0; i < p->n_phases; i++) shared = OX_MAX(shared, p->phases[i].plan.shared_bytes);
  int64_t base = 0;
  for (int64_t i = 0; i < p->n_phases && base < tiles.end; i++) {
    const phase *ph = &p->phases[i];
    int64_t n = phase_tiles(ph, gather), begin = OX_MAX(tiles.begin, base), end = OX_MIN(tiles.end, base + n);
    ox_conv_args a = {.x = input_f32(c, p, X),
                      .w = w + ph->w_at,
                      .bias = input_f32(c, p, s->bias),
                      .y = p->single ? result(c, p) : (float *)shared_at(c, p->phases_at) + ph->y_at,
                      .shared = (char *)shared_at(c, p->plan_at) + (size_t)i * shared};
    if (begin < end) ox_conv_run(&ph->plan, &a, gather ? 0 : ph->plan.n_stages - 1, begin - base, end - base, scratch);
    base += n;
  }
}

/* The outputs of phases [i, i + stride), which differ in their class of the last axis only, from the |first| place of a
 * stride on. */
static void join_lines(const ox_kernel_ctx *c, const ct_prep *p, int64_t i, int64_t first, int64_t begin, int64_t end) {
  const ox_deconv_axis *ax = p->axis;
  const phase *all = &p->phases[i];
  const int64_t stride = ax[2].stride, count = OX_MIN(stride - first, LINES), rows = all->n[0] * all->n[1];
  ox_deconv_line line[LINES];
  for (int64_t k = 0; k < count; k++) {
    const phase *ph = all + ((first + k + ax[2].lo) % stride + stride) % stride;
    line[k].from = (const float *)shared_at(c, p->phases_at) + ph->y_at + begin * rows * ph->n[2], line[k].n = ph->n[2];
  }
  for (int64_t u = begin; u < end; u++)
    for (int64_t d = 0; d < all->n[0]; d++)
      for (int64_t h = 0; h < all->n[1]; h++) {
        int64_t od = all->first[0] + d * ax[0].stride, oh = all->first[1] + h * ax[1].stride;
        float *to = result(c, p) + ((u * ax[0].out + od) * ax[1].out + oh) * ax[2].out + first;
        ox_deconv_join(line, count, stride, c->isa, to);
        for (int64_t k = 0; k < count; k++) line[k].from += line[k].n;
      }
}

static void join(const ox_kernel_ctx *c, const ct_prep *p, ox_range tiles) {
  int64_t begin = tiles.begin * p->per_tile, stride = p->axis[2].stride;
  int64_t end = OX_MIN(tiles.end * p->per_tile, p->batch * p->groups * p->oc);
  for (int64_t i = 0; i < p->n_phases; i += stride)
    for (int64_t first = 0; first < stride; first += LINES) join_lines(c, p, i, first, begin, end);
}

static void run_cols(const ox_kernel_ctx *c, const ct_prep *p, stage_kind kind, ox_range tiles, void *scratch) {
  float *cols = shared_at(c, p->phases_at);
  int64_t each = p->cols->lines_per_tile;
  ox_stop stop = ox_ctx_stop(c);
  if (kind == S_PRODUCTS)
    ox_deconv_cols_products(p->cols, c->in[X]->data, c->in[W]->data, cols, &stop, tiles.begin, tiles.end, scratch);
  else
    ox_deconv_cols_lines(p->cols, cols, input_f32(c, p, ((const ct_state *)c->state)->bias), c->out[0]->data,
                         tiles.begin * each, OX_MIN(tiles.end * each, p->cols->n_lines), scratch);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const ct_prep *p = c->prep;
  switch (p->kind[stage]) {
    case S_WIDEN:
      widen(c, p, tiles);
      break;
    case S_PACK:
      pack(c, p);
      break;
    case S_GATHER:
      convolve(c, p, tiles, true, scratch);
      break;
    case S_CONV:
      convolve(c, p, tiles, false, scratch);
      break;
    case S_JOIN:
      join(c, p, tiles);
      break;
    case S_NARROW: {
      int64_t at = tiles.begin * BLOCK, n = OX_MIN(tiles.end * BLOCK, ox_shape_count(&c->out[0]->shape)) - at;
      if (n > 0)
        ox_convert_select(c->isa)->store_f32[c->out[0]->dtype](result(c, p) + at, c->out[0]->data, (size_t)at,
                                                               (size_t)n, NULL);
      break;
    }
    case S_PRODUCTS:
    case S_LINES:
      run_cols(c, p, p->kind[stage], tiles, scratch);
      break;
    case S_F64: {
      uint32_t b = ((const ct_state *)c->state)->bias;
      const ox_tensor *bias = ox_ctx_has(c, b) ? c->in[b] : NULL;
      ox_deconv_f64(p->axis, p->groups, p->ic, p->oc, c->in[X]->data, c->in[W]->data, bias ? bias->data : NULL,
                    c->out[0]->data, tiles.begin, tiles.end);
      break;
    }
  }
  return NULL;
}

enum { FLOATS = OX_BIT(OX_F16) | OX_BIT(OX_F32) | OX_BIT(OX_F64) };
/* Each element of X is multiplied by all weights of its channel once; products that fall outside count, too. */
static double flops(const ox_kernel_ctx *c) {
  const ox_shape *w = &c->in[W]->shape;
  return 2.0 * (double)ox_shape_count(&c->in[X]->shape) * (double)ox_shape_span(w, 1, w->rank);
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ConvTranspose", .since = 1, .types = {OX_T_FLOAT}, .vars = "TTT", .min_in = 2, .max_in = 3,
               OX_ATTRS(attr_rows), .attrs_bytes = sizeof(ox_deconv_attrs), .infer = infer),
     OX_KERNEL(.load = load, .unload = unload, .prepare = prepare, .run = run, .flops = flops)},
    {OX_SCHEMA(.name = "ConvTransposeWithDynamicPads", .domain = "com.microsoft", .since = 1,
               .types = {FLOATS, FLOATS, OX_BIT(OX_I64), FLOATS}, .vars = "TT.T", .min_in = 2, .max_in = 4,
               OX_ATTRS(pads_rows), .attrs_bytes = sizeof(ox_deconv_attrs), .value_in = 1 << PADS, .infer = infer_pads),
     OX_KERNEL(.load = load, .unload = unload, .prepare = prepare, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_conv_transpose = {ops, OX_COUNT(ops)};
