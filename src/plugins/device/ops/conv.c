/* SPDX-License-Identifier: Apache-2.0
 * device/ops/conv.c - Conv of up to three axes, and com.microsoft's FusedConv with a residual and an activation: by a
 * vendor's library, as a plain product (1 x 1), as an implicit GEMM, or directly where a group has few outputs. */
#include <limits.h>
#include <string.h>

#include "plugins/device/convolution.h"
#include "plugins/device/kernels/conv_params.h"
#include "plugins/device/tail.h"

enum { FEW_OUTPUTS = 8, BIAS = 2, RESIDUAL = 3 };

const char *dev_conv_takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 3, 5);
  dev_tail t = dev_tail_none(UINT32_MAX);
  if (why) return why;
  if (!dev_tail_activation(n, &t)) return REASON("an activation that its kernels apply", "{activation}");
  return dev_in_rank(n, 1) == dev_in_rank(n, 0) ? NULL : REASON("weights of the input's rank", "{0}, {1}");
}

typedef struct conv {
  dev_window w;
  int64_t images, group, c, o, pixels, in_pixels; /* c, o: per group */
  dev_ref x, weights, y;
  uint32_t dtype;
  dev_tail bias, then;
} conv;

static bool is_product(const conv *v) {
  for (int i = 0; i < 3; i++)
    if (v->w.kernel[i] != 1 || v->w.stride[i] != 1 || v->w.before[i] || v->w.after[i]) return false;
  return true;
}

static ox_status *emit_product(dev_plan *p, const conv *v) {
  dev_product x;
  memset(&x, 0, sizeof x);
  gemm_params *g = &x.g;
  for (int i = 0; i < GEMM_BATCHES; i++) g->batch[i] = 1;
  int at = GEMM_BATCHES - 1;
  g->m = (int)v->o, g->k = (int)v->c, g->n = (int)v->pixels;
  g->a_row = g->k, g->a_col = 1, g->b_row = g->n, g->b_col = 1;
  if (v->group > 1) {
    g->batch[at] = (int)v->group, g->a_batch[at] = (int)(v->o * v->c), g->b_batch[at] = (int)(v->c * v->pixels);
    at--;
  }
  g->batch[at] = (int)v->images, g->b_batch[at] = (int)(v->group * v->c * v->pixels);
  x.dtype = v->dtype, x.a = v->weights, x.b = v->x, x.c = v->y, x.first = &v->bias, x.then = &v->then;
  return dev_emit_product(p, &x);
}

static ox_status *call_conv(dev_plan *p, const void *shape, const dev_ref buffers[DEV_CALL_BUFFERS], bool *out_taken) {
  return dev_emit_conv(p, shape, buffers, out_taken);
}

static ox_status *try_library(dev_plan *p, const conv *v, const dev_tail *tail, int64_t count, bool *out_taken,
                              bool *out_finished) {
  const dev_window *w = &v->w;
  dev_conv shape = {.dtype = v->dtype,
                    .n = v->images,
                    .c = v->group * v->c,
                    .h = w->in[1],
                    .w = w->in[2],
                    .o = v->group * v->o,
                    .kh = w->kernel[1],
                    .kw = w->kernel[2],
                    .group = v->group,
                    .stride = {w->stride[1], w->stride[2]},
                    .dilation = {w->dilation[1], w->dilation[2]},
                    .pads = {w->before[1], w->before[2], w->after[1], w->after[2]},
                    .oh = w->out[1],
                    .ow = w->out[2]};
  dev_library_call c = {.emit = call_conv,
                        .shape = &shape,
                        .after = &shape.after,
                        .buffers = {v->x, v->weights, v->y},
                        .n = count,
                        .div = v->pixels,
                        .mod = v->group * v->o};
  *out_taken = *out_finished = false;
  return w->axes > 2 ? NULL : dev_try_library(p, &c, tail, out_taken, out_finished);
}

static bool is_depthwise3(const dev_window *w, int64_t c) {
  return c == 1 && w->kernel[0] == 1 && w->in[0] == 1 && w->kernel[1] == 3 && w->kernel[2] == 3 &&
         w->dilation[1] == 1 && w->dilation[2] == 1 && !w->before[0] && !w->after[0];
}

static ox_status *emit_kernel(dev_plan *p, const conv *v, const dev_tail *tail) {
  const dev_window *w = &v->w;
  int64_t taps = (int64_t)w->kernel[0] * w->kernel[1] * w->kernel[2], columns = v->images * v->pixels;
  conv_params params = {.group = (int)v->group,
                        .c = (int)v->c,
                        .o = (int)v->o,
                        .k = (int)(v->c * taps),
                        .pixels = (int)v->pixels,
                        .columns = (int)columns,
                        .wide = v->c * taps % 4 == 0,
                        .n = (int)(columns * v->group * v->o),
                        .tail = tail->params};
  memcpy(params.in, w->in, sizeof params.in), memcpy(params.out, w->out, sizeof params.out);
  memcpy(params.extent, w->kernel, sizeof params.extent), memcpy(params.stride, w->stride, sizeof params.stride);
  memcpy(params.dilation, w->dilation, sizeof params.dilation), memcpy(params.pad, w->before, sizeof params.pad);
  dev_call c = {.source = "conv_direct",
                .kernel = "conv_direct",
                .dtype = v->dtype,
                .n_buffers = 3,
                .buffers = {v->x, v->weights, v->y},
                .written = 1u << 2,
                DEV_PARAMS(params)};
  dev_call_tail(&c, tail);
  if (is_depthwise3(w, v->c)) {
    c.kernel = "conv_depthwise3", params.n = (int)(v->images * v->group * v->o * w->out[1] * ((w->out[2] + 3) / 4));
    return dev_emit_items(p, &c, params.n);
  }
  if (v->o < FEW_OUTPUTS && v->group > 1) return dev_emit_items(p, &c, params.n);
  int64_t large = v->group * dev_groups(v->o, 128) * dev_groups(columns, 128);
  int64_t groups = v->group * dev_groups(v->o, 64) * dev_groups(columns, 64);
  c.source = c.kernel = "conv64", c.items = 256;
  if (dev_plan_device(p)->is_cpu) {
    c.source = "plain", c.kernel = "plain_conv", c.items = PLAIN_ITEMS;
    groups = v->group * dev_groups(v->o, PLAIN_ROWS) * dev_groups(columns, PLAIN_ITEMS);
  } else if (v->o > 64 && large >= dev_plan_device(p)->n_units)
    c.source = c.kernel = "conv128", groups = large;
  if (groups > INT_MAX) return dev_refuse(p, "a convolution of too many tiles");
  c.groups[0] = (uint32_t)groups;
  return dev_emit(p, &c);
}

/* Sets the bias, and the residual and activation of a fused convolution. */
static ox_status *add_terms(dev_plan *p, const dev_node *n, const dev_planes *planes, conv *v, int64_t count) {
  if (dev_in_count(n) > BIAS && dev_in(n, BIAS) != UINT32_MAX)
    dev_tail_operand(&v->bias, TAIL_ADD, dev_value(p, dev_in(n, BIAS)), v->pixels, v->group * v->o);
  if (planes->residual.kind != DEV_REF_NONE) {
    if (dev_count(p, dev_in(n, RESIDUAL)) != count) return dev_refuse(p, "Z of another shape than the output");
    dev_tail_operand(&v->bias, TAIL_ADD, planes->residual, 1, count);
  }
  return dev_tail_activation(n, &v->bias) ? NULL : dev_refuse(p, "an activation that is not known");
}

ox_status *dev_conv_check(dev_plan *p, const dev_node *n, const ox_shape *x) {
  const ox_shape *f = dev_shape(p, dev_in(n, 1));
  int64_t group = dev_attr_int(n, "group", 1);
  if (group < 1 || x->dim[1] != group * f->dim[1] || f->dim[0] % group)
    return dev_refuse(p, "channels of X, of the weights and groups do not fit");
  return NULL;
}

ox_status *dev_emit_conv_planes(dev_plan *p, const dev_node *n, const dev_planes *planes) {
  const ox_shape *f = dev_shape(p, dev_in(n, 1)), *y = &planes->y;
  conv v = {.images = y->dim[0],
            .group = dev_attr_int(n, "group", 1),
            .c = f->dim[1],
            .pixels = dev_span(y, 2, y->rank),
            .x = planes->from,
            .weights = dev_value(p, dev_in(n, 1)),
            .y = planes->to,
            .dtype = dev_dtype(p, dev_in(n, 0)),
            .then = planes->then};
  dev_tail joined;
  bool taken, finished;
  v.o = f->dim[0] / v.group, v.bias = dev_tail_none(v.then.out);
  dev_window_of(n, &planes->x, y, f, &v.w);
  int64_t count = v.images * v.group * v.o * v.pixels;
  DEV_TRY(add_terms(p, n, planes, &v, count));
  bool join = dev_tail_join(&v.bias, &v.then, &joined);
  DEV_TRY(try_library(p, &v, join ? &joined : NULL, count, &taken, &finished));
  if (finished) return NULL;
  if (!taken && is_product(&v)) return emit_product(p, &v);
  if (!taken) DEV_TRY(emit_kernel(p, &v, join ? &joined : &v.bias));
  if (taken && !join) DEV_TRY(dev_emit_tail(p, &v.bias, v.y, v.dtype, count));
  if (join) return taken ? dev_emit_tail(p, &joined, v.y, v.dtype, count) : NULL;
  return dev_emit_tail(p, &v.then, v.y, v.dtype, count);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  dev_planes v = {.x = *dev_shape(p, dev_in(n, 0)), .y = *dev_shape(p, dev_out(n, 0))};
  DEV_TRY(dev_conv_check(p, n, &v.x));
  DEV_TRY(dev_take_tail(p, n, &v.then));
  if (dev_count(p, dev_out(n, 0)) == 0) return NULL;
  v.from = dev_value(p, dev_in(n, 0)), v.to = dev_value(p, v.then.out);
  if (dev_in_count(n) > RESIDUAL) v.residual = dev_value(p, dev_in(n, RESIDUAL));
  return dev_emit_conv_planes(p, n, &v);
}

static const char *const names[] = {"Conv", "com.microsoft:FusedConv", NULL};
DEV_OP(conv) = {"", names, dev_conv_takes, emit};
