/* SPDX-License-Identifier: Apache-2.0
 * graph/known.h - contents of small integer tensors as far as inference knows them: each element a number, a symbolic
 * dimension, or unknown. So inference can follow shapes through the integer arithmetic that exporters write around
 * Reshape and Slice. What an operator does to such contents is in its file (ox_schema.known, refine), written with
 * these helpers. */
#ifndef OX_GRAPH_KNOWN_H
#define OX_GRAPH_KNOWN_H

#include "graph/graph.h"

enum { OX_KNOWN_MAX = 64 };

typedef enum ox_known_kind { OX_KNOWN_NOT = 0, OX_KNOWN_NUMBER = 1, OX_KNOWN_SYMBOL = 2 } ox_known_kind;

/* Content of an I32 or I64 tensor of rank 0 or 1. */
typedef struct ox_known {
  uint32_t dtype;
  bool scalar;
  uint32_t n;
  const int64_t *v;    /* numbers, or symbols as in ox_shape; 0 where nothing is known */
  const uint8_t *kind; /* ox_known_kind of each */
} ox_known;

/* What ox_schema.known and refine see of their node. known returns output 0's content, in |arena|; NULL: unknown, or
 * out of memory. refine fills in dimensions of output 0's shape that follow from partly known contents. Input 0 is
 * never omitted. */
typedef struct ox_known_ctx {
  ox_arena *arena;
  const char *op;
  const void *attrs; /* decoded */
  uint32_t n_in;
  const ox_type *const *types; /* per input; NULL: omitted */
  const ox_known *const *in;   /* per input; NULL: unknown */
  struct ox_model *model;      /* whose symbols dimensions may be; NULL: at run time there are none */
} ox_known_ctx;

/* The content of |t|, or NULL if it is too large or of another type; in |a|. */
const ox_known *ox_known_of_tensor(ox_arena *a, const ox_tensor *t);
/* The tensor, in |a|, if every element is a number; else NULL. */
const ox_tensor *ox_known_tensor(ox_arena *a, const ox_known *k);
/* Its shape. */
ox_shape ox_known_shape(const ox_known *k);
/* The symbol for how many steps of |stride| lie within |dim| + |add|, a symbol itself, and one: equal ones are one
 * symbol. -1 if there are no symbols, or no memory. */
int64_t ox_known_steps(const ox_known_ctx *c, int64_t dim, int64_t add, int64_t stride);

/* ---- reading ---- */
/* Input |i|'s content, or NULL if it is omitted or unknown. */
static inline const ox_known *ox_known_in(const ox_known_ctx *c, uint32_t i) { return i < c->n_in ? c->in[i] : NULL; }
/* Reads element |i|; false if it is not a number. */
bool ox_known_number(const ox_known *k, uint32_t i, int64_t *out);
/* Element |i| as a dimension: a number >= 0, a symbol, or -1. */
int64_t ox_known_dim(const ox_known *k, uint32_t i);

/* ---- making ---- */
typedef struct ox_known_list {
  int64_t v[OX_KNOWN_MAX];
  uint8_t kind[OX_KNOWN_MAX];
  uint32_t n; /* the caller keeps it within OX_KNOWN_MAX */
} ox_known_list;
void ox_known_push(ox_known_list *l, int64_t v, uint8_t kind);
void ox_known_push_dim(ox_known_list *l, int64_t dim);
const ox_known *ox_known_keep(const ox_known_ctx *c, uint32_t dtype, bool scalar, const ox_known_list *l);
/* The same content under another element type and shape of rank 0 or 1; NULL for NULL. */
const ox_known *ox_known_as(const ox_known_ctx *c, const ox_known *k, uint32_t dtype, bool scalar);
/* Fills in unknown dimensions of |out| from |s|; does nothing if their ranks differ. */
void ox_known_fill(ox_shape *out, const ox_shape *s);

#endif
