/* SPDX-License-Identifier: Apache-2.0
 * hostile/play.h - a case as a user would have it: a session is made, runs twice and goes. */
#ifndef HOSTILE_PLAY_H
#define HOSTILE_PLAY_H

#include "hostile/case_text.h"
#include "hostile/lies.h"
#include "onyx/onyx.h"

typedef enum { PLAY_RAN, PLAY_REFUSED_RUN, PLAY_REFUSED_LOAD, PLAY_UNREADABLE, PLAY_LEAKED, N_ENDINGS } play_ending;

typedef struct {
  const char *lies[2]; /* names; the second may be "" */
  one_node_model model;
  hostile_text text;
  char message[300];
  play_ending ending;
} hostile_case;

/* A seed, what is changed about it, where it stands: drawn from |r|. */
void hostile_draw(rng *r, hostile_seeds seeds, hostile_case *out);

/* |message|: why it was refused. */
play_ending hostile_play(const hostile_text *t, rng *r, char *message, size_t message_bytes);

#endif
