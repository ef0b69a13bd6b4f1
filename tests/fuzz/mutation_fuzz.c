/* SPDX-License-Identifier: Apache-2.0
 * fuzz/mutation_fuzz.c - the cases of tests/hostile, with a fuzzer's choice of node, mutation, types, run-time values
 * and the way they come: a result or a clear error, and no leak. Run from the source root, for its seeds. */
#include <stdio.h>
#include <stdlib.h>

#include "hostile/run_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static one_node_model all[MOST_SEEDS];
  static uint32_t n_seeds;
  static hostile_case c;
  if (!n_seeds && !(n_seeds = one_node_read_file("tests/hostile/seeds.txt", all))) exit(2);
  rng r = {.state = 1, .data = data, .n = n};
  hostile_draw(&r, (hostile_seeds){all, n_seeds}, &c);
  if (hostile_run(&c.text, &r, c.message, sizeof c.message) != OUTCOME_LEAKED) return 0;
  fprintf(stderr, "%s\n%s\n", c.text.text, c.message);
  abort();
}
