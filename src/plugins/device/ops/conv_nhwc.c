/* SPDX-License-Identifier: Apache-2.0
 * device/ops/conv_nhwc.c - com.microsoft's NhwcConv and NhwcFusedConv: a product of pixels for a 1 x 1 kernel, else a
 * convolution with channels first between two transposes. */
#include <string.h>

#include "plugins/device/convolution.h"
#include "plugins/device/move.h"
#include "plugins/device/tail.h"

enum { X, W, BIAS, RESIDUAL };

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }

static bool is_product(const dev_node *n, const dev_planes *v, const ox_shape *weights) {
  dev_window w;
  dev_window_of(n, &v->x, &v->y, weights, &w);
  for (int i = 0; i < 3; i++)
    if (w.kernel[i] != 1 || w.stride[i] != 1 || w.before[i] || w.after[i]) return false;
  return dev_attr_int(n, "group", 1) == 1;
}

/* A product whose rows are pixels. */
static ox_status *emit_product(dev_plan *p, const dev_node *n, const dev_planes *v) {
  dev_product x;
  dev_tail first = dev_tail_none(UINT32_MAX);
  int64_t count = dev_count(p, dev_out(n, 0));
  memset(&x, 0, sizeof x);
  for (int i = 0; i < GEMM_BATCHES; i++) x.g.batch[i] = 1;
  x.g.k = (int)v->x.dim[1], x.g.n = (int)v->y.dim[1], x.g.m = (int)(count / x.g.n);
  x.g.a_row = x.g.k, x.g.a_col = 1, x.g.b_row = 1, x.g.b_col = x.g.k;
  x.dtype = dev_dtype(p, dev_in(n, X)), x.first = &first, x.then = &v->then;
  x.a = v->from, x.b = dev_value(p, dev_in(n, W)), x.c = v->to;
  if (has_in(n, BIAS)) dev_tail_operand(&first, TAIL_ADD, dev_value(p, dev_in(n, BIAS)), 1, x.g.n);
  if (has_in(n, RESIDUAL)) dev_tail_operand(&first, TAIL_ADD, v->residual, 1, count);
  if (!dev_tail_activation(n, &first)) return dev_refuse(p, "an activation that is not known");
  return dev_emit_product(p, &x);
}

/* Transposes images to channels first or, if |back|, to channels last. |planes|: the shape with channels first. */
static ox_status *turn(dev_plan *p, const ox_shape *planes, uint32_t dtype, bool back, dev_ref from, dev_ref to) {
  int64_t channels = planes->dim[1], pixels = dev_span(planes, 2, planes->rank), all = channels * pixels;
  const dev_move m = {.rank = 3,
                      .size = {planes->dim[0], back ? pixels : channels, back ? channels : pixels},
                      .from_stride = {all, 1, back ? pixels : channels},
                      .to_stride = {all, back ? channels : pixels, 1}};
  return dev_emit_move(p, &m, dtype, from, to);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  dev_planes v = {.x = dev_channels_first(dev_shape(p, dev_in(n, X))),
                  .y = dev_channels_first(dev_shape(p, dev_out(n, 0)))};
  uint32_t dtype = dev_dtype(p, dev_in(n, X));
  int64_t count = dev_count(p, dev_out(n, 0));
  size_t item = dtype == OX_F16 ? 2 : 4;
  DEV_TRY(dev_conv_check(p, n, &v.x));
  bool product = is_product(n, &v, dev_shape(p, dev_in(n, W)));
  v.then = dev_tail_none(dev_out(n, 0));
  if (product) DEV_TRY(dev_take_tail(p, n, &v.then));
  if (count == 0) return NULL;
  if (has_in(n, RESIDUAL) && dev_count(p, dev_in(n, RESIDUAL)) != count)
    return dev_refuse(p, "Z of another shape than the output");
  dev_ref y = dev_value(p, v.then.out);
  v.from = dev_value(p, dev_in(n, X)), v.to = y;
  if (has_in(n, RESIDUAL)) v.residual = dev_value(p, dev_in(n, RESIDUAL));
  if (product) return emit_product(p, n, &v);
  v.from = dev_temp(p, (size_t)dev_count(p, dev_in(n, X)) * item), v.to = dev_temp(p, (size_t)count * item);
  DEV_TRY(turn(p, &v.x, dtype, false, dev_value(p, dev_in(n, X)), v.from));
  if (has_in(n, RESIDUAL)) {
    v.residual = dev_temp(p, (size_t)count * item);
    DEV_TRY(turn(p, &v.y, dtype, false, dev_value(p, dev_in(n, RESIDUAL)), v.residual));
  }
  DEV_TRY(dev_emit_conv_planes(p, n, &v));
  return turn(p, &v.y, dtype, true, v.to, y);
}

static const char *const names[] = {"NhwcConv", "NhwcFusedConv", NULL};
DEV_OP(conv_nhwc) = {"com.microsoft", names, dev_conv_takes, emit};
