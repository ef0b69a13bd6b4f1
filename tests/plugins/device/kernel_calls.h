/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/kernel_calls.h - kernels of devices in plain C, a group at a time, for tests of what they compute. */
#ifndef OX_TESTS_KERNEL_CALLS_H
#define OX_TESTS_KERNEL_CALLS_H

#include <stdint.h>
#include <stdlib.h>

#define KERNEL_OF(name)                                                  \
  void name##_f32(char *const *b, const void *params, const int *group); \
  void name##_f16(char *const *b, const void *params, const int *group)

typedef void kernel_fn(char *const *b, const void *params, const int *group);

float dev_from_half(unsigned short h);
unsigned short dev_to_half(float f);

/* All groups of a launch, the last first: no group may need another. */
static inline void run_groups(kernel_fn *fn, int groups, void *const *buffers, const void *params) {
  for (int i = groups - 1; i >= 0; i--) {
    const int place[6] = {i, 0, 0, groups, 1, 1};
    fn((char *const *)buffers, params, place);
  }
}

/* Numbers of either type, each a multiple of 1/8 below 2: they and their products are exact in 16 bits and 32. */
typedef struct numbers {
  void *data;
  int n, half;
} numbers;

static inline float number_at(const numbers *x, int i) {
  return x->half ? dev_from_half(((unsigned short *)x->data)[i]) : ((float *)x->data)[i];
}

static inline void number_set(numbers *x, int i, float v) {
  if (x->half)
    ((unsigned short *)x->data)[i] = dev_to_half(v);
  else
    ((float *)x->data)[i] = v;
}

/* Of exactly the size, so that a sanitizer sees what is read beyond. */
static inline numbers numbers_make(int n, int half, unsigned seed) {
  numbers x = {malloc((size_t)n * (half ? 2 : 4) + !n), n, half};
  for (int i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    number_set(&x, i, (float)((int)(seed >> 27) - 16) / 8);
  }
  return x;
}

#endif
