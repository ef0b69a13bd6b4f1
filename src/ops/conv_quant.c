/* SPDX-License-Identifier: Apache-2.0
 * ops/conv_quant.c - ConvInteger and QLinearConv (also com.microsoft, channels last). Data is turned channels-last
 * where it is not, convolved, and turned back. ai.onyx.FusedQLinearConv (made by rules, channels last) is a
 * QLinearConv, com.microsoft's QLinearAdd of its result and Z (|z_first|: Z and its result), and a maximum with
 * |least|. */
#include <math.h>
#include <string.h>

#include "kern/move/move.h"
#include "ops/shared/as_real.h"
#include "ops/shared/conv_node.h"
#include "ops/shared/conv_quant_pack.h"

enum { ABSENT = OX_CONV_QUANT_ABSENT };
#define NO_SUM ABSENT, ABSENT, ABSENT, ABSENT, ABSENT
static const ox_conv_quant_in integer_places = {0, 2, 1, 3, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, NO_SUM};
static const ox_conv_quant_in linear_places = {0, 2, 3, 5, 1, 4, 6, 7, 8, NO_SUM};
static const ox_conv_quant_in fused_places = {0, 2, 3, 5, 1, 4, 6, 7, 8, 9, 10, 11, 12, 13};

typedef struct q_attrs {
  const char *auto_pad;
  ox_ints dilations, kernel_shape, pads, strides;
  int64_t group, channels_last, least; /* least: nothing, unless it is of the type */
  int64_t z_first;
} q_attrs;
enum { NO_LEAST = -256, FINISH_BLOCK = 32768 };
static const ox_attr_def attr_rows[] = {OX_CONV_ATTR_ROWS(q_attrs)};
static const ox_attr_def ms_rows[] = {OX_CONV_ATTR_ROWS(q_attrs), OX_ATTR_INT(q_attrs, channels_last, 0)};
static const ox_attr_def fused_rows[] = {OX_CONV_ATTR_ROWS(q_attrs), OX_ATTR_INT_IN(q_attrs, channels_last, 1, 1, 1),
                                         OX_ATTR_INT_IN(q_attrs, least, NO_LEAST, NO_LEAST, 255),
                                         OX_ATTR_INT(q_attrs, z_first, 0)};

typedef struct q_prep {
  ox_conv_quant_in in;
  bool last;      /* channels last outside, too */
  bool is_direct; /* the plan is |direct|, else |plan| */
  bool fused;
  bool small;         /* direct: no scale is 1 or more */
  bool finishes;      /* a stage of its own adds Z and takes the maximum */
  const void *packed; /* constant W; NULL: packed in the run */
  union {
    ox_conv_i8_plan plan;
    ox_qconv_plan direct;
  };
  int64_t channels, out_channels, pixels, in_block, out_block; /* pixels, channels per tile of turning */
  size_t x_at, y_at, scale_at, packed_at, temp_at;
} q_prep;

static ox_conv_attrs conv_attrs(const q_attrs *a) {
  return (ox_conv_attrs){a->auto_pad, a->dilations, a->kernel_shape, a->pads, a->strides, a->group, NULL, {0, NULL}};
}

/* [N, d..., C] to [N, C, d...] and back. */
static ox_shape turned(const ox_shape *s, bool to_first) {
  ox_shape r = *s;
  if (s->rank < 3) return r;
  for (int i = 2; i < s->rank; i++) r.dim[to_first ? i : i - 1] = s->dim[to_first ? i - 1 : i];
  r.dim[to_first ? 1 : s->rank - 1] = s->dim[to_first ? s->rank - 1 : 1];
  return r;
}

static ox_status *infer_at(ox_infer_ctx *c, const ox_conv_quant_in *in, uint32_t dtype) {
  const q_attrs *a = c->attrs;
  ox_conv_attrs ca = conv_attrs(a);
  ox_shape x = c->in[in->x]->shape, y;
  if (a->channels_last) x = turned(&x, true);
  OX_TRY(ox_conv_infer_shape(&ca, &x, &c->in[in->w]->shape, &y));
  if (a->channels_last) y = turned(&y, false);
  ox_infer_out(c, 0, dtype, &y);
  return NULL;
}
static ox_status *infer_integer(ox_infer_ctx *c) { return infer_at(c, &integer_places, OX_I32); }
static ox_status *infer_linear(ox_infer_ctx *c) {
  /* the row's types end at input 7, whose mask input 8 shares */
  if (c->in[7]->dtype == OX_I32) return ox_fail(OX_INVALID_MODEL, "y_zero_point is int32, wanted uint8 or int8");
  if (ox_infer_has(c, 8) && c->in[8]->dtype != OX_I32 && c->in[8]->dtype != OX_UNDEFINED)
    return ox_fail(OX_INVALID_MODEL, "B is %s, wanted int32", ox_dtype_name(c->in[8]->dtype));
  return infer_at(c, &linear_places, c->in[7]->dtype);
}

static ox_status *load_integer(ox_load_ctx *c) {
  return ox_conv_quant_load(c, &integer_places, ((const q_attrs *)c->attrs)->group);
}
static ox_status *load_linear(ox_load_ctx *c) {
  return ox_conv_quant_load(c, &linear_places, ((const q_attrs *)c->attrs)->group);
}

static ox_status *infer_fused(ox_infer_ctx *c) {
  const ox_conv_quant_in *in = &fused_places;
  const uint32_t sum[] = {in->z_scale, in->sum_scale, in->sum_zero};
  OX_TRY(infer_linear(c));
  if (!ox_infer_has(c, in->z)) return NULL;
  for (size_t i = 0; i < OX_COUNT(sum); i++)
    if (!ox_infer_has(c, sum[i])) return ox_fail(OX_INVALID_MODEL, "input %u is required with Z", sum[i]);
  if (c->in[in->z]->dtype && c->in[7]->dtype && c->in[in->z]->dtype != c->in[7]->dtype)
    return ox_fail(OX_INVALID_MODEL, "Z is %s, wanted %s", ox_dtype_name(c->in[in->z]->dtype),
                   ox_dtype_name(c->in[7]->dtype));
  return NULL;
}
static ox_status *load_fused(ox_load_ctx *c) {
  return ox_conv_quant_load(c, &fused_places, ((const q_attrs *)c->attrs)->group);
}

static int64_t count_of(const ox_kernel_ctx *c, uint32_t i) {
  return ox_ctx_has(c, i) ? ox_shape_count(&c->in[i]->shape) : -1;
}

static ox_status *check_counts(const ox_kernel_ctx *c, const ox_conv_quant_in *in, int64_t oc) {
  const struct {
    uint32_t i;
    bool each;
    const char *name;
  } rows[] = {{in->x_zero, false, "x_zero_point"}, {in->x_scale, false, "x_scale"},
              {in->y_scale, false, "y_scale"},     {in->y_zero, false, "y_zero_point"},
              {in->w_zero, true, "w_zero_point"},  {in->w_scale, true, "w_scale"},
              {in->z_scale, false, "z_scale"},     {in->z_zero, false, "z_zero_point"},
              {in->sum_scale, false, "sum_scale"}, {in->sum_zero, false, "sum_zero_point"}};
  for (size_t k = 0; k < OX_COUNT(rows); k++) {
    int64_t n = count_of(c, rows[k].i);
    if (n >= 0 && n != 1 && !(rows[k].each && n == oc))
      return ox_fail(OX_SHAPE_MISMATCH, "%s has %lld elements, wanted 1%s", rows[k].name, (long long)n,
                     rows[k].each ? " or one per output channel" : "");
  }
  if (count_of(c, in->bias) >= 0 && count_of(c, in->bias) != oc)
    return ox_fail(OX_SHAPE_MISMATCH, "B must have one element per output channel");
  if (ox_ctx_has(c, in->z) && !ox_shape_equal(&c->in[in->z]->shape, &c->out[0]->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "Z must have the shape of the output");
  return NULL;
}

/* The stages behind the convolution: its end, if that is apart, and the turn from channels last in shared memory. */
static ox_status *book_rest(ox_kernel_ctx *c, q_prep *p, int64_t batch) {
  int64_t elem = ox_dtype_bits(c->out[0]->dtype) / 8, out = ox_shape_count(&c->out[0]->shape);
  p->out_block = OX_MAX(32768 / OX_MAX(p->pixels, 1), 16);
  if (p->finishes) c->n_tiles[c->n_stages++] = OX_CEIL_DIV(out, FINISH_BLOCK);
  if (p->last || !out) return NULL;
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, OX_CEIL_DIV(out * elem, 4), &p->y_at));
  c->n_tiles[c->n_stages++] = batch * OX_CEIL_DIV(p->out_channels, p->out_block);
  return NULL;
}

static bool small_scales(const ox_kernel_ctx *c, const ox_conv_quant_in *in) {
  const float *w = c->in[in->w_scale]->data;
  float x = *(const float *)c->in[in->x_scale]->data, y = *(const float *)c->in[in->y_scale]->data;
  bool small = true;
  for (int64_t i = 0; i < count_of(c, in->w_scale); i++) small &= fabsf(x * w[i] / y) < 1; /* NaN is not, either */
  return small;
}

static ox_status *prepare_direct(ox_kernel_ctx *c, q_prep *p) {
  ox_qconv_plan *plan = &p->direct;
  plan->segment = ox_ctx_alloc(c, plan->table_bytes);
  if (!plan->segment) return ox_oom();
  ox_qconv_plan_tables(plan);
  OX_TRY(ox_conv_quant_pack_direct(c, &p->in, plan, &p->packed));
  p->finishes = plan->depthwise && ox_ctx_has(c, p->in.z), p->small = small_scales(c, &p->in);
  if (!plan->in_place) OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, (int64_t)OX_CEIL_DIV(plan->image_bytes, 4), &p->x_at));
  c->form = plan->depthwise ? "8-bit depthwise" : plan->in_place ? "8-bit product in place" : "8-bit product, direct";
  c->n_stages = plan->n_stages;
  for (uint32_t i = 0; i < plan->n_stages; i++) c->n_tiles[i] = plan->n_tiles[i];
  return book_rest(c, p, plan->g.batch);
}

static ox_status *prepare_gathered(ox_kernel_ctx *c, q_prep *p, const ox_shape *x) {
  const ox_conv_quant_state *s = c->state;
  const ox_conv_geom *g = &p->plan.g;
  int64_t plain = g->oc * p->plan.k;
  p->finishes = p->fused;
  p->in_block = OX_MAX(32768 / OX_MAX(p->channels, 1), 64);
  if (s->packs) OX_TRY(ox_conv_quant_pack(c, &p->in, &p->plan, &p->packed));
  if (!p->last) OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, OX_CEIL_DIV(ox_shape_count(x), 4), &p->x_at));
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, p->out_channels, &p->scale_at));
  if (!p->packed && p->plan.depthwise) {
    OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, plain * g->groups, &p->packed_at));
  } else if (!p->packed) {
    size_t each = ox_conv_i8_group_bytes(p->plan.gemm, g->oc, p->plan.k), row = (size_t)p->plan.k;
    OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, (int64_t)(each / 4) * g->groups, &p->packed_at));
    OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, (int64_t)OX_CEIL_DIV(row * p->plan.gemm->nr, 4), &p->temp_at));
  }
  c->form = p->plan.depthwise   ? "8-bit depthwise by pixels"
            : p->plan.pointwise ? "8-bit product, 1x1"
                                : "8-bit product, gathered";
  c->n_stages = 2, c->scratch_per_worker = p->plan.scratch_bytes;
  c->n_tiles[0] = 1 + (p->last ? 0 : g->batch * OX_CEIL_DIV(p->plan.in_pixels, p->in_block));
  c->n_tiles[1] = ox_shape_count(&c->out[0]->shape) ? p->plan.n_tiles : 0;
  return book_rest(c, p, g->batch);
}

static ox_status *prepare_at(ox_kernel_ctx *c, const ox_conv_quant_in *in) {
  const q_attrs *a = c->attrs;
  const ox_conv_quant_state *s = c->state;
  ox_conv_attrs ca = conv_attrs(a);
  q_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_conv_geom g;
  if (!p) return ox_oom();
  p->in = *in, p->last = a->channels_last != 0, p->fused = in->z != ABSENT;
  ox_shape x = c->in[in->x]->shape, y = c->out[0]->shape;
  if (p->last) x = turned(&x, true), y = turned(&y, true);
  OX_TRY(check_counts(c, in, y.dim[1]));
  OX_TRY(ox_conv_geom_make(c, &ca, &x, &c->in[in->w]->shape, &y, &g));
  p->channels = x.dim[1], p->out_channels = y.dim[1], p->pixels = g.out[0] * g.out[1] * g.out[2];
  p->is_direct =
      s->fixed && ox_qconv_plan_init(&p->direct, &g, c->isa, c->in[in->x]->dtype == OX_I8, p->last, s->twice);
  if (p->is_direct) return prepare_direct(c, p);
  if (!ox_conv_i8_plan_init(&p->plan, &g, c->isa)) return ox_fail(OX_LIMIT, "convolution: too large");
  return prepare_gathered(c, p, &x);
}
static ox_status *prepare_integer(ox_kernel_ctx *c) { return prepare_at(c, &integer_places); }
static ox_status *prepare_linear(ox_kernel_ctx *c) { return prepare_at(c, &linear_places); }
static ox_status *prepare_fused(ox_kernel_ctx *c) { return prepare_at(c, &fused_places); }

static const void *data_of(const ox_kernel_ctx *c, uint32_t i) { return ox_ctx_has(c, i) ? c->in[i]->data : NULL; }

/* Scales, and weights that are not constant. */
static void setup(const ox_kernel_ctx *c, const q_prep *p) {
  const ox_conv_geom *g = &p->plan.g;
  const ox_conv_quant_in *in = &p->in;
  float *scale = ox_as_real_at(c, p->scale_at);
  if (data_of(c, in->x_scale)) {
    const float *ws = data_of(c, in->w_scale);
    float xs = *(const float *)data_of(c, in->x_scale), ys = *(const float *)data_of(c, in->y_scale);
    for (int64_t o = 0; o < p->out_channels; o++) scale[o] = xs * ws[count_of(c, in->w_scale) > 1 ? o : 0] / ys;
  }
  if (p->packed) return;
  const uint8_t *w = data_of(c, in->w);
  bool w_signed = c->in[in->w]->dtype == OX_I8;
  void *to = ox_as_real_at(c, p->packed_at);
  if (p->plan.depthwise) {
    ox_conv_i8_pack_depthwise(w, w_signed, g->groups, p->plan.taps, data_of(c, in->w_zero), count_of(c, in->w_zero) > 1,
                              to);
    return;
  }
  size_t each = ox_conv_i8_group_bytes(p->plan.gemm, g->oc, p->plan.k), plain = (size_t)(g->oc * p->plan.k);
  int64_t panels = (int64_t)ox_gemm_i8_panels(p->plan.gemm, (size_t)g->oc);
  ox_stop stop = ox_ctx_stop(c);
  for (int64_t i = 0; i < g->groups * panels && !ox_stop_asked(&stop); i++)
    ox_conv_i8_pack_panel(p->plan.gemm, w + (size_t)(i / panels) * plain, w_signed, g->oc, g->ic, p->plan.taps,
                          i % panels, ox_as_real_at(c, p->temp_at), (char *)to + (size_t)(i / panels) * each);
}

static void turn_in(const ox_kernel_ctx *c, const q_prep *p, int64_t tile) {
  int64_t blocks = OX_CEIL_DIV(p->plan.in_pixels, p->in_block), image = tile / blocks, p0 = tile % blocks * p->in_block;
  int64_t n = p->plan.in_pixels, all = image * n * p->channels;
  ox_transpose_select(1, c->isa)((const char *)c->in[p->in.x]->data + all + p0, n,
                                 (char *)ox_as_real_at(c, p->x_at) + all + p0 * p->channels, p->channels, p->channels,
                                 OX_MIN(p->in_block, n - p0));
}

static void turn_out(const ox_kernel_ctx *c, const q_prep *p, int64_t tile) {
  int64_t blocks = OX_CEIL_DIV(p->out_channels, p->out_block), image = tile / blocks, c0 = tile % blocks * p->out_block;
  int64_t elem = ox_dtype_bits(c->out[0]->dtype) / 8, n = p->pixels, all = image * n * p->out_channels * elem;
  ox_transpose_select(elem, c->isa)((const char *)ox_as_real_at(c, p->y_at) + all + c0 * elem, p->out_channels * elem,
                                    (char *)c->out[0]->data + all + c0 * n * elem, n * elem, n,
                                    OX_MIN(p->out_block, p->out_channels - c0));
}

/* Where the convolution writes. */
static void *y_of(const ox_kernel_ctx *c, const q_prep *p) {
  return p->last ? c->out[0]->data : ox_as_real_at(c, p->y_at);
}

/* What becomes of sums; |add| is written if there is a residual. */
static ox_qconv_out out_of(const ox_kernel_ctx *c, const q_prep *p, ox_qconv_add *add) {
  const ox_conv_quant_in *in = &p->in;
  const q_attrs *a = c->attrs;
  bool y_signed = c->out[0]->dtype == OX_I8, sums = p->fused && ox_ctx_has(c, in->z);
  int32_t up = y_signed ? 128 : 0, y_zero = ox_conv_quant_zero(c, in->y_zero, 0) + up;
  ox_qconv_out out = {.zero = y_zero, .flip = y_signed ? 128 : 0, .small = p->small};
  if (p->fused) out.least = (uint8_t)OX_MIN(OX_MAX((int32_t)a->least + up, 0), 255);
  if (!sums) return out;
  float ys = *(const float *)data_of(c, in->y_scale), zs = *(const float *)data_of(c, in->z_scale);
  float scale = *(const float *)data_of(c, in->sum_scale);
  int zero = ox_conv_quant_zero(c, in->sum_zero, 0), z_zero = ox_conv_quant_zero(c, in->z_zero, 0);
  ox_byte_sum sum = a->z_first ? ox_byte_sum_of(zs, z_zero, ys, y_zero - up, scale, zero)
                               : ox_byte_sum_of(ys, y_zero - up, zs, z_zero, scale, zero);
  *add = (ox_qconv_add){sum, y_zero, a->z_first != 0};
  out.zero = up, out.add = add;
  return out;
}

static void run_direct(const ox_kernel_ctx *c, const q_prep *p, uint32_t stage, ox_range tiles) {
  ox_qconv_add add;
  ox_qconv_args a = {.x = c->in[p->in.x]->data,
                     .packed = p->packed,
                     .image = ox_as_real_at(c, p->x_at),
                     .pad = (uint8_t)ox_conv_quant_zero(c, p->in.x_zero, 0),
                     .out = out_of(c, p, &add),
                     .y = y_of(c, p),
                     .z = data_of(c, p->in.z)};
  if (p->finishes) a.out.zero = add.y_zero, a.out.least = 0, a.out.add = NULL;
  ox_qconv_run(&p->direct, &a, stage, tiles.begin, tiles.end);
}

static void finish(const ox_kernel_ctx *c, const q_prep *p, ox_range tiles) {
  ox_qconv_add add;
  ox_qconv_out out = out_of(c, p, &add);
  int64_t n = ox_shape_count(&c->out[0]->shape), begin = tiles.begin * FINISH_BLOCK;
  const uint8_t *z = data_of(c, p->in.z);
  size_t count = (size_t)(OX_MIN(tiles.end * FINISH_BLOCK, n) - begin);
  ox_qconv_select(c->isa)->finish((uint8_t *)c->out[0]->data + begin, z ? z + begin : NULL, count, &out);
}

static void run_gathered(const ox_kernel_ctx *c, const q_prep *p, ox_range tiles, void *scratch) {
  const ox_conv_quant_in *in = &p->in;
  ox_conv_i8_args a = {.x = p->last ? c->in[in->x]->data : ox_as_real_at(c, p->x_at),
                       .packed = p->packed ? p->packed : ox_as_real_at(c, p->packed_at),
                       .x_signed = c->in[in->x]->dtype == OX_I8,
                       .w_signed = c->in[in->w]->dtype == OX_I8,
                       .x_zero = data_of(c, in->x_zero),
                       .w_zero = data_of(c, in->w_zero),
                       .w_zero_step = count_of(c, in->w_zero) > 1,
                       .bias = data_of(c, in->bias),
                       .scale = data_of(c, in->x_scale) ? ox_as_real_at(c, p->scale_at) : NULL,
                       .type = c->out[0]->dtype,
                       .y_zero = ox_conv_quant_zero(c, in->y_zero, 0),
                       .y = y_of(c, p)};
  ox_conv_i8_run(&p->plan, &a, tiles.begin, tiles.end, scratch);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const q_prep *p = c->prep;
  uint32_t rest = p->is_direct ? p->direct.n_stages : 2; /* where the stages behind the convolution begin */
  if (stage < rest && p->is_direct) {
    run_direct(c, p, stage, tiles);
  } else if (stage == 0) {
    for (int64_t t = tiles.begin; t < tiles.end; t++)
      if (t == 0)
        setup(c, p);
      else
        turn_in(c, p, t - 1);
  } else if (stage == 1 && !p->is_direct) {
    run_gathered(c, p, tiles, scratch);
  } else if (p->finishes && stage == rest) {
    finish(c, p, tiles);
  } else {
    for (int64_t t = tiles.begin; t < tiles.end; t++) turn_out(c, p, t);
  }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const ox_shape *w = &c->in[((const q_prep *)c->prep)->in.w]->shape;
  return 2.0 * (double)ox_shape_count(&c->out[0]->shape) * (double)ox_shape_span(w, 1, w->rank);
}

#define BYTES (OX_BIT(OX_U8) | OX_BIT(OX_I8))
#define LINEAR_ROW(rows)                                                                                        \
  .since = 1, .types = {BYTES, OX_BIT(OX_F32), BYTES, BYTES, OX_BIT(OX_F32), BYTES, OX_BIT(OX_F32), BYTES},     \
  .vars = "T.TU.U", .more_types = (const uint32_t[]){OX_BIT(OX_I32)}, .min_in = 8, .max_in = 9, OX_ATTRS(rows), \
  .attrs_bytes = sizeof(q_attrs), .infer = infer_linear
#define LINEAR_ROW_KERNEL .load = load_linear, .prepare = prepare_linear, .run = run, .flops = flops
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ConvInteger", .since = 10, .types = {BYTES}, .vars = "TUTU", .min_in = 2, .max_in = 4,
               OX_ATTRS(attr_rows), .attrs_bytes = sizeof(q_attrs), .infer = infer_integer),
     OX_KERNEL(.load = load_integer, .prepare = prepare_integer, .run = run, .flops = flops)},
    {OX_SCHEMA(.name = "QLinearConv", LINEAR_ROW(attr_rows)), OX_KERNEL(LINEAR_ROW_KERNEL)},
    {OX_SCHEMA(.name = "QLinearConv", .domain = "com.microsoft", LINEAR_ROW(ms_rows)), OX_KERNEL(LINEAR_ROW_KERNEL)},
    {OX_SCHEMA(.name = "FusedQLinearConv", .domain = "ai.onyx", .since = 1,
               .types = {BYTES, OX_BIT(OX_F32), BYTES, BYTES, OX_BIT(OX_F32), BYTES, OX_BIT(OX_F32), BYTES},
               .vars = "T.TU.U",
               .more_types = (const uint32_t[]){OX_BIT(OX_I32), BYTES, OX_BIT(OX_F32), BYTES, OX_BIT(OX_F32), BYTES},
               .min_in = 8, .max_in = 14, OX_ATTRS(fused_rows), .attrs_bytes = sizeof(q_attrs), .infer = infer_fused),
     OX_KERNEL(.load = load_fused, .prepare = prepare_fused, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_conv_quant = {ops, OX_COUNT(ops)};
