/* SPDX-License-Identifier: Apache-2.0
 * device/ops/channels.c - BatchNormalization with given statistics, LRN. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/channels_params.h"

static bool is_batch_norm(const dev_node *n) { return strcmp(dev_node_op(n), "BatchNormalization") == 0; }

static const char *takes(const dev_node *n) {
  if (dev_attr_int(n, "training_mode", 0) || (dev_node_version(n) < 7 && !dev_attr_int(n, "is_test", 0)))
    return is_batch_norm(n) ? REASON("inference", "{>1}") : NULL;
  if (dev_node_version(n) < 9 && !dev_attr_int(n, "spatial", 1))
    return REASON("statistics of whole channels", "{spatial}");
  for (size_t i = 1; i < n->host->node_out_count(n->graph, n->index); i++)
    if (dev_out(n, i) != UINT32_MAX) return REASON("no statistics as outputs", "{>1}, {>2}");
  return dev_takes_real(n, 2, OX_MAX_RANK);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  dev_tail then, none;
  DEV_TRY(dev_take_tail(p, n, &then));
  none = dev_tail_none(then.out);
  channels_params params = {.n = (int)dev_count(p, dev_in(n, 0)),
                            .channels = (int)x->dim[1],
                            .inner = (int)dev_span(x, 2, x->rank),
                            .epsilon = dev_attr_float(n, "epsilon", 1e-5f),
                            .size = (int)dev_attr_int(n, "size", 1),
                            .alpha = dev_attr_float(n, "alpha", 1e-4f),
                            .beta = dev_attr_float(n, "beta", 0.75f),
                            .bias = dev_attr_float(n, "bias", 1)};
  dev_call c = {.source = "channels",
                .kernel = is_batch_norm(n) ? "batch_norm" : "lrn",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                DEV_PARAMS(params)};
  dev_ref y = dev_value(p, then.out);
  size_t n_in = is_batch_norm(n) ? 5 : 1;
  for (size_t i = 0; i < n_in; i++) c.buffers[c.n_buffers++] = dev_value(p, dev_in(n, i));
  c.buffers[c.n_buffers] = y, c.written = 1u << c.n_buffers++;
  bool fits = n_in == 1 || then.operands[2].kind == DEV_REF_NONE; /* BatchNormalization leaves two buffers of eight */
  const dev_tail *tail = fits ? &then : &none;
  params.tail = tail->params;
  for (int i = 0; i < TAIL_OPERANDS && c.n_buffers < DEV_MAX_BUFFERS; i++) c.buffers[c.n_buffers++] = tail->operands[i];
  DEV_TRY(dev_emit_items(p, &c, params.n));
  return fits ? NULL : dev_emit_tail(p, &then, y, c.dtype, params.n);
}

static const char *const names[] = {"BatchNormalization", "LRN", NULL};
DEV_OP(channels) = {"", names, takes, emit};
