/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/pool_window.h - where the window of an output begins. Included by kernels. */

typedef struct {
  int z, y, x; /* of the input, as if padding had places of its own: below 0 in it */
  int plane;   /* planes of the input before the image and, unless it is the last axis, the channel */
  int channel; /* if it is the last axis; else 0 */
} pool_window;

/* Of output |at|. */
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

/* Where the element is in the input. */
FUNCTION int pool_at(const pool_params *p, const pool_window *w, int z, int y, int x) {
  return (((w->plane + z) * p->in[1] + y) * p->in[2] + x) * p->inner + w->channel;
}
