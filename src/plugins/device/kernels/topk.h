/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/topk.h - the k largest or smallest elements of a row, sorted; among equal elements the first. A group
 * for each row sorts as many elements as local memory holds, keeps the better half, and reads on. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/select_params.h"

/* Maps floats to ints of the same order: both zeros are equal, NaN is above infinity. */
FUNCTION int topk_key(float v, int smallest) {
  int bits = BITS_OF(v + 0.0f), key = ISNAN(v) ? 0x7fffffff : bits < 0 ? bits ^ 0x7fffffff : bits;
  return smallest ? ~key : key;
}

KERNEL(topk, topk_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  BUFFER(dev_long, y_at, 2);
  PARAMS(topk_params, p);
  LOCAL(int, keys, [TOPK_SIZE]);
  LOCAL(int, at, [TOPK_SIZE]);
  int row = GROUP(0), from = row / p.inner * p.n * p.inner + row % p.inner;
  int to = row / p.inner * p.k * p.inner + row % p.inner;
  for (int next = 0, kept = 0; next < p.n || next == 0; next += p.size - kept, kept = p.size / 2) {
    int begin = next == 0 ? 0 : p.size / 2;
    FOR_ITEMS(t, 256) {
      for (int i = begin + t; i < p.size; i += 256) {
        int from_i = next + i - begin, there = from_i < p.n;
        keys[i] = there ? topk_key(LOAD(x, from + from_i * p.inner), p.smallest) : -0x7fffffff - 1;
        at[i] = there ? from_i : 0x7fffffff;
      }
    }
    BARRIER;
    for (int run = 2; run <= p.size; run *= 2) {
      for (int apart = run / 2; apart > 0; apart /= 2) {
        FOR_ITEMS(t, 256) {
          for (int pair = t; pair < p.size / 2; pair += 256) {
            int i = pair / apart * 2 * apart + pair % apart, j = i + apart;
            int first = keys[i] > keys[j] || (keys[i] == keys[j] && at[i] < at[j]);
            if (first != ((i & run) == 0)) {
              int key = keys[i], place = at[i];
              keys[i] = keys[j], at[i] = at[j], keys[j] = key, at[j] = place;
            }
          }
        }
        BARRIER;
      }
    }
  }
  FOR_ITEMS(t, 256) {
    for (int i = t; i < p.k; i += 256) {
      int place = MIN_OF(at[i], p.n - 1);
      y[to + i * p.inner] = x[from + place * p.inner];
      y_at[to + i * p.inner] = place;
    }
  }
}
