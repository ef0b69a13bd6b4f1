/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/elementwise.h - element-wise operators with a tail. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/elementwise_params.h"
#include "plugins/device/kernels/tail.h"

KERNEL(flat, flat_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  TAIL_BUFFERS(2, 3, 4);
  PARAMS(flat_params, p);
  FOR_ITEMS(t, FLAT_ITEMS) {
    for (int k = 0; k < FLAT_EACH; k++) {
      int i = (GROUP(0) * FLAT_EACH + k) * FLAT_ITEMS + t;
      if (i < p.n) STORE(y, i, tail_apply(&p.tail, LOAD(x, i), i, o0, o1, o2));
    }
  }
}

KERNEL(broadcast, broadcast_params) {
  BUFFER(const REAL, a, 0);
  BUFFER(const REAL, b, 1);
  BUFFER(REAL, y, 2);
  TAIL_BUFFERS(3, 4, 5);
  PARAMS(broadcast_params, p);
  FOR_ITEMS(t, FLAT_ITEMS) {
    int i = GROUP(0) * FLAT_ITEMS + t;
    if (i < p.n) {
      int left = i, at_a = 0, at_b = 0;
      for (int d = 0; d < p.rank; d++) {
        int c = left % p.dim[d];
        left /= p.dim[d];
        at_a += c * p.a_stride[d];
        at_b += c * p.b_stride[d];
      }
      STORE(y, i, tail_apply(&p.tail, tail_binary(p.op, LOAD(a, at_a), LOAD(b, at_b)), i, o0, o1, o2));
    }
  }
}
