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

/* Filters of |rows| x |columns| kernels; |terms| products are a sum. */
static int filters(maker *m, const window *w, int64_t rows, int64_t columns, int64_t terms) {
  maker_shape s = {2 + w->n, {rows, columns}};
  for (int i = 0; i < w->n; i++) s.dim[2 + i] = w->kernel[i];
  return maker_sum_weights(m, s, terms);
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
  int f = filters(m, &w, out.dim[1], c / groups, terms), b = -1;
  if (maker_chance(m, 60)) b = maker_floats(m, (maker_shape){1, {out.dim[1]}}, -0.5, 0.5);
  double size = maker_use(m, x)->size;
  maker_put(m, "  v%d = Conv <group = %d, ", maker_add(m, out, size + (b >= 0)), (int)groups);
  put_window(m, &w);
  maker_put(m, "> (v%d, w%d", x, f);
  if (b >= 0) maker_put(m, ", w%d", b);
  maker_put(m, ")\n");
  if (maker_chance(m, 20)) maker_batch_norm(m, m->n_values - 1);
  if (maker_chance(m, 50)) maker_activation(m, m->n_values - 1);
}

void maker_conv_transpose(maker *m, int x) {
  const maker_value *v = &m->value[x];
  if (!is_image(v)) return;
  window w = draw_window(m, v->shape.rank - 2);
  maker_shape out = v->shape;
  int64_t c = v->shape.dim[1], groups = maker_chance(m, 30) ? c : 1, each = MAKER_ONE_OF(m, 1, 2, 3, 8);
  int64_t terms = c / groups * kernel_count(&w);
  for (int i = 0; i < w.n; i++)
    out.dim[2 + i] =
        (v->shape.dim[2 + i] - 1) * w.stride[i] + w.dilation[i] * (w.kernel[i] - 1) + 1 - w.pad[i] - w.pad[w.n + i];
  out.dim[1] = groups * each;
  if (!maker_fits(&out, terms) || out.dim[1] * terms > MAKER_CONSTANT) return;
  int f = filters(m, &w, c, each, terms);
  double size = maker_use(m, x)->size;
  maker_put(m, "  v%d = ConvTranspose <group = %d, ", maker_add(m, out, size), (int)groups);
  put_window(m, &w);
  maker_put(m, "> (v%d, w%d)\n", x, f);
}

void maker_pool(maker *m, int x) {
  const maker_value *v = &m->value[x];
  maker_shape out;
  if (!is_image(v)) return;
  window w = draw_window(m, v->shape.rank - 2);
  bool average = maker_chance(m, 50), ceil_mode = maker_chance(m, 20);
  for (int i = 0; i < w.n; i++) {
    if (average && m->opset < 19) w.dilation[i] = 1; /* which AveragePool has since 19 */
    /* no window may lie in the padding alone */
    for (int e = 0; e < 2; e++)
      if (w.pad[e * w.n + i] >= w.kernel[i] || w.dilation[i] > 1) w.pad[e * w.n + i] = 0;
  }
  if (!ceil_mode) w.auto_pad = draw_auto_pad(m);
  if (w.auto_pad)
    for (int i = 0; i < w.n; i++) w.dilation[i] = 1;
  if (!slide(&w, &v->shape, ceil_mode, &out) || !maker_fits(&out, kernel_count(&w))) return;
  int y = maker_add(m, out, maker_use(m, x)->size);
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
  maker_put(m, "  v%d = %s (v%d)\n", y, maker_chance(m, 70) ? "GlobalAveragePool" : "GlobalMaxPool", x);
}

void maker_resize(maker *m, int x) {
  static const char *const modes[] = {"nearest", "linear", "linear", "cubic"};
  static const char *const places[] = {"asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"};
  const maker_value *v = &m->value[x];
  maker_shape out = v->shape;
  int64_t by = MAKER_ONE_OF(m, 1, 2, 2, 3);
  if (out.rank != 4) return;
  for (int i = 2; i < 4; i++) out.dim[i] = maker_chance(m, 75) ? out.dim[i] * by : (out.dim[i] + 1) / 2;
  if (!maker_fits(&out, 16)) return;
  const char *mode = modes[maker_pick(m, 4)], *place = places[maker_pick(m, 4)];
  int sizes = maker_ints(m, out.dim, 4), y = maker_add(m, out, maker_use(m, x)->size * 1.5);
  maker_put(m, "  v%d = Resize <mode = \"%s\", coordinate_transformation_mode = \"%s\"> (v%d, , , w%d)\n", y, mode,
            place, x, sizes);
}
