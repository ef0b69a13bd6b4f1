/* SPDX-License-Identifier: Apache-2.0
 * device/ops/col2im.c - Col2Im of up to three axes: each pixel sums the elements mapped to it, as in ConvTranspose. */
#include "plugins/device/emit.h"
#include "plugins/device/kernels/conv_params.h"

enum { MOST_AXES = 3 };

/* Reads the sizes and returns the number of axes; 0: not known. */
static size_t read_shapes(const dev_node *n, int64_t *image, int64_t *block) {
  size_t axes = dev_in_ints(n, 1, image, MOST_AXES);
  return axes != SIZE_MAX && dev_in_ints(n, 2, block, MOST_AXES) == axes ? axes : 0;
}

static const char *takes(const dev_node *n) {
  int64_t image[MOST_AXES], block[MOST_AXES];
  const char *why = dev_takes_real(n, 3, 3);
  if (why) return why;
  return read_shapes(n, image, block) ? NULL : REASON("constant shapes of at most 3 axes", "{1}, {2}");
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  int64_t image[MOST_AXES], block[MOST_AXES], strides[MOST_AXES], dilations[MOST_AXES], pads[2 * MOST_AXES];
  size_t axes = read_shapes(n, image, block), n_strides = dev_attr_ints(n, "strides", strides, MOST_AXES);
  size_t n_dilations = dev_attr_ints(n, "dilations", dilations, MOST_AXES);
  size_t n_pads = dev_attr_ints(n, "pads", pads, sizeof pads / sizeof *pads);
  conv_params q = {.n = (int)dev_count(p, dev_out(n, 0)), .pixels = 1};
  int64_t blocks = 1;
  dev_tail then;
  for (int i = 0; i < 3; i++) {
    int a = i - (3 - (int)axes);
    q.in[i] = q.out[i] = q.extent[i] = q.stride[i] = q.dilation[i] = 1;
    if (a < 0) continue;
    q.out[i] = (int)image[a], q.extent[i] = (int)block[a];
    if (n_strides) q.stride[i] = (int)strides[a];
    if (n_dilations) q.dilation[i] = (int)dilations[a];
    if (n_pads) q.pad[i] = (int)pads[a];
    int64_t room = image[a] + (n_pads ? pads[a] + pads[(int)axes + a] : 0) - (block[a] - 1) * q.dilation[i] - 1;
    q.in[i] = room < 0 ? 0 : (int)(room / q.stride[i]) + 1;
    q.pixels *= q.out[i], blocks *= q.in[i];
  }
  if (dev_shape(p, dev_in(n, 0))->dim[2] != blocks) return dev_refuse(p, "blocks that do not fit the image");
  DEV_TRY(dev_take_tail(p, n, &then));
  q.tail = then.params;
  dev_call c = {.source = "conv_direct",
                .kernel = "conv_gather",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, then.out)},
                .written = 1u << 1,
                DEV_PARAMS(q)};
  dev_call_tail(&c, &then);
  return dev_emit_items(p, &c, q.n);
}

static const char *const names[] = {"Col2Im", NULL};
DEV_OP(col2im) = {"", names, takes, emit};
