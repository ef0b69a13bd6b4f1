/* SPDX-License-Identifier: Apache-2.0
 * opt/known.h - contents of small integer tensors as far as inference knows them: numbers, dimensions, or nothing. */
#ifndef OX_OPT_KNOWN_H
#define OX_OPT_KNOWN_H

#include "graph/graph.h"

enum { OX_KNOWN_MAX = 64 };

typedef enum ox_known_kind { OX_KNOWN_NOT = 0, OX_KNOWN_NUMBER = 1, OX_KNOWN_SYMBOL = 2 } ox_known_kind;

/* Content of an I32 or I64 tensor of rank 0 or 1. */
typedef struct ox_known {
  uint32_t dtype;
  bool scalar;
  uint32_t n;
  const int64_t *v;    /* numbers, or symbols as in ox_shape */
  const uint8_t *kind; /* ox_known_kind of each */
} ox_known;

/* The content of |t|, or NULL if it is too large or of another type; in |a|. */
const ox_known *ox_known_of_tensor(ox_arena *a, const ox_tensor *t);
/* The content of output 0 of |n|, from what is known of its inputs (NULL: nothing); NULL if nothing follows. */
const ox_known *ox_known_eval(ox_arena *a, const ox_node *n, int64_t opset, const ox_type *const *types,
                              const ox_known *const *in);
/* The tensor, if every element is a number; in |a|. NULL otherwise. */
const ox_tensor *ox_known_tensor(ox_arena *a, const ox_known *k);
/* Fills in dimensions of output 0 that follow from partly known contents (Reshape, Expand, ConstantOfShape). */
void ox_known_refine(const ox_node *n, const ox_type *const *types, const ox_known *const *in, ox_shape *out);

#endif
