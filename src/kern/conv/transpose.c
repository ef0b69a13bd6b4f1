/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/transpose.c - the phases of a transposed convolution, their weights, and the double-precision form. */
#include "kern/conv/transpose.h"

#include "base/cksize.h"
#include "kern/move/move.h"

int64_t ox_deconv_taps(const ox_deconv_axis *a, int64_t r, int64_t *taps) {
  int64_t n = 0;
  for (int64_t t = 0; t < a->kernel; t++)
    if (t * a->dilation % a->stride == r) taps[n++] = t;
  return n;
}

int64_t ox_deconv_first(const ox_deconv_axis *a, int64_t r, int64_t *count) {
  int64_t first = ((r - a->lo) % a->stride + a->stride) % a->stride;
  *count = first < a->out ? OX_CEIL_DIV(a->out - first, a->stride) : 0;
  return first;
}

bool ox_deconv_phase_count(const ox_deconv_axis *axis, int64_t *n) {
  return ox_mul_i64_ok(axis[0].stride, axis[1].stride, n) && ox_mul_i64_ok(*n, axis[2].stride, n) && *n <= 1 << 16;
}

void ox_deconv_phase_classes(const ox_deconv_axis *axis, int64_t i, int64_t *r) {
  r[0] = i / axis[2].stride / axis[1].stride, r[1] = i / axis[2].stride % axis[1].stride, r[2] = i % axis[2].stride;
}

void ox_deconv_phase_taps(const ox_deconv_axis *axis, int64_t i, int64_t *memory, ox_deconv_phase *out) {
  int64_t r[OX_CONV_AXES];
  ox_deconv_phase_classes(axis, i, r);
  for (int a = 0; a < OX_CONV_AXES; a++) {
    out->taps[a] = memory;
    out->n[a] = ox_deconv_taps(&axis[a], r[a], memory);
    memory += axis[a].kernel;
  }
}

size_t ox_deconv_weight_floats(const ox_deconv_phase *p, int64_t groups, int64_t ic, int64_t oc) {
  return (size_t)(groups * oc * ic * p->n[0] * p->n[1] * p->n[2]);
}

/* For the pace of checks for a stop: a float that is gathered costs about as much as 16 that are contiguous. */
enum { GATHERED = 16 * sizeof(float) };

void ox_deconv_pack(float *dst, const float *w, const ox_deconv_phase *p, const int64_t *kernel, int64_t ic, int64_t oc,
                    int64_t g, const ox_stop *stop) {
  const ox_f32u *src = w;
  int64_t taps = p->n[0] * p->n[1] * p->n[2], k = ic * taps, all = kernel[0] * kernel[1] * kernel[2];
  float *d = dst + g * oc * k;
  ox_stop_pace pace = {.stop = stop};
  for (int64_t o = 0; o < oc && !ox_stop_moved(&pace, (size_t)k * GATHERED); o++)
    for (int64_t c = 0; c < ic; c++)
      for (int64_t t = 0; t < taps; t++) {
        int64_t td = p->taps[0][t / p->n[2] / p->n[1]], th = p->taps[1][t / p->n[2] % p->n[1]];
        int64_t at = (td * kernel[1] + th) * kernel[2] + p->taps[2][t % p->n[2]];
        *d++ = src[((g * ic + c) * oc + o) * all + at];
      }
}

static void scatter_row(const ox_deconv_axis *a, const double *x, double w, int64_t t, double *y) {
  for (int64_t i = 0; i < a->in; i++) {
    int64_t o = i * a->stride + t * a->dilation - a->lo;
    if (o >= 0 && o < a->out) y[o] += w * x[i];
  }
}

static void scatter_plane(const ox_deconv_axis *a, const double *x, const double *w, double *y) {
  for (int64_t d = 0; d < a[0].kernel; d++)
    for (int64_t h = 0; h < a[1].kernel; h++)
      for (int64_t t = 0; t < a[2].kernel; t++, w++)
        for (int64_t id = 0; id < a[0].in; id++)
          for (int64_t ih = 0; ih < a[1].in; ih++) {
            int64_t od = id * a[0].stride + d * a[0].dilation - a[0].lo;
            int64_t oh = ih * a[1].stride + h * a[1].dilation - a[1].lo;
            if (od < 0 || od >= a[0].out || oh < 0 || oh >= a[1].out) continue;
            scatter_row(&a[2], x + (id * a[1].in + ih) * a[2].in, *w, t, y + (od * a[1].out + oh) * a[2].out);
          }
}

/* How many lines from the first on lie equally far apart; *pitch: how far, in bytes. */
static int64_t lines_apart(const ox_deconv_line *line, int64_t count, ptrdiff_t *pitch) {
  int64_t n = 1;
  *pitch = count > 1 ? (const char *)line[1].from - (const char *)line[0].from : 0;
  while (n < count && (const char *)line[n].from - (const char *)line[n - 1].from == *pitch) n++;
  return n;
}

void ox_deconv_join(const ox_deconv_line *line, int64_t count, int64_t stride, ox_isa isa, float *to) {
  ox_transpose_fn transpose = ox_transpose_select(sizeof *to, isa);
  int64_t least = line[0].n;
  ptrdiff_t pitch;
  for (int64_t k = 1; k < count; k++) least = OX_MIN(least, line[k].n);
  for (int64_t k = 0, n; k < count; k += n) {
    n = lines_apart(line + k, count - k, &pitch);
    transpose((const char *)line[k].from, pitch, (char *)(to + k), stride * (int64_t)sizeof *to, n, least);
  }
  for (int64_t k = 0; k < count; k++)
    for (int64_t j = least; j < line[k].n; j++) to[k + j * stride] = line[k].from[j];
}

void ox_deconv_f64(const ox_deconv_axis *a, int64_t groups, int64_t ic, int64_t oc, const double *x, const double *w,
                   const double *bias, double *y, int64_t begin, int64_t end) {
  int64_t taps = a[0].kernel * a[1].kernel * a[2].kernel;
  int64_t in = a[0].in * a[1].in * a[2].in, out = a[0].out * a[1].out * a[2].out;
  for (int64_t u = begin; u < end; u++) {
    int64_t channel = u % (groups * oc), g = channel / oc, o = channel % oc;
    double *plane = y + u * out;
    for (int64_t i = 0; i < out; i++) plane[i] = bias ? bias[channel] : 0;
    for (int64_t c = 0; c < ic; c++)
      scatter_plane(a, x + (u / oc * ic + c) * in, w + ((g * ic + c) * oc + o) * taps, plane);
  }
}
