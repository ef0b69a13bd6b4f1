/* SPDX-License-Identifier: Apache-2.0
 * device/ops/qconv.c - ConvInteger and QLinearConv, also com.microsoft's with channels last: in tiles, or directly
 * where a group has few outputs. */
#include <limits.h>
#include <string.h>

#include "plugins/device/qproduct.h"

enum { FEW_OUTPUTS = 8 };

#define NO DEV_Q_ABSENT
static const dev_q_inputs integer = {"ConvInteger", 0, 1, 2, 3, NO, NO, NO, NO, NO, NO, false, 0};
static const dev_q_inputs linear = {"QLinearConv", 0, 3, 2, 5, 1, 4, 6, 7, 8, NO, false, 0};

static const dev_q_inputs *inputs_of(const dev_node *n) {
  return strcmp(dev_node_op(n), integer.name) == 0 ? &integer : &linear;
}

static const char *takes(const dev_node *n) {
  const dev_q_inputs *in = inputs_of(n);
  const char *why = dev_q_takes(n, in);
  if (why) return why;
  int rank = dev_in_rank(n, in->x);
  if (rank < 3 || rank > 5) return REASON("3 to 5 axes", "{inputs}");
  return dev_in_rank(n, in->w) == rank ? NULL : REASON("weights of the input's rank", "{inputs}");
}

static void fill(const dev_window *w, qconv_params *q) {
  memcpy(q->in, w->in, sizeof q->in), memcpy(q->out, w->out, sizeof q->out);
  memcpy(q->extent, w->kernel, sizeof q->extent), memcpy(q->stride, w->stride, sizeof q->stride);
  memcpy(q->dilation, w->dilation, sizeof q->dilation), memcpy(q->pad, w->before, sizeof q->pad);
}

/* Sets the strides of X and Y. */
static void place(qconv_params *q, bool last) {
  int channels = q->group * q->c, outputs = q->group * q->o, volume = q->in[0] * q->in[1] * q->in[2];
  q->x_image = channels * volume, q->y_image = outputs * q->pixels;
  q->x_channel = last ? 1 : volume, q->x_pixel = last ? channels : 1;
  q->y_channel = last ? 1 : q->pixels, q->y_pixel = last ? outputs : 1;
}

static ox_status *emit_direct(dev_plan *p, const dev_node *n, const dev_q_inputs *in, qconv_params *q, dev_ref head,
                              uint32_t out) {
  q->n = q->columns / q->pixels * q->group * q->o * q->out[0] * q->out[1] * ((q->out[2] + 3) / 4);
  dev_call c = {
      .source = "qconv_direct",
      .kernel = "qconv_direct",
      .dtype = OX_F32,
      .n_buffers = 7,
      .written = 1u << 6,
      .params = q,
      .params_bytes = sizeof *q,
      .buffers = {dev_value(p, dev_in(n, in->x)), dev_value(p, dev_in(n, in->w)), head, dev_q_value(p, n, in->x_zero),
                  dev_q_value(p, n, in->w_zero), dev_q_value(p, n, in->y_zero), dev_value(p, out)}};
  return dev_emit_items(p, &c, q->n);
}

static ox_status *emit_tiles(dev_plan *p, const dev_node *n, const dev_q_inputs *in, qconv_params *q, dev_ref packed,
                             dev_ref head, uint32_t out) {
  int64_t small = (int64_t)q->group * dev_groups(q->o, 64) * dev_groups(q->columns, 64);
  int64_t large = (int64_t)q->group * dev_groups(q->o, 128) * dev_groups(q->columns, 128);
  bool wide = q->o > 64 && large >= dev_plan_device(p)->n_units;
  if (small > INT_MAX) return dev_refuse(p, "a convolution of too many tiles");
  q->splits = dev_q_splits(p, small, q->k4, &q->k_each);
  qfinish_params last = {.n = q->columns * q->group * q->o,
                         .splits = q->splits,
                         .inner = q->y_channel,
                         .rows = q->group * q->o,
                         .x_kind = q->x_kind,
                         .y_kind = q->y_kind,
                         .low = q->low,
                         .high = q->high,
                         .x_zero_step = q->has_x_zero - 1,
                         .x_scale_step = -1,
                         .has_y_zero = q->has_y_zero};
  dev_q_sums s = {dev_q_left_of(p, n, in), dev_value(p, out), head, dev_value(p, out)};
  if (q->splits > 1) s.parts = dev_temp(p, (size_t)q->splits * (size_t)last.n * 4);
  dev_call c = {.source = wide ? "qconv128" : "qconv64",
                .kernel = wide ? "qconv128" : "qconv64",
                .dtype = OX_F32,
                .groups = {(uint32_t)(wide ? large : small), (uint32_t)q->splits},
                .items = 256,
                .n_buffers = 6,
                .written = 1u << 5,
                .params = q,
                .params_bytes = sizeof *q,
                .buffers = {s.left.x, packed, head, s.left.zero, dev_q_value(p, n, in->y_zero), s.parts}};
  DEV_TRY(dev_emit(p, &c));
  return q->splits > 1 ? dev_q_finish(p, n, in, &last, &s) : NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const dev_q_inputs *in = inputs_of(n);
  const ox_shape *f = dev_shape(p, dev_in(n, in->w));
  ox_shape x = *dev_shape(p, dev_in(n, in->x)), y = *dev_shape(p, dev_out(n, 0));
  bool last = dev_attr_int(n, "channels_last", 0) != 0;
  int64_t group = dev_attr_int(n, "group", 1), taps = dev_span(f, 2, f->rank);
  dev_ref packed = {DEV_REF_NONE, 0, 0}, head = packed;
  dev_window window;
  if (last) x = dev_channels_first(&x), y = dev_channels_first(&y);
  if (group < 1 || x.dim[1] != group * f->dim[1] || f->dim[0] % group)
    return dev_refuse(p, "channels of X, of the weights and groups do not fit");
  if (dev_q_has(n, in->x_zero) && dev_count(p, dev_in(n, in->x_zero)) != 1)
    return dev_refuse(p, "zero points of X that do not fit");
  if (dev_count(p, dev_out(n, 0)) == 0) return NULL;
  dev_window_of(n, &x, &y, f, &window);
  qconv_params q = {.group = (int)group,
                    .c = (int)f->dim[1],
                    .o = (int)(f->dim[0] / group),
                    .c4 = f->dim[1] ? (int)((f->dim[1] + 3) / 4) : 1,
                    .k4 = (int)((f->dim[1] + 3) / 4 * taps),
                    .pixels = (int)dev_span(&y, 2, y.rank),
                    .columns = (int)(x.dim[0] * dev_span(&y, 2, y.rank)),
                    .x_kind = dev_q_kind(dev_in_dtype(n, in->x)),
                    .w_kind = dev_q_kind(dev_in_dtype(n, in->w)),
                    .y_kind = dev_q_kind(dev_dtype(p, dev_out(n, 0))),
                    .has_x_zero = dev_q_has(n, in->x_zero),
                    .has_y_zero = dev_q_has(n, in->y_zero),
                    .has_w_zero = dev_q_has_w_zero(n, in)};
  q.w_zero_step = !dev_q_has(n, in->w_zero) ? -1 : dev_count(p, dev_in(n, in->w_zero)) > 1;
  fill(&window, &q);
  place(&q, last);
  uint32_t out = dev_q_cut(p, n, q.y_kind, &q.low, &q.high);
  qweights_params w = {.rows = q.o,
                       .c = q.c,
                       .taps = (int)taps,
                       .group_step = (int)(q.o * q.c * taps),
                       .row_step = (int)(q.c * taps),
                       .c_step = (int)taps,
                       .tap_step = 1,
                       .alpha = 1};
  bool direct = (q.o < FEW_OUTPUTS && q.group > 1) || dev_plan_device(p)->is_cpu;
  DEV_TRY(dev_q_weights(p, n, in, group, !direct, w, &packed, &head));
  return direct ? emit_direct(p, n, in, &q, head, out) : emit_tiles(p, n, in, &q, packed, head, out);
}

static const char *const names[] = {"ConvInteger", "QLinearConv", "com.microsoft:QLinearConv", NULL};
DEV_OP(qconv) = {"", names, takes, emit};
