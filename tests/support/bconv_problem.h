/* SPDX-License-Identifier: Apache-2.0
 * support/bconv_problem.h - a convolution between tensors in blocks: its geometry, random data, and its results in
 * double precision. */
#ifndef OX_TESTS_BCONV_PROBLEM_H
#define OX_TESTS_BCONV_PROBLEM_H

#include "kern/blocks/bconv.h"

typedef struct bconv_shape {
  const char *name;
  bool plain;                    /* X is an image */
  int64_t batch, groups, ic, oc; /* ic, oc: per group */
  int64_t in[3], kernel[3], stride[3], dilation[3], pad[3];
} bconv_shape;

typedef struct bconv_problem {
  ox_bconv_task t;
  int64_t taps[3][64];
  int64_t k, in_pixels, pixels, ic, oc, n_y; /* ic, oc: of all groups */
  float *x, *w, *bias, *z;                   /* as ONNX has them */
  float *slope;                              /* to the end of the last block */
  double *want, *size;                       /* size: the sum of magnitudes */
} bconv_problem;

/* Random data, a random activation, and with or without a bias, Z and slopes. */
void bconv_problem_init(bconv_problem *p, const bconv_shape *s);
/* |more|: outputs that a pad at the end of each axis adds; NULL: none. */
void bconv_problem_init_more(bconv_problem *p, const bconv_shape *s, const int64_t more[3]);
void bconv_problem_deinit(bconv_problem *p);
/* Computes |want| and |size| again, once the data or the activation has changed. */
void bconv_problem_solve(bconv_problem *p);

/* A random number below |n|; the sequence begins anew where a test sets bconv_seed. */
extern uint32_t bconv_seed;
uint32_t bconv_next(uint32_t n);

/* A tensor of so many channels and pixels per image: its floats in blocks, and the tensor itself (block_layout.h), with
 * NaN in lanes past the last channel and for OX_PAD_BYTES behind its end; |from|: NULL, or its elements as
 * ONNX has them. The caller's to free. */
int64_t bconv_block_floats(const bconv_problem *p, int64_t channels, int64_t pixels);
float *bconv_to_blocks(const bconv_problem *p, const float *from, int64_t channels, int64_t pixels);

#endif
