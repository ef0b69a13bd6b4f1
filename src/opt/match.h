/* SPDX-License-Identifier: Apache-2.0
 * opt/match.h - what a rule file says, and the questions it may ask about a graph. Rules are data: a pattern, a guard
 * for what the pattern cannot say, and an edit. */
#ifndef OX_OPT_MATCH_H
#define OX_OPT_MATCH_H

#include "base/macros.h"
#include "opt/opt.h"

enum { OX_PAT_NODES = 12, OX_PAT_ARGS = 8, OX_PAT_INS = 6 };

enum { OX_PAT_ANY = 0, OX_PAT_FROM = 1, OX_PAT_ARG = 2, OX_PAT_CONST = 3, OX_PAT_ABSENT = 4 };
typedef struct ox_pat_in {
  uint8_t kind, index, slot;
} ox_pat_in;
#define OX_FROM(node) \
  { OX_PAT_FROM, (node), 0 } /* output 0 of another node of the pattern */
#define OX_ARG(k) \
  { OX_PAT_ARG, (k), 0 } /* any value: m->arg[k]; the same value wherever k stands */
#define OX_CONST(k) \
  { OX_PAT_CONST, (k), 0 } /* a constant: m->arg[k] */
#define OX_ABSENT \
  { OX_PAT_ABSENT, 0, 0 }

/* One node of a pattern; the last one is the root. Inputs that are not mentioned may be anything. */
typedef struct ox_pat {
  const char *op;     /* alternatives: "Relu|Clip" */
  const char *domain; /* NULL: ai.onnx */
  ox_pat_in in[OX_PAT_INS];
  bool single_use;  /* output 0 has one use, which is in the pattern; other outputs have none */
  uint8_t uses;     /* the same with this many uses, all of which must be in the pattern */
  bool commutative; /* inputs 0 and 1 may be swapped */
  uint32_t types;   /* dtypes of output 0 (OX_BIT); 0: any, even unknown */
} ox_pat;

typedef struct ox_match {
  ox_id node[OX_PAT_NODES];
  ox_id arg[OX_PAT_ARGS];
} ox_match;

typedef struct ox_rule {
  const char *name;
  ox_opt_level level;
  const ox_pat *pat;
  uint32_t n_pat;
  bool (*guard)(const ox_graph *g, const ox_match *m); /* NULL: always */
  ox_status *(*apply)(ox_graph *g, const ox_match *m); /* what becomes unused is removed by the driver */
  bool late;                                           /* after all other rules of the level found nothing more */
} ox_rule;
#define OX_PATTERN(p) (p), OX_COUNT(p)                    /* positional */
#define OX_PATTERN_OF(p) .pat = (p), .n_pat = OX_COUNT(p) /* designated */

typedef struct ox_rule_set {
  const ox_rule *rules;
  size_t n;
} ox_rule_set;

/* Matches |rule| with |root| as its last node. */
bool ox_rule_match(const ox_graph *g, const ox_rule *rule, ox_id root, ox_match *m);

/* ---- questions ---- */
static inline ox_id ox_in(const ox_graph *g, ox_id node, uint32_t slot) {
  return node != OX_NONE && slot < g->nodes[node].n_in ? g->nodes[node].in[slot] : OX_NONE;
}
static inline ox_id ox_out(const ox_graph *g, ox_id node, uint32_t slot) {
  return node != OX_NONE && slot < g->nodes[node].n_out ? g->nodes[node].out[slot] : OX_NONE;
}
/* Whether the node is |op| (alternatives by '|') of ai.onnx or of |domain|. */
bool ox_node_is(const ox_node *n, const char *op, const char *domain);
/* The ai.onnx node |op| that produces |v| as its output 0, or OX_NONE. */
ox_id ox_up(const ox_graph *g, ox_id v, const char *op);
/* The same, if nothing but one node reads |v|. */
ox_id ox_up1(const ox_graph *g, ox_id v, const char *op);
/* The only reader of |v|, or OX_NONE. */
ox_id ox_only_user(const ox_graph *g, ox_id v);
uint32_t ox_dtype_of(const ox_graph *g, ox_id v); /* of a tensor; OX_UNDEFINED for OX_NONE or unknown */
static inline const ox_shape *ox_shape_at(const ox_graph *g, ox_id v) { return &g->values[v].type.shape; }
int64_t ox_attr_i(const ox_node *n, const char *name, int64_t absent);
float ox_attr_f(const ox_node *n, const char *name, float absent);
bool ox_attr_is(const ox_node *n, const char *name, const char *text, bool absent);
/* The one element of a constant (any number type, any rank). */
bool ox_const_scalar(const ox_graph *g, ox_id v, double *out);
/* A constant whose one element is within a relative 1e-3 of |want| (exactly, for 0 and 1), as exporters round. */
bool ox_const_near(const ox_graph *g, ox_id v, double want);
/* Every element of a constant is exactly |want|; |limit| elements at most. */
bool ox_const_all(const ox_graph *g, ox_id v, double want, int64_t limit);
/* A constant list of integers; false if there is none or it is longer than |max|. */
bool ox_const_ints(const ox_graph *g, ox_id v, int64_t *out, int max, int *out_n);
/* The list in attribute |name| or, newer, in constant input |slot|; absent: *out_n = -1. False: not constant. */
bool ox_list_of(const ox_graph *g, ox_id node, const char *name, uint32_t slot, int64_t *out, int max, int *out_n);
/* The element |i| of a number tensor as a double. */
double ox_tensor_at(const ox_tensor *t, int64_t i);
/* This build runs |op| of |domain| on |dtype|. */
bool ox_op_serves(const ox_graph *g, const char *domain, const char *op, uint32_t dtype);
/* |v| is not read outside these ids of nodes. */
bool ox_used_only_by(const ox_graph *g, ox_id v, const ox_id *nodes, uint32_t n);

/* ---- edits ---- */
/* |node| becomes |op| with just these inputs and no attributes; its outputs stay. */
OX_NODISCARD ox_status *ox_node_remake(ox_graph *g, ox_id node, const char *domain, const char *op, const ox_id *in,
                                       uint32_t n_in);
/* A node with one fresh output of inferred type. */
OX_NODISCARD ox_status *ox_graph_emit(ox_graph *g, const char *op, const char *domain, const ox_id *in, uint32_t n_in,
                                      ox_id *out_node, ox_id *out_value);
/* A float constant of |dims|, from doubles rounded once. */
OX_NODISCARD ox_status *ox_graph_f32_const(ox_graph *g, const char *name, int rank, const int64_t *dims,
                                           const double *data, ox_id *out_value);
/* A constant of |dims| whose zeroed float content is the caller's to fill. */
OX_NODISCARD ox_status *ox_graph_f32_room(ox_graph *g, const char *name, int rank, const int64_t *dims,
                                          float **out_data, ox_id *out_value);

#endif
