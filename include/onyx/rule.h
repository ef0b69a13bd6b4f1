/* SPDX-License-Identifier: Apache-2.0
 * onyx/rule.h - rewriting of graphs: patterns, guards, edits and passes as data, the same for rules of the engine, of
 * providers and of plug-ins. A rule does everything through the table ox_graph_api, so it links against nothing of
 * ours; onyx/rewrite.h has short names for the calls. Structs are sized: append only, never reorder. */
#ifndef ONYX_RULE_H
#define ONYX_RULE_H

#include "onyx/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How much a graph is rewritten before it runs; a rule names the lowest level that applies it. */
enum {
  OX_OPTIMIZE_NONE = 0,     /* types and shapes are inferred, nothing is rewritten */
  OX_OPTIMIZE_BASIC = 1,    /* folding, merging, elimination; no new operators */
  OX_OPTIMIZE_EXTENDED = 2, /* fusions into other operators */
  OX_OPTIMIZE_ALL = 3       /* also what pays only inside one session */
};

typedef uint32_t ox_id; /* a node or a value of one graph; OX_NONE: none. Ids are stable while rules run */
#define OX_NONE UINT32_MAX
typedef struct ox_graph_api ox_graph_api;

/* A node as an activation of its input 0, by the name that fused operators use: Relu, LeakyRelu, Sigmoid, Tanh,
 * HardSigmoid, HardSwish, Elu, Gelu, FastGelu, QuickGelu, Silu, Clip ... */
typedef struct ox_activation {
  const char *name;
  float params[2]; /* the first |n_params|: alpha; alpha, beta; min, max */
  uint32_t n_params;
} ox_activation;

/* ---- what a rule works on ------------------------------------------------------------------------------- */

/* A graph (the model's, or a body of If, Loop or Scan), valid during one call; do not copy or keep it. In an owner's
 * phase only that provider's nodes are visible: others can neither be found nor changed. */
typedef struct ox_rewrite {
  uint32_t struct_size;
  const ox_graph_api *api;
  ox_graph *graph; /* the host's */
} ox_rewrite;

/* The calls. For an invalid id, queries return OX_NONE, 0, NULL, "" or an unknown shape; edits return INVALID_ARGUMENT.
 * What they return (strings, types, shapes, tensors, attributes) is borrowed until the next edit; names and contents of
 * tensors live as long as the model. Edits fail with OUT_OF_MEMORY or INVALID_ARGUMENT, which names the node; after a
 * failure the optimization ends with that status. */
struct ox_graph_api {
  uint32_t struct_size; /* of this table: a call that was appended later exists only if it lies within */

  /* -- nodes -- */
  uint32_t (*node_count)(const ox_rewrite *g);        /* node ids are below it; some may be removed */
  int (*node_alive)(const ox_rewrite *g, ox_id node); /* 0: removed; in an owner's phase also: another owner's */
  const char *(*node_op)(const ox_rewrite *g, ox_id node);
  const char *(*node_domain)(const ox_rewrite *g, ox_id node); /* "": ai.onnx */
  const char *(*node_name)(const ox_rewrite *g, ox_id node);   /* may be "" */
  uint32_t (*node_version)(const ox_rewrite *g, ox_id node);   /* the operator set version it was written for */
  const char *(*node_owner)(const ox_rewrite *g, ox_id node);  /* its provider's name; NULL before nodes have owners */
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
  uint32_t (*value_count)(const ox_rewrite *g); /* value ids are below it; some may be removed */
  const char *(*value_name)(const ox_rewrite *g, ox_id v);
  const ox_type *(*value_type)(const ox_rewrite *g, ox_id v);    /* NULL for OX_NONE */
  uint32_t (*value_dtype)(const ox_rewrite *g, ox_id v);         /* OX_UNDEFINED: unknown, or not a tensor */
  const ox_shape *(*value_shape)(const ox_rewrite *g, ox_id v);  /* never NULL */
  const ox_tensor *(*value_const)(const ox_rewrite *g, ox_id v); /* the content of a constant, or NULL */
  /* The node that computes |v|, and as which output (|out_slot| may be NULL). OX_NONE: |v| is an input, a constant, a
   * value of an enclosing graph or of another owner's node. */
  ox_id (*producer)(const ox_rewrite *g, ox_id v, uint32_t *out_slot);
  /* The number of uses: input slots of this graph's nodes, of any owner, plus 1 for each body that reads |v|, plus 1 if
   * |v| is a graph output. */
  uint32_t (*use_count)(const ox_rewrite *g, ox_id v);
  uint32_t (*user_count)(const ox_rewrite *g, ox_id v); /* the input slots alone */
  /* User |i| of these, in an unspecified order that does not change between runs; OX_NONE: another owner's node. */
  ox_id (*user)(const ox_rewrite *g, ox_id v, uint32_t i, uint32_t *out_slot);
  int (*is_input)(const ox_rewrite *g, ox_id v);
  int (*is_output)(const ox_rewrite *g, ox_id v);

  /* -- the graph -- */
  uint32_t (*io_count)(const ox_rewrite *g, int outputs);
  ox_id (*io)(const ox_rewrite *g, int outputs, uint32_t i);
  int64_t (*opset)(const ox_rewrite *g, const char *domain);    /* the version that the model imports; 0: none */
  const char *(*symbol_name)(const ox_rewrite *g, int64_t dim); /* of a symbolic dimension, or NULL */
  /* Whether |op| of |domain| (NULL: ai.onnx) would run on |dtype|: the operator is known and takes it, and in an
   * owner's phase the provider has it. Ask before making a node. */
  int (*op_serves)(const ox_rewrite *g, const char *domain, const char *op, uint32_t dtype);
  /* The live nodes, producers first. The list lives as long as scratch's memory. Errors: OUT_OF_MEMORY; INVALID_MODEL
   * for a cycle. */
  ox_status *(*order)(const ox_rewrite *g, const ox_id **out_nodes, uint32_t *out_n);
  double (*element)(const ox_tensor *t, int64_t i); /* of numbers and bools; NaN for others. |i| is not checked */

  /* -- memory: zeroed, aligned to 16; NULL: out of memory -- */
  void *(*scratch)(const ox_rewrite *g, size_t bytes); /* until the rule is applied or declined, the pass returns */
  void *(*model_alloc)(const ox_rewrite *g, size_t bytes); /* as long as the model, for contents of constants */

  /* -- edits: values -- */
  /* Adds a value named |hint| (made unique; NULL: any name) of |type| (NULL: unknown). The struct is copied, but not
   * what it points to. */
  ox_status *(*add_value)(const ox_rewrite *g, const char *hint, const ox_type *type, ox_id *out_value);
  /* The same for a tensor; |shape| NULL: unknown. */
  ox_status *(*add_tensor)(const ox_rewrite *g, const char *hint, uint32_t dtype, const ox_shape *shape,
                           ox_id *out_value);
  /* Adds a constant. add_const copies |t|'s elements (no strings); const_room gives zeroed memory for the caller to
   * fill; const_view borrows elements of another constant, of an attribute or from model_alloc. */
  ox_status *(*add_const)(const ox_rewrite *g, const char *hint, const ox_tensor *t, ox_id *out_value);
  ox_status *(*const_room)(const ox_rewrite *g, const char *hint, uint32_t dtype, const ox_shape *shape,
                           void **out_data, ox_id *out_value);
  ox_status *(*const_view)(const ox_rewrite *g, const char *hint, const ox_tensor *t, ox_id *out_value);
  /* Makes |v| the constant |t| (borrowed); the node that computed it loses that output. */
  ox_status *(*make_const)(const ox_rewrite *g, ox_id v, const ox_tensor *t);
  /* All uses of |from| (nodes of any owner, bodies, graph outputs) become uses of |to|. A graph output keeps its name:
   * |to| takes it over if can_replace says so, else an Identity is inserted. */
  ox_status *(*replace_uses)(const ox_rewrite *g, ox_id from, ox_id to);
  int (*can_replace)(const ox_rewrite *g, ox_id from, ox_id to);

  /* -- edits: nodes -- */
  /* Adds a node; ids in |in| and |out| may be OX_NONE. Values of |out| must have no producer. In an owner's phase the
   * node is that provider's. */
  ox_status *(*add_node)(const ox_rewrite *g, const char *domain, const char *op, const char *name, const ox_id *in,
                         uint32_t n_in, const ox_id *out, uint32_t n_out, ox_id *out_node);
  ox_status *(*set_in)(const ox_rewrite *g, ox_id node, uint32_t slot, ox_id v); /* adds slots if need be */
  ox_status *(*set_out)(const ox_rewrite *g, ox_id node, uint32_t slot, ox_id v);
  /* Drops the inputs from |n_in| on and the outputs from |n_out| on. */
  ox_status *(*set_counts)(const ox_rewrite *g, ox_id node, uint32_t n_in, uint32_t n_out);
  /* Changes the node's operator; attributes, inputs and outputs stay. */
  ox_status *(*become)(const ox_rewrite *g, ox_id node, const char *domain, const char *op);
  /* Sets an attribute of any kind but graphs and types. Lists, strings and tensor structs are copied; elements of
   * tensors are borrowed, as by const_view. */
  ox_status *(*set_attr)(const ox_rewrite *g, ox_id node, const char *name, const ox_attr_view *value);
  /* Removes one, or all (|name| NULL); an absent one is no error. A body goes with its node only: for an attribute that
   * holds one, this and set_attr return INVALID_ARGUMENT. */
  ox_status *(*remove_attr)(const ox_rewrite *g, ox_id node, const char *name);
  /* Infers the types of the node's outputs from those of its inputs. Errors: those of the operator's inference; an
   * unknown operator is no error. */
  ox_status *(*infer)(const ox_rewrite *g, ox_id node);
  ox_status *(*remove_node)(const ox_rewrite *g, ox_id node); /* its outputs are left without a producer */
  /* Removes the node if its outputs are unused, then its producers likewise. The host does this for every node of a
   * match. */
  ox_status *(*remove_unused)(const ox_rewrite *g, ox_id node);

  /* -- errors -- */
  ox_status *(*status_make)(ox_code code, const char *text);
  /* For guards, which return no status: the optimization ends with |st|, which the host takes over. */
  void (*guard_failed)(const ox_rewrite *g, ox_status *st);

  /* -- 1.1 -- */
  /* The node as an activation. Returns 0 if it is none, or if its parameters are not constant. */
  int (*activation)(const ox_rewrite *g, ox_id node, ox_activation *out);
  /* 1.2. Adds a constant that |make| computes from |from|, a constant of the model, and |arg|. */
  ox_status *(*const_made)(const ox_rewrite *g, const char *hint, uint32_t dtype, const ox_shape *shape,
                           const ox_tensor *from, void (*make)(const ox_tensor *from, const void *arg, void *to),
                           const void *arg, size_t arg_bytes, ox_id *out_value);
  /* 1.5. The same, computed when it is needed: |make| writes elements [first, first + n) to |to|. It may be called for
   * any range, at any time and from any thread, and must write the same bytes each time; |arg| is copied. */
  ox_status *(*const_later)(const ox_rewrite *g, const char *hint, uint32_t dtype, const ox_shape *shape,
                            const ox_tensor *from,
                            void (*make)(const ox_tensor *from, const void *arg, int64_t first, int64_t n, void *to),
                            const void *arg, size_t arg_bytes, ox_id *out_value);
  /* As value_const, for type, shape and size only: nothing is computed, and data may be NULL. */
  const ox_tensor *(*value_const_type)(const ox_rewrite *g, ox_id v);
  /* If |v| was made by const_later with |make| and has not been computed: returns the copy of |arg| and sets
   * |*out_from|. Else NULL. */
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
  { OX_PAT_ANY, 0, 0, 0 } /* anything, or nothing; the default */
#define OX_FROM(entry) \
  { OX_PAT_FROM, (entry), 0, 0 } /* output 0 of an earlier entry of the pattern */
#define OX_FROM_SLOT(entry, output) \
  { OX_PAT_FROM, (entry), (output), 0 }
#define OX_ARG(k) \
  { OX_PAT_ARG, (k), 0, 0 } /* any value, stored in m->arg[k]; the same value wherever |k| is used */
#define OX_CONST(k) \
  { OX_PAT_CONST, (k), 0, 0 } /* a constant, stored in m->arg[k] */
#define OX_ABSENT \
  { OX_PAT_ABSENT, 0, 0, 0 }

/* One node of a pattern. The last entry is the root, from which the others are found. */
typedef struct ox_pat {
  const char *op;     /* or alternatives: "Relu|Clip" */
  const char *domain; /* NULL: ai.onnx */
  ox_pat_in in[OX_PAT_INS];
  uint32_t types;      /* allowed dtypes of output 0 (OX_BIT); 0: any, even unknown */
  uint8_t single_use;  /* output 0 has exactly one use, in the pattern; other outputs have none */
  uint8_t uses;        /* the same with this many uses, all in the pattern */
  uint8_t commutative; /* inputs 0 and 1 may be swapped */
  uint8_t unknown;     /* may be an operator without a schema, whose inputs nothing has checked */
  /* 1.1 */
  uint32_t activation; /* 1: any operator that can be an activation; |op| and |domain| are NULL */
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

/* What the guard found, kept for apply: OX_CAPTURE(m, found)->scale = s; const found *f = OX_CAPTURED(m, found). */
#define OX_CAPTURE_OK_(type) (0 * sizeof(char[sizeof(type) <= OX_CAPTURE_BYTES ? 1 : -1]))
#define OX_CAPTURE(m, type) ((type *)(void *)((m)->captured.bytes + OX_CAPTURE_OK_(type)))
#define OX_CAPTURED(m, type) ((const type *)(const void *)((m)->captured.bytes + OX_CAPTURE_OK_(type)))

/* ---- rules and passes ----------------------------------------------------------------------------------- */

/* A pattern, a guard for what the pattern cannot say, and an edit. Every rule must shrink some measure (nodes, say), so
 * that rewriting ends. A rule may have several rows of one name, next to each other in one set. */
typedef struct ox_rule {
  uint32_t struct_size;
  uint32_t level;   /* OX_OPTIMIZE_*, at least BASIC */
  const char *name; /* for disabling it, and in counts, dumps and errors */
  const ox_pat *pat;
  uint32_t n_pat;
  uint32_t pat_row_bytes; /* sizeof(ox_pat) */
  /* Non-zero: apply the rule. Must not edit. NULL: always apply. */
  int (*guard)(const ox_rewrite *g, ox_match *m);
  /* Edits the graph. Matched nodes that became unused are removed afterwards. A failure ends the optimization. */
  ox_status *(*apply)(const ox_rewrite *g, const ox_match *m);
  /* 1.1, optional */
  uint32_t late; /* non-zero: only when all other rules of the level find nothing more */
} ox_rule;
#define OX_PATTERN(p) .pat = (p), .n_pat = sizeof(p) / sizeof((p)[0]), .pat_row_bytes = sizeof((p)[0])
/* {OX_RULE("conv-relu", OX_OPTIMIZE_EXTENDED, pat, guard, apply), .late = 1} */
#define OX_RULE(rule_name, from_level, pattern, guard_fn, apply_fn)                                \
  .struct_size = sizeof(ox_rule), .level = (from_level), .name = (rule_name), OX_PATTERN(pattern), \
  .guard = (guard_fn), .apply = (apply_fn)

/* Edits a whole graph at once: called for the model's and for each body, innermost first, in every round. */
typedef struct ox_pass {
  uint32_t struct_size;
  uint32_t level;
  const char *name;
  ox_status *(*run)(const ox_rewrite *g, uint32_t *out_changes); /* 0: nothing was edited; must get there in the end */
  /* 1.1, optional */
  uint32_t late, reserved; /* late: as for rules; in each round all rules come before passes */
} ox_pass;

/* When a set's rules are applied. */
enum {
  OX_RULES_WITH = 0,   /* with the standard rules: on the whole graph, and again on what each owner has */
  OX_RULES_BEFORE = 1, /* on the whole graph, until nothing more applies, before the standard rules */
  OX_RULES_AFTER = 2,  /* the same, after the standard rules */
  OX_RULES_OWNED = 3   /* on the nodes that one provider owns, once all nodes have owners */
};

/* Borrowed: rows and what they point to must live as long as the session or environment that was given the set. */
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
