/* SPDX-License-Identifier: Apache-2.0
 * onyx/op.h - an operator as data: what it is (ox_schema) and how a CPU computes it (ox_kernel_def). Operators that
 * come with Onyx and those of plug-ins are rows of this one form. Stands alone, on the types of onyx/ep.h. Structs are
 * sized: append only, never reorder, never reuse; rows are static data and outlive whatever they are handed to. */
#ifndef ONYX_OP_H
#define ONYX_OP_H

#include "onyx/ep.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ox_graph ox_graph; /* a body (If's branches, Loop's body); opaque here */
struct ox_node;                   /* these are the engine's own */
struct ox_known;
struct ox_known_ctx;
struct ox_tape;
struct ox_control_def;
struct ox_activation_def;

/* ---- types --------------------------------------------------------------------------------------------- */

/* The type of a value: tensor, sparse tensor, sequence of |elem|, or map from |key_dtype| to |elem|; |optional| wraps
 * it. */
typedef struct ox_type {
  uint32_t kind;              /* ox_kind */
  uint32_t dtype;             /* element type; OX_UNDEFINED: unknown, or not a tensor */
  ox_shape shape;             /* of a tensor; rank -1: unknown */
  uint32_t key_dtype;         /* MAP */
  int optional;               /* 1: may be absent at run time */
  const struct ox_type *elem; /* SEQUENCE: of the items, MAP: of the values; NULL: unknown */
} ox_type;

/* Sets of element types, for ox_schema.types. */
#define OX_BIT(dtype) ((uint32_t)1 << (dtype))
enum {
  OX_T_FLOAT16S = OX_BIT(OX_F16) | OX_BIT(OX_BF16),
  OX_T_FLOAT = OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_T_FLOAT16S,
  OX_T_SINT = OX_BIT(OX_I8) | OX_BIT(OX_I16) | OX_BIT(OX_I32) | OX_BIT(OX_I64),
  OX_T_UINT = OX_BIT(OX_U8) | OX_BIT(OX_U16) | OX_BIT(OX_U32) | OX_BIT(OX_U64),
  OX_T_INT = OX_T_SINT | OX_T_UINT,
  OX_T_NUMBER = OX_T_FLOAT | OX_T_INT,
  OX_T_COMPLEX = OX_BIT(OX_C64) | OX_BIT(OX_C128),
  OX_T_FLOAT8 = OX_BIT(OX_F8E4M3FN) | OX_BIT(OX_F8E4M3FNUZ) | OX_BIT(OX_F8E5M2) | OX_BIT(OX_F8E5M2FNUZ) |
                OX_BIT(OX_F8E8M0),
  OX_T_SUBBYTE = OX_BIT(OX_U4) | OX_BIT(OX_I4) | OX_BIT(OX_F4E2M1) | OX_BIT(OX_U2) | OX_BIT(OX_I2),
  OX_T_FLOAT6 = OX_BIT(OX_F6E2M3) | OX_BIT(OX_F6E3M2),
  OX_T_INDEX = OX_BIT(OX_I32) | OX_BIT(OX_I64),
  /* all but float6, which the standard allows only in casts, quantization and optionals */
  OX_T_ALL = (1 << OX_F6E2M3) - 2
};

/* ---- attributes: decoded once into the operator's own struct -------------------------------------------- */

/* AttributeProto.AttributeType. */
enum {
  OX_ATTR_FLOAT_KIND = 1, OX_ATTR_INT_KIND = 2, OX_ATTR_STRING_KIND = 3, OX_ATTR_TENSOR_KIND = 4,
  OX_ATTR_GRAPH_KIND = 5, OX_ATTR_FLOATS_KIND = 6, OX_ATTR_INTS_KIND = 7, OX_ATTR_STRINGS_KIND = 8,
  OX_ATTR_TENSORS_KIND = 9, OX_ATTR_GRAPHS_KIND = 10, OX_ATTR_SPARSE_KIND = 11, OX_ATTR_SPARSES_KIND = 12,
  OX_ATTR_TYPE_KIND = 13, OX_ATTR_TYPES_KIND = 14
};

/* Lists; they borrow from the model. An absent one is {0, NULL}. */
typedef struct ox_ints { size_t n; const int64_t *v; } ox_ints;
typedef struct ox_floats { size_t n; const float *v; } ox_floats;
typedef struct ox_strs { size_t n; const ox_str *v; } ox_strs;

#define OX_NO_FIELD UINT32_MAX

/* One attribute and the field that it is decoded into. The field's type follows from |kind|: int64_t, float, const char
 * * (NUL-terminated), ox_ints, ox_floats, ox_strs, const ox_tensor * (TENSOR, SPARSE), ox_graph *, const ox_type *.
 * Absent strings get their default (may be NULL), absent tensors, graphs and types NULL. */
typedef struct ox_attr_def {
  const char *name;
  uint32_t kind;       /* OX_ATTR_*_KIND; another kind in the model is an error. Lists: only those above */
  uint32_t offset;     /* of the field in the struct */
  uint32_t has_offset; /* of a one-byte field (uint8_t, bool), 1 if the node has it; OX_NO_FIELD: none */
  uint32_t required;   /* 1: a node without it is INVALID_MODEL */
  int64_t i;           /* defaults, by kind */
  float f;
  const char *s;
  /* 1.0 ends here. The range that a node's value must lie in: an INT and each of INTS from |lo| to |hi|, a FLOAT and
   * each of FLOATS from |f_lo| to |f_hi| (a NaN is in no range). Both 0: any value. A default may lie outside, to mean
   * "not given". */
  int64_t lo, hi;
  float f_lo, f_hi;
} ox_attr_def;

/* Bounds that many attributes share: of a count (the product of two fits 64 bits), and of an axis, which may be
 * negative. */
#define OX_COUNT_MAX INT32_MAX
#define OX_AXIS_RANGE -OX_MAX_RANK, OX_MAX_RANK

#ifndef __cplusplus /* designated initializers */
#define OX_ATTR_ROW_(st, field, attr_name, knd, req, has, ...) \
  {.name = attr_name, .kind = knd, .offset = offsetof(st, field), .has_offset = has, .required = req, __VA_ARGS__}
#define OX_ATTR_INT(st, field, dflt) OX_ATTR_ROW_(st, field, #field, OX_ATTR_INT_KIND, 0, OX_NO_FIELD, .i = dflt)
#define OX_ATTR_FLOAT(st, field, dflt) OX_ATTR_ROW_(st, field, #field, OX_ATTR_FLOAT_KIND, 0, OX_NO_FIELD, .f = dflt)
#define OX_ATTR_STR(st, field, dflt) OX_ATTR_ROW_(st, field, #field, OX_ATTR_STRING_KIND, 0, OX_NO_FIELD, .s = dflt)
#define OX_ATTR_INTS(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_INTS_KIND, 0, OX_NO_FIELD, .i = 0)
#define OX_ATTR_FLOATS(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_FLOATS_KIND, 0, OX_NO_FIELD, .i = 0)
#define OX_ATTR_STRS(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_STRINGS_KIND, 0, OX_NO_FIELD, .i = 0)
#define OX_ATTR_TENSOR(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_TENSOR_KIND, 0, OX_NO_FIELD, .i = 0)
#define OX_ATTR_TYPE(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_TYPE_KIND, 0, OX_NO_FIELD, .i = 0)
#define OX_ATTR_GRAPH(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_GRAPH_KIND, 1, OX_NO_FIELD, .i = 0)
/* with a field has_<field> */
#define OX_ATTR_INT_HAS(st, field, dflt) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_INT_KIND, 0, offsetof(st, has_##field), .i = dflt)
#define OX_ATTR_FLOAT_HAS(st, field, dflt) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_FLOAT_KIND, 0, offsetof(st, has_##field), .f = dflt)
#define OX_ATTR_INT_REQUIRED(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_INT_KIND, 1, OX_NO_FIELD, .i = 0)
#define OX_ATTR_INTS_REQUIRED(st, field) OX_ATTR_ROW_(st, field, #field, OX_ATTR_INTS_KIND, 1, OX_NO_FIELD, .i = 0)
/* with a range: two numbers, or OX_AXIS_RANGE */
#define OX_ATTR_INT_IN(st, field, dflt, ...) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_INT_KIND, 0, OX_NO_FIELD, .i = dflt, OX_ATTR_IN_(__VA_ARGS__))
#define OX_ATTR_INT_REQUIRED_IN(st, field, ...) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_INT_KIND, 1, OX_NO_FIELD, OX_ATTR_IN_(__VA_ARGS__))
#define OX_ATTR_INT_HAS_IN(st, field, dflt, ...) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_INT_KIND, 0, offsetof(st, has_##field), .i = dflt, OX_ATTR_IN_(__VA_ARGS__))
#define OX_ATTR_INTS_IN(st, field, ...) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_INTS_KIND, 0, OX_NO_FIELD, OX_ATTR_IN_(__VA_ARGS__))
#define OX_ATTR_INTS_REQUIRED_IN(st, field, ...) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_INTS_KIND, 1, OX_NO_FIELD, OX_ATTR_IN_(__VA_ARGS__))
#define OX_ATTR_FLOAT_IN(st, field, dflt, lo_, hi_) \
  OX_ATTR_ROW_(st, field, #field, OX_ATTR_FLOAT_KIND, 0, OX_NO_FIELD, .f = dflt, .f_lo = lo_, .f_hi = hi_)
#define OX_ATTR_IN_(lo_, hi_) .lo = lo_, .hi = hi_
/* The fields of ox_schema that name a table of ox_attr_def. */
#define OX_ATTRS(table) \
  .attrs = (table), .n_attrs = sizeof(table) / sizeof((table)[0]), .attr_row_bytes = sizeof(ox_attr_def)
#endif

/* ---- shape and type inference --------------------------------------------------------------------------- */

/* The host's services while an operator infers or loads. */
typedef struct ox_op_host {
  uint32_t struct_size;
  /* Zeroed memory, aligned to 16, that the host frees: in infer with the types, in load with the kernel. NULL: out of
   * memory. */
  void *(*alloc)(void *host_data, size_t bytes);
  /* Makes an error with a copy of |text|, for plug-ins, which link against nothing of ours. Never NULL for a code other
   * than OX_OK. */
  ox_status *(*status_make)(ox_code code, const char *text);
  /* Any attribute of the node, in the schema or not. Returns 0 if it is absent. |out| borrows from the model. */
  int (*attr)(void *host_data, const char *name, ox_attr_view *out);
  /* 1.1. Attribute |i|; returns its name, NULL past the last. What this and |attr| return lives as long as the types or
   * the kernel. */
  const char *(*attr_at)(void *host_data, size_t i, ox_attr_view *out);
  /* The name of a symbolic dimension (< -1), or NULL; lives as long. */
  const char *(*dim_name)(void *host_data, int64_t dim);
  /* 1.2. Non-zero if the caller has cancelled or the deadline has passed; from any thread. Ask every 50 us or so in
   * loops over constants that take more than 100 us. A load that stops returns NULL and leaves what it has in |state|:
   * the host makes the error and calls unload. */
  int (*stopped)(void *host_data);
} ox_op_host;

/* The argument of infer, which is called at load, where dimensions may be symbols or unknown (-1) and a rank may be -1,
 * and again for each new set of input shapes, where all is known but what depends on data of the run. So infer must not
 * assume known dimensions: it sets what follows and leaves the rest. Everything is borrowed; from any thread. */
typedef struct ox_infer_ctx {
  uint32_t struct_size;
  uint32_t op_version;             /* operator set version the node was written for */
  const char *op;                  /* the node's operator, since one function may serve a family */
  const void *attrs;               /* the decoded struct; NULL if the schema has none */
  uint32_t n_in, n_out;            /* as the node has them */
  const ox_type *const *in;        /* NULL entry: omitted */
  const ox_tensor *const *in_data; /* NULL entry: content unknown. Constants may be unaligned: memcpy */
  ox_type *out;                    /* answer; preset to unknown tensors */
  const ox_op_host *host;
  void *host_data;                 /* for the calls of |host| */
  /* 1.1 */
  void *user;                      /* ox_schema.user of the row that serves the node */
} ox_infer_ctx;

/* ---- load ------------------------------------------------------------------------------------------------ */

/* The argument of load, which is called once per node, possibly from several threads for different nodes. load checks
 * attributes and says which constant inputs the kernel packs; large ones are packed in prepare, through
 * ox_ctx_host.pack. Constant data may be unaligned here, as it lies in the mapped file; constants that are not consumed
 * are aligned before prepare and run. */
typedef struct ox_load_ctx {
  uint32_t struct_size;
  uint32_t op_version;
  const char *op;
  const void *attrs;
  uint32_t n_in, n_out;
  const ox_type *const *in_type;    /* as inferred at load; NULL entry: omitted */
  const ox_tensor *const *in_const; /* NULL entry: not constant */
  ox_alloc alloc;                   /* for packed weights; freed in unload */
  uint32_t isa;                     /* instruction sets that kernels may use (ox_kernel_ctx.isa) */
  void *state;                      /* answer: handed to prepare and run as ctx->state */
  uint64_t consumed;                /* answer, bit i: constant input i is packed, or will be (ox_ctx_host.pack); its
                                     * data is NULL in prepare and run */
  const ox_op_host *host;
  void *host_data;
  /* 1.1. Names and types live as long as the kernel. */
  void *user;                        /* ox_schema.user of the row that serves the node */
  const char *node;                  /* the node's name; "": it has none */
  const char *const *in_name, *const *out_name; /* of values; "": omitted */
  const ox_type *const *out_type;    /* as inferred at load; NULL entry: omitted */
  /* 1.3 */
  uint32_t exact;                    /* 1: do not choose an algorithm that rounds worse than plain sums */
  struct ox_tune *tune;              /* ox_kernel_ctx.tune */
  /* 1.5 */
  uint32_t unaligned_in;             /* answer: as ox_kernel_def.unaligned_in, for this node */
  /* 1.6 */
  uint32_t past_in;                  /* answer: ox_kernel_traits.past_in */
} ox_load_ctx;

/* ---- the rows -------------------------------------------------------------------------------------------- */

/* ox_schema.traits */
enum {
  OX_VIEW = 1,             /* output 0 is input 0's bytes under another type or shape: never run */
  OX_NONDETERMINISTIC = 2, /* Random...: neither folded nor merged */
  OX_CONTROL = 4,          /* has bodies; the host runs them */
  OX_SHAPE_ONLY = 8,       /* reads its inputs' shapes, never their content */
  OX_ANY_KIND = 16,        /* takes sequences, maps, sparse tensors or optionals; without it, inputs must be tensors */
  OX_FOLD_LATE = 32,       /* fold it only after fusions, which look for its inputs (quantized weights) */
  OX_FOLD_LARGE_LATE = 64, /* the same, where constants are so large that a second copy matters */
  OX_OUT0_SHAPED = 128     /* the shape of output 0 follows from its inputs' shapes, whatever their content */
};

enum { OX_TYPED_IN = 8, OX_VARIADIC = 255 };

/* An operator from one operator set version on, as the standard defines it. */
typedef struct ox_schema {
  uint32_t struct_size;
  int32_t since;      /* first operator set version of this row; it serves up to the name's next row */
  const char *name;
  const char *domain; /* NULL: ai.onnx */
  uint32_t types[OX_TYPED_IN]; /* element types per input (OX_BIT); 0: as the last one given; all 0: any */
  uint8_t min_in, max_in;      /* max OX_VARIADIC: any number */
  uint8_t min_out, max_out;    /* 0, 0 means exactly 1 */
  const ox_attr_def *attrs;    /* OX_ATTRS(table) */
  uint32_t n_attrs;
  uint32_t attr_row_bytes;     /* sizeof(ox_attr_def) when the table was compiled */
  uint32_t attrs_bytes;        /* sizeof the struct that attributes are decoded into; 0: no attributes */
  uint32_t traits;             /* OX_VIEW ... */
  uint32_t value_in;           /* bit i: infer reads the content of input i (Reshape's shape ...) */
  ox_status *(*infer)(ox_infer_ctx *c); /* required */
  /* 1.0 ends here. The fields up to |vars| use the engine's own types and are for its own operators: NULL in
   * plug-ins. */
  const struct ox_known *(*known)(const struct ox_known_ctx *c);   /* the content of output 0 (graph/known.h) */
  void (*refine)(const struct ox_known_ctx *c, ox_shape *out);     /* shape of output 0, from such contents */
  ox_status *(*gradient)(struct ox_tape *t, const struct ox_node *n, uint32_t adjoint); /* graph/tape.h */
  const struct ox_control_def *control; /* what it does with its bodies (graph/control.h) */
  const struct ox_activation_def *activation; /* it is one (graph/node_activation.h) */
  /* Type variables, also for plug-ins: one letter per input, '.' or the end of the string for a free one. Inputs with
   * the same letter must have the same element type (a sequence: that of its tensors). With OX_VARIADIC, the last
   * letter is for all further inputs. "TT" for Add, "T" for Concat, "T.T" for ScatterND. Checked before inference, like
   * |types|. NULL: all free. */
  const char *vars;
  /* |types| continued: the sets of the max_in - OX_TYPED_IN inputs from OX_TYPED_IN on. NULL: as the last of |types|.
   * Not with OX_VARIADIC. */
  const uint32_t *more_types;
  void *user; /* the plug-in's own, passed to |infer| and |load| (ctx->user), so that one function can serve rows
               * made at run time */
} ox_schema;

/* Tiles of one stage: [begin, end). */
typedef struct ox_range { int64_t begin, end; } ox_range;

/* How a CPU computes it. For each kernel: one load, then any number of prepare and run, also at the same time, then one
 * unload; from any thread. */
typedef struct ox_kernel_def {
  uint32_t struct_size;
  uint32_t inplace;      /* bit i: output 0 may overwrite input i if both have the same size in bytes */
  uint32_t unaligned_in; /* bit i: input i may be unaligned, so a constant can stay in the mapped file */
  ox_status *(*load)(ox_load_ctx *c);          /* optional */
  void (*unload)(void *state, ox_alloc alloc); /* optional: frees what load took from alloc; not called for NULL */
  ox_status *(*prepare)(ox_kernel_ctx *c);     /* optional; without it: one stage of one tile */
  /* Required, unless the operator is a view. No malloc, locks or threads. |scratch|: scratch_per_worker bytes, the
   * worker's own until the stage ends. */
  ox_status *(*run)(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch);
  double (*flops)(const ox_kernel_ctx *c);     /* optional: floating-point operations for these shapes; for profiles */
  /* 1.5. bit i: load reads type and shape of constant input i but not its data, which may be NULL there: prepare packs
   * it. */
  uint64_t packs_in;
} ox_kernel_def;

/* The least struct_size of a row; what a shorter struct lacks reads as zero. */
#define OX_SCHEMA_SIZE_1_0 (offsetof(ox_schema, infer) + sizeof(void *))
#define OX_KERNEL_SIZE_1_0 (offsetof(ox_kernel_def, run) + sizeof(void *))
#define OX_ATTR_DEF_SIZE_1_0 (offsetof(ox_attr_def, s) + sizeof(void *))

/* One operator: two pointers, so that tables of them never change shape. */
typedef struct ox_op {
  const ox_schema *schema;
  const ox_kernel_def *kernel; /* NULL: schema only: providers or the host run it */
} ox_op;

/* Rows of a table at file scope:
 *   static const ox_op ops[] = {{OX_SCHEMA(.name = "Relu", .since = 6, ...), OX_KERNEL(.run = run)}};
 * Compiled with OX_NO_KERNELS, operators have a schema and no kernel (the engine where ONYX_CPU is "plugin"). */
#ifndef __cplusplus
#define OX_SCHEMA(...) (&(const ox_schema){.struct_size = sizeof(ox_schema), __VA_ARGS__})
#ifdef OX_NO_KERNELS
#define OX_KERNEL(...) NULL
#else
#define OX_KERNEL(...) (&(const ox_kernel_def){.struct_size = sizeof(ox_kernel_def), __VA_ARGS__})
#endif
#endif

#ifdef __cplusplus
}
#endif
#endif
