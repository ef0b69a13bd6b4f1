/* SPDX-License-Identifier: Apache-2.0
 * bench/ops/limits.c - prints what one thread of this machine can do at most (cli/limits.h) as JSON; a cap (avx2,
 * avx512, avx512vnni) leaves out what is above it. usage: limits [CAP] */
#include <stdio.h>

#include "cli/limits.h"

int main(int argc, char **argv) {
  const cli_limits_opts opts = {argc > 1 ? argv[1] : NULL, 1, 100, (size_t)256 << 20};
  cli_limits l;
  if (!cli_limits_measure(&opts, &l)) return 1;
  printf("{\"isa\": \"%s\", \"float_gflops\": %.1f, ", l.isa, l.float_gflops);
  if (l.int8_gops > 0) printf("\"int8_gops\": %.1f, ", l.int8_gops);
  printf("\"read_gbs\": {");
  for (size_t i = 0; i < l.n_reads; i++) printf("%s\"%zu\": %.1f", i ? ", " : "", l.read[i].bytes, l.read[i].gbs);
  printf("}}\n");
  return 0;
}
