/* SPDX-License-Identifier: Apache-2.0
 * graph/graph.h - the graph IR. Nodes and values are ids into dense arrays, names and attributes live in the model's
 * arena: everything dies together. Edits go through these calls, which keep producer and use lists right; removed
 * nodes are marked dead and dropped by ox_graph_compact. Not thread-safe; immutable once a session owns it. */
#ifndef OX_GRAPH_GRAPH_H
#define OX_GRAPH_GRAPH_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/file_map.h"
#include "base/map.h"
#include "base/status.h"
#include "base/watch.h"
#include "graph/dtype.h"
#include "graph/shape.h"
#include "onyx/op.h"

typedef uint32_t ox_id; /* of a node or a value in one graph; OX_NONE: none */
typedef struct ox_model ox_model;
typedef struct ox_registry ox_registry; /* graph/registry.h */

ox_type ox_type_unknown(void);
ox_type ox_type_tensor(uint32_t dtype, const ox_shape *shape);

/* One attribute. v.kind tells which members are set; v.n counts ints, floats, strings, tensors, graphs, types. */
typedef struct ox_attr {
  const char *name;
  ox_attr_view v;          /* v.tensor: the tensor, the sparse tensor, or the first of v.n tensors */
  ox_graph *graph;         /* GRAPH */
  ox_graph **graphs;       /* GRAPHS */
  const ox_type *types;    /* TYPE, TYPES */
  const char *ref;         /* ref_attr_name inside a function body; NULL elsewhere */
} ox_attr;

typedef struct ox_use {
  ox_id node;
  uint32_t slot; /* input index of that node */
} ox_use;

typedef struct ox_graph_value {
  const char *name; /* unique in its graph; never "" */
  ox_type type;
  ox_id producer;        /* node id, or OX_NONE: input, initializer, outer value */
  uint32_t producer_slot;
  const ox_tensor *init; /* constant content, or NULL; without data if it is |deferred|: see ox_graph_init */
  struct ox_deferred *deferred;  /* a constant that is computed on demand (graph/deferred_const.h); else NULL */
  ox_use *uses;          /* by live nodes of this graph, in no order; bodies are in n_inner_uses */
  uint32_t n_uses, cap_uses;
  uint32_t n_inner_uses; /* stand-ins for this value in bodies */
  ox_id outer;           /* of a stand-in: the value of the enclosing graph that it stands for; else OX_NONE */
  bool is_input, is_output;
  uint32_t output_at, n_output; /* is_output: the first index among the outputs, and how many there are of it */
  uint32_t memory;       /* where it lies at run time: plan/transfers.h; 0: host memory */
  bool dead;             /* dropped; its name is free again */
} ox_graph_value;

/* Owners of nodes: 1 + the index of a provider in the session's order, or one of these. */
enum { OX_NO_OWNER = 0, OX_HOST_OWNER = 0xffff };

/* Who runs a node. Nodes whose assignments are equal may be rewritten together. */
typedef struct ox_assignment {
  uint16_t owner; /* OX_NO_OWNER until the providers were asked */
  uint8_t claim;  /* OX_CLAIM_*: as a kernel, or within a compiled part */
  uint32_t part;  /* which part, if the provider chose it; else 0 */
} ox_assignment;

/* Why a provider did not take a node. */
typedef struct ox_refusal {
  uint16_t owner;
  const char *why;
  const struct ox_refusal *next;
} ox_refusal;

typedef struct ox_node {
  const char *op, *domain, *name; /* domain "" is ai.onnx; name may be "" */
  const char *overload;           /* of a call of a model-local function, until it is expanded; NULL: none */
  uint32_t version;               /* operator set it was written for, if not the model's; else 0: ox_node_version */
  ox_id *in, *out;                /* OX_NONE: omitted */
  uint32_t *use_at;               /* where in[i]'s use list holds this use */
  uint32_t n_in, n_out;
  ox_attr *attrs;
  uint32_t n_attrs, cap_attrs;
  bool dead;
  const char *refused; /* why its operator rejects it, where it may never run (a branch of If); NULL: valid */
  ox_assignment assigned;
  const ox_refusal *refusals; /* the last one first */
  const char *const *from;    /* names of the model's nodes whose work it does (a node without a name goes by its
                               * first output's); NULL: it is such a node itself, or was added */
  uint32_t n_from;
} ox_node;

struct ox_graph {
  ox_model *model;
  ox_graph *parent;  /* the graph whose node holds this body, or NULL */
  ox_graph *next;    /* in the model's list of all graphs */
  const char *name;
  ox_node *nodes;
  uint32_t n_nodes, cap_nodes;
  ox_graph_value *values;
  uint32_t n_values, cap_values;
  ox_id *inputs, *outputs;
  uint32_t n_inputs, n_outputs, cap_inputs, cap_outputs;
  ox_map by_name;
  bool dead;  /* the node that held it was removed */
  bool loops; /* a run of the model may run it more than once, with other values */
};

typedef struct ox_opset {
  const char *domain;
  int64_t version;
} ox_opset;

/* A model-local function: expanded into the graph before anything else sees it (onnx/inline.c). */
typedef struct ox_function {
  const char *domain, *name, *overload;
  const char **inputs, **outputs;
  uint32_t n_inputs, n_outputs;
  const char **attr_names;     /* attributes without default */
  uint32_t n_attr_names;
  ox_attr *attr_defaults;
  uint32_t n_attr_defaults;
  ox_graph *body;              /* nodes in order; inputs and outputs as above */
  ox_opset *opsets;
  uint32_t n_opsets;
} ox_function;

typedef struct ox_prop {
  const char *key, *value;
} ox_prop;

typedef struct ox_model_file {
  ox_file_map *map;
  const char *name; /* as tensors name it; NULL: the model's own file */
} ox_model_file;

/* A model: the main graph and all that its bodies share. */
struct ox_model {
  ox_alloc alloc;
  ox_arena arena;
  const ox_registry *registry; /* all operators; borrowed, outlives the model; NULL: none */
  ox_graph *graph;
  ox_graph *graphs; /* all graphs, also function bodies, newest first */
  int64_t ir_version, model_version;
  bool has_model_version;
  const char *producer_name, *producer_version, *domain, *doc, *graph_doc;
  ox_opset *opsets;
  uint32_t n_opsets, cap_opsets;
  ox_prop *props;
  uint32_t n_props;
  ox_function *functions;
  uint32_t n_functions;
  const char **symbols;  /* name of symbol -2 - i, NULL if it has none; ox_model_symbol interns */
  uint32_t n_symbols, cap_symbols;
  ox_map symbol_ids;
  ox_map interned; /* operator and domain names: equal strings are one pointer */
  const char **interned_names;
  uint32_t n_interned, cap_interned;
  ox_watch *watch;       /* the load's, checked node by node; NULL: it cannot be stopped, or it is loaded */
  const char *path;      /* of its file; NULL: the model came from memory */
  ox_model_file *files;  /* mapped files that tensors borrow from */
  uint32_t n_files, cap_files;
  struct ox_deferred_list *deferred; /* constants that are computed on demand: graph/deferred_const.h */
};

/* ---- models ---- */
/* Makes a model with an empty main graph. |registry| is borrowed; NULL: no operator is known. */
OX_NODISCARD ox_status *ox_model_create(ox_alloc alloc, const ox_registry *registry, ox_model **out_model);
void ox_model_destroy(ox_model *m); /* NULL is fine */
/* Opset version of |domain| ("" and "ai.onnx" are one); 0 if the model does not import it. */
int64_t ox_model_opset(const ox_model *m, const char *domain);
/* The operator set version that |n| was written for. */
static inline int64_t ox_node_version(const ox_model *m, const ox_node *n) {
  return n->version ? n->version : ox_model_opset(m, n->domain);
}
OX_NODISCARD ox_status *ox_model_set_opset(ox_model *m, const char *domain, int64_t version);
/* The only copy of this operator or domain name: equal names are one pointer. NULL on out of memory. */
const char *ox_model_intern(ox_model *m, const char *s);
/* The dimension (< -1) that stands for the symbol |name|. Error: OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_model_symbol(ox_model *m, const char *name, int64_t *out_dim);
/* One without a name, the same for the same |key|, which must not be a name. Error: OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_model_symbol_for(ox_model *m, const char *key, int64_t *out_dim);
/* One without a name, for a dimension that is not known but equals others. Error: OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_model_symbol_new(ox_model *m, int64_t *out_dim);
/* The name behind a symbolic dimension, or NULL. */
const char *ox_model_symbol_name(const ox_model *m, int64_t dim);
/* "[batch,3,?]" into |buf| of OX_MODEL_SHAPE_TEXT bytes, cut off where it is longer; returns |buf|. */
enum { OX_MODEL_SHAPE_TEXT = 512 };
const char *ox_model_shape_text(const ox_model *m, const ox_shape *s, char *buf);
/* Takes over a reference to |map|, which is released with the model. |name| (may be NULL) lives as long as the
 * model. */
OX_NODISCARD ox_status *ox_model_keep_file(ox_model *m, ox_file_map *map, const char *name);
/* The name of the file that |t| lies in, and the offset there; NULL: in no named file. */
const char *ox_model_file_of(const ox_model *m, const ox_tensor *t, uint64_t *out_offset);
/* Drops the pages of |t|'s bytes in a mapped file of |m|, as they are not needed now. Any thread. */
void ox_model_drop_pages(const ox_model *m, const ox_tensor *t);
/* Makes an empty graph, which lives as long as the model; |parent| as in ox_graph. */
OX_NODISCARD ox_status *ox_graph_create(ox_model *m, ox_graph *parent, const char *name, ox_graph **out_graph);

/* ---- values ---- */
/* The value called |name|, or OX_NONE. Does not look into enclosing graphs. */
ox_id ox_graph_find(const ox_graph *g, const char *name);
/* Adds a value; |name| is copied, and made unique by a suffix if it is taken; NULL: a made-up name. */
OX_NODISCARD ox_status *ox_graph_add_value(ox_graph *g, const char *name, ox_id *out_value);
/* The value that |name| means in |g|: one of |g|, or else a stand-in (outer) for one of an enclosing graph. If there is
 * none, a new one if |create|, else OX_NONE. */
OX_NODISCARD ox_status *ox_graph_resolve(ox_graph *g, const char *name, bool create, ox_id *out_value);
/* The stand-in of body |b| for the value |outer| of its parent, or OX_NONE. */
ox_id ox_graph_find_stand_in(const ox_graph *b, ox_id outer);
/* The same; makes one if there is none. */
OX_NODISCARD ox_status *ox_graph_stand_in(ox_graph *b, ox_id outer, ox_id *out_value);
OX_NODISCARD ox_status *ox_graph_add_input(ox_graph *g, ox_id v);
OX_NODISCARD ox_status *ox_graph_add_output(ox_graph *g, ox_id v);
/* Adds a constant value. |t| is copied as a struct; its data must live as long as the model (arena or mapped file). */
OX_NODISCARD ox_status *ox_graph_add_const(ox_graph *g, const char *name, const ox_tensor *t, ox_id *out_value);
/* Adds a constant with a copy of |data| in the arena. */
OX_NODISCARD ox_status *ox_graph_add_const_copy(ox_graph *g, const char *name, uint32_t dtype, int rank,
                                                const int64_t *dims, const void *data, ox_id *out_value);
static inline ox_graph_value *ox_graph_value_at(const ox_graph *g, ox_id v) { return &g->values[v]; }
/* The name in files; for a stand-in, the name of the value that it stands for. */
const char *ox_graph_value_name(const ox_graph *g, ox_id v);
/* Content of a constant, looking through outer stand-ins; NULL if |v| is OX_NONE or not constant. A constant that is
 * also a graph input is not constant: callers may override it. A constant that a rule left to be computed is computed
 * now, and kept. Any thread, once the graph is no longer edited. */
const ox_tensor *ox_graph_const(const ox_graph *g, ox_id v);
/* The same for its existence, type, shape and size only: nothing is computed, and data may be NULL. */
const ox_tensor *ox_graph_const_type(const ox_graph *g, ox_id v);
/* |v|, or what it is a copy of in |g|: looks through Identities. */
ox_id ox_graph_source(const ox_graph *g, ox_id v);
/* value->init of |v| with its data; NULL: none. */
const ox_tensor *ox_graph_init(const ox_graph *g, ox_id v);

/* ---- nodes ---- */
/* Appends a node. ids may be OX_NONE. Names are copied. Error: INVALID_MODEL if an output already has a producer or is
 * an input, a constant or an outer value. */
OX_NODISCARD ox_status *ox_graph_add_node(ox_graph *g, const char *op, const char *domain, const char *name,
                                          const ox_id *in, uint32_t n_in, const ox_id *out, uint32_t n_out,
                                          ox_id *out_node);
static inline ox_node *ox_graph_node(const ox_graph *g, ox_id n) { return &g->nodes[n]; }
OX_NODISCARD ox_status *ox_node_set_input(ox_graph *g, ox_id node, uint32_t slot, ox_id value); /* grows n_in if needed */
OX_NODISCARD ox_status *ox_node_set_output(ox_graph *g, ox_id node, uint32_t slot, ox_id value);
/* Changes the node's operator; attributes, inputs and outputs stay. */
OX_NODISCARD ox_status *ox_node_become(ox_graph *g, ox_id node, const char *domain, const char *op);
bool ox_node_has_output(const ox_node *n); /* at least one is not omitted */
const ox_attr *ox_node_attr(const ox_node *n, const char *name); /* NULL: absent */
OX_NODISCARD ox_status *ox_node_set_attr(ox_graph *g, ox_id node, const ox_attr *attr); /* copies the struct and name */
OX_NODISCARD ox_status *ox_node_set_int(ox_graph *g, ox_id node, const char *name, int64_t v);
OX_NODISCARD ox_status *ox_node_set_float(ox_graph *g, ox_id node, const char *name, float v);
OX_NODISCARD ox_status *ox_node_set_str(ox_graph *g, ox_id node, const char *name, const char *v);
OX_NODISCARD ox_status *ox_node_set_ints(ox_graph *g, ox_id node, const char *name, const int64_t *v, size_t n);
OX_NODISCARD ox_status *ox_node_set_floats(ox_graph *g, ox_id node, const char *name, const float *v, size_t n);
void ox_node_remove_attr(ox_graph *g, ox_id node, const char *name);
/* Removes the node's input or output |slot|; later ones move up by one. */
void ox_node_drop_input(ox_graph *g, ox_id node, uint32_t slot);
void ox_node_drop_output(ox_graph *g, ox_id node, uint32_t slot);
/* The same for inputs and outputs of the graph; the value itself stays. */
void ox_graph_drop_input(ox_graph *g, uint32_t at);
void ox_graph_drop_output(ox_graph *g, uint32_t at);
/* Marks the node and its bodies dead and detaches it; its outputs lose their producer. */
void ox_graph_remove_node(ox_graph *g, ox_id node);

/* ---- edits ---- */
/* All uses of |from| (nodes, bodies, the graph's output list) become uses of |to|. If |from| is a graph output, the
 * output keeps its name: |to| takes it over if it can (not itself an input, initializer or output, and optional only if
 * the output is), else an Identity node is put in between. */
OX_NODISCARD ox_status *ox_graph_replace_uses(ox_graph *g, ox_id from, ox_id to);
/* True if replace_uses needs no Identity: rules that remove nodes ask this first. */
bool ox_graph_can_replace(const ox_graph *g, ox_id from, ox_id to);
/* Gives |v| a made-up name; its old one becomes free. */
OX_NODISCARD ox_status *ox_graph_new_name(ox_graph *g, ox_id v);
/* Gives |v| the name of |from|, and |from| a made-up one. */
OX_NODISCARD ox_status *ox_graph_take_name(ox_graph *g, ox_id v, ox_id from);
/* Replaces uses of the node's output 0 by its input 0 and removes the node. */
OX_NODISCARD ox_status *ox_graph_bypass(ox_graph *g, ox_id node);
/* Turns a value with a producer into a constant (folding): detaches the producer's slot. */
OX_NODISCARD ox_status *ox_graph_make_const(ox_graph *g, ox_id value, const ox_tensor *t);
/* Uses by nodes and bodies, plus 1 if it is a graph output. */
uint32_t ox_graph_use_count(const ox_graph *g, ox_id v);
/* Forgets a value that nothing uses, produces or lists as input; frees its name and, for a stand-in, the outer use. */
void ox_graph_drop_value(ox_graph *g, ox_id v);

/* ---- whole graphs (order.c, verify.c, print.c) ---- */
/* Topological order of live nodes, what bodies read included (depth first in id order: a sorted graph stays as it is).
 * |*out_order| has g->n_nodes entries from |alloc|. Error: INVALID_MODEL naming a node on a cycle. */
OX_NODISCARD ox_status *ox_graph_order(const ox_graph *g, ox_alloc alloc, ox_id **out_order, uint32_t *out_n);
/* Drops dead nodes and unused values, sorts topologically, renumbers; bodies too. Ids change. */
OX_NODISCARD ox_status *ox_graph_compact(ox_graph *g);
/* Checks every invariant above; INVALID_MODEL says which is broken. Bodies too. */
OX_NODISCARD ox_status *ox_graph_verify(const ox_graph *g);
/* A short dump for debugging, line by line; bodies are indented below their node. */
void ox_graph_print(const ox_graph *g, void (*put)(void *ctx, const char *text), void *ctx);
/* The name of |n| for messages: its own, else its first output's, else "". */
const char *ox_node_label(const ox_graph *g, const ox_node *n);
/* Body |i| of those among a node's attributes, or NULL: for (uint32_t i = 0; (b = ox_node_body(n, i)); i++). */
ox_graph *ox_node_body(const ox_node *n, uint32_t i);

#endif
