/* SPDX-License-Identifier: Apache-2.0
 * onyx/rule.h - rewriting of graphs: patterns, guards, edits and passes as data, those of the engine, of a provider and
 * of anybody. All that a rule does goes through the table ox_graph_api, so it links against nothing of ours;
 * onyx/rewrite.h has short names for it. Structs are sized: append only, never reorder. */
#ifndef ONYX_RULE_H
#define ONYX_RULE_H

#include "onyx/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How much a graph is rewritten before it runs, and from which level a rule is on. */
enum {
  OX_OPTIMIZE_NONE = 0,     /* types and shapes are inferred */
  OX_OPTIMIZE_BASIC = 1,    /* folding, merging, elimination: the same operators */
  OX_OPTIMIZE_EXTENDED = 2, /* other operators */
  OX_OPTIMIZE_ALL = 3       /* also what only pays inside one session */
};

typedef uint32_t ox_id; /* a node or a value of one graph; OX_NONE: none. Ids stay as they are while rules run */
#define OX_NONE UINT32_MAX
typedef struct ox_graph_api ox_graph_api;

/* The activation that a node is of its input 0, by the name that fused operators know: Relu, LeakyRelu, Sigmoid, Tanh,
 * HardSigmoid, HardSwish, Elu, Gelu, FastGelu, QuickGelu, Silu, Clip ... */
typedef struct ox_activation {
  const char *name;
  float params[2]; /* the first |n_params|: alpha; alpha, beta; min, max */
  uint32_t n_params;
} ox_activation;

/* ---- what a rule works on ------------------------------------------------------------------------------- */

/* A graph (the model's, or a body of If, Loop, Scan) for the length of one call. Not to be copied or kept. In an
 * owner's phase only that provider's nodes are there: the others can neither be found nor changed. */
typedef struct ox_rewrite {
  uint32_t struct_size;
  const ox_graph_api *api;
  ox_graph *graph; /* the host's */
} ox_rewrite;

/* The calls. Of an id that is none they say OX_NONE, 0, NULL, "", an unknown shape; an edit of one is
 * INVALID_ARGUMENT. What they lend (strings, types, shapes, tensors, attributes) lives until the next edit, names and
 * contents of tensors as long as the model. Edits fail with OUT_OF_MEMORY or INVALID_ARGUMENT, which names the node;
 * after a failure the optimization ends with that status. */
struct ox_graph_api {
  uint32_t struct_size; /* of this table: a call that was appended later is there if it lies within */

  /* -- nodes -- */
  uint32_t (*node_count)(const ox_rewrite *g);        /* ids of nodes are below; some may have been removed */
  int (*node_alive)(const ox_rewrite *g, ox_id node); /* 0: removed, or another owner's in an owner's phase */
  const char *(*node_op)(const ox_rewrite *g, ox_id node);
  const char *(*node_domain)(const ox_rewrite *g, ox_id node); /* "": ai.onnx */
  const char *(*node_name)(const ox_rewrite *g, ox_id node);   /* may be "" */
  uint32_t (*node_version)(const ox_rewrite *g, ox_id node);   /* of the operator set it was written for */
  const char *(*node_owner)(const ox_rewrite *g, ox_id node);  /* its provider's name; NULL before there are owners */
  uint32_t (*node_in_count)(const ox_rewrite *g, ox_id node);
  uint32_t (*node_out_count)(const ox_rewrite *g, ox_id node);
  ox_id (*node_in)(const ox_rewrite *g, ox_id node, uint32_t slot); /* OX_NONE: omitted */
  ox_id (*node_out)(const ox_rewrite *g, ox_id node, uint32_t slot);
  uint32_t (*node_body_count)(const ox_rewrite *g, ox_id node); /* graphs among its attributes */
  /* Whether the node is one of |ops| (alternatives by '|') of |domain| (NULL: ai.onnx). */
  int (*node_is)(const ox_rewrite *g, ox_id node, const char *ops, const char *domain);
  uint32_t (*attr_count)(const ox_rewrite *g, ox_id node);
  const char *(*attr_name)(const ox_rewrite *g, ox_id node, uint32_t i);
  const ox_attr_view *(*attr)(const ox_rewrite *g, ox_id node, const char *name); /* NULL: absent */

  /* -- values -- */
  uint32_t (*value_count)(const ox_rewrite *g); /* ids of values are below; some may be gone */
  const char *(*value_name)(const ox_rewrite *g, ox_id v);
  const ox_type *(*value_type)(const ox_rewrite *g, ox_id v);    /* NULL for OX_NONE */
  uint32_t (*value_dtype)(const ox_rewrite *g, ox_id v);         /* of a tensor; OX_UNDEFINED: unknown, or no tensor */
  const ox_shape *(*value_shape)(const ox_rewrite *g, ox_id v);  /* never NULL */
  const ox_tensor *(*value_const)(const ox_rewrite *g, ox_id v); /* the content of a constant, or NULL */
  /* The node that makes |v|, its output |*out_slot| (may be NULL); OX_NONE: an input, a constant, an enclosing
   * graph's value, another owner's node. */
  ox_id (*producer)(const ox_rewrite *g, ox_id v, uint32_t *out_slot);
  /* Uses: input slots of nodes of this graph, of any owner, plus 1 for each body that reads |v|, plus 1 if it is an
   * output of the graph. */
  uint32_t (*use_count)(const ox_rewrite *g, ox_id v);
  uint32_t (*user_count)(const ox_rewrite *g, ox_id v); /* the input slots alone */
  /* The |i|th of these, in no order but the same in every run; OX_NONE: another owner's. */
  ox_id (*user)(const ox_rewrite *g, ox_id v, uint32_t i, uint32_t *out_slot);
  int (*is_input)(const ox_rewrite *g, ox_id v);
  int (*is_output)(const ox_rewrite *g, ox_id v);

  /* -- the graph -- */
  uint32_t (*io_count)(const ox_rewrite *g, int outputs);
  ox_id (*io)(const ox_rewrite *g, int outputs, uint32_t i);
  int64_t (*opset)(const ox_rewrite *g, const char *domain);    /* that the model imports; 0: none */
  const char *(*symbol_name)(const ox_rewrite *g, int64_t dim); /* of a symbolic dimension, or NULL */
  /* Whether |op| of |domain| (NULL: ai.onnx) would run on |dtype|: there is an operator that takes it, and in an
   * owner's phase its provider has it. Whoever makes a node asks first. */
  int (*op_serves)(const ox_rewrite *g, const char *domain, const char *op, uint32_t dtype);
  /* Live nodes, producers first. The list lives as long as `scratch`. Error: OUT_OF_MEMORY; INVALID_MODEL: a cycle. */
  ox_status *(*order)(const ox_rewrite *g, const ox_id **out_nodes, uint32_t *out_n);
  double (*element)(const ox_tensor *t, int64_t i); /* of numbers and bools; NaN for others. |i| is not checked */

  /* -- memory: zeroed, aligned to 16; NULL: out of memory -- */
  void *(*scratch)(const ox_rewrite *g, size_t bytes); /* until this rule has been applied or declined; of a pass: until
                                                        * it returns */
  void *(*model_alloc)(const ox_rewrite *g, size_t bytes); /* as long as the model, for contents of constants */

  /* -- edits: values -- */
  /* A new value called |hint| (made unique; NULL: any name) of |type| (NULL: unknown), which is copied, but not what it
   * points to. */
  ox_status *(*add_value)(const ox_rewrite *g, const char *hint, const ox_type *type, ox_id *out_value);
  /* The same, a tensor; |shape| NULL: unknown. */
  ox_status *(*add_tensor)(const ox_rewrite *g, const char *hint, uint32_t dtype, const ox_shape *shape,
                           ox_id *out_value);
  /* A new constant. add_const copies |t|'s elements (no strings); const_room leaves them, zeroed, for the caller to
   * fill; const_view borrows: of a constant, an attribute, or model_alloc. */
  ox_status *(*add_const)(const ox_rewrite *g, const char *hint, const ox_tensor *t, ox_id *out_value);
  ox_status *(*const_room)(const ox_rewrite *g, const char *hint, uint32_t dtype, const ox_shape *shape,
                           void **out_data, ox_id *out_value);
  ox_status *(*const_view)(const ox_rewrite *g, const char *hint, const ox_tensor *t, ox_id *out_value);
  /* |v| is the constant |t| (borrowed) from now on: the node that made it has one output less. */
  ox_status *(*make_const)(const ox_rewrite *g, ox_id v, const ox_tensor *t);
  /* Everybody who read |from| reads |to|, of any owner, bodies and the graph's output list too. An output of the graph
   * keeps its name: |to| takes it over if can_replace, else an Identity is put in between. */
  ox_status *(*replace_uses)(const ox_rewrite *g, ox_id from, ox_id to);
  int (*can_replace)(const ox_rewrite *g, ox_id from, ox_id to);

  /* -- edits: nodes -- */
  /* A new node; ids may be OX_NONE. |out| must be without a producer. In an owner's phase it is that provider's. */
  ox_status *(*add_node)(const ox_rewrite *g, const char *domain, const char *op, const char *name, const ox_id *in,
                         uint32_t n_in, const ox_id *out, uint32_t n_out, ox_id *out_node);
  ox_status *(*set_in)(const ox_rewrite *g, ox_id node, uint32_t slot, ox_id v); /* more inputs if need be */
  ox_status *(*set_out)(const ox_rewrite *g, ox_id node, uint32_t slot, ox_id v);
  /* Cuts off the inputs or outputs from |n| on. */
  ox_status *(*set_counts)(const ox_rewrite *g, ox_id node, uint32_t n_in, uint32_t n_out);
  /* Another operator in the place of this one; attributes and edges stay. */
  ox_status *(*become)(const ox_rewrite *g, ox_id node, const char *domain, const char *op);
  /* Any kind but graphs and types; lists, strings and tensors' structs are copied, elements of tensors borrowed as by
   * const_view. */
  ox_status *(*set_attr)(const ox_rewrite *g, ox_id node, const char *name, const ox_attr_view *value);
  ox_status *(*remove_attr)(const ox_rewrite *g, ox_id node, const char *name); /* NULL: all. Absent: nothing */
  /* Types of the node's outputs from those of its inputs. Errors: the operator's; an unknown one is none. */
  ox_status *(*infer)(const ox_rewrite *g, ox_id node);
  ox_status *(*remove_node)(const ox_rewrite *g, ox_id node); /* its outputs have no producer then */
  /* Removes the node if nobody reads it, then its producers in turn. The host does so for every node of a match. */
  ox_status *(*remove_unused)(const ox_rewrite *g, ox_id node);

  /* -- errors -- */
  ox_status *(*status_make)(ox_code code, const char *text);
  /* For guards, which have no status to return: the optimization ends with |st|, which is the host's from now on. */
  void (*guard_failed)(const ox_rewrite *g, ox_status *st);

  /* -- 1.1 -- */
  /* 0: the node is no activation, or its parameters are not constant. */
  int (*activation)(const ox_rewrite *g, ox_id node, ox_activation *out);
  /* 1.2. A new constant that |make| fills from |from|, a constant of the model, and |arg|. */
  ox_status *(*const_made)(const ox_rewrite *g, const char *hint, uint32_t dtype, const ox_shape *shape,
                           const ox_tensor *from, void (*make)(const ox_tensor *from, const void *arg, void *to),
                           const void *arg, size_t arg_bytes, ox_id *out_value);
  /* 1.5. The same, computed when somebody needs it: |make| writes elements [first, first + n) of it to |to|. It may be
   * called for any of them, at any time and from any thread, and must write the same bytes each time; |arg| is copied.
   */
  ox_status *(*const_later)(const ox_rewrite *g, const char *hint, uint32_t dtype, const ox_shape *shape,
                            const ox_tensor *from,
                            void (*make)(const ox_tensor *from, const void *arg, int64_t first, int64_t n, void *to),
                            const void *arg, size_t arg_bytes, ox_id *out_value);
  /* value_const for its type, shape and size: nothing is computed, and data may be NULL. */
  const ox_tensor *(*value_const_type)(const ox_rewrite *g, ox_id v);
  /* What const_later was given for |v|, if it was |make| and the constant is still to be computed: |*out_from|, and |arg|'s
   * copy, which is returned; else NULL. */
  const void *(*const_source)(const ox_rewrite *g, ox_id v,
                              void (*make)(const ox_tensor *from, const void *arg, int64_t first, int64_t n, void *to),
                              const ox_tensor **out_from);
};

/* ---- patterns ------------------------------------------------------------------------------------------- */

enum { OX_PAT_NODES = 12, OX_PAT_ARGS = 8, OX_PAT_INS = 6, OX_CAPTURE_BYTES = 512 };

enum { OX_PAT_ANY = 0, OX_PAT_FROM = 1, OX_PAT_ARG = 2, OX_PAT_CONST = 3, OX_PAT_ABSENT = 4 };
typedef struct ox_pat_in {
  uint8_t kind, index, slot, reserved;
} ox_pat_in;
#define OX_ANY \
  { OX_PAT_ANY, 0, 0, 0 } /* anything, also nothing; what is not mentioned is that */
#define OX_FROM(entry) \
  { OX_PAT_FROM, (entry), 0, 0 } /* output 0 of an earlier entry of the pattern */
#define OX_FROM_SLOT(entry, output) \
  { OX_PAT_FROM, (entry), (output), 0 }
#define OX_ARG(k) \
  { OX_PAT_ARG, (k), 0, 0 } /* any value: m->arg[k]; the same value wherever k stands */
#define OX_CONST(k) \
  { OX_PAT_CONST, (k), 0, 0 } /* a constant: m->arg[k] */
#define OX_ABSENT \
  { OX_PAT_ABSENT, 0, 0, 0 }

/* One node of a pattern; the last one is the root, from which the others are found. */
typedef struct ox_pat {
  const char *op;     /* alternatives: "Relu|Clip" */
  const char *domain; /* NULL: ai.onnx */
  ox_pat_in in[OX_PAT_INS];
  uint32_t types;      /* dtypes of output 0 (OX_BIT); 0: any, even unknown */
  uint8_t single_use;  /* output 0 has one use, which is in the pattern; other outputs have none */
  uint8_t uses;        /* the same with this many uses, all of which must be in the pattern */
  uint8_t commutative; /* inputs 0 and 1 may be swapped */
  uint8_t unknown;     /* also an operator that nobody here knows: nothing about its inputs has been checked */
  /* 1.1 */
  uint32_t activation; /* any operator that may be an activation, in place of |op| and |domain|, which are NULL */
  uint32_t reserved;
} ox_pat;

typedef struct ox_match {
  ox_id node[OX_PAT_NODES]; /* by entry of the pattern */
  ox_id arg[OX_PAT_ARGS];
  union {
    double d;
    int64_t i;
    void *p;
    unsigned char bytes[OX_CAPTURE_BYTES];
  } captured;
} ox_match;

/* What the guard found out, kept for apply: OX_CAPTURE(m, found)->scale = s; const found *f = OX_CAPTURED(m, found). */
#define OX_CAPTURE_OK_(type) (0 * sizeof(char[sizeof(type) <= OX_CAPTURE_BYTES ? 1 : -1]))
#define OX_CAPTURE(m, type) ((type *)(void *)((m)->captured.bytes + OX_CAPTURE_OK_(type)))
#define OX_CAPTURED(m, type) ((const type *)(const void *)((m)->captured.bytes + OX_CAPTURE_OK_(type)))

/* ---- rules and passes ----------------------------------------------------------------------------------- */

/* A pattern, what it cannot say, and an edit. Every rule must shrink a measure of its own (nodes, say), so that
 * rewriting ends. One rule may have several rows of one name, one after the other in one set. */
typedef struct ox_rule {
  uint32_t struct_size;
  uint32_t level;   /* OX_OPTIMIZE_*, at least BASIC */
  const char *name; /* for switching off, counts, dumps, errors */
  const ox_pat *pat;
  uint32_t n_pat;
  uint32_t pat_row_bytes; /* sizeof(ox_pat) */
  /* Non-zero: apply. Must not edit. NULL: always. */
  int (*guard)(const ox_rewrite *g, ox_match *m);
  /* What becomes unused of the matched nodes is removed afterwards. A failure ends the optimization. */
  ox_status *(*apply)(const ox_rewrite *g, const ox_match *m);
  /* 1.1, optional */
  uint32_t late; /* non-zero: only after all others of the level have found nothing more */
} ox_rule;
#define OX_PATTERN(p) .pat = (p), .n_pat = sizeof(p) / sizeof((p)[0]), .pat_row_bytes = sizeof((p)[0])
/* {OX_RULE("conv-relu", OX_OPTIMIZE_EXTENDED, pat, guard, apply), .late = 1} */
#define OX_RULE(rule_name, from_level, pattern, guard_fn, apply_fn)                                \
  .struct_size = sizeof(ox_rule), .level = (from_level), .name = (rule_name), OX_PATTERN(pattern), \
  .guard = (guard_fn), .apply = (apply_fn)

/* The whole graph at once: the model's and each body, innermost first, in every round. */
typedef struct ox_pass {
  uint32_t struct_size;
  uint32_t level;
  const char *name;
  ox_status *(*run)(const ox_rewrite *g, uint32_t *out_changes); /* 0: nothing was edited. Must become 0 in the end */
  /* 1.1, optional */
  uint32_t late, reserved; /* late: as a rule's; in each round all rules come before passes */
} ox_pass;

/* When a set has its turn. */
enum {
  OX_RULES_WITH = 0,   /* together with the standard rules: on the whole graph, and again inside what each owner has */
  OX_RULES_BEFORE = 1, /* on the whole graph, until nothing more applies, before the standard rules */
  OX_RULES_AFTER = 2,  /* the same, after them */
  OX_RULES_OWNED = 3   /* inside what one provider owns, when all nodes have owners */
};

/* Borrowed: rows and what they point to must live as long as whoever was given the set. */
typedef struct ox_rule_set {
  uint32_t struct_size;
  uint32_t place;       /* OX_RULES_* */
  const char *owner;    /* OX_RULES_OWNED: the provider's name; NULL: any provider's */
  const ox_rule *rules; /* rows of rules[0].struct_size bytes each */
  size_t n_rules;
  const ox_pass *passes; /* rows of passes[0].struct_size bytes each */
  size_t n_passes;
} ox_rule_set;
#define OX_RULE_ROWS_(rows) \
  .struct_size = sizeof(ox_rule_set), .rules = (rows), .n_rules = sizeof(rows) / sizeof((rows)[0])
#define OX_RULE_SET(rows) \
  { OX_RULE_ROWS_(rows) }
#define OX_OWNED_RULE_SET(provider, rows) \
  { OX_RULE_ROWS_(rows), .place = OX_RULES_OWNED, .owner = (provider) }

#ifdef __cplusplus
}
#endif
#endif
