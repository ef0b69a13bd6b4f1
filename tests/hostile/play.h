/* SPDX-License-Identifier: Apache-2.0
 * hostile/play.h - a case as a user would have it: a session is made, runs twice and goes. */
#ifndef HOSTILE_PLAY_H
#define HOSTILE_PLAY_H

#include "hostile/case_text.h"
#include "onyx/onyx.h"

typedef enum { PLAY_RAN, PLAY_REFUSED_RUN, PLAY_REFUSED_LOAD, PLAY_UNREADABLE, PLAY_LEAKED, N_ENDINGS } play_ending;

/* |message|: why it was refused. */
play_ending hostile_play(const hostile_text *t, rng *r, char *message, size_t message_bytes);

#endif
