/* SPDX-License-Identifier: Apache-2.0
 * ops/dft.c - DFT and STFT: lines of a tensor through one transform. */
#include <string.h>

#include "kern/signal/fft.h"
#include "ops/move/deferred.h"
#include "ops/move/number.h"
#include "ops/shared/float_element.h"

/* Lines of |in_len| samples are transformed at length |n|, |bins| values are kept. Line l begins at element
 * l / group * outer + l % group * inner. */
typedef struct dft_plan {
  int64_t lines, group, n, in_len, bins;
  int64_t in_outer, in_inner, in_stride, out_outer, out_inner, out_stride;
  int comp_in, comp_out;
  bool inverse, onesided;
  bool at_run; /* the length is known only in a run */
  int64_t n_tiles;
  ox_fft_shape shape;
  ox_fft_f32 f32;
  ox_fft_f64 f64;
} dft_plan;

/* Elements of a line between two checks for a stop. */
enum { OX_DFT_PIECE = 8192 };
static bool goes_on(const ox_kernel_ctx *c, int64_t i, int64_t n) { return i < n && !(i && ox_ctx_stopped(c)); }

#define REAL float
#define LINES_T f32
#define LOAD(data, dtype, i) ox_float_load(dtype, data, i)
#define STORE(data, dtype, i, v) ox_float_store(dtype, data, i, v)
#define FFT_PLAN ox_fft_f32
#define FFT_RUN ox_fft_f32_run
#include "ops/move/dft_lines.h"

#define REAL double
#define LINES_T f64
#define LOAD(data, dtype, i) (((const double *)(data))[i])
#define STORE(data, dtype, i, v) (((double *)(data))[i] = (v))
#define FFT_PLAN ox_fft_f64
#define FFT_RUN ox_fft_f64_run
#include "ops/move/dft_lines.h"

/* ---- what both operators do with a plan ---- */

typedef ox_status *(*set_up_fn)(const ox_kernel_ctx *c, const ox_shape *out, dft_plan *p);

static bool wide(const ox_kernel_ctx *c) { return c->in[0]->dtype == OX_F64; }
static size_t real_bytes(const ox_kernel_ctx *c) { return wide(c) ? sizeof(double) : sizeof(float); }
static size_t scratch_bytes(const ox_kernel_ctx *c, const dft_plan *p) {
  return (size_t)(3 * p->n + ox_fft_work_len(&p->shape)) * real_bytes(c);
}
static int64_t units_of(const dft_plan *p) { return (p->lines + 1) / 2; }

static void fill_tables(const ox_kernel_ctx *c, dft_plan *p, void *table, void *work) {
  ox_stop stop = ox_ctx_stop(c);
  if (wide(c))
    ox_fft_f64_init(&p->f64, &p->shape, table, work, &stop);
  else
    ox_fft_f32_init(&p->f32, &p->shape, table, work, &stop);
}

static ox_status *shape_ok(dft_plan *p) {
  return ox_fft_shape_init(&p->shape, p->n) ? NULL
                                            : ox_fail(OX_INVALID_ARGUMENT, "DFT of length %lld", (long long)p->n);
}

static ox_status *prepare_with(ox_kernel_ctx *c, set_up_fn set_up, uint32_t params) {
  dft_plan *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  p->at_run = !ox_shape_known(&c->out[0]->shape);
  for (uint32_t i = 0; i < c->n_in; i++) p->at_run |= params >> i & 1 && c->in[i] && !c->in[i]->data;
  if (p->at_run) return NULL;
  OX_TRY(set_up(c, &c->out[0]->shape, p));
  if (!p->lines) return NULL;
  OX_TRY(shape_ok(p));
  void *table = ox_ctx_alloc(c, (size_t)ox_fft_table_len(&p->shape) * real_bytes(c));
  void *work = ox_ctx_alloc(c, (size_t)ox_fft_work_len(&p->shape) * real_bytes(c));
  if (!table || !work) return ox_oom();
  fill_tables(c, p, table, work);
  p->n_tiles = ox_move_tiles(p->lines * p->n * 16, units_of(p));
  return ox_ctx_plan(c, p->n_tiles, scratch_bytes(c, p));
}

static void run_units(const ox_kernel_ctx *c, const dft_plan *p, const ox_tensor *window, ox_range u, void *scratch) {
  if (wide(c))
    run_lines_f64(c, p, &p->f64, window, u, scratch);
  else
    run_lines_f32(c, p, &p->f32, window, u, scratch);
}

static ox_status *run_unplanned(const ox_kernel_ctx *c, set_up_fn set_up, ox_status *(*infer)(ox_infer_ctx *),
                                const ox_tensor *window) {
  ox_type out[OX_DEFERRED_OUTS];
  dft_plan p = {0};
  void *data;
  OX_TRY(ox_infer_at_run(c, infer, out));
  OX_TRY(ox_output_at_run(c, 0, &out[0].shape, &data));
  OX_TRY(set_up(c, &out[0].shape, &p));
  if (!p.lines) return NULL;
  OX_TRY(shape_ok(&p));
  void *table = ox_ctx_run_alloc(c, (size_t)ox_fft_table_len(&p.shape) * real_bytes(c));
  void *scratch = ox_ctx_run_alloc(c, scratch_bytes(c, &p));
  if (!table || !scratch) return ox_oom();
  fill_tables(c, &p, table, scratch);
  run_units(c, &p, window, (ox_range){0, units_of(&p)}, scratch);
  return NULL;
}

/* ---- DFT ---- */

typedef struct {
  int64_t axis, inverse, onesided;
} dft_attrs;
static const ox_attr_def dft17_attr_defs[] = {OX_ATTR_INT_IN(dft_attrs, axis, 1, OX_AXIS_RANGE),
                                              OX_ATTR_INT(dft_attrs, inverse, 0), OX_ATTR_INT(dft_attrs, onesided, 0)};
static const ox_attr_def dft20_attr_defs[] = {OX_ATTR_INT_IN(dft_attrs, axis, -2, OX_AXIS_RANGE),
                                              OX_ATTR_INT(dft_attrs, inverse, 0), OX_ATTR_INT(dft_attrs, onesided, 0)};

/* A scalar integer input: 1 and its value, 0 if not known yet, -1 if omitted. */
static ox_status *scalar_of(const ox_infer_ctx *c, const char *op, uint32_t i, int64_t *out, int *state) {
  *state = -1;
  if (!ox_infer_has(c, i)) return NULL;
  int64_t n = ox_shape_count(&c->in[i]->shape);
  if (n >= 0 && n != 1)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: input %u has %lld elements, wanted 1", op, i, (long long)n);
  *state = n == 1 && c->in_data[i] && c->in_data[i]->data;
  if (*state) *out = ox_int_at(c->in_data[i], 0);
  return NULL;
}

static ox_status *dft_axis(const dft_attrs *a, const ox_shape *s, const int64_t *given, int *axis) {
  int64_t v = given ? *given : a->axis;
  if (s->rank < 2 || !ox_axis_ok(v, s->rank, axis) || *axis == s->rank - 1)
    return ox_fail(OX_INVALID_MODEL, "DFT: axis %lld, input of rank %d", (long long)v, s->rank);
  return NULL;
}

static ox_status *dft_infer(ox_infer_ctx *c) {
  const dft_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  int64_t n = -1, given = 0;
  int has_length, has_axis, axis;
  OX_TRY(scalar_of(c, "DFT", 1, &n, &has_length));
  OX_TRY(scalar_of(c, "DFT", 2, &given, &has_axis));
  if (has_length > 0 && n < 1) return ox_fail(OX_INVALID_ARGUMENT, "DFT: length %lld", (long long)n);
  if (s.rank >= 0) {
    int64_t comp = s.rank ? s.dim[s.rank - 1] : 0;
    if (s.rank < 2 || (comp >= 0 && comp != 1 && comp != 2))
      return ox_fail(OX_SHAPE_MISMATCH, "DFT: the last dimension is %lld, wanted 1 or 2", (long long)comp);
    if (has_axis == 0) {
      for (int i = 0; i < s.rank - 1; i++) s.dim[i] = -1;
    } else {
      OX_TRY(dft_axis(a, &s, has_axis > 0 ? &given : NULL, &axis));
      int64_t d = s.dim[axis];
      if (has_length < 0) n = d < 0 ? -1 : a->inverse && a->onesided ? 2 * (d - 1) : d;
      s.dim[axis] = n < 0 ? -1 : a->onesided && !a->inverse ? n / 2 + 1 : n;
    }
    s.dim[s.rank - 1] = a->inverse && a->onesided ? 1 : 2;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *dft_set_up(const ox_kernel_ctx *c, const ox_shape *out, dft_plan *p) {
  const dft_attrs *a = c->attrs;
  const ox_shape *in = &c->in[0]->shape;
  int64_t given = ox_ctx_has(c, 2) ? ox_int_at(c->in[2], 0) : 0;
  int axis;
  OX_TRY(dft_axis(a, in, ox_ctx_has(c, 2) ? &given : NULL, &axis));
  p->inverse = a->inverse != 0, p->onesided = a->onesided != 0;
  p->comp_in = (int)in->dim[in->rank - 1], p->comp_out = (int)out->dim[out->rank - 1];
  p->in_len = in->dim[axis], p->bins = out->dim[axis], p->n = p->bins;
  if (p->onesided && !p->inverse) p->n = ox_ctx_has(c, 1) ? ox_int_at(c->in[1], 0) : p->in_len;
  p->group = ox_shape_span(in, axis + 1, in->rank - 1);
  p->lines = ox_shape_span(in, 0, axis) * p->group;
  if (!p->bins || !p->n) p->lines = 0;
  p->in_inner = p->comp_in, p->in_stride = p->group * p->comp_in, p->in_outer = p->in_len * p->in_stride;
  p->out_inner = p->comp_out, p->out_stride = p->group * p->comp_out, p->out_outer = p->bins * p->out_stride;
  return NULL;
}

static ox_status *dft_prepare(ox_kernel_ctx *c) { return prepare_with(c, dft_set_up, 6); }

static ox_status *dft_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const dft_plan *p = c->prep;
  if (p->at_run) return run_unplanned(c, dft_set_up, dft_infer, NULL);
  if (p->lines) run_units(c, p, NULL, ox_units_of(tiles, p->n_tiles, units_of(p)), scratch);
  return NULL;
}

/* ---- STFT ---- */

typedef struct {
  int64_t onesided;
} stft_attrs;
static const ox_attr_def stft_attr_defs[] = {OX_ATTR_INT(stft_attrs, onesided, 1)};

static ox_status *stft_infer(ox_infer_ctx *c) {
  const stft_attrs *a = c->attrs;
  ox_shape s = {.rank = 4, .dim = {-1, -1, -1, 2}};
  if (!ox_infer_has(c, 0)) return NULL;
  const ox_shape *in = &c->in[0]->shape;
  int64_t step = -1, length = -1;
  int has_step, has_length;
  OX_TRY(scalar_of(c, "STFT", 1, &step, &has_step));
  OX_TRY(scalar_of(c, "STFT", 3, &length, &has_length));
  if (has_step > 0 && step < 1) return ox_fail(OX_INVALID_ARGUMENT, "STFT: frame_step %lld", (long long)step);
  if (in->rank >= 0) {
    if (in->rank < 2 || in->rank > 3 || (in->rank == 3 && in->dim[2] >= 0 && in->dim[2] != 1 && in->dim[2] != 2)) {
      char t[OX_SHAPE_TEXT];
      return ox_fail(OX_SHAPE_MISMATCH, "STFT: signal has shape %s, wanted [batch,length,1 or 2]",
                     ox_shape_text(in, t));
    }
    s.dim[0] = in->dim[0];
    if (has_length < 0 && !ox_infer_has(c, 2)) length = in->dim[1], has_length = length >= 0;
  }
  if (ox_infer_has(c, 2) && c->in[2]->shape.rank >= 0) {
    int64_t w = ox_shape_count(&c->in[2]->shape);
    if (has_length < 0 && w >= 0) length = w, has_length = 1;
    if (has_length > 0 && w >= 0 && w != length)
      return ox_fail(OX_SHAPE_MISMATCH, "STFT: window of %lld for frames of %lld", (long long)w, (long long)length);
  }
  if (has_length > 0 && length < 1) return ox_fail(OX_INVALID_ARGUMENT, "STFT: frame_length %lld", (long long)length);
  if (has_length > 0) {
    s.dim[2] = a->onesided ? length / 2 + 1 : length;
    if (in->rank >= 0 && in->dim[1] >= 0 && has_step > 0)
      s.dim[1] = in->dim[1] < length ? 0 : (in->dim[1] - length) / step + 1;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *stft_set_up(const ox_kernel_ctx *c, const ox_shape *out, dft_plan *p) {
  const ox_shape *in = &c->in[0]->shape;
  const stft_attrs *a = c->attrs;
  int64_t step = ox_int_at(c->in[1], 0);
  p->onesided = a->onesided != 0;
  p->comp_in = in->rank == 3 ? (int)in->dim[2] : 1, p->comp_out = 2;
  p->n = ox_ctx_has(c, 3) ? ox_int_at(c->in[3], 0) : ox_ctx_has(c, 2) ? ox_shape_count(&c->in[2]->shape) : in->dim[1];
  p->in_len = p->n, p->bins = out->dim[2], p->group = out->dim[1];
  p->lines = out->dim[0] * out->dim[1];
  p->in_stride = p->comp_in, p->in_outer = in->dim[1] * p->comp_in;
  p->in_inner = p->group > 1 ? step * p->comp_in : 0;
  p->out_stride = 2, p->out_inner = 2 * p->bins, p->out_outer = p->group * p->out_inner;
  return NULL;
}

static ox_status *stft_prepare(ox_kernel_ctx *c) { return prepare_with(c, stft_set_up, 10); }

static ox_status *stft_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const dft_plan *p = c->prep;
  const ox_tensor *window = ox_ctx_has(c, 2) ? c->in[2] : NULL;
  if (p->at_run) return run_unplanned(c, stft_set_up, stft_infer, window);
  if (p->lines) run_units(c, p, window, ox_units_of(tiles, p->n_tiles, units_of(p)), scratch);
  return NULL;
}

#define DFT .name = "DFT", .attrs_bytes = sizeof(dft_attrs), .infer = dft_infer
#define DFT_KERNEL .prepare = dft_prepare, .run = dft_run

static const ox_op ops[] = {
    {OX_SCHEMA(DFT, .since = 17, .types = {OX_T_FLOAT, OX_T_INDEX}, .min_in = 1, .max_in = 2, .value_in = 2,
               OX_ATTRS(dft17_attr_defs)),
     OX_KERNEL(DFT_KERNEL)},
    {OX_SCHEMA(DFT, .since = 20, .types = {OX_T_FLOAT, OX_T_INDEX, OX_BIT(OX_I64)}, .min_in = 1, .max_in = 3,
               .value_in = 6, OX_ATTRS(dft20_attr_defs)),
     OX_KERNEL(DFT_KERNEL)},
    {OX_SCHEMA(.name = "STFT", .since = 17, .types = {OX_T_FLOAT, OX_T_INDEX, OX_T_FLOAT, OX_T_INDEX}, .vars = "TUTU",
               .min_in = 2, .max_in = 4, .value_in = 10, OX_ATTRS(stft_attr_defs), .attrs_bytes = sizeof(stft_attrs),
               .infer = stft_infer),
     OX_KERNEL(.prepare = stft_prepare, .run = stft_run)},
};
const ox_op_set ox_ops_dft = {ops, OX_COUNT(ops)};
