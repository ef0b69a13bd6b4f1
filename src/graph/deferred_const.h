/* SPDX-License-Identifier: Apache-2.0
 * graph/deferred_const.h - large constants that a rule left to be computed, such as weights that a normalization is
 * folded into. Kernels that pack them get the elements of each piece as they pack it, so that the whole never exists in
 * memory. It can be had as a whole, kept (ox_graph_const) or until the reader is done (open, close). */
#ifndef OX_GRAPH_DEFERRED_CONST_H
#define OX_GRAPH_DEFERRED_CONST_H

#include <pthread.h>

#include "graph/graph.h"

/* Computes elements [first, first + n) to |to|; always the same bytes. */
typedef void (*ox_make_fn)(const ox_tensor *from, const void *arg, int64_t first, int64_t n, void *to);

typedef struct ox_deferred {
  struct ox_deferred *next;
  ox_tensor t; /* with its data while |there| */
  const ox_tensor *from;
  ox_make_fn make;
  const void *arg;
  uint32_t readers; /* open calls without a close */
  bool there, kept;
} ox_deferred;

/* Of a model. */
typedef struct ox_deferred_list {
  pthread_mutex_t lock; /* guards all that changes */
  ox_deferred *first;
} ox_deferred_list;

OX_NODISCARD ox_status *ox_deferred_init(ox_model *m);
void ox_deferred_deinit(ox_model *m);

/* Adds a constant that |make| computes; |from| and |arg| must live as long as the model. A small one is computed
 * now. */
OX_NODISCARD ox_status *ox_deferred_add(ox_graph *g, const char *name, uint32_t dtype, const ox_shape *shape,
                                        const ox_tensor *from, ox_make_fn make, const void *arg, ox_id *out_value);
/* How the constant |v| is made, looking through outer stand-ins; NULL: it is an ordinary constant, or none. */
ox_deferred *ox_deferred_of(const ox_graph *g, ox_id v);

/* Computes the whole constant, if need be, and keeps it until close. Any thread. */
const ox_tensor *ox_deferred_open(const ox_model *m, ox_deferred *k);
void ox_deferred_close(const ox_model *m, ox_deferred *k);

#endif
