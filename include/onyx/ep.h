/* SPDX-License-Identifier: Apache-2.0
 * onyx/ep.h - the interface of execution providers and custom operators, and the data types that cross it.
 * Stands alone: <stddef.h>, <stdint.h> and onyx/status.h. Structs are sized and versioned: append only, never
 * reorder, never reuse. A plug-in exports one symbol, ox_ep_query, and links against nothing of ours. */
#ifndef ONYX_EP_H
#define ONYX_EP_H

#include <stddef.h>
#include <stdint.h>

#include "onyx/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element types: the numbers of TensorProto.DataType (onnx.proto). Travel as uint32_t. */
typedef enum ox_dtype {
  OX_UNDEFINED = 0, OX_F32 = 1, OX_U8 = 2, OX_I8 = 3, OX_U16 = 4, OX_I16 = 5, OX_I32 = 6, OX_I64 = 7,
  OX_STRING = 8, OX_BOOL = 9, OX_F16 = 10, OX_F64 = 11, OX_U32 = 12, OX_U64 = 13, OX_C64 = 14, OX_C128 = 15,
  OX_BF16 = 16, OX_F8E4M3FN = 17, OX_F8E4M3FNUZ = 18, OX_F8E5M2 = 19, OX_F8E5M2FNUZ = 20, OX_U4 = 21, OX_I4 = 22,
  OX_F4E2M1 = 23, OX_F8E8M0 = 24, OX_U2 = 25, OX_I2 = 26,
  OX_F6E2M3 = 27, OX_F6E3M2 = 28, OX_DTYPE_COUNT = 29
} ox_dtype;

/* What a value is (TypeProto). */
typedef enum ox_kind { OX_TENSOR = 0, OX_SEQUENCE = 1, OX_MAP = 2, OX_NONE_VALUE = 3, OX_SPARSE = 4 } ox_kind;

enum { OX_MAX_RANK = 16, OX_MAX_STAGES = 6 };

/* A shape. rank -1: not even the rank is known (never at run time). dim >= 0: known; -1: unknown;
 * < -1: a symbol, equal symbols are equal dimensions (graph inference only, never at run time). */
typedef struct ox_shape {
  int32_t rank;
  int64_t dim[OX_MAX_RANK];
} ox_shape;

/* One element of a string tensor: UTF-8, not NUL-terminated. */
typedef struct ox_str {
  const char *p;
  size_t n;
} ox_str;

/* A run-time value. Borrowed views everywhere: who made it owns it.
 * TENSOR: data = elements, row-major, little-endian; sub-byte types packed low bits first; STRING: an array of ox_str.
 * SEQUENCE: data = `const ox_tensor *` array of shape.dim[0] items, dtype = the items' element type.
 * MAP: data = ox_tensor[2]: keys and values, each 1-D of the same length (the values may be a SEQUENCE).
 * NONE_VALUE: an empty optional. A full optional is its content.
 * SPARSE: data = ox_tensor[2]: values [nnz] and indices (I64, [nnz] linear or [nnz, rank]); shape is the dense shape. */
typedef struct ox_tensor {
  uint32_t kind;  /* ox_kind */
  uint32_t dtype; /* ox_dtype */
  void *data;     /* NULL: not known yet (prepare), or zero elements */
  size_t bytes;   /* of data, without padding */
  ox_shape shape;
} ox_tensor;

/* An allocator, passed by value. alloc returns NULL on failure; free takes what alloc gave, with its size. Any thread. */
typedef struct ox_alloc {
  void *(*alloc)(void *ctx, size_t bytes, size_t align);
  void (*free)(void *ctx, void *p, size_t bytes);
  void *ctx;
} ox_alloc;

/* ---- kernels ------------------------------------------------------------------------------------------- */

typedef struct ox_frame ox_frame; /* the host's side of one node in one run */

/* What a kernel sees of its node. In prepare, in[i]->data is NULL unless the value is constant or already known. */
typedef struct ox_kernel_ctx {
  uint32_t struct_size;
  uint32_t n_in, n_out;
  const ox_tensor *const *in; /* NULL: omitted optional input */
  ox_tensor *const *out;      /* NULL: nobody wants it. Shape known, except where it depends on data */
  const void *attrs;          /* CPU provider: the decoded attribute struct */
  void *state;                /* what load stored: packed weights; immutable during runs */
  void *prep;                 /* what prepare stored for these shapes (ox_ctx_alloc) */
  uint32_t op_version;        /* opset version of the node's domain in the model */
  uint32_t isa;               /* CPU provider: the instruction sets kernels may use (base/cpu.h) */
  /* prepare's answer; preset to one stage of one tile without scratch */
  uint32_t n_stages;
  int64_t n_tiles[OX_MAX_STAGES];   /* depends on shapes only, never on the thread count */
  size_t scratch_per_worker;        /* bytes, private to a worker during a tile range */
  size_t shared_bytes;              /* bytes shared by all tiles and stages of this node: |shared| in run */
  void *shared;                     /* run only */
  ox_frame *frame;                  /* services below */
  const struct ox_ctx_host *host;
} ox_kernel_ctx;

/* Services for kernels. alloc_prep: prepare only, zeroed, lives as long as the prepared shapes. alloc_output: run
 * only, for an output whose shape depends on data: sets out[i]->shape, data, bytes. alloc_run: run only, memory that
 * lives until the run's outputs are handed over (string characters, sequence items). The last two may only be called
 * from a stage of one tile. All return NULL on out of memory. */
typedef struct ox_ctx_host {
  uint32_t struct_size;
  void *(*alloc_prep)(ox_kernel_ctx *c, size_t bytes);
  void *(*alloc_output)(const ox_kernel_ctx *c, uint32_t index, const ox_shape *shape);
  void *(*alloc_run)(const ox_kernel_ctx *c, size_t bytes);
} ox_ctx_host;

/* A kernel: one node's implementation, created once per node (kernel_create may be called from several threads, for
 * different nodes), shared by all runs. consumed: bit i: constant input i was packed and is not needed any more.
 * prepare: all input shapes known: tiles, stages, scratch. run: tiles [begin, end) of a stage, from any worker, no
 * malloc, lock or thread; stages run one after the other. */
typedef struct ox_kernel ox_kernel;
typedef struct ox_kernel_api {
  uint32_t struct_size;
  ox_status *(*prepare)(ox_kernel *k, ox_kernel_ctx *c);
  ox_status *(*run)(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end, void *scratch);
  void (*release)(ox_kernel *k);
} ox_kernel_api;
struct ox_kernel {
  const ox_kernel_api *api;
  uint64_t consumed;
};

/* ---- providers ----------------------------------------------------------------------------------------- */

enum { OX_EP_ABI_MAJOR = 1 };

typedef struct ox_ep ox_ep;                 /* a provider's instance */
typedef struct ox_program ox_program;       /* a compiled part */
typedef struct ox_graph_view ox_graph_view; /* the host's graph or one part of it, read through ox_ep_host */

/* Key=value options of a provider, as the user gave them. */
typedef struct ox_options {
  uint32_t n;
  const char *const *keys;
  const char *const *values;
} ox_options;

/* Inputs and outputs of one run of a program, in the order of its part. alloc_output as in ox_ctx_host. */
typedef struct ox_io {
  uint32_t struct_size;
  uint32_t n_in, n_out;
  const ox_tensor *const *in;
  ox_tensor *const *out;
  void *(*alloc_output)(const struct ox_io *io, uint32_t index, const ox_shape *shape);
  void *host_data;
} ox_io;

/* What a provider wants. Nodes are named by their index in the view. */
typedef struct ox_claims ox_claims;

/* An attribute as a provider reads it. */
typedef struct ox_attr_view {
  uint32_t kind; /* AttributeProto.AttributeType: 1 FLOAT, 2 INT, 3 STRING, 4 TENSOR, 6 FLOATS, 7 INTS, 8 STRINGS ... */
  int64_t i;
  float f;
  ox_str s;
  size_t n;
  const int64_t *ints;
  const float *floats;
  const ox_str *strings;
  const ox_tensor *tensor;
} ox_attr_view;

/* Services of the host. Strings live as long as the view. */
typedef struct ox_ep_host {
  uint32_t struct_size;
  uint32_t abi_major;
  ox_alloc alloc;
  ox_status *(*status_make)(ox_code code, const char *text);
  void (*log)(int level, const char *text); /* 0 debug, 1 info, 2 warning, 3 error */
  size_t (*node_count)(const ox_graph_view *g);
  const char *(*node_op)(const ox_graph_view *g, size_t node);
  const char *(*node_domain)(const ox_graph_view *g, size_t node);
  const char *(*node_name)(const ox_graph_view *g, size_t node);
  uint32_t (*node_version)(const ox_graph_view *g, size_t node); /* opset version of its domain */
  size_t (*node_in_count)(const ox_graph_view *g, size_t node);
  size_t (*node_out_count)(const ox_graph_view *g, size_t node);
  uint32_t (*node_in)(const ox_graph_view *g, size_t node, size_t i);  /* value id; UINT32_MAX: omitted */
  uint32_t (*node_out)(const ox_graph_view *g, size_t node, size_t i);
  int (*node_attr)(const ox_graph_view *g, size_t node, const char *name, ox_attr_view *out); /* 0: absent */
  const char *(*value_name)(const ox_graph_view *g, uint32_t value);
  void (*value_type)(const ox_graph_view *g, uint32_t value, uint32_t *kind, uint32_t *dtype, ox_shape *shape);
  const ox_tensor *(*value_const)(const ox_graph_view *g, uint32_t value); /* NULL: not constant */
  size_t (*io_count)(const ox_graph_view *g, int outputs);
  uint32_t (*io_value)(const ox_graph_view *g, int outputs, size_t i);
  void (*claim_node)(ox_claims *c, size_t node);                       /* as a kernel of its own */
  void (*claim_fused)(ox_claims *c, size_t node);                      /* as part of a compiled subgraph */
  void (*decline)(ox_claims *c, size_t node, const char *why);         /* shown in verbose logs */
  ox_status *(*parallel_for)(const struct ox_ep_host *h, int64_t n, /* our task pool, for compiled programs */
                             void (*fn)(void *ctx, int64_t begin, int64_t end), void *ctx);
} ox_ep_host;

typedef struct ox_ep_api {
  uint32_t struct_size; /* sizeof(ox_ep_api) when the PLUG-IN was compiled */
  uint32_t abi_major;   /* must match the host; minor growth shows in struct_size */
  const char *name;
  /* 1.0, required. The host serialises calls on one provider, except kernel_create and run, which may come from any
   * thread. */
  ox_status *(*create)(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep);
  void (*destroy)(ox_ep *ep); /* after the last kernel and program is released */
  ox_status *(*claim)(ox_ep *ep, const ox_graph_view *g, ox_claims *claims);
  /* A provider has kernels, or compile + run + program_release, or both; the other may be NULL. */
  ox_status *(*kernel_create)(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel);
  ox_status *(*compile)(ox_ep *ep, const ox_graph_view *part, ox_program **out_program);
  ox_status *(*run)(ox_program *p, const ox_io *io);
  void (*program_release)(ox_program *p);
} ox_ep_api;

/* The one symbol a plug-in exports; NULL if it cannot serve |host_abi_major|. */
OX_API const ox_ep_api *ox_ep_query(uint32_t host_abi_major);

#ifdef __cplusplus
}
#endif
#endif
