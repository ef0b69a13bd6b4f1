/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/reverse.h - ReverseSequence: reverses the first elements of each sequence. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/select_params.h"

#define REVERSE_KERNEL(name, type)                                                             \
  KERNEL(name, reverse_params) {                                                               \
    BUFFER(const type, x, 0);                                                                  \
    BUFFER(const dev_long, lengths, 1);                                                        \
    BUFFER(type, y, 2);                                                                        \
    PARAMS(reverse_params, p);                                                                 \
    FOR_ITEMS(t, 256) {                                                                        \
      int i = GROUP(0) * 256 + t;                                                              \
      if (i < p.n) {                                                                           \
        int at = i / p.time_step % p.times, length = (int)lengths[i / p.batch_step % p.batch]; \
        int from = at < length && length <= p.times ? length - 1 - at : at;                    \
        y[i] = x[i + (from - at) * p.time_step];                                               \
      }                                                                                        \
    }                                                                                          \
  }
REVERSE_KERNEL(reverse1, unsigned char)
REVERSE_KERNEL(reverse2, unsigned short)
REVERSE_KERNEL(reverse4, unsigned)
REVERSE_KERNEL(reverse8, dev_long)
