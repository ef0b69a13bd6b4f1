/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph.h - small valid models drawn from a seed, as text. */
#ifndef OX_TESTS_RANDOM_GRAPH_H
#define OX_TESTS_RANDOM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct random_graph {
  char text[1 << 18];
  int64_t batch; /* what the model's free dimension is, if it has one */
  bool batch_is_free;
  bool has_halves, has_bytes;
  bool has_ties;  /* of bytes: values that often lie in the middle of two, or next to it */
  double quantum; /* the largest step of a value in bytes */
  double slack;   /* what biases of products of bytes lose as whole numbers */
} random_graph;

/* How it is written: as it is; with 32-bit floats for those of 16 bits, whose inputs and constants keep their values;
 * with every value a little lower, or higher, before it becomes a byte, or nearer to 0, or farther from it, so that it
 * becomes another byte if it lies next to the middle between two. */
typedef enum random_graph_form {
  RANDOM_AS_IT_IS,
  RANDOM_WIDE,
  RANDOM_LOWER,
  RANDOM_HIGHER,
  RANDOM_NEARER,
  RANDOM_FARTHER
} random_graph_form;
enum { RANDOM_FORMS = 4 }; /* that a model has, at most */

/* The same seed gives the same model, whatever its form. Every operator is a smooth or at least a continuous function,
 * and the values stay small: what two ways to compute a model give differs by a few roundings. */
void random_graph_draw(uint32_t seed, random_graph_form form, random_graph *out);

#endif
