/* SPDX-License-Identifier: Apache-2.0
 * ops/block_conv_transpose.c - ai.onyx.BlockConvTranspose(X, W, B): ConvTranspose between tensors in blocks of channels
 * (docs/blocks.md), W and B as in ONNX, W a constant. Every phase of the output is a convolution of its own
 * (kern/conv/transpose.h) in whichever form is the cheapest. Direct ones write their pixels of Y themselves; else a
 * last stage interleaves what all have written to shared memory. */
#include <string.h>

#include "base/cksize.h"
#include "kern/blocks/bconv_direct.h"
#include "ops/shared/block_shape.h"
#include "ops/shared/check.h"
#include "ops/shared/deconv_shape.h"

enum { X, W, B, JOIN_PIXELS = 4096 /* of a tile that interleaves */ };

static const ox_attr_def attr_rows[] = {OX_ATTR_STR(ox_deconv_attrs, auto_pad, NULL),
                                        OX_ATTR_INTS_IN(ox_deconv_attrs, dilations, 1, OX_COUNT_MAX),
                                        OX_ATTR_INT_IN(ox_deconv_attrs, group, 1, 1, OX_COUNT_MAX),
                                        OX_ATTR_INTS_IN(ox_deconv_attrs, kernel_shape, 1, OX_COUNT_MAX),
                                        OX_ATTR_INTS(ox_deconv_attrs, pads),
                                        OX_ATTR_INTS_IN(ox_deconv_attrs, strides, 1, OX_COUNT_MAX),
                                        OX_ATTR_INTS_IN(ox_deconv_attrs, output_padding, 0, 1 << 30),
                                        OX_ATTR_INTS_IN(ox_deconv_attrs, output_shape, 0, OX_COUNT_MAX)};

typedef struct phase {
  ox_deconv_phase d;
  ox_bconv_plan *plan; /* NULL: no taps, or no outputs */
  int64_t first[OX_CONV_AXES], n[OX_CONV_AXES];
  size_t plain, w_at, w_floats; /* floats of plain weights; packed: where, and how many */
  size_t y_at, shared_at;       /* of shared memory: floats, bytes */
} phase;

typedef struct deconv_prep {
  ox_deconv_axis axis[OX_CONV_AXES];
  int64_t batch, groups, ic, oc, blocks; /* ic, oc: of a group; blocks: of all outputs */
  int64_t n_phases, kernel[OX_CONV_AXES];
  phase *phases;
  const void *const *w; /* where runs find it, packed */
  uint32_t conv_stages;
  int64_t join_rows, row_tiles; /* of a plane */
  bool in_place;                /* phases write Y themselves */
  size_t y_at;                  /* else their outputs in shared memory */
} deconv_prep;

static ox_status *plain_x(const ox_shape *x, const ox_shape *w, ox_shape *out) {
  int64_t channels = w->rank > 0 ? w->dim[0] : -1;
  if (!ox_shape_is_blocks(x, channels))
    return ox_fail(OX_SHAPE_MISMATCH, "X is not in blocks of %lld channels", (long long)channels);
  *out = ox_shape_from_blocks(x, channels);
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape x, y;
  OX_TRY(plain_x(&c->in[X]->shape, &c->in[W]->shape, &x));
  OX_TRY(ox_deconv_infer_shape(c->attrs, &x, &c->in[W]->shape, &y));
  if (y.rank >= 0) OX_TRY(ox_infer_shape_is(c, B, 1, &y.dim[1]));
  y = ox_shape_to_blocks(&y);
  ox_infer_out(c, 0, OX_F32, &y);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  if (!c->in_const[W]) return ox_fail(OX_NOT_IMPLEMENTED, "BlockConvTranspose: W is no constant");
  c->consumed |= 1u << W;
  return NULL;
}

/* ---- weights ---- */

/* One phase as the weights of a convolution: [groups * oc][ic][taps]. */
static void phase_weights(const deconv_prep *p, const phase *ph, const ox_f32u *w, float *to) {
  const ox_deconv_phase *d = &ph->d;
  int64_t taps = d->n[0] * d->n[1] * d->n[2], all = p->kernel[0] * p->kernel[1] * p->kernel[2];
  for (int64_t o = 0; o < p->groups * p->oc; o++)
    for (int64_t i = 0; i < p->ic; i++) {
      const ox_f32u *from = w + ((o / p->oc * p->ic + i) * p->oc + o % p->oc) * all;
      for (int64_t t = 0; t < taps; t++) {
        int64_t td = d->taps[0][t / d->n[2] / d->n[1]], th = d->taps[1][t / d->n[2] % d->n[1]];
        *to++ = from[(td * p->kernel[1] + th) * p->kernel[2] + d->taps[2][t % d->n[2]]];
      }
    }
}

static void pack_phases(const ox_pack *pack, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                        void *scratch) {
  const deconv_prep *p = pack->arg;
  for (int64_t i = begin; i < end; i++) {
    const phase *ph = &p->phases[i];
    if (!ph->plan) continue;
    const ox_bconv_task *t = &ph->plan->task;
    const ox_bconv_form *form = ph->plan->form;
    bool as_it_is = form->weight_floats(t) == 0;
    phase_weights(p, ph, in[W]->data, as_it_is ? (float *)to + ph->w_at : scratch);
    if (!as_it_is) form->pack(t, (float *)to + ph->w_at, scratch, 0, form->weight_units(t), NULL);
  }
}

static ox_status *pack(ox_kernel_ctx *c, deconv_prep *p) {
  ox_pack k = {.struct_size = sizeof k, .inputs = 1u << W, .n_units = p->n_phases, .fn = pack_phases, .arg = p};
  size_t floats = 0, plain = 1;
  for (int64_t i = 0; i < p->n_phases; i++) {
    phase *ph = &p->phases[i];
    k.form = k.form * 31 + (uintptr_t)(ph->plan ? ph->plan->form : NULL);
    ph->w_at = floats;
    if (!ox_add_ok(floats, OX_ROUND_UP(ph->w_floats, OX_BLOCK), &floats)) return ox_fail(OX_LIMIT, "too many weights");
    plain = OX_MAX(plain, ph->plain);
  }
  if (!ox_mul_ok(floats + 1, sizeof(float), &k.bytes) || !ox_mul_ok(plain, sizeof(float), &k.scratch_bytes))
    return ox_fail(OX_LIMIT, "BlockConvTranspose: the weights are too large");
  return ox_ctx_pack_for_runs(c, &k, &p->w);
}

/* ---- prepare ---- */

static ox_status *plan_phase(ox_kernel_ctx *c, const ox_conv_geom *g, phase *ph) {
  const ox_bconv_task t = {.isa = c->isa, .g = *g}; /* phases share a worker's scratch */
  const ox_bconv_form *form = ox_bconv_choose(&t);
  if (!form)
    return ox_fail(OX_NOT_IMPLEMENTED, "BlockConvTranspose: %lld groups of %lld inputs and %lld outputs",
                   (long long)g->groups, (long long)g->ic, (long long)g->oc);
  ph->plan = ox_ctx_alloc(c, form->plan_bytes);
  if (!ph->plan) return ox_oom();
  ph->plan->form = form, ph->plan->task = t;
  if (!form->plan(ph->plan)) return ox_fail(OX_LIMIT, "BlockConvTranspose: the working memory is too large");
  ph->plain = (size_t)(g->groups * g->oc * g->ic * g->n_taps[0] * g->n_taps[1] * g->n_taps[2]);
  ph->w_floats = form->weight_floats(&t) ? form->weight_floats(&t) : ph->plain;
  return NULL;
}

static ox_status *phase_init(ox_kernel_ctx *c, deconv_prep *p, int64_t i) {
  phase *ph = &p->phases[i];
  int64_t r[OX_CONV_AXES], kernels = p->kernel[0] + p->kernel[1] + p->kernel[2];
  int64_t *taps = ox_ctx_alloc(c, (size_t)kernels * 2 * sizeof *taps), *offsets = taps + kernels;
  if (!taps) return ox_oom();
  ox_deconv_phase_classes(p->axis, i, r);
  ox_deconv_phase_taps(p->axis, i, taps, &ph->d);
  ox_conv_geom g = {.batch = p->batch, .groups = p->groups, .ic = p->ic, .oc = p->oc, .stride = {1, 1, 1}};
  bool any = p->batch > 0;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    g.in[a] = p->axis[a].in, g.n_taps[a] = ph->d.n[a], g.tap[a] = offsets;
    ph->first[a] = ox_deconv_first(&p->axis[a], r[a], &g.out[a]);
    ph->n[a] = g.out[a], any = any && g.out[a] > 0 && g.n_taps[a] > 0;
    for (int64_t t = 0; t < g.n_taps[a]; t++)
      *offsets++ = ox_deconv_offset(&p->axis[a], ph->first[a], ph->d.taps[a][t]);
  }
  return any ? plan_phase(c, &g, ph) : NULL;
}

/* The steps, in floats, between a phase's outputs in Y along each axis. */
static void steps_of(const deconv_prep *p, int64_t steps[OX_CONV_AXES]) {
  int64_t step = OX_BLOCK;
  for (int a = OX_CONV_AXES - 1; a >= 0; a--) steps[a] = step * p->axis[a].stride, step *= p->axis[a].out;
}

/* A single phase is all of Y. Several are planned again so that each writes its own pixels, if all forms can do
 * that. */
static bool write_in_place(deconv_prep *p) {
  extern const ox_bconv_form ox_bconv_form_direct;
  int64_t steps[OX_CONV_AXES], plane = p->axis[0].out * p->axis[1].out * p->axis[2].out * OX_BLOCK;
  if (p->n_phases == 1) return p->in_place = true;
  for (int64_t i = 0; i < p->n_phases; i++)
    if (!p->phases[i].plan || p->phases[i].plan->form != &ox_bconv_form_direct) return true;
  steps_of(p, steps);
  for (int64_t i = 0; i < p->n_phases; i++) {
    ox_bconv_plan *plan = p->phases[i].plan;
    ox_bconv_task t = plan->task;
    memset(plan, 0, plan->form->plan_bytes);
    plan->form = &ox_bconv_form_direct, plan->task = t;
    if (!ox_bconv_direct_plan_at(plan, steps, plane)) return false;
  }
  return p->in_place = true;
}

/* Stages and memory: all phases side by side. */
static ox_status *book(ox_kernel_ctx *c, deconv_prep *p) {
  size_t floats = 0, bytes;
  bool ok = true;
  c->n_stages = 0, c->shared_bytes = c->scratch_per_worker = 0;
  for (int s = 0; s < OX_MAX_STAGES; s++) c->n_tiles[s] = 0;
  for (int64_t i = 0; i < p->n_phases && ok; i++) {
    phase *ph = &p->phases[i];
    ph->shared_at = c->shared_bytes, ph->y_at = floats;
    if (!ph->plan) continue;
    c->form = ph->plan->form->name;
    for (uint32_t s = 0; s < ph->plan->n_stages; s++) c->n_tiles[s] += ph->plan->n_tiles[s];
    p->conv_stages = OX_MAX(p->conv_stages, ph->plan->n_stages);
    c->scratch_per_worker = OX_MAX(c->scratch_per_worker, ph->plan->scratch_bytes);
    ok = ox_add_ok(c->shared_bytes, OX_ROUND_UP(ph->plan->shared_bytes, OX_ALIGN_BYTES), &c->shared_bytes) &&
         ox_add_ok(floats, (size_t)(p->batch * p->blocks * ph->n[0] * ph->n[1] * ph->n[2] * OX_BLOCK), &floats);
  }
  c->n_stages = p->conv_stages, p->y_at = c->shared_bytes;
  if (!p->in_place) {
    ok = ok && ox_mul_ok(floats, sizeof(float), &bytes) && ox_add_ok(c->shared_bytes, bytes, &c->shared_bytes);
    p->join_rows = OX_MAX(JOIN_PIXELS / OX_MAX(p->axis[2].out, 1), 1);
    p->row_tiles = OX_CEIL_DIV(p->axis[0].out * p->axis[1].out, p->join_rows);
    c->n_tiles[c->n_stages++] = p->axis[2].out ? p->batch * p->blocks * p->row_tiles : 0;
  }
  return ok ? NULL : ox_fail(OX_LIMIT, "BlockConvTranspose: the working memory is too large");
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_deconv_attrs *a = c->attrs;
  const ox_shape *w = &c->in[W]->shape;
  deconv_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_shape x, y;
  if (!p) return ox_oom();
  OX_TRY(plain_x(&c->in[X]->shape, w, &x));
  p->groups = a->group, p->ic = w->dim[0] / a->group, p->oc = w->dim[1];
  y = ox_shape_from_blocks(&c->out[0]->shape, p->oc * p->groups);
  OX_TRY(ox_deconv_axes_make(a, &x, w, &y, p->axis));
  p->batch = x.dim[0], p->blocks = c->out[0]->shape.dim[1];
  for (int i = 0; i < OX_CONV_AXES; i++) p->kernel[i] = p->axis[i].kernel;
  if (!ox_deconv_phase_count(p->axis, &p->n_phases))
    return ox_fail(OX_LIMIT, "BlockConvTranspose: strides are too large");
  p->phases = ox_ctx_alloc(c, (size_t)p->n_phases * sizeof *p->phases);
  if (!p->phases) return ox_oom();
  for (int64_t i = 0; i < p->n_phases; i++) OX_TRY(phase_init(c, p, i));
  OX_TRY(pack(c, p));
  if (!write_in_place(p)) return ox_fail(OX_LIMIT, "BlockConvTranspose: the working memory is too large");
  return book(c, p);
}

/* ---- run ---- */

static const float *bias_of(const ox_kernel_ctx *c) { return ox_ctx_has(c, B) ? c->in[B]->data : NULL; }

static void convolve(const ox_kernel_ctx *c, const deconv_prep *p, uint32_t stage, ox_range tiles, void *scratch) {
  float *phases = (float *)((char *)c->shared + p->y_at), *y = c->out[0]->data;
  int64_t base = 0, steps[OX_CONV_AXES];
  steps_of(p, steps);
  for (int64_t i = 0; i < p->n_phases && base < tiles.end; i++) {
    const phase *ph = &p->phases[i];
    if (!ph->plan || stage >= ph->plan->n_stages) continue;
    int64_t n = ph->plan->n_tiles[stage], begin = OX_MAX(tiles.begin, base), end = OX_MIN(tiles.end, base + n);
    int64_t first = 0;
    for (int a = 0; a < OX_CONV_AXES; a++) first += ph->first[a] * (steps[a] / p->axis[a].stride);
    const ox_conv_args a = {.x = c->in[X]->data,
                            .w = (const float *)*p->w + ph->w_at,
                            .bias = bias_of(c),
                            .y = p->in_place ? y + first : phases + ph->y_at,
                            .shared = (char *)c->shared + ph->shared_at};
    if (begin < end) ph->plan->form->run(ph->plan, &a, stage, begin - base, end - base, scratch);
    base += n;
  }
}

/* The pixels of phase |ph| in one row of the output; |plane|: image and block. */
static void join_row(const ox_kernel_ctx *c, const deconv_prep *p, const phase *ph, int64_t plane, int64_t od,
                     int64_t oh, float *row) {
  const float *phases = (const float *)((const char *)c->shared + p->y_at), *bias = bias_of(c);
  int64_t d = od - ph->first[0], h = oh - ph->first[1], step = p->axis[2].stride * OX_BLOCK;
  if (d < 0 || h < 0 || d % p->axis[0].stride || h % p->axis[1].stride) return;
  float *to = row + ph->first[2] * OX_BLOCK;
  if (ph->plan) {
    int64_t at = (plane * ph->n[0] + d / p->axis[0].stride) * ph->n[1] + h / p->axis[1].stride;
    const float *from = phases + ph->y_at + at * ph->n[2] * OX_BLOCK;
    for (int64_t j = 0; j < ph->n[2]; j++) memcpy(to + j * step, from + j * OX_BLOCK, OX_BLOCK * sizeof *to);
    return;
  }
  float alone[OX_BLOCK] = {0}; /* no taps: the bias */
  int64_t first = plane % p->blocks * OX_BLOCK, left = OX_MIN(p->groups * p->oc - first, OX_BLOCK);
  if (bias) memcpy(alone, bias + first, (size_t)left * sizeof *bias);
  for (int64_t j = 0; j < ph->n[2]; j++) memcpy(to + j * step, alone, sizeof alone);
}

static void join(const ox_kernel_ctx *c, const deconv_prep *p, ox_range tiles) {
  int64_t rows = p->axis[0].out * p->axis[1].out, pitch = p->axis[2].out * OX_BLOCK;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t plane = t / p->row_tiles, r0 = t % p->row_tiles * p->join_rows, r1 = OX_MIN(r0 + p->join_rows, rows);
    for (int64_t r = r0; r < r1; r++)
      for (int64_t i = 0; i < p->n_phases; i++)
        join_row(c, p, &p->phases[i], plane, r / p->axis[1].out, r % p->axis[1].out,
                 (float *)c->out[0]->data + (plane * rows + r) * pitch);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const deconv_prep *p = c->prep;
  if (stage < p->conv_stages)
    convolve(c, p, stage, tiles, scratch);
  else
    join(c, p, tiles);
  return NULL;
}

/* Each element of X is multiplied by all weights of its channel once; products that fall outside count, too. */
static double flops(const ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[X]->shape, *w = &c->in[W]->shape;
  return 2.0 * (double)x->dim[0] * (double)ox_shape_span(x, 2, x->rank - 1) * (double)ox_shape_count(w);
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BlockConvTranspose", .domain = "ai.onyx", .since = 1, .types = {OX_BIT(OX_F32)}, .min_in = 2,
               .max_in = 3, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(ox_deconv_attrs), .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .flops = flops, .packs_in = 1u << W)},
};
const ox_op_set ox_ops_block_conv_transpose = {ops, OX_COUNT(ops)};
