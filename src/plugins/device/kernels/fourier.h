/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/fourier.h - the matrix of a discrete Fourier transform, its rows times a window. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/fourier_params.h"

KERNEL(fourier, fourier_params) {
  BUFFER(const float, window, 0);
  BUFFER(float, y, 1);
  PARAMS(fourier_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      int column = at % (2 * p.bins), row = at / (2 * p.bins), tap = row / p.parts;
      int turn = (int)((dev_long)tap * (column / 2) % p.length); /* the angle, in units of 2 pi / length */
      if (2 * turn > p.length) turn -= p.length;
      float angle = 6.2831853f * ((float)turn / (float)p.length), v;
      /* A sample u + iv times cos - i sin; an inverse has + i sin. */
      int imaginary = row % p.parts, to_imaginary = column % 2;
      v = imaginary == to_imaginary ? COSF(angle) : SINF(angle);
      if (imaginary != to_imaginary && imaginary == p.inverse) v = -v;
      if (p.has_window) v *= window[tap];
      y[at] = p.inverse ? v / (float)p.length : v;
    }
  }
}
