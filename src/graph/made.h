/* SPDX-License-Identifier: Apache-2.0
 * graph/made.h - large constants that a rule computed and can compute again (weights that a normalization went into).
 * When all their readers have packed them their pages go; a reader that wants another form has them made once more. */
#ifndef OX_GRAPH_MADE_H
#define OX_GRAPH_MADE_H

#include <pthread.h>

#include "graph/graph.h"

/* Fills |to| from |from| and |arg|; always the same bytes. */
typedef void (*ox_make_fn)(const ox_tensor *from, const void *arg, void *to);

typedef struct ox_made {
  struct ox_made *next;
  void *data;
  size_t bytes;
  const ox_tensor *from;
  ox_make_fn make;
  const void *arg;
  uint32_t readers; /* that are at it */
  bool spent, gone; /* nobody reads it but those who pack it; its pages went */
} ox_made;

/* Of a model. */
typedef struct ox_made_list {
  pthread_mutex_t lock; /* of all that changes once the model is loaded */
  ox_made *first;
} ox_made_list;

OX_NODISCARD ox_status *ox_made_init(ox_model *m);
void ox_made_deinit(ox_model *m);

/* A constant of |bytes| made by |make|; |from| and |arg| live as long as the model. The pages of |from| in the mapped
 * file go. */
OX_NODISCARD ox_status *ox_made_add(ox_model *m, size_t bytes, const ox_tensor *from, ox_make_fn make, const void *arg,
                                    void **out_data);
/* From now on |t| is read between open and close only. No-op unless |t| is one of them, like the next two. */
void ox_made_spent(const ox_model *m, const ox_tensor *t);
void ox_made_open(const ox_model *m, const ox_tensor *t);
void ox_made_close(const ox_model *m, const ox_tensor *t);

/* The bytes of |t| in a mapped file of |m| are not needed now. */
void ox_model_drop_pages(const ox_model *m, const ox_tensor *t);

#endif
