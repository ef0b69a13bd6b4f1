/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/append.h - appends new rows, with rotary embedding and bias, to those of a cache; an item for each
 * element. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/append_params.h"

KERNEL(append, append_params) {
  BUFFER(const REAL, fresh, 0);
  BUFFER(const REAL, past, 1);
  BUFFER(REAL, y, 2);
  BUFFER(const REAL, cosines, 3);
  BUFFER(const REAL, sines, 4);
  BUFFER(const int, lens, 5);
  BUFFER(const dev_long, positions, 6);
  BUFFER(const REAL, bias, 7);
  PARAMS(append_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int e = i % p.width, row = i / p.width % p.rows, head = i / p.width / p.rows % p.heads;
      int b = i / p.width / p.rows / p.heads, had = p.first;
      if (p.lens_place) had = lens[b] + p.lens_add;
      had = had < 0 ? 0 : had;
      if (row >= had && row < had + p.fresh) {
        int token = row - had, at = b * p.in_batch + head * p.in_head + token * p.in_row,
            add = p.bias_first + head * p.width;
        float v = LOAD(fresh, at + e) + (p.has_bias ? LOAD(bias, add + e) : 0.0f);
        if (e < 2 * p.pairs) {
          int second = p.interleaved ? e % 2 : e >= p.pairs;
          int other = e + (second ? -1 : 1) * (p.interleaved ? 1 : p.pairs);
          dev_long angle = p.first_angle + token;
          if (p.lens_angle) angle = MAX_OF(lens[b] + p.lens_add, 0) + token;
          if (p.positions == 1) angle = positions[b * p.fresh + token];
          if (p.positions == 2) angle = positions[0] + token;
          angle = angle < 0 ? 0 : angle >= p.angles ? p.angles - 1 : angle;
          int from = (int)angle * p.pairs + (p.interleaved ? e / 2 : e % p.pairs);
          float u = LOAD(fresh, at + other) + (p.has_bias ? LOAD(bias, add + other) : 0.0f);
          v = second ? v * LOAD(cosines, from) + u * LOAD(sines, from)
                     : v * LOAD(cosines, from) - u * LOAD(sines, from);
        }
        STORE(y, i, v);
      } else {
        int kept = row < p.past_rows && (row < had || p.keep_rest);
        STORE(y, i, kept ? LOAD(past, ((b * p.heads + head) * p.past_rows + row) * p.width + e) : 0.0f);
      }
    }
  }
}
