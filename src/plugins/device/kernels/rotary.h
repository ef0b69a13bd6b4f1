/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/rotary.h - RotaryEmbedding: rotates pairs of elements by an angle that depends on the token; an item
 * for each element. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/rotary_params.h"
#include "plugins/device/kernels/index.h"

KERNEL(rotary, rotary_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, cosines, 1);
  BUFFER(const REAL, sines, 2);
  BUFFER(const char, positions, 3);
  BUFFER(REAL, y, 4);
  PARAMS(rotary_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int e = i % p.size, token = i / p.size % p.length, head = i / p.size / p.length % p.heads;
      int batch = i / p.size / p.length / p.heads;
      int at = batch * p.batch_stride + head * p.head_stride + token * p.token_stride;
      float v = LOAD(x, at + e);
      if (e < 2 * p.pairs) {
        int row = batch * p.length + token, second = p.interleaved ? e % 2 : e >= p.pairs;
        if (p.has_positions == 1) row = index_at(positions, 1, row, p.angles);
        if (p.has_positions == 2) row = MIN_OF(index_at(positions, 1, 0, p.angles) + token, p.angles - 1);
        int angle = row * p.pairs + (p.interleaved ? e / 2 : e % p.pairs);
        float other = LOAD(x, at + e + (second ? -1 : 1) * (p.interleaved ? 1 : p.pairs)), c = LOAD(cosines, angle);
        v = second ? v * c + other * LOAD(sines, angle) : v * c - other * LOAD(sines, angle);
      }
      STORE(y, at + e, v);
    }
  }
}
