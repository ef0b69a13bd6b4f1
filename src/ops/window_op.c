/* SPDX-License-Identifier: Apache-2.0
 * ops/window_op.c - HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix. Computed in double. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/quant/convert.h"
#include "ops/move/deferred.h"
#include "ops/move/number.h"

static const double two_pi = 6.283185307179586476925;

typedef struct {
  int64_t periodic, output_datatype;
} window_attrs;
static const ox_attr_def window_attr_defs[] = {OX_ATTR_INT(window_attrs, periodic, 1),
                                               OX_ATTR_INT(window_attrs, output_datatype, OX_F32)};

/* The scalar in input |i|. *known is false if it is not there yet. */
static ox_status *scalar_of(const ox_infer_ctx *c, const char *op, uint32_t i, const ox_tensor **out, bool *known) {
  *out = NULL;
  if (!ox_infer_has(c, i)) return ox_fail(OX_INVALID_MODEL, "%s: input %u is missing", op, i);
  int64_t n = ox_shape_count(&c->in[i]->shape);
  if (n >= 0 && n != 1)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: input %u has %lld elements, wanted 1", op, i, (long long)n);
  if (n == 1 && c->in_data[i] && c->in_data[i]->data)
    *out = c->in_data[i];
  else
    *known = false;
  return NULL;
}

static ox_status *check_type(const char *op, int64_t dtype) {
  return dtype > 0 && dtype < OX_DTYPE_COUNT && (OX_T_NUMBER >> dtype & 1)
             ? NULL
             : ox_fail(OX_INVALID_MODEL, "%s: output_datatype %lld is no number type", op, (long long)dtype);
}

static ox_status *window_infer(ox_infer_ctx *c) {
  const window_attrs *a = c->attrs;
  const ox_tensor *size;
  ox_shape s = {.rank = 1, .dim = {-1}};
  bool known = true;
  OX_TRY(check_type("Window", a->output_datatype));
  OX_TRY(scalar_of(c, "Window", 0, &size, &known));
  if (known) s.dim[0] = ox_integer_at(size, 0);
  if (known && s.dim[0] < 0) return ox_fail(OX_INVALID_ARGUMENT, "Window: size is %lld", (long long)s.dim[0]);
  ox_infer_out(c, 0, (uint32_t)a->output_datatype, &s);
  return NULL;
}

static ox_status *window_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  (void)c;
  ox_deferred_head *p = plan;
  p->units = out[0].shape.dim[0], p->bytes = 16 * p->units;
  return NULL;
}

/* a0 - a1 cos(x) + a2 cos(2x) over one period, summed in an order for which the middle is exactly 1, as integer types
 * truncate. A symmetric window of length 1 has period 0: NaN, as in the function's body. */
static ox_status *window_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end, const double *k) {
  (void)plan;
  const window_attrs *a = c->attrs;
  ox_tensor *out = c->out[0];
  ox_store_f64_fn *store = ox_convert_select(c->isa)->store_f64[out->dtype];
  int64_t n = out->shape.dim[0];
  double period = (double)(a->periodic ? n : n - 1);
  for (int64_t i = begin; i < end; i++) {
    double x = two_pi * (double)i / period, y = k[0] + k[2] * cos(2 * x) - k[1] * cos(x);
    store(&y, out->data, (size_t)i, 1, NULL);
  }
  return NULL;
}

#define DEFERRED_ROW(name, params, bytes, infer, build, work)                                           \
  static const ox_deferred_op name##_op = {params, bytes, infer, build, work};                          \
  static ox_status *name##_prepare(ox_kernel_ctx *c) { return ox_deferred_prepare(c, &name##_op); }     \
  static ox_status *name##_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) { \
    (void)scratch;                                                                                      \
    return ox_deferred_run(c, &name##_op, stage, tiles);                                                \
  }
#define WINDOW(name, ...)                                                                               \
  static ox_status *name##_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end) { \
    static const double k[3] = {__VA_ARGS__};                                                           \
    return window_work(c, plan, begin, end, k);                                                         \
  }                                                                                                     \
  DEFERRED_ROW(name, 1, sizeof(ox_deferred_head), window_infer, window_build, name##_work)
WINDOW(hann, 0.5, 0.5, 0)
WINDOW(hamming, 25.0 / 46.0, 21.0 / 46.0, 0)
WINDOW(blackman, 0.42, 0.5, 0.08)

/* ---- MelWeightMatrix ---- */

typedef struct {
  int64_t output_datatype;
} mel_attrs;
static const ox_attr_def mel_attr_defs[] = {OX_ATTR_INT(mel_attrs, output_datatype, OX_F32)};

static ox_status *mel_infer(ox_infer_ctx *c) {
  const mel_attrs *a = c->attrs;
  const ox_tensor *in[5];
  ox_shape s = {.rank = 2, .dim = {-1, -1}};
  bool known = true;
  OX_TRY(check_type("MelWeightMatrix", a->output_datatype));
  for (uint32_t i = 0; i < 5; i++) OX_TRY(scalar_of(c, "MelWeightMatrix", i, &in[i], &known));
  if (known) {
    int64_t bins = ox_integer_at(in[0], 0), length = ox_integer_at(in[1], 0);
    if (bins < 0 || length < 0 || ox_integer_at(in[2], 0) <= 0)
      return ox_fail(OX_INVALID_ARGUMENT, "MelWeightMatrix: %lld bins, DFT length %lld, sample rate %lld",
                     (long long)bins, (long long)length, (long long)ox_integer_at(in[2], 0));
    s.dim[0] = length / 2 + 1, s.dim[1] = bins;
  }
  ox_infer_out(c, 0, (uint32_t)a->output_datatype, &s);
  return NULL;
}

static ox_status *mel_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  (void)c;
  ox_deferred_head *p = plan;
  p->units = ox_shape_count(&out[0].shape) > 0, p->bytes = 1;
  return NULL;
}

/* The spectrogram bin of the |i|-th corner of the triangles. */
static int64_t mel_corner(const ox_kernel_ctx *c, int64_t i) {
  double low = 2595 * log10(1 + ox_number_at(c->in[3], 0) / 700),
         high = 2595 * log10(1 + ox_number_at(c->in[4], 0) / 700);
  double step = (high - low) / (ox_number_at(c->in[0], 0) + 2);
  double hertz = 700 * (pow(10, ((double)i * step + low) / 2595) - 1);
  double bin = floor((ox_number_at(c->in[1], 0) + 1) * hertz / ox_number_at(c->in[2], 0));
  return bin >= 0 && bin < 0x1p40 ? ox_i64_of(bin) : bin < 0 ? 0 : (int64_t)1 << 40;
}

static ox_status *mel_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end) {
  (void)plan, (void)begin, (void)end;
  ox_tensor *out = c->out[0];
  int64_t rows = out->shape.dim[0], columns = out->shape.dim[1];
  memset(out->data, 0, out->bytes);
  for (int64_t i = 0; i < columns; i++) {
    int64_t low = mel_corner(c, i), mid = mel_corner(c, i + 1), high = mel_corner(c, i + 2);
    for (int64_t j = low; j <= mid && j < rows; j++)
      ox_number_put(out->dtype, out->data, j * columns + i, mid == low ? 1 : (double)(j - low) / (double)(mid - low));
    for (int64_t j = mid; j < high && j < rows; j++)
      ox_number_put(out->dtype, out->data, j * columns + i, (double)(high - j) / (double)(high - mid));
  }
  return NULL;
}
DEFERRED_ROW(mel, 0x1f, sizeof(ox_deferred_head), mel_infer, mel_build, mel_work)

#define WINDOW_ROW(op, stem)                                                                           \
  {                                                                                                    \
    OX_SCHEMA(.name = op, .since = 17, .types = {OX_T_INDEX}, .min_in = 1, .max_in = 1, .value_in = 1, \
              OX_ATTRS(window_attr_defs), .attrs_bytes = sizeof(window_attrs), .infer = window_infer), \
        OX_KERNEL(.prepare = stem##_prepare, .run = stem##_run)                                        \
  }

static const ox_op ops[] = {
    WINDOW_ROW("HannWindow", hann),
    WINDOW_ROW("HammingWindow", hamming),
    WINDOW_ROW("BlackmanWindow", blackman),
    {OX_SCHEMA(.name = "MelWeightMatrix", .since = 17, .types = {OX_T_INDEX, OX_T_INDEX, OX_T_INDEX, OX_T_FLOAT},
               .vars = "TTTUU", .min_in = 5, .max_in = 5, .value_in = 0x1f, OX_ATTRS(mel_attr_defs),
               .attrs_bytes = sizeof(mel_attrs), .infer = mel_infer),
     OX_KERNEL(.prepare = mel_prepare, .run = mel_run)},
};
const ox_op_set ox_ops_window_op = {ops, OX_COUNT(ops)};
