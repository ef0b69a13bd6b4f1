/* SPDX-License-Identifier: Apache-2.0
 * hostile/mutation.h - what is wrong, or extreme, about a node: one change of a valid one. */
#ifndef HOSTILE_MUTATION_H
#define HOSTILE_MUTATION_H

#include "hostile/one_node_model.h"
#include "hostile/rng.h"

/* Another node to borrow from: inputs and operator. */
typedef struct {
  const one_node_model *all;
  uint32_t n;
} hostile_seeds;

/* Changes |m| in one way; the name of what it did. */
const char *hostile_mutate(one_node_model *m, rng *r, hostile_seeds seeds);

#endif
