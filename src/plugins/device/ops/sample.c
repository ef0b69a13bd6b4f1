/* SPDX-License-Identifier: Apache-2.0
 * device/ops/sample.c - GridSample over up to three axes. */
#include "plugins/device/emit.h"
#include "plugins/device/kernels/sample_params.h"

static const struct {
  const char *name;
  int mode;
} modes[] = {{"nearest", SAMPLE_NEAREST},
             {"linear", SAMPLE_LINEAR},
             {"bilinear", SAMPLE_LINEAR},
             {"cubic", SAMPLE_CUBIC},
             {"bicubic", SAMPLE_CUBIC}};
static const char *const pads[] = {"zeros", "border", "reflection"};

/* Reads the modes; false: not supported. */
static bool read_modes(const dev_node *n, sample_params *q) {
  size_t m = 0, pad = 0;
  while (m < DEV_LENGTH(modes) && !dev_attr_is(n, "mode", modes[m].name, "linear")) m++;
  while (pad < DEV_LENGTH(pads) && !dev_attr_is(n, "padding_mode", pads[pad], "zeros")) pad++;
  if (m == DEV_LENGTH(modes) || pad == DEV_LENGTH(pads)) return false;
  q->mode = modes[m].mode, q->pad = (int)pad;
  return true;
}

static const char *takes(const dev_node *n) {
  sample_params q;
  const char *why = dev_takes_real(n, 3, 5);
  if (why) return why;
  return read_modes(n, &q) ? NULL : REASON("a mode that its kernels have", "{mode}, {padding_mode}");
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *grid = dev_shape(p, dev_in(n, 1)), *y = dev_shape(p, dev_out(n, 0));
  sample_params q = {.images = (int)x->dim[0],
                     .channels = (int)x->dim[1],
                     .points = (int)dev_span(y, 2, y->rank),
                     .axes = x->rank - 2,
                     .in = {1, 1, 1},
                     .align_corners = dev_attr_int(n, "align_corners", 0) != 0};
  if (!read_modes(n, &q) || grid->rank != x->rank || grid->dim[x->rank - 1] != q.axes || grid->dim[0] != x->dim[0])
    return dev_refuse(p, "a grid that does not fit X");
  for (int a = 0; a < q.axes; a++) q.in[3 - q.axes + a] = (int)x->dim[a + 2];
  if (dev_count(p, dev_out(n, 0)) == 0) return NULL;
  if (dev_count(p, dev_in(n, 0)) == 0) return dev_refuse(p, "X is empty");
  q.n = q.images * (int)dev_groups(q.channels, SAMPLE_CHANNELS) * q.points;
  dev_call c = {.source = "sample",
                .kernel = "grid_sample",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 3,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 2,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.n);
}

static const char *const names[] = {"GridSample", NULL};
DEV_OP(sample) = {"", names, takes, emit};
