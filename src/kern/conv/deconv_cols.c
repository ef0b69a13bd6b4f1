/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/deconv_cols.c - the product of inputs and taps, and the sums of columns for each line of outputs. */
#include "kern/conv/deconv_cols.h"

#include "base/cksize.h"
#include "kern/binary/binary.h"

enum {
  LINE_WORK = 1 << 14, /* additions of a tile, about */
  VECTOR = 8           /* outputs that an inner loop of known length computes, so that it becomes vectors */
};

bool ox_deconv_cols_init(ox_deconv_cols *p, const ox_deconv_axis *axis, int64_t batch, int64_t ic, int64_t oc,
                         ox_isa have) {
  *p = (ox_deconv_cols){.batch = batch, .ic = ic, .oc = oc, .isa = have};
  for (int a = 0; a < OX_CONV_AXES; a++) p->axis[a] = axis[a];
  p->taps = axis[0].kernel * axis[1].kernel * axis[2].kernel, p->pixels = axis[0].in * axis[1].in * axis[2].in;
  int64_t n, f[] = {batch, oc, axis[0].kernel, axis[1].kernel, axis[2].kernel, axis[0].in, axis[1].in, axis[2].in};
  if (!ox_conv_product_ok(f, OX_COUNT(f), &n) || !n || ic < 1) return false;
  int64_t lines[] = {batch, oc, axis[0].out, axis[1].out};
  if (!ox_conv_product_ok(lines, OX_COUNT(lines), &p->n_lines) || !axis[2].out) return false;
  p->floats = (size_t)n, p->widest = OX_CEIL_DIV(axis[2].out, axis[2].stride);
  ox_gemm_plan_init(&p->product, ox_gemm_select(OX_F32, have), (size_t)(oc * p->taps), (size_t)p->pixels, (size_t)ic,
                    OX_F32, OX_F32, OX_GEMM_DIRECT);
  p->n_products = batch * (int64_t)ox_gemm_tiles(&p->product);
  size_t line;
  if (!ox_mul_ok((size_t)p->widest, (size_t)axis[2].stride * sizeof(float), &line) ||
      !ox_add_ok(line, VECTOR * sizeof(float), &line))
    return false;
  p->scratch = OX_MAX(p->product.scratch, line);
  int64_t work = OX_CEIL_DIV(p->taps * axis[2].in, axis[0].stride * axis[1].stride) + axis[2].out;
  p->lines_per_tile = OX_MAX(LINE_WORK / OX_MAX(work, 1), 1);
  return true;
}

void ox_deconv_cols_products(const ox_deconv_cols *p, const float *x, const float *w, float *cols, const ox_stop *stop,
                             int64_t begin, int64_t end, void *scratch) {
  static const ox_gemm_epi plain = {.alpha = 1, .act = {OX_ACT_NONE, 0, 0}};
  int64_t each = (int64_t)ox_gemm_tiles(&p->product), rows = p->oc * p->taps;
  for (int64_t t = begin; t < end; t++) {
    int64_t image = t / each;
    ox_gemm_io io = {.a = w,
                     .a_rs = 1,
                     .a_ks = rows,
                     .b = x + image * p->ic * p->pixels,
                     .b_rs = p->pixels,
                     .c = cols + image * rows * p->pixels,
                     .c_rs = (size_t)p->pixels,
                     .epi = &plain,
                     .stop = *stop};
    ox_gemm_run(&p->product, &io, (size_t)(t % each), scratch);
  }
}

/* A place on an axis in whole strides and what is left, 0 or more: moving it takes no division, and lines are short. */
typedef struct place {
  int64_t whole, left;
} place;

static place place_of(int64_t at, int64_t stride) {
  place p = {at / stride, at % stride};
  return p.left < 0 ? (place){p.whole - 1, p.left + stride} : p;
}
static place ahead(place p, place by, int64_t stride) {
  bool over = p.left + by.left >= stride;
  return (place){p.whole + by.whole + over, p.left + by.left - (over ? stride : 0)};
}
static place back(place p, place by, int64_t stride) {
  bool under = p.left < by.left;
  return (place){p.whole - by.whole - under, p.left - by.left + (under ? stride : 0)};
}

/* What is the same for all lines. */
typedef struct taps_at {
  place step[OX_CONV_AXES]; /* from tap to tap */
  place first, out;         /* where the first tap of the last axis adds, and the length of a line */
  ox_binary_fn *add;
} taps_at;

static taps_at taps_of(const ox_deconv_cols *p) {
  taps_at t = {.add = ox_binary_select(p->isa)->fn[OX_BIN_ADD][OX_F32]};
  for (int i = 0; i < OX_CONV_AXES; i++) t.step[i] = place_of(p->axis[i].dilation, p->axis[i].stride);
  t.first = place_of(-p->axis[2].lo, p->axis[2].stride), t.out = place_of(p->axis[2].out, p->axis[2].stride);
  return t;
}

/* Does the output at |at| get products of input at->whole? */
static bool is_input(const ox_deconv_axis *a, place at) { return !at.left && at.whole >= 0 && at.whole < a->in; }

/* Adds the columns of a line of inputs for all taps of the last axis. */
static void add_taps(const ox_deconv_cols *p, const taps_at *at, const float *from, float *sums) {
  const ox_deconv_axis *a = &p->axis[2];
  place phase = at->first; /* outputs of phase f are contiguous, from sums + f * widest on */
  for (int64_t t = 0; t < a->kernel; t++, from += p->pixels, phase = ahead(phase, at->step[2], a->stride)) {
    int64_t n = at->out.whole + (phase.left < at->out.left), shift = phase.whole;
    int64_t begin = OX_MAX(-shift, 0), end = OX_MIN(a->in, n - shift);
    float *to = sums + phase.left * p->widest + shift;
    if (begin < end) at->add(to + begin, from + begin, to + begin, (size_t)(end - begin), 0);
  }
}

/* Interleaves the phases of a line, |step| of them, |widest| floats apart, to n outputs. */
static void interleave_phases(const float *from, int64_t widest, int64_t step, int64_t n, float *y) {
  int64_t done = 0;
  for (; step == 2 && 2 * (done + VECTOR) <= n; done += VECTOR)
    for (int k = 0; k < VECTOR; k++) {
      y[2 * (done + k)] = from[done + k];
      y[2 * (done + k) + 1] = from[widest + done + k];
    }
  for (int64_t f = 0; f < OX_MIN(step, n); f++)
    for (int64_t i = done, o = f + done * step; o < n; i++, o += step) y[o] = from[f * widest + i];
}

/* A line of outputs on which several taps may fall. */
static void line_sum(const ox_deconv_cols *p, const taps_at *taps, const float *cols, float bias, float *y, int64_t d,
                     int64_t h, float *sums) {
  const ox_deconv_axis *a = p->axis;
  int64_t step = a[2].stride, line = a[2].kernel * p->pixels;
  place in_d = place_of(d + a[0].lo, a[0].stride), top = place_of(h + a[1].lo, a[1].stride);
  for (int64_t i = 0; i < step * p->widest; i += VECTOR)
    for (int k = 0; k < VECTOR; k++) sums[i + k] = bias;
  for (int64_t td = 0; td < a[0].kernel; td++, in_d = back(in_d, taps->step[0], a[0].stride)) {
    const float *from = cols + td * a[1].kernel * line;
    place in_h = top;
    for (int64_t th = 0; is_input(&a[0], in_d) && th < a[1].kernel; th++, from += line) {
      if (is_input(&a[1], in_h)) add_taps(p, taps, from + (in_d.whole * a[1].in + in_h.whole) * a[2].in, sums);
      in_h = back(in_h, taps->step[1], a[1].stride);
    }
  }
  interleave_phases(sums, p->widest, step, a[2].out, y);
}

/* y[2 i], y[2 i + 1] = a[i] + bias, b[i] + bias. */
static void interleave_two(const float *restrict a, const float *restrict b, float bias, int64_t n, float *restrict y) {
  int64_t i = 0;
  for (; i + VECTOR <= n; i += VECTOR)
    for (int k = 0; k < VECTOR; k++) {
      y[2 * (i + k)] = a[i + k] + bias;
      y[2 * (i + k) + 1] = b[i + k] + bias;
    }
  for (; i < n; i++) y[2 * i] = a[i] + bias, y[2 * i + 1] = b[i] + bias;
}

/* A line of outputs on each of which at most one tap falls (ox_deconv_disjoint). */
static void line_disjoint(const ox_deconv_cols *p, const float *cols, float bias, float *y, int64_t d, int64_t h) {
  const ox_deconv_axis *a = &p->axis[2];
  int64_t at[2] = {d + p->axis[0].lo, h + p->axis[1].lo}, in[2], tap[2], done = 0;
  bool any = true;
  for (int i = 0; i < 2; i++) {
    in[i] = at[i] / p->axis[i].stride, tap[i] = at[i] - in[i] * p->axis[i].stride;
    any = any && at[i] >= 0 && in[i] < p->axis[i].in && tap[i] < p->axis[i].kernel;
  }
  if (!any || a->kernel < a->stride || a->lo < 0 || a->out + a->lo > a->in * a->stride)
    for (int64_t o = 0; o < a->out; o++) y[o] = bias;
  if (!any) return;
  const float *from =
      cols + (tap[0] * p->axis[1].kernel + tap[1]) * a->kernel * p->pixels + (in[0] * p->axis[1].in + in[1]) * a->in;
  if (a->stride == 2 && a->kernel == 2 && a->lo == 0) {
    done = OX_MIN(a->in, a->out / 2);
    interleave_two(from, from + p->pixels, bias, done, y);
  }
  for (int64_t t = 0; t < a->kernel; t++, from += p->pixels) {
    int64_t begin = OX_MAX(done, t < a->lo ? OX_CEIL_DIV(a->lo - t, a->stride) : 0);
    for (int64_t i = begin, o = i * a->stride + t - a->lo; i < a->in && o < a->out; i++, o += a->stride)
      y[o] = from[i] + bias;
  }
}

void ox_deconv_cols_lines(const ox_deconv_cols *p, const float *cols, const float *bias, float *y, int64_t begin,
                          int64_t end, void *scratch) {
  const ox_deconv_axis *a = p->axis;
  bool disjoint = ox_deconv_disjoint(a);
  taps_at taps = taps_of(p);
  for (int64_t i = begin; i < end; i++) {
    int64_t h = i % a[1].out, d = i / a[1].out % a[0].out, plane = i / a[1].out / a[0].out;
    const float *from = cols + plane * p->taps * p->pixels;
    float b = bias ? bias[plane % p->oc] : 0;
    if (disjoint)
      line_disjoint(p, from, b, y + i * a[2].out, d, h);
    else
      line_sum(p, &taps, from, b, y + i * a[2].out, d, h, scratch);
  }
}
