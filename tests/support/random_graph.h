/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph.h - small valid models drawn from a seed, as text. */
#ifndef OX_TESTS_RANDOM_GRAPH_H
#define OX_TESTS_RANDOM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct random_graph {
  char text[1 << 17];
  int64_t batch; /* what the model's free dimension is, if it has one */
  bool batch_is_free;
  /* What the roundings of 16-bit floats, or of bytes, may come to: of a tensor's largest element; and of each. */
  double relative, absolute;
} random_graph;

/* The same seed gives the same model. Every operator is a smooth or at least a continuous function, and the values stay
 * small: what two ways to compute a model give differs by a few roundings. */
void random_graph_draw(uint32_t seed, random_graph *out);

#endif
