/* SPDX-License-Identifier: Apache-2.0
 * graph/made.h - large constants that a rule left to be computed: weights that a normalization goes into. Kernels that
 * pack them get the elements of each piece as they pack it, so that there is no copy of the whole. Who asks for the
 * whole gets it: those who keep it (ox_graph_const), or those who say when they are done. */
#ifndef OX_GRAPH_MADE_H
#define OX_GRAPH_MADE_H

#include <pthread.h>

#include "graph/graph.h"

/* Computes elements [first, first + n) to |to|; always the same bytes. */
typedef void (*ox_make_fn)(const ox_tensor *from, const void *arg, int64_t first, int64_t n, void *to);

typedef struct ox_made {
  struct ox_made *next;
  ox_tensor t; /* with its data, which are there while |there| */
  const ox_tensor *from;
  ox_make_fn make;
  const void *arg;
  uint32_t readers; /* between open and close */
  bool there, kept;
} ox_made;

/* Of a model. */
typedef struct ox_made_list {
  pthread_mutex_t lock; /* of all that changes */
  ox_made *first;
} ox_made_list;

OX_NODISCARD ox_status *ox_made_init(ox_model *m);
void ox_made_deinit(ox_model *m);

/* A new constant that |make| computes; |from| and |arg| live as long as the model. A small one is computed now. */
OX_NODISCARD ox_status *ox_made_add(ox_graph *g, const char *name, uint32_t dtype, const ox_shape *shape,
                                    const ox_tensor *from, ox_make_fn make, const void *arg, ox_id *out_value);
/* What is behind the constant |v|, looking through outer stand-ins; NULL: it is an ordinary one, or none. */
ox_made *ox_made_of(const ox_graph *g, ox_id v);

/* The whole, for as long as it is open. Any thread. */
const ox_tensor *ox_made_open(const ox_model *m, ox_made *k);
void ox_made_close(const ox_model *m, ox_made *k);

#endif
