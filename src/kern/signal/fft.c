/* SPDX-License-Identifier: Apache-2.0
 * kern/signal/fft.c - factors of a length. */
#include "kern/signal/fft.h"

static bool factorize(ox_fft_shape *s, int64_t n) {
  s->n_factors = 0;
  for (int p = 4; n > 1; p = p == 4 ? 2 : p == 2 ? 3 : p + 2) {
    if (p > OX_FFT_PRIME) return false;
    for (; n % p == 0; n /= p) s->factor[s->n_factors++] = p;
  }
  return true;
}

bool ox_fft_shape_init(ox_fft_shape *s, int64_t n) {
  *s = (ox_fft_shape){.n = n, .inner = n};
  if (n < 1 || n > (int64_t)1 << 40) return false;
  if (factorize(s, n)) return true;
  s->inner = 1;
  while (s->inner < 2 * n - 1) s->inner *= 2;
  return factorize(s, s->inner);
}

int64_t ox_fft_table_len(const ox_fft_shape *s) {
  return 2 * s->inner + (s->inner == s->n ? 0 : 2 * s->n + 2 * s->inner);
}
int64_t ox_fft_work_len(const ox_fft_shape *s) { return 2 * s->inner + (s->inner == s->n ? 0 : 2 * s->inner); }
