/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/tail_alone.h - a tail as a launch of its own, in place: after a vendor's library, or where it does not
 * fit into the launch before. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/tail_alone_params.h"
#include "plugins/device/kernels/tail.h"

KERNEL(tail_alone, tail_alone_params) {
  BUFFER(REAL, y, 0);
  TAIL_BUFFERS(1, 2, 3);
  PARAMS(tail_alone_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) STORE(y, at, tail_apply(&p.tail, LOAD(y, at), at, o0, o1, o2));
  }
}
