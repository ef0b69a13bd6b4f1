/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph_windows.c - steps of random models: convolutions, pools, Resize. */
#include <math.h>

#include "support/random_maker.h"

enum { MOST_AXES = 3 };

/* What slides over the last |n| axes. */
typedef struct {
  int n;
  int64_t kernel[MOST_AXES], stride[MOST_AXES], dilation[MOST_AXES], pad[2 * MOST_AXES];
  const char *auto_pad; /* or pads */
} window;

static bool is_image(const maker_value *v) { return v->shape.rank >= 3 && v->shape.rank <= 2 + MOST_AXES; }

static window draw_window(maker *m, int n) {
  window w = {.n = n};
  bool square = maker_chance(m, 60);
  int kernel = MAKER_ONE_OF(m, 1, 1, 2, 3, 3, 3, 5, 7), stride = MAKER_ONE_OF(m, 1, 1, 1, 2, 3);
  for (int i = 0; i < n; i++) {
    w.kernel[i] = square ? kernel : MAKER_ONE_OF(m, 1, 1, 2, 3, 3, 5);
    w.stride[i] = square ? stride : MAKER_ONE_OF(m, 1, 1, 2, 3);
    w.dilation[i] = MAKER_ONE_OF(m, 1, 1, 1, 1, 1, 2, 3);
  }
  for (int i = 0; i < 2 * n; i++) w.pad[i] = square ? kernel / 2 : MAKER_ONE_OF(m, 0, 0, 1, 2);
  return w;
}

/* The sizes after a window has gone over |in|; false: it does not fit in. */
static bool slide(const window *w, const maker_shape *in, bool ceil_mode, maker_shape *out) {
  *out = *in;
  for (int i = 0; i < w->n; i++) {
    int64_t extent = w->dilation[i] * (w->kernel[i] - 1) + 1, room = in->dim[2 + i] - extent;
    bool same = w->auto_pad && w->auto_pad[0] == 'S';
    if (!w->auto_pad) room += w->pad[i] + w->pad[w->n + i];
    if (same) room = in->dim[2 + i] - 1;
    if (room < 0) return false;
    out->dim[2 + i] = room / w->stride[i] + 1;
    /* a last window that is not whole has to begin before the padding at the end */
    if (ceil_mode && room % w->stride[i] && out->dim[2 + i] * w->stride[i] < in->dim[2 + i] + w->pad[i])
      out->dim[2 + i]++;
  }
  return true;
}

static void put_window(maker *m, const window *w) {
  maker_put_list(m, "kernel_shape", w->kernel, w->n);
  maker_put(m, ", "), maker_put_list(m, "strides", w->stride, w->n);
  maker_put(m, ", "), maker_put_list(m, "dilations", w->dilation, w->n);
  if (w->auto_pad)
    maker_put(m, ", auto_pad = \"%s\"", w->auto_pad);
  else
    maker_put(m, ", "), maker_put_list(m, "pads", w->pad, 2 * w->n);
}

static const char *draw_auto_pad(maker *m) {
  static const char *const names[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
  return maker_chance(m, 20) ? names[maker_pick(m, 3)] : NULL;
}

/* The shape of filters of |rows| x |columns| kernels. */
static maker_shape filters(const window *w, int64_t rows, int64_t columns) {
  maker_shape s = {2 + w->n, {rows, columns}};
  for (int i = 0; i < w->n; i++) s.dim[2 + i] = w->kernel[i];
  return s;
}

static int64_t kernel_count(const window *w) {
  int64_t n = 1;
  for (int i = 0; i < w->n; i++) n *= w->kernel[i];
  return n;
}

void maker_conv(maker *m, int x) {
  const maker_value *v = &m->value[x];
  maker_shape out;
  if (!is_image(v)) return;
  window w = draw_window(m, v->shape.rank - 2);
  w.auto_pad = draw_auto_pad(m);
  int64_t c = v->shape.dim[1], groups = MAKER_ONE_OF(m, 1, 1, 1, 2, 0, 0);
  if (!groups) groups = c; /* depthwise */
  if (c % groups) groups = 1;
  int64_t each = groups == 1 ? MAKER_ONE_OF(m, 1, 2, 3, 5, 8, 16, 17, 24) : MAKER_ONE_OF(m, 1, 1, 2, 3);
  int64_t terms = c / groups * kernel_count(&w);
  if (!slide(&w, &v->shape, false, &out)) return;
  out.dim[1] = groups * each;
  if (!maker_fits(&out, terms) || out.dim[1] * terms > MAKER_CONSTANT) return;
  maker_scales scales;
  int f = maker_sum_weights(m, filters(&w, out.dim[1], c / groups), terms, 0, &scales), b = -1;
  if (maker_chance(m, 60)) b = maker_bias(m, x, &scales, out.dim[1]);
  double size = maker_use(m, x)->size;
  maker_put(m, "  v%d = Conv <group = %d, ", maker_add(m, out, size + (b >= 0)), (int)groups);
  put_window(m, &w);
  maker_put(m, "> (v%d, w%d", x, f);
  if (b >= 0) maker_put(m, ", w%d", b);
  maker_put(m, ")\n");
  if (maker_chance(m, 20)) maker_batch_norm(m, m->n_values - 1);
  if (maker_chance(m, 50))
    maker_activation(m, m->n_values - 1);
  else if (maker_chance(m, 40))
    maker_clip(m, m->n_values - 1);
}

void maker_conv_transpose(maker *m, int x) {
  const maker_value *v = &m->value[x];
  if (!is_image(v)) return;
  window w = draw_window(m, v->shape.rank - 2);
  maker_shape out = v->shape;
  int64_t c = v->shape.dim[1], groups = maker_chance(m, 30) ? c : 1, each = MAKER_ONE_OF(m, 1, 2, 3, 8);
  int64_t terms = c / groups * kernel_count(&w), behind[MOST_AXES] = {0};
  bool same = maker_chance(m, 20), longer = !same && maker_chance(m, 40);
  if (same) w.auto_pad = maker_chance(m, 50) ? "SAME_UPPER" : "SAME_LOWER";
  for (int i = 0; i < w.n; i++) {
    int64_t step = w.stride[i], extent = w.dilation[i] * (w.kernel[i] - 1) + 1;
    if (longer) behind[i] = (int64_t)maker_pick(m, (uint32_t)step);
    if (same && extent < step) return;
    out.dim[2 + i] = same ? v->shape.dim[2 + i] * step
                          : (v->shape.dim[2 + i] - 1) * step + extent - w.pad[i] - w.pad[w.n + i] + behind[i];
  }
  out.dim[1] = groups * each;
  if (!maker_fits(&out, terms) || out.dim[1] * terms > MAKER_CONSTANT) return;
  maker_scales scales;
  int f = maker_sum_weights(m, filters(&w, c, each), terms, 1, &scales), b = -1;
  if (maker_chance(m, 40)) {
    maker_rounds_bias(m, &scales);
    b = maker_floats(m, (maker_shape){1, {out.dim[1]}}, -0.5, 0.5);
  }
  double size = maker_use(m, x)->size;
  maker_put(m, "  v%d = ConvTranspose <group = %d, ", maker_add(m, out, size + (b >= 0)), (int)groups);
  put_window(m, &w);
  if (longer) maker_put(m, ", "), maker_put_list(m, "output_padding", behind, w.n);
  maker_put(m, "> (v%d, w%d", x, f);
  if (b >= 0) maker_put(m, ", w%d", b);
  maker_put(m, ")\n");
  if (maker_chance(m, 30)) maker_activation(m, m->n_values - 1);
}

/* Whether each window has an element that is no padding. */
static bool sees_something(const window *w, const maker_shape *in, const maker_shape *out) {
  for (int i = 0; i < w->n; i++)
    for (int64_t o = 0; o < out->dim[2 + i]; o++) {
      bool any = false;
      for (int64_t t = 0; t < w->kernel[i]; t++) {
        int64_t at = o * w->stride[i] - w->pad[i] + t * w->dilation[i];
        any |= at >= 0 && at < in->dim[2 + i];
      }
      if (!any) return false;
    }
  return true;
}

void maker_pool(maker *m, int x) {
  const maker_value *v = &m->value[x];
  maker_shape out;
  if (!is_image(v)) return;
  window w = draw_window(m, v->shape.rank - 2);
  bool average = maker_chance(m, 50), ceil_mode = maker_chance(m, 20);
  for (int i = 0; i < w.n; i++) {
    if (average && m->opset < 19) w.dilation[i] = 1; /* which AveragePool has since 19 */
    for (int e = 0; e < 2; e++)
      if (w.pad[e * w.n + i] >= w.kernel[i]) w.pad[e * w.n + i] = 0;
  }
  if (!ceil_mode) w.auto_pad = draw_auto_pad(m);
  if (w.auto_pad)
    for (int i = 0; i < w.n; i++) w.dilation[i] = 1;
  if (!slide(&w, &v->shape, ceil_mode, &out) || !maker_fits(&out, kernel_count(&w))) return;
  if (!w.auto_pad && !sees_something(&w, &v->shape, &out)) return;
  int y = maker_add(m, out, maker_use(m, x)->size);
  m->has_ties |= average;
  maker_put(m, "  v%d = %s <", y, average ? "AveragePool" : "MaxPool");
  if (average) maker_put(m, "count_include_pad = %d, ", (int)maker_pick(m, 2));
  maker_put(m, "ceil_mode = %d, ", ceil_mode);
  if (average && m->opset < 19) {
    maker_put_list(m, "kernel_shape", w.kernel, w.n);
    maker_put(m, ", "), maker_put_list(m, "strides", w.stride, w.n), maker_put(m, ", ");
    if (w.auto_pad)
      maker_put(m, "auto_pad = \"%s\"", w.auto_pad);
    else
      maker_put_list(m, "pads", w.pad, 2 * w.n);
  } else {
    put_window(m, &w);
  }
  maker_put(m, "> (v%d)\n", x);
}

void maker_global_pool(maker *m, int x) {
  const maker_value *v = &m->value[x];
  maker_shape out = v->shape;
  if (!is_image(v)) return;
  for (int i = 2; i < out.rank; i++) out.dim[i] = 1;
  int y = maker_add(m, out, maker_use(m, x)->size);
  bool average = maker_chance(m, 70);
  m->has_ties |= average;
  maker_put(m, "  v%d = %s (v%d)\n", y, average ? "GlobalAveragePool" : "GlobalMaxPool", x);
}

/* How far an axis of |in| is stretched: numbers that floats have exactly, so that what is next is not a rounding's. */
static double draw_scale(maker *m, int64_t in, int64_t *out) {
  double by = MAKER_ONE_OF(m, 2, 4, 4, 6, 8, 8, 12) / 4.0;
  *out = (int64_t)floor((double)in * by);
  return by;
}

void maker_resize(maker *m, int x) {
  static const char *const modes[] = {"nearest", "linear", "linear", "cubic"};
  static const char *const places[] = {"asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"};
  static const char *const ties[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  const maker_value *v = &m->value[x];
  maker_shape out = v->shape;
  int mode = MAKER_ONE_OF(m, 0, 1, 2, 3), place = (int)maker_pick(m, 4);
  bool by_scale = maker_chance(m, 50);
  maker_scales scales = {.n = out.rank};
  if (!is_image(v) || (mode == 3 && out.rank != 4)) return;
  for (int i = 0; i < out.rank; i++) scales.v[i] = 1;
  for (int i = 2; i < out.rank; i++) scales.v[i] = (float)draw_scale(m, v->shape.dim[i], &out.dim[i]);
  if (!maker_fits(&out, 16)) return;
  double size = maker_use(m, x)->size * 1.5;
  m->has_ties |= mode != 0;
  int to = by_scale ? maker_scale(m, &scales) : maker_ints(m, out.dim, out.rank), y = maker_add(m, out, size);
  maker_put(m, "  v%d = Resize <mode = \"%s\", coordinate_transformation_mode = \"%s\"", y, modes[mode], places[place]);
  if (mode == 0) maker_put(m, ", nearest_mode = \"%s\"", ties[maker_pick(m, 4)]);
  if (mode == 3) maker_put(m, ", exclude_outside = %d", (int)maker_pick(m, 2));
  if (mode && m->opset >= 18) maker_put(m, ", antialias = %d", maker_chance(m, 30));
  maker_put(m, "> (v%d, , %sw%d)\n", x, by_scale ? "" : ", ", to);
}
