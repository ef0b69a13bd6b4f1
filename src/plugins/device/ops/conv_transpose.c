/* SPDX-License-Identifier: Apache-2.0
 * device/ops/conv_transpose.c - ConvTranspose of up to three axes: a product of the transposed weights and X, then each
 * output element sums the columns mapped to it (col2im). */
#include <limits.h>
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/conv_params.h"

static const char *takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 3, 5);
  if (why) return why;
  return dev_in_rank(n, 1) == dev_in_rank(n, 0) ? NULL : REASON("weights of the input's rank", "{0}, {1}");
}

/* Sets the padding, derived from the output's shape where it is not given. */
static void read_pads(const dev_node *n, dev_window *w) {
  int64_t output_padding[3] = {0, 0, 0};
  bool given = dev_attr_is(n, "auto_pad", "NOTSET", "NOTSET"),
       upper = dev_attr_is(n, "auto_pad", "SAME_UPPER", "NOTSET");
  bool shaped = dev_attr_ints(n, "output_shape", (int64_t[3]){0}, 3) > 0;
  dev_attr_ints(n, "output_padding", output_padding, 3);
  for (int i = 0; i < 3; i++) {
    int a = i - (3 - w->axes);
    if (a < 0 || dev_attr_is(n, "auto_pad", "VALID", "NOTSET")) continue;
    if (given && !shaped) continue;
    int total =
        (w->in[i] - 1) * w->stride[i] + (int)output_padding[a] + (w->kernel[i] - 1) * w->dilation[i] + 1 - w->out[i];
    if (total < 0) total = 0;
    w->before[i] = upper ? total / 2 : total - total / 2;
  }
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *f = dev_shape(p, dev_in(n, 1)), *y = dev_shape(p, dev_out(n, 0));
  int64_t group = dev_attr_int(n, "group", 1), o = f->dim[1], pixels = dev_span(x, 2, x->rank);
  int64_t taps = dev_span(f, 2, f->rank), images = x->dim[0];
  uint32_t dtype = dev_dtype(p, dev_in(n, 0));
  dev_tail bias, then, joined;
  dev_window w;
  if (group < 1 || x->dim[1] % group || f->dim[0] != x->dim[1])
    return dev_refuse(p, "channels of X and groups do not fit");
  int64_t c = x->dim[1] / group, out_pixels = dev_span(y, 2, y->rank), count = images * group * o * out_pixels;
  DEV_TRY(dev_take_tail(p, n, &then));
  if (count == 0) return NULL;
  if ((double)images * (double)(group * o) * (double)taps * (double)pixels > INT_MAX)
    return dev_refuse(p, "columns of more than 2^31 - 1 elements");
  dev_window_read(p, n, f, dev_out(n, 0), &w);
  if (!dev_attr_is(n, "auto_pad", "NOTSET", "NOTSET")) w.before[0] = w.before[1] = w.before[2] = 0;
  read_pads(n, &w);
  dev_product m;
  memset(&m, 0, sizeof m);
  gemm_params *g = &m.g;
  g->m = (int)(o * taps), g->n = (int)pixels, g->k = (int)c;
  g->a_row = 1, g->a_col = g->m, g->b_row = g->n, g->b_col = 1;
  for (int i = 0; i < GEMM_BATCHES - 2; i++) g->batch[i] = 1;
  g->batch[GEMM_BATCHES - 2] = (int)images, g->batch[GEMM_BATCHES - 1] = (int)group;
  g->b_batch[GEMM_BATCHES - 2] = (int)(group * c * pixels);
  g->a_batch[GEMM_BATCHES - 1] = (int)(c * o * taps), g->b_batch[GEMM_BATCHES - 1] = (int)(c * pixels);
  m.dtype = dtype, m.a = dev_value(p, dev_in(n, 1)), m.b = dev_value(p, dev_in(n, 0));
  m.c = dev_temp(p, (size_t)(images * group * o * taps * pixels) * (dtype == OX_F16 ? 2 : 4));
  DEV_TRY(dev_emit_product(p, &m));
  bias = dev_tail_none(then.out);
  if (dev_in_count(n) > 2 && dev_in(n, 2) != UINT32_MAX)
    dev_tail_operand(&bias, TAIL_ADD, dev_value(p, dev_in(n, 2)), out_pixels, group * o);
  bool join = dev_tail_join(&bias, &then, &joined);
  conv_params params = {.pixels = (int)out_pixels, .n = (int)count, .tail = join ? joined.params : bias.params};
  memcpy(params.in, w.in, sizeof params.in), memcpy(params.out, w.out, sizeof params.out);
  memcpy(params.extent, w.kernel, sizeof params.extent), memcpy(params.stride, w.stride, sizeof params.stride);
  memcpy(params.dilation, w.dilation, sizeof params.dilation), memcpy(params.pad, w.before, sizeof params.pad);
  dev_call gather = {.source = "conv_direct",
                     .kernel = "conv_gather",
                     .dtype = dtype,
                     .n_buffers = 2,
                     .buffers = {m.c, dev_value(p, then.out)},
                     .written = 1u << 1,
                     DEV_PARAMS(params)};
  dev_call_tail(&gather, join ? &joined : &bias);
  DEV_TRY(dev_emit_items(p, &gather, count));
  return join ? NULL : dev_emit_tail(p, &then, dev_value(p, then.out), dtype, count);
}

static const char *const names[] = {"ConvTranspose", NULL};
DEV_OP(conv_transpose) = {"", names, takes, emit};
