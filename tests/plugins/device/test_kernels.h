/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/test_kernels.h - kernels for the tests of drivers, in the language of device/kernels/dialect.h. */
#include "plugins/device/kernels/dialect.h"

/* y = x * scale + add */
typedef struct {
  int n;
  float scale, add;
} axpb_params;
KERNEL(axpb, axpb_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  PARAMS(axpb_params, p);
  FOR_ITEMS(t, 64) {
    int i = GROUP(0) * 64 + t;
    if (i < p.n) STORE(y, i, LOAD(x, i) * p.scale + p.add);
  }
}

/* y = x, plus what is in the last buffer if the parameters say that there is one. */
typedef struct {
  int n, has_more;
} maybe_params;
KERNEL(maybe, maybe_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 3);
  BUFFER(const REAL, more, 7);
  PARAMS(maybe_params, p);
  FOR_ITEMS(t, 64) {
    int i = GROUP(0) * 64 + t;
    if (i < p.n) STORE(y, i, LOAD(x, i) + (p.has_more ? LOAD(more, i) : 0.0f));
  }
}

/* Each group turns its 256 numbers around, twice by way of the group's memory, and adds what each item kept. */
typedef struct {
  int n;
} turn_params;
KERNEL(turn, turn_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  PARAMS(turn_params, p);
  LOCAL(float, shared, [256]);
  PRIVATE(float, kept, 256, [2]);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    MINE(kept, t)[0] = i < p.n ? LOAD(x, i) : 0.0f;
    MINE(kept, t)[1] = (float)t;
    shared[t] = MINE(kept, t)[0];
  }
  BARRIER;
  FOR_ITEMS(t, 256) { MINE(kept, t)[0] = shared[255 - t]; }
  BARRIER;
  FOR_ITEMS(t, 256) { shared[255 - t] = MINE(kept, t)[0]; }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) STORE(y, i, shared[t] + shared[255 - t] * 2.0f + MINE(kept, t)[1]);
  }
}

/* Where each group is: number of the group in a grid of three axes. */
KERNEL(grid, turn_params) {
  BUFFER(REAL, y, 0);
  PARAMS(turn_params, p);
  FOR_ITEMS(t, 1) {
    int i = (GROUP(2) * GROUPS(1) + GROUP(1)) * GROUPS(0) + GROUP(0);
    if (i < p.n) STORE(y, i, (float)(GROUP(0) + 10 * GROUP(1) + 100 * GROUP(2)));
  }
}

/* y = the parameters, as many as there may be. */
typedef struct {
  int v[256];
} wide_params;
KERNEL(wide, wide_params) {
  BUFFER(REAL, y, 0);
  PARAMS(wide_params, p);
  FOR_ITEMS(t, 256) { STORE(y, t, (float)p.v[t]); }
}

/* y = fmod, division, square root, NaN: what fast mathematics would change. */
KERNEL(exact, turn_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  PARAMS(turn_params, p);
  FOR_ITEMS(t, 64) {
    int i = GROUP(0) * 64 + t;
    if (i < p.n) {
      float v = LOAD(x, i);
      STORE(y, 4 * i, v != v ? 1.0f : 0.0f);
      STORE(y, 4 * i + 1, v - v);
      STORE(y, 4 * i + 2, 1.0f / v);
      STORE(y, 4 * i + 3, SQRTF(v));
    }
  }
}

/* Adds 1 to y[0] after |n| steps that take time. */
KERNEL(slow, turn_params) {
  BUFFER(REAL, y, 0);
  PARAMS(turn_params, p);
  FOR_ITEMS(t, 1) {
    float v = 1.0f;
    for (int i = 0; i < p.n; i++) v = v * 0.5f + 0.5f;
    STORE(y, t, LOAD(y, t) + v);
  }
}
