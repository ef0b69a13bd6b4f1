/* SPDX-License-Identifier: Apache-2.0
 * hostile/run_case.h - a case as a user would have it: a session is made, runs twice and goes. */
#ifndef HOSTILE_RUN_CASE_H
#define HOSTILE_RUN_CASE_H

#include "hostile/case_text.h"
#include "hostile/mutation.h"
#include "onyx/onyx.h"

typedef enum {
  OUTCOME_RAN,
  OUTCOME_REFUSED_RUN,
  OUTCOME_REFUSED_LOAD,
  OUTCOME_UNREADABLE,
  OUTCOME_LEAKED,
  N_OUTCOMES
} hostile_outcome;

typedef struct {
  const char *mutations[2]; /* names; the second may be "" */
  one_node_model model;
  hostile_text text;
  char message[300];
  hostile_outcome outcome;
} hostile_case;

/* A seed, what is changed about it, where it stands: drawn from |r|. */
void hostile_draw(rng *r, hostile_seeds seeds, hostile_case *out);

/* |message|: why it was refused. */
hostile_outcome hostile_run(const hostile_text *t, rng *r, char *message, size_t message_bytes);

#endif
