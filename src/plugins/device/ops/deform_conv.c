/* SPDX-License-Identifier: Apache-2.0
 * device/ops/deform_conv.c - DeformConv of up to three axes: im2col with displaced taps, then a product. */
#include <limits.h>
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/deform_params.h"

enum { X, W, OFFSET, BIAS, MASK };

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }

static const char *takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 3, 5);
  if (why) return why;
  return dev_in_rank(n, W) == dev_in_rank(n, X) ? NULL : REASON("weights of the input's rank", "{0}, {1}");
}

static ox_status *emit_columns(dev_plan *p, const dev_node *n, const dev_window *w, deform_params *q, dev_ref to) {
  memcpy(q->in, w->in, sizeof q->in), memcpy(q->out, w->out, sizeof q->out);
  memcpy(q->extent, w->kernel, sizeof q->extent), memcpy(q->stride, w->stride, sizeof q->stride);
  memcpy(q->dilation, w->dilation, sizeof q->dilation), memcpy(q->pad, w->before, sizeof q->pad);
  dev_call c = {.source = "deform",
                .kernel = "deform_columns",
                .dtype = dev_dtype(p, dev_in(n, X)),
                .n_buffers = 4,
                .written = 1u << 3,
                .params = q,
                .params_bytes = sizeof *q,
                .buffers = {dev_value(p, dev_in(n, X)), dev_value(p, dev_in(n, OFFSET)),
                            dev_value(p, has_in(n, MASK) ? dev_in(n, MASK) : UINT32_MAX), to}};
  return dev_emit_items(p, &c, q->n);
}

/* A product for each image and group of channels. */
static ox_status *emit_product(dev_plan *p, const dev_node *n, int64_t pixels, int64_t rows, dev_ref columns,
                               const dev_tail *then) {
  enum { IMAGES = GEMM_BATCHES - 2, GROUPS };
  const ox_shape *f = dev_shape(p, dev_in(n, W));
  int64_t group = dev_attr_int(n, "group", 1), k = dev_span(f, 1, f->rank), m = f->dim[0] / group;
  dev_tail bias = dev_tail_none(then->out);
  dev_product x;
  memset(&x, 0, sizeof x);
  for (int i = 0; i < GEMM_BATCHES; i++) x.g.batch[i] = 1;
  x.g.m = (int)m, x.g.k = (int)k, x.g.n = (int)pixels;
  x.g.a_row = x.g.k, x.g.a_col = 1, x.g.b_row = x.g.n, x.g.b_col = 1;
  x.g.batch[IMAGES] = (int)dev_shape(p, dev_in(n, X))->dim[0], x.g.b_batch[IMAGES] = (int)(rows * pixels);
  x.g.batch[GROUPS] = (int)group, x.g.a_batch[GROUPS] = (int)(m * k), x.g.b_batch[GROUPS] = (int)(k * pixels);
  if (has_in(n, BIAS)) dev_tail_operand(&bias, TAIL_ADD, dev_value(p, dev_in(n, BIAS)), pixels, f->dim[0]);
  x.dtype = dev_dtype(p, dev_in(n, X)), x.a = dev_value(p, dev_in(n, W)), x.b = columns;
  x.c = dev_value(p, then->out), x.first = &bias, x.then = then;
  return dev_emit_product(p, &x);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, X)), *f = dev_shape(p, dev_in(n, W)), *y = dev_shape(p, dev_out(n, 0));
  int64_t group = dev_attr_int(n, "group", 1), offsets = dev_attr_int(n, "offset_group", 1);
  int64_t taps = dev_span(f, 2, f->rank), pixels = dev_span(y, 2, y->rank), images = x->dim[0], rows = x->dim[1] * taps;
  dev_window w;
  dev_tail then;
  if (group < 1 || offsets < 1 || x->dim[1] != group * f->dim[1] || f->dim[0] % group || x->dim[1] % offsets)
    return dev_refuse(p, "channels of X, of the weights and groups do not fit");
  dev_window_read(p, n, f, dev_out(n, 0), &w);
  DEV_TRY(dev_take_tail(p, n, &then));
  if (dev_count(p, dev_out(n, 0)) == 0) return NULL;
  if ((double)images * (double)rows * (double)pixels > INT_MAX)
    return dev_refuse(p, "columns of more than 2^31 - 1 elements");
  int64_t places = images * offsets * taps * pixels;
  if (dev_count(p, dev_in(n, OFFSET)) != places * w.axes ||
      (has_in(n, MASK) && dev_count(p, dev_in(n, MASK)) != places))
    return dev_refuse(p, "offsets or a mask that do not fit the output");
  deform_params q = {.n = (int)places,
                     .channels = (int)(x->dim[1] / offsets),
                     .axes = w.axes,
                     .taps = (int)taps,
                     .pixels = (int)pixels,
                     .has_mask = has_in(n, MASK)};
  dev_ref columns = dev_temp(p, (size_t)(images * rows * pixels) * (dev_dtype(p, dev_in(n, X)) == OX_F16 ? 2 : 4));
  DEV_TRY(emit_columns(p, n, &w, &q, columns));
  return emit_product(p, n, pixels, rows, columns, &then);
}

static const char *const names[] = {"DeformConv", NULL};
DEV_OP(deform_conv) = {"", names, takes, emit};
