/* SPDX-License-Identifier: Apache-2.0
 * cli/limits.h - what some threads of this machine can do at most: float32 FMAs, 8-bit dot products, reads from buffers
 * of several sizes. For onyx profile and bench/ops. */
#ifndef OX_CLI_LIMITS_H
#define OX_CLI_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_LIMITS_READS = 8 };

typedef struct cli_limits_read {
  size_t bytes; /* of the buffer, which the threads share out */
  double gbs;
} cli_limits_read;

typedef struct cli_limits {
  const char *isa;
  uint32_t n_threads;
  double float_gflops, int8_gops; /* 0: the instruction set has no such dot product */
  size_t n_reads;
  cli_limits_read read[CLI_LIMITS_READS]; /* from small to large */
} cli_limits;

typedef struct cli_limits_opts {
  const char *cap;    /* leaves out instruction sets above this one; NULL: none */
  uint32_t n_threads; /* at least 1 */
  double tries_ms;    /* for each figure */
  size_t most_bytes;  /* of buffers */
} cli_limits_opts;

/* False: no memory. */
bool cli_limits_measure(const cli_limits_opts *opts, cli_limits *out);
/* GB/s of reads from so many bytes: of the smallest buffer that was measured and is not smaller. */
double cli_limits_gbs(const cli_limits *l, double bytes);

#endif
