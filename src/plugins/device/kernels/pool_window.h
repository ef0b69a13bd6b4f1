/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/pool_window.h - the window of an output element of a pool. Included by kernels. */

typedef struct {
  int z, y, x; /* the window's first position in the input; negative in the padding */
  int plane;   /* index of the first plane of the image or, if channels are not the last axis, of the channel */
  int channel; /* if channels are the last axis; else 0 */
} pool_window;

/* The window of output element |at|. */
FUNCTION pool_window pool_window_of(const pool_params *p, int at) {
  pool_window w;
  int pixel = at / p->inner, rest = pixel / p->out[2];
  w.channel = at % p->inner;
  w.x = pixel % p->out[2] * p->stride[2] - p->pad[2];
  w.y = rest % p->out[1] * p->stride[1] - p->pad[1];
  rest /= p->out[1];
  w.z = rest % p->out[0] * p->stride[0] - p->pad[0], w.plane = rest / p->out[0] * p->in[0];
  return w;
}

FUNCTION int pool_is_inside(const pool_params *p, int z, int y, int x) {
  return z >= 0 && z < p->in[0] && y >= 0 && y < p->in[1] && x >= 0 && x < p->in[2];
}

/* The index of the element in the input. */
FUNCTION int pool_at(const pool_params *p, const pool_window *w, int z, int y, int x) {
  return (((w->plane + z) * p->in[1] + y) * p->in[2] + x) * p->inner + w->channel;
}

/* Loops over the taps of window |w| by depth, row and column; some may be in the padding. */
#define POOL_TAPS(p, w, depth, row, column)                                                    \
  for (int tap_z = 0, depth = (w).z; tap_z < (p).extent[0]; tap_z++, depth += (p).dilation[0]) \
    for (int tap_y = 0, row = (w).y; tap_y < (p).extent[1]; tap_y++, row += (p).dilation[1])   \
      for (int tap_x = 0, column = (w).x; tap_x < (p).extent[2]; tap_x++, column += (p).dilation[2])

/* Does an average count this position? |inside|: it is in the input, not in the padding. */
FUNCTION int pool_counts(const pool_params *p, int inside, int z, int y, int x) {
  return inside || (p->count_pad && z < p->end[0] && y < p->end[1] && x < p->end[2]);
}
