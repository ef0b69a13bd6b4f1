/* SPDX-License-Identifier: Apache-2.0
 * hostile/case_text.h - the model of a case, in ONNX's textual syntax: the node, what its inputs come through, and the
 * body or function that it stands in. */
#ifndef HOSTILE_CASE_TEXT_H
#define HOSTILE_CASE_TEXT_H

#include "hostile/one_node_model.h"
#include "hostile/rng.h"

/* How a value reaches the node. */
typedef enum {
  AS_INPUT, /* a graph input of its very type */
  AS_OPEN,  /* a graph input of unknown rank, or of symbolic dimensions */
  AS_CONSTANT,
  FROM_IF,       /* of branches with different types */
  FROM_LOOP,     /* carried, and another type after the first trip */
  FROM_SEQUENCE, /* of items with different types */
  N_WAYS
} hostile_way;

/* Where the node stands. */
typedef enum { BARE, BRANCH_TAKEN, BRANCH_NOT_TAKEN, IN_LOOP, IN_FUNCTION, N_PLACES } hostile_place;

enum { MOST_FEEDS = 2 * MOST_IN + 2, MOST_TEXT = 1 << 17 };

/* A graph input and what a run gives for it. */
typedef struct {
  char name[16];
  hostile_value value;
} hostile_feed;

typedef struct {
  char text[MOST_TEXT];
  size_t n;
  bool full; /* there is more to say than fits */
  hostile_feed feeds[MOST_FEEDS];
  int n_feeds;
  hostile_way way[MOST_IN];
  hostile_place place;
  bool condition; /* what If is given */
} hostile_text;

/* Writes |m|. |plain|: inputs with values are constants, the others inputs; else all of it is drawn from |r|. */
void hostile_write(const one_node_model *m, bool plain, rng *r, hostile_text *out);

extern const char *const hostile_way_names[N_WAYS], *const hostile_place_names[N_PLACES];

#endif
