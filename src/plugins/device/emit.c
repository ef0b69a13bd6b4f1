/* SPDX-License-Identifier: Apache-2.0
 * device/emit.c - see emit.h. */
#include "plugins/device/emit.h"

#include <string.h>

#include "base/macros.h"
#include "plugins/device/kernels/tail_alone_params.h"

uint32_t dev_groups(int64_t n, int64_t items) { return n <= 0 ? 0 : (uint32_t)((n - 1) / items + 1); }

ox_status *dev_emit_items(dev_plan *p, dev_call *c, int64_t n) {
  if (n <= 0) return NULL;
  c->groups[0] = dev_groups(n, 256), c->items = 256;
  return dev_emit(p, c);
}

const char *dev_takes_real(const dev_node *n, int least, int most) {
  if (!dev_all_real(n)) return REASON("float32 or float16 of known ranks, and one type of floats", "{inputs}");
  return dev_takes_rank(n, 0, least, most);
}

#define AT_LEAST(n) REASON("at least " #n " axes", "{inputs}")
#define AT_MOST(n) REASON("at most " #n " axes", "{inputs}")

const char *dev_takes_rank(const dev_node *n, size_t in, int least, int most) {
  static const char *const too_few[] = {NULL, REASON("at least one axis", "{inputs}"), AT_LEAST(2), AT_LEAST(3),
                                        AT_LEAST(4)};
  static const char *const too_many[] = {AT_MOST(2), AT_MOST(3), AT_MOST(4), AT_MOST(5),
                                         AT_MOST(6), AT_MOST(7), AT_MOST(8)};
  int rank = dev_in_rank(n, in);
  if (rank >= 0 && rank >= least && rank <= most) return NULL;
  if (rank < 0) return REASON("known ranks", "{inputs}");
  if (rank < least) return too_few[OX_MIN(least, 4)];
  return too_many[OX_MAX(2, OX_MIN(most, 8)) - 2];
}

int dev_axis(int64_t axis, int rank) {
  if (axis < 0) axis += rank;
  return axis < 0 || axis >= rank ? -1 : (int)axis;
}

int64_t dev_span(const ox_shape *s, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; i++) n *= s->dim[i];
  return n;
}

void dev_broadcast_steps(const ox_shape *o, const ox_shape *y, int *out) {
  int stride = 1;
  for (int d = 0; d < y->rank; d++) {
    int at = o->rank - 1 - d, dim = at >= 0 ? (int)o->dim[at] : 1;
    out[d] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
}

ox_shape dev_channels_first(const ox_shape *s) {
  ox_shape to = *s;
  to.dim[1] = s->dim[s->rank - 1];
  for (int i = 2; i < s->rank; i++) to.dim[i] = s->dim[i - 1];
  return to;
}

void dev_window_read(const dev_plan *p, const dev_node *n, const ox_shape *kernel, uint32_t out, dev_window *w) {
  dev_window_of(n, dev_shape(p, dev_in(n, 0)), dev_shape(p, out), kernel, w);
}

void dev_window_of(const dev_node *n, const ox_shape *x, const ox_shape *y, const ox_shape *kernel, dev_window *w) {
  int64_t shape[3], strides[3], dilations[3], pads[6];
  int axes = w->axes = x->rank - 2;
  size_t n_shape = dev_attr_ints(n, "kernel_shape", shape, 3), n_strides = dev_attr_ints(n, "strides", strides, 3);
  size_t n_dilations = dev_attr_ints(n, "dilations", dilations, 3), n_pads = dev_attr_ints(n, "pads", pads, 6);
  bool upper = dev_attr_is(n, "auto_pad", "SAME_UPPER", "NOTSET");
  bool same = upper || dev_attr_is(n, "auto_pad", "SAME_LOWER", "NOTSET");
  bool given = dev_attr_is(n, "auto_pad", "NOTSET", "NOTSET") && n_pads;
  for (int i = 0; i < 3; i++) {
    int a = i - (3 - axes);
    w->in[i] = w->out[i] = w->kernel[i] = w->stride[i] = w->dilation[i] = 1, w->before[i] = w->after[i] = 0;
    if (a < 0) continue;
    w->in[i] = (int)x->dim[a + 2], w->out[i] = (int)y->dim[a + 2];
    w->kernel[i] = (int)(n_shape ? shape[a] : kernel ? kernel->dim[a + 2] : 1);
    if (n_strides) w->stride[i] = (int)strides[a];
    if (n_dilations) w->dilation[i] = (int)dilations[a];
    if (given) w->before[i] = (int)pads[a], w->after[i] = (int)pads[axes + a];
    if (!same) continue;
    int total = (w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - w->in[i];
    if (total < 0) total = 0;
    w->before[i] = upper ? total / 2 : total - total / 2, w->after[i] = total - w->before[i];
  }
}

/* ---- tails ---- */

dev_tail dev_tail_none(uint32_t out) {
  dev_tail t;
  memset(&t, 0, sizeof t);
  t.out = out;
  return t;
}

static int operand_count(const dev_tail *t) {
  int n = 0;
  for (int i = 0; i < t->params.n; i++)
    if (t->params.step[i].op < TAIL_ABS && t->params.step[i].operand >= n) n = t->params.step[i].operand + 1;
  return n;
}

void dev_tail_operand(dev_tail *t, int op, dev_ref operand, int64_t div, int64_t mod) {
  int at = operand_count(t);
  t->operands[at] = operand;
  t->params.step[t->params.n++] = (tail_step){op, at, div > 0 ? (int)div : 1, mod > 0 ? (int)mod : 1, 0, 0};
}

void dev_tail_constant(dev_tail *t, int op, float a) {
  t->params.step[t->params.n++] = (tail_step){op, -1, 1, 1, a, 0};
}

bool dev_tail_join(const dev_tail *first, const dev_tail *then, dev_tail *out) {
  int n = first->params.n, shift = operand_count(first), more = operand_count(then);
  if (n + then->params.n > TAIL_STEPS || shift + more > TAIL_OPERANDS) return false;
  *out = *first;
  out->out = then->out, out->params.n = n + then->params.n;
  for (int i = 0; i < then->params.n; i++) {
    out->params.step[n + i] = then->params.step[i];
    if (then->params.step[i].op < TAIL_ABS && then->params.step[i].operand >= 0)
      out->params.step[n + i].operand += shift;
  }
  for (int i = 0; i < more; i++) out->operands[shift + i] = then->operands[i];
  return true;
}

void dev_call_tail(dev_call *c, const dev_tail *t) {
  for (int i = 0; i < TAIL_OPERANDS; i++) c->buffers[c->n_buffers++] = t->operands[i];
}

bool dev_tail_after(const dev_tail *t, int64_t n, int64_t div, int64_t mod, dev_after *out, dev_ref *out_bias,
                    dev_ref *out_add) {
  memset(out, 0, sizeof *out);
  for (int i = 0; i < t->params.n; i++) {
    const tail_step *s = &t->params.step[i];
    if (out->relu) return false;
    if (s->op == TAIL_RELU) {
      out->relu = true;
    } else if (s->op != TAIL_ADD || s->operand < 0) {
      return false;
    } else if (s->div == div && s->mod == mod && !out->with_bias) {
      out->with_bias = true, *out_bias = t->operands[s->operand];
    } else if (s->div == 1 && s->mod == n && !out->with_add) {
      out->with_add = true, *out_add = t->operands[s->operand];
    } else {
      return false;
    }
  }
  return t->params.n > 0;
}

ox_status *dev_emit_tail(dev_plan *p, const dev_tail *t, dev_ref y, uint32_t dtype, int64_t n) {
  if (t->params.n == 0) return NULL;
  tail_alone_params params = {(int)n, t->params};
  dev_call c = {.source = "tail_alone",
                .kernel = "tail_alone",
                .dtype = dtype,
                .n_buffers = 1,
                .buffers = {y},
                .written = 1,
                DEV_PARAMS(params)};
  dev_call_tail(&c, t);
  return dev_emit_items(p, &c, n);
}

ox_status *dev_try_library(dev_plan *p, dev_library_call *c, const dev_tail *tail, bool *out_taken,
                           bool *out_finished) {
  *out_taken = false;
  *out_finished = tail && dev_tail_after(tail, c->n, c->div, c->mod, c->after, &c->buffers[DEV_CALL_BIAS],
                                         &c->buffers[DEV_CALL_ADD]);
  if (*out_finished) DEV_TRY(c->emit(p, c->shape, c->buffers, out_taken));
  if (*out_taken) return NULL;
  *out_finished = false;
  memset(c->after, 0, sizeof *c->after);
  c->buffers[DEV_CALL_BIAS] = c->buffers[DEV_CALL_ADD] = (dev_ref){0};
  return c->emit(p, c->shape, c->buffers, out_taken);
}
