/* SPDX-License-Identifier: Apache-2.0
 * graph/op_def.h - what an operator's file says about it. Every fact about an op is a field here, nowhere else. */
#ifndef OX_GRAPH_OP_DEF_H
#define OX_GRAPH_OP_DEF_H

#include "base/cpu.h"
#include "graph/graph.h"

/* ---- attributes: decoded once, at load, into the op's struct ---- */
typedef struct ox_ints { size_t n; const int64_t *v; } ox_ints;
typedef struct ox_floats { size_t n; const float *v; } ox_floats;
typedef struct ox_strs { size_t n; const ox_str *v; } ox_strs;

typedef struct ox_attr_def {
  const char *name;
  uint32_t kind;       /* OX_ATTR_*_KIND */
  uint32_t offset;     /* of the field in the struct */
  uint32_t has_offset; /* of a bool that tells presence; 0xffff: none */
  bool required;       /* absent is INVALID_MODEL */
  int64_t i;           /* defaults */
  float f;
  const char *s;
} ox_attr_def;

/* Field types: int64_t, float, const char * (NUL-terminated), ox_ints, ox_floats, ox_strs, const ox_tensor *, ox_graph *.
 * Absent lists are {0, NULL}, absent strings their default (may be NULL), absent tensors and graphs NULL. */
#define OX_ATTR_ROW_(st, field, attr_name, knd, req, has, ...) \
  {.name = attr_name, .kind = knd, .offset = offsetof(st, field), .has_offset = has, .required = req, __VA_ARGS__}
#define OX_ATTR_INT(st, field, dflt) OX_ATTR_ROW_(st, field, #field, OX_ATTR_INT_KIND, false, 0xffff, .i = dflt)
#define OX_ATTR_FLOAT(st, field, dflt) OX_ATTR_ROW_(st, field, #field, OX_ATTR_FLOAT_KIND, false, 0xffff, .f = dflt)
#define OX_ATTR_STR(st, field, dflt) OX_ATTR_ROW_(st, field, #field, OX_ATTR_STRING_KIND, false, 0xffff, .s = dflt)
#define OX_ATTR_INTS(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_INTS_KIND, false, 0xffff, .i = 0)
#define OX_ATTR_FLOATS(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_FLOATS_KIND, false, 0xffff, .i = 0)
#define OX_ATTR_STRS(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_STRINGS_KIND, false, 0xffff, .i = 0)
#define OX_ATTR_TENSOR(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_TENSOR_KIND, false, 0xffff, .i = 0)
#define OX_ATTR_GRAPH(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_GRAPH_KIND, true, 0xffff, .i = 0)
/* with a bool field has_<field> */
#define OX_ATTR_INT_HAS(st, field, dflt) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_INT_KIND, false, offsetof(st, has_##field), .i = dflt)
#define OX_ATTR_FLOAT_HAS(st, field, dflt) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_FLOAT_KIND, false, offsetof(st, has_##field), .f = dflt)
#define OX_ATTR_INT_REQUIRED(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_INT_KIND, true, 0xffff, .i = 0)
#define OX_ATTR_INTS_REQUIRED(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_INTS_KIND, true, 0xffff, .i = 0)
#define OX_ATTRS(table) .attrs = (table), .n_attrs = OX_COUNT(table)

/* ---- shape and type inference ---- */
/* One function serves twice: at load, where dimensions may be symbols or unknown (-1) and a rank may be -1, and when a
 * shape signature is planned, where everything is known unless it depends on data that only the run has. Must not
 * assume known dimensions; must set what it knows and leave the rest (out[] is preset to unknown tensors). */
typedef struct ox_infer_ctx {
  const ox_node *node;
  const void *attrs;
  uint32_t op_version;
  uint32_t n_in, n_out;
  const ox_type *const *in;         /* NULL: omitted */
  const ox_tensor *const *in_data;  /* NULL entry: content not known */
  ox_type *out;
  ox_arena *arena;                  /* for element types of sequences; lives as long as the types */
} ox_infer_ctx;

/* out[i] is a tensor of |dtype| and |shape| (NULL: unknown). No-op if i >= n_out. */
void ox_infer_out(ox_infer_ctx *c, uint32_t i, uint32_t dtype, const ox_shape *shape);
/* The most common inference: output 0 has input 0's type and shape. */
ox_status *ox_infer_same_as_input(ox_infer_ctx *c);
/* Output 0: dtype of input 0, shapes of all inputs broadcast. */
ox_status *ox_infer_broadcast(ox_infer_ctx *c);
/* Input |i| is present. */
static inline bool ox_infer_has(const ox_infer_ctx *c, uint32_t i) { return i < c->n_in && c->in[i]; }
/* Reads a known 1-D (or scalar) I32/I64 input into |out|. 1: read; 0: content not known; -1: longer than |max| or not
 * an integer tensor. */
int ox_infer_ints(const ox_infer_ctx *c, uint32_t i, int64_t *out, int max, int *out_n);

/* ---- load ---- */
/* Once per node, possibly from several threads (different nodes). Decode done; pack constant inputs here. Constant
 * data may be unaligned here (it lies in the mapped file): read it through ox_f32u and the like, memcpy, or unaligned
 * vector loads. Constants that are not consumed are aligned before prepare and run. */
typedef struct ox_load_ctx {
  const ox_node *node;
  const void *attrs;
  uint32_t op_version;
  uint32_t n_in, n_out;
  const ox_type *const *in_type;    /* as inferred at load; NULL: omitted */
  const ox_tensor *const *in_const; /* NULL entry: not constant */
  ox_alloc alloc;                   /* for packed weights; freed in unload */
  ox_arena *arena;                  /* for small state; dies with the kernel */
  ox_isa isa;                       /* what kernels may use */
  void *state;                      /* answer: handed to prepare and run as ctx->state */
  uint64_t consumed;                /* answer: bit i: constant input i is packed; its data is NULL in prepare and run */
} ox_load_ctx;

/* ---- the row ---- */
typedef struct ox_range { int64_t begin, end; } ox_range;

enum {
  OX_VIEW = 1,             /* out 0 is in 0's bytes under another type or shape: never run */
  OX_NONDETERMINISTIC = 2, /* Random...: neither folded nor merged */
  OX_CONTROL = 4,          /* has bodies; run by exec/control_*.c */
  OX_SHAPE_ONLY = 8,       /* reads shapes of its inputs, never their content */
  OX_ANY_KIND = 16         /* takes sequences, maps or optionals; without it, inputs must be tensors */
};

enum { OX_TYPED_IN = 8, OX_VARIADIC = 255 };

typedef struct ox_op_def {
  const char *name;
  const char *domain; /* NULL: ai.onnx */
  int since;          /* first opset version this row serves; it serves until the next row of the name */
  uint32_t types[OX_TYPED_IN]; /* dtypes accepted per input (OX_BIT); 0: as the last one given; all 0: anything */
  uint8_t min_in, max_in;      /* max OX_VARIADIC: any number */
  uint8_t min_out, max_out;    /* 0, 0 means exactly 1 */
  const ox_attr_def *attrs;
  uint32_t n_attrs, attrs_bytes;  /* attrs_bytes: sizeof the struct; 0: no attributes */
  uint32_t traits;
  uint32_t inplace;    /* bit i: out 0 may overwrite in i when both have the same bytes */
  uint32_t value_in;   /* bit i: inference reads the content of in i (Reshape's shape ...) */
  uint32_t unaligned_in; /* bit i: run reads in i bytewise, so a constant may stay unaligned in the mapped file */
  ox_status *(*infer)(ox_infer_ctx *c);
  ox_status *(*load)(ox_load_ctx *c);               /* optional */
  void (*unload)(void *state, ox_alloc alloc);      /* optional: frees what load took from alloc */
  ox_status *(*prepare)(ox_kernel_ctx *c);          /* optional: default one tile */
  ox_status *(*run)(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch);
  double (*flops)(const ox_kernel_ctx *c);          /* optional; for info and profile */
} ox_op_def;

typedef struct ox_op_set {
  const ox_op_def *defs;
  size_t n;
} ox_op_set;

/* Books one stage of |tiles| tiles and |scratch| bytes per worker; always OK. */
ox_status *ox_ctx_plan(ox_kernel_ctx *c, int64_t tiles, size_t scratch_per_worker);
/* Zeroed memory that lives as long as these prepared shapes, or NULL. */
static inline void *ox_ctx_alloc(ox_kernel_ctx *c, size_t bytes) { return c->host->alloc_prep(c, bytes); }
/* run: sets the shape of a data-dependent output and returns its memory, or NULL. */
static inline void *ox_ctx_output(const ox_kernel_ctx *c, uint32_t i, const ox_shape *s) {
  return c->host->alloc_output(c, i, s);
}
/* run: memory until the run's outputs are handed over. */
static inline void *ox_ctx_run_alloc(const ox_kernel_ctx *c, size_t bytes) { return c->host->alloc_run(c, bytes); }
static inline bool ox_ctx_has(const ox_kernel_ctx *c, uint32_t i) { return i < c->n_in && c->in[i]; }
static inline bool ox_ctx_wants(const ox_kernel_ctx *c, uint32_t i) { return i < c->n_out && c->out[i]; }

/* ---- registry (op_registry.c) ---- */
/* The row that serves |op| of |domain| at |version|, or NULL. Domain "" and "ai.onnx" are one. Any thread. */
const ox_op_def *ox_op_find(const char *domain, const char *op, int64_t version);
/* All rows, sorted by domain, name, since; *out_n of them. */
const ox_op_def *const *ox_op_all(size_t *out_n);
/* Decodes |n|'s attributes by |def| into a fresh struct in |arena| (NULL struct if def has none). Errors name the
 * attribute: missing, or of another kind. Unknown attributes are ignored. */
OX_NODISCARD ox_status *ox_attrs_decode(const ox_op_def *def, const ox_node *n, ox_arena *arena, void **out_attrs);
/* Checks counts, kinds and element types of the inputs against |def|; the error names operator, input, wanted, got. */
OX_NODISCARD ox_status *ox_op_check(const ox_op_def *def, const ox_node *n, const ox_type *const *in);

#endif
