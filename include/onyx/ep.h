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

/* A run-time value: a view of memory that belongs to its maker.
 * TENSOR: data = elements, row-major, little-endian; sub-byte types packed low bits first; STRING: an array of ox_str.
 * SEQUENCE: data = `const ox_tensor *` array of shape.dim[0] items, dtype = the items' element type.
 * MAP: data = ox_tensor[2]: keys and values, both 1-D and of the same length (the values may be a SEQUENCE).
 * NONE_VALUE: an empty optional. A full optional is its content.
 * SPARSE: data = ox_tensor[2]: values [nnz] and indices (I64, [nnz] linear or [nnz, rank]); shape is the dense shape. */
typedef struct ox_tensor {
  uint32_t kind;  /* ox_kind */
  uint32_t dtype; /* ox_dtype */
  void *data;     /* NULL: not known yet (in prepare), or no elements */
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
struct ox_tune;

/* What a kernel sees of its node. In prepare, in[i]->data is NULL unless the value is constant or already known. */
typedef struct ox_kernel_ctx {
  uint32_t struct_size;
  uint32_t n_in, n_out;
  const ox_tensor *const *in; /* NULL: omitted optional input */
  ox_tensor *const *out;      /* NULL: not wanted. Shapes are known, except where they depend on data */
  const void *attrs;          /* the provider's own: NULL on entry to prepare, what it sets comes back in run */
  void *state;                /* as attrs; for rows of onyx/op.h: what load stored, constant during runs */
  void *prep;                 /* what prepare stored for these shapes (ox_ctx_alloc) */
  uint32_t op_version;        /* opset version of the node's domain in the model */
  uint32_t isa;               /* as attrs; for rows of onyx/op.h: the instruction sets kernels may use */
  /* prepare's answer; preset to one stage of one tile without scratch */
  uint32_t n_stages;
  int64_t n_tiles[OX_MAX_STAGES];   /* depends on shapes only, never on the thread count */
  size_t scratch_per_worker;        /* bytes for each worker; a worker's next call in this stage finds what it left */
  size_t shared_bytes;              /* bytes shared by all tiles and stages of this node: |shared| in run */
  void *shared;                     /* run only */
  ox_frame *frame;                  /* services below */
  const struct ox_ctx_host *host;
  /* 1.1 */
  void *stream;                     /* this run's, from the provider's stream_create; NULL: it has none */
  /* 1.3. prepare's answer, for profiles: how these shapes are computed, in a few words ("depthwise"). Static, or from
   * alloc_prep; NULL: nothing to say. Set it only if struct_size covers it. */
  const char *form;
  struct ox_tune *tune; /* the engine's own (docs/tuning.md); NULL elsewhere */
  /* 1.5. prepare's answer: for these shapes output 0 is the inputs' bytes one after the other (Concat), or input 0 is
   * the outputs' (Split). Then the host may place them so that nothing needs copying; run must skip what already lies
   * in place. 0: neither. */
  uint32_t in_a_row;
  /* 1.6. In run, for a kernel with ox_kernel_traits.past_in. Not 0: inputs past_in and past_in + 1 lie where outputs 1
   * and 2 do, in memory that has this many rows for each head (|rows| in [batch, heads, rows, size] of strides), so that
   * only new rows are to be written. */
  int64_t cache_rows;
  size_t constant_bytes; /* 1.6. Of all constants of the graph: whether they may stay in a cache between runs. */
} ox_kernel_ctx;

enum { OX_INPUTS_IN_A_ROW = 1, OX_OUTPUTS_IN_A_ROW = 2 }; /* ox_kernel_ctx.in_a_row */

/* Constants in the form that a kernel wants (packed weights). It is made in prepare, since the best form depends on the
 * shapes. */
typedef struct ox_pack {
  uint32_t struct_size;
  uint64_t form;    /* a number for the form: kernels that differ in varying inputs only have equal bytes for equal
                     * numbers */
  uint64_t inputs;  /* bit i: |fn| reads constant input i */
  size_t bytes;
  int64_t n_units;  /* pieces of independent work of 100 us or less each, packed in any order and on several threads */
  size_t scratch_bytes; /* for |fn|, on each thread */
  /* Packs units [begin, end) into |to|. in[i]: constant input i with its data, at any address, if it is in |inputs|;
   * else NULL. Cannot fail. */
  void (*fn)(const struct ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end, void *scratch);
  const void *arg;  /* for |fn| */
  /* 1.5. Only for ox_ctx_host.pack_pieces; says that |unit| reads elements [first, first + n) of the one input in
   * |inputs|. |fn| is then called for one unit at a time, and in[i]->data begins at |first|: a constant that is
   * computed is computed piece by piece, in cache. */
  void (*piece)(const struct ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n);
} ox_pack;

/* Services for kernels. alloc_prep: in prepare only; zeroed memory that lives as long as the prepared shapes.
 * alloc_output: in run only, for an output whose shape depends on data; sets out[index]->shape, data and bytes.
 * alloc_run: in run only; memory that lives until the run's outputs are handed over (characters of strings, items of
 * sequences). The last two may only be called from a stage of one tile. All return NULL when out of memory. */
typedef struct ox_ctx_host {
  uint32_t struct_size;
  void *(*alloc_prep)(ox_kernel_ctx *c, size_t bytes);
  void *(*alloc_output)(const ox_kernel_ctx *c, uint32_t index, const ox_shape *shape);
  void *(*alloc_run)(const ox_kernel_ctx *c, size_t bytes);
  /* 1.1. Records an event of the profile, from any thread; ignored while no profile is taken. Times are of
   * ox_ep_host.now_ns's clock. */
  void (*profile_event)(const ox_kernel_ctx *c, const char *name, int64_t start_ns, int64_t duration_ns);
  /* Makes an error with a copy of |text|, for plug-ins, which link against nothing of ours. */
  ox_status *(*status_make)(ox_code code, const char *text);
  /* Calls |fn| for blocks of [0, n) on the run's threads, for a stage of one tile that only finds out as it runs what
   * there is to do. |worker| is below max_workers. The first error ends the loop and is returned. */
  ox_status *(*parallel_for)(const ox_kernel_ctx *c, int64_t n,
                             ox_status *(*fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker), void *ctx);
  uint32_t (*max_workers)(const ox_kernel_ctx *c);
  /* 1.2. Non-zero if the caller has cancelled or the deadline has passed; from any thread. The host checks between
   * tiles; a kernel whose tiles take more than 100 us asks every 10 us or so. A kernel that stops returns NULL and may
   * leave its outputs unfinished: the host makes the error. */
  int (*stopped)(const ox_kernel_ctx *c);
  /* Grows an array of alloc_run: returns one that begins with the |used| bytes at |p| and has room for |more|. That is
   * |p| itself where it came from this call and has not been extended beyond |used|, so that appending costs no more
   * than the array's size in all. NULL: out of memory. */
  void *(*extend_run)(const ox_kernel_ctx *c, const void *p, size_t used, size_t more);
  /* 1.3. A key for random numbers of a node without a seed, a different one each time. After ox_random_seed the same
   * keys come again in the same order. */
  uint64_t (*random_key)(const ox_kernel_ctx *c);
  /* 1.4. In prepare only: *out_data is set to |p|'s packed bytes, aligned to 64, which live as long as the kernel. The
   * first call for a form packs it, on the run's threads; later ones, also for other shapes and in other runs, find it.
   * prepare must return an error (out of memory, cancelled) of this call; the next call tries again. */
  ox_status *(*pack)(ox_kernel_ctx *c, const ox_pack *p, const void **out_data);
  /* 1.5. As pack, for forms with |piece|. */
  ox_status *(*pack_pieces)(ox_kernel_ctx *c, const ox_pack *p, const void **out_data);
  /* In run only, from any thread: copies elements [first, first + n) of a constant input, consumed or not, to |to|. For
   * what is needed too rarely to be packed. */
  void (*constant)(const ox_kernel_ctx *c, uint32_t input, int64_t first, int64_t n, void *to);
  /* 1.5. The address of a constant input, consumed or not, valid as long as the kernel lives: of any alignment, often
   * in a mapped file. NULL: it is computed on demand, and lies nowhere. Any thread. */
  const void *(*constant_place)(const ox_kernel_ctx *c, uint32_t input);
  /* 1.5. |pack| in two steps, for kernels whose first run can do without the packed bytes: memory is taken early, so
   * that no later run allocates. pack_later, in prepare only, takes the memory of a form that has no |piece| and no
   * |scratch_bytes| and whose constants have a constant_place; |p->arg| must live as long as the prepared shapes.
   * pack_now, in a run and from a stage of one tile, packs what pack_later returned. */
  ox_status *(*pack_later)(ox_kernel_ctx *c, const ox_pack *p, void **out_later);
  ox_status *(*pack_now)(const ox_kernel_ctx *c, void *later, const void **out_data);
  /* 1.5. As |pack|, with |piece| or without, for kernels that read the bytes in runs only. *out_place is the address at
   * which each run, from its first stage on, finds a pointer to them; it lives as long as the prepared shapes, and
   * |p->arg| must, too. The host may pack for a first run into memory that other nodes reuse, and into memory of its
   * own for later runs. */
  ox_status *(*pack_for_runs)(ox_kernel_ctx *c, const ox_pack *p, const void *const **out_place);
} ox_ctx_host;

/* A kernel: the implementation of one node, created once (kernel_create may be called from several threads, for
 * different nodes) and shared by all runs. consumed, bit i: constant input i was packed, or will be by
 * ox_ctx_host.pack, so prepare and run see it without data. prepare: all input shapes are known; sets tiles, stages and
 * scratch. run: computes tiles [begin, end) of a stage, from any worker, without malloc, locks or threads; stages run
 * one after the other. */
typedef struct ox_kernel ox_kernel;

/* What the host may do around a kernel. */
typedef struct ox_kernel_traits {
  uint32_t struct_size;
  uint32_t inplace;      /* bit i: output 0 may overwrite input i when both have the same bytes */
  uint32_t unaligned_in; /* bit i: input i may be unaligned, so a constant can stay in the mapped file */
  /* 1.6. Not 0: inputs past_in and past_in + 1 are the keys and values of earlier tokens, [batch, heads, rows, size] of
   * one type; outputs 1 and 2, where wanted, are they with rows behind them, at most as many as dimension 1 (of four: 2)
   * of input 0. The kernel knows ox_kernel_ctx.cache_rows. */
  uint32_t past_in;
} ox_kernel_traits;

typedef struct ox_kernel_api {
  uint32_t struct_size;
  ox_status *(*prepare)(ox_kernel *k, ox_kernel_ctx *c);
  ox_status *(*run)(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end, void *scratch);
  void (*release)(ox_kernel *k);
  /* 1.1, optional */
  void (*traits)(const ox_kernel *k, ox_kernel_traits *out);    /* |out| is zeroed but for struct_size */
  double (*flops)(const ox_kernel *k, const ox_kernel_ctx *c);  /* of one run with these prepared shapes; for profiles */
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

/* An option that a provider knows. The host refuses keys that are not declared and values that do not parse. */
typedef enum ox_option_type {
  OX_OPTION_STRING = 0, OX_OPTION_INT = 1, OX_OPTION_FLOAT = 2, OX_OPTION_BOOL = 3
} ox_option_type;
typedef struct ox_option_def {
  const char *key;
  uint32_t type;         /* ox_option_type; a bool is 0, 1, false or true */
  const char *values;    /* STRING: the allowed values, separated by '|'; NULL: any */
  const char *otherwise; /* the default, as text for help */
  const char *help;      /* one line */
} ox_option_def;

/* Takes the shapes of the first |n| values, by id, as of ox_io.infer_shapes, and such contents as follow from shapes
 * and from what the host can read: integers of at most one axis (NULL: not known). Both are valid during the call. */
typedef ox_status *(*ox_values_fn)(void *ctx, const ox_shape *shapes, const ox_tensor *const *contents, size_t n);

/* Inputs and outputs of one run of a program, in the order of its part. Outputs whose shape the host could infer have
 * memory; the others have data NULL, and the program calls alloc_output. */
typedef struct ox_io {
  uint32_t struct_size;
  uint32_t n_in, n_out;
  const ox_tensor *const *in;  /* NULL: omitted */
  ox_tensor *const *out;       /* never NULL */
  /* Sets out[index]->shape, data and bytes; NULL: out of memory, or the shape contradicts what is known of it. */
  void *(*alloc_output)(const struct ox_io *io, uint32_t index, const ox_shape *shape);
  void *host_data;
  /* 1.1 */
  void *stream;                /* as in ox_kernel_ctx */
  const volatile int *cancel;  /* long programs poll it, and return CANCELLED if it is not 0; NULL: never */
  int64_t deadline_ns;         /* on the clock of ox_ep_host.now_ns; 0: none */
  void (*profile_event)(const struct ox_io *io, const char *name, int64_t start_ns, int64_t duration_ns);
  /* As in ox_ctx_host, for characters of strings and items of sequences; from the thread that called run. The program
   * sets kind, shape and data of outputs that are not tensors. */
  void *(*alloc_run)(const struct ox_io *io, size_t bytes);
  /* 1.5. Sets the shapes of the first |n| values of the part (ox_ep_host.value_count), by id, as the host infers them
   * from the inputs of this run; dimension or rank -1: only the run can tell. It allocates, so call it in the first run
   * of a shape only. */
  ox_status *(*infer_shapes)(const struct ox_io *io, ox_shape *out_shapes, size_t n);
  /* 1.5. The same with contents: calls |take| with both and returns its status. */
  ox_status *(*infer_values)(const struct ox_io *io, ox_values_fn take, void *ctx);
} ox_io;

/* What a provider claims. Nodes are named by their index in the view. */
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

/* About the model that a graph belongs to. Strings are never NULL. */
typedef struct ox_model_info {
  uint32_t struct_size; /* the caller's */
  uint32_t n_opsets, n_props;
  const char *path; /* of its file; "": it came from memory */
  const char *producer_name, *producer_version, *domain, *doc;
  int64_t ir_version, model_version;
  const char *graph_name, *graph_doc; /* of the main graph */
} ox_model_info;

/* A memory in which tensors can lie. Memory 0 is the host's; a provider's own are 1, 2 ... in the order of its
 * table. */
typedef struct ox_memory_def {
  const char *name;          /* "cuda", "opencl" ... */
  uint32_t host_accessible;  /* 1: the CPU may read and write it, so nothing is copied at the border */
  uint32_t align;            /* of allocations and of tensors in them, a power of two; 0: 64 */
} ox_memory_def;

struct ox_op;       /* onyx/op.h */
struct ox_type;     /* onyx/op.h */
struct ox_rule_set; /* onyx/rule.h */

/* Services of the host. Strings live as long as the view. A provider may keep a copy of the struct for its lifetime. */
typedef struct ox_ep_host {
  uint32_t struct_size;
  uint32_t abi_major;
  ox_alloc alloc;
  ox_status *(*status_make)(ox_code code, const char *text);
  void (*log)(int level, const char *text); /* does nothing, as it cannot tell the session; use log_text */
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
  const ox_tensor *(*value_const)(const ox_graph_view *g, uint32_t value); /* NULL: not constant. Data at any address */
  size_t (*io_count)(const ox_graph_view *g, int outputs);
  uint32_t (*io_value)(const ox_graph_view *g, int outputs, size_t i);
  void (*claim_node)(ox_claims *c, size_t node);                       /* to run as a kernel */
  void (*claim_fused)(ox_claims *c, size_t node);                      /* as part of a program */
  void (*decline)(ox_claims *c, size_t node, const char *why);         /* kept for ox_session_placement */
  ox_status *(*parallel_for)(const struct ox_ep_host *h, int64_t n, /* the session's task pool, from any thread */
                             void (*fn)(void *ctx, int64_t begin, int64_t end), void *ctx);
  /* 1.1 */
  void *host_data;                                                     /* the host's own */
  void (*log_text)(const struct ox_ep_host *h, int level, const char *text); /* 0 debug, 1 info, 2 warning, 3 error */
  int64_t (*now_ns)(void);                                             /* a monotonic clock */
  uint32_t (*max_threads)(const struct ox_ep_host *h);                 /* that parallel_for uses at most */
  /* Claims nodes that become one program. Error: INVALID_ARGUMENT naming a node that is claimed already, or that is
   * outside and on a path between two of them. Nodes of claim_fused, in contrast, are joined into as few programs as
   * possible. */
  ox_status *(*claim_part)(ox_claims *c, const size_t *nodes, size_t n);
  size_t (*node_attr_count)(const ox_graph_view *g, size_t node);
  const char *(*node_attr_at)(const ox_graph_view *g, size_t node, size_t i, ox_attr_view *out); /* its name */
  /* The body in attribute |name|, NULL if there is none; lives as long as |g|. A provider that claims a
   * node with bodies runs them, too; what they read from the enclosing graph is an input of the part. */
  const ox_graph_view *(*node_body)(const ox_graph_view *g, size_t node, const char *name);
  uint32_t (*value_outer)(const ox_graph_view *body, uint32_t value);  /* its id in the enclosing graph, UINT32_MAX: none */
  size_t (*value_producer)(const ox_graph_view *g, uint32_t value);    /* a node of the view; SIZE_MAX: none of them */
  size_t (*value_use_count)(const ox_graph_view *g, uint32_t value);   /* by nodes of the whole graph, bodies, outputs */
  const char *(*dim_name)(const ox_graph_view *g, int64_t dim);        /* of a symbolic dimension (< -1), or NULL */
  int64_t (*opset)(const ox_graph_view *g, const char *domain);        /* the model's version of it; 0: not imported */
  /* During compile: the program has copied what it needs of this constant, so its pages may be dropped from memory. */
  void (*constant_done)(const ox_graph_view *part, uint32_t value);
  /* 1.2 */
  void *user;                                                          /* the ox_own_provider's; else NULL */
  /* The type, with what sequences, maps and optionals contain; NULL: no such value. */
  const struct ox_type *(*value_full_type)(const ox_graph_view *g, uint32_t value);
  /* The external data file that a constant lies in, as the model names it, and the offset there; NULL: in none. */
  const char *(*value_file)(const ox_graph_view *g, uint32_t value, uint64_t *out_offset);
  const char *(*graph_name)(const ox_graph_view *g);
  /* For a body: a view of the one node that it belongs to. NULL: |g| is no body, or out of memory. */
  const ox_graph_view *(*graph_parent)(const ox_graph_view *g);
  void (*model_info)(const ox_graph_view *g, ox_model_info *out);
  const char *(*model_opset)(const ox_graph_view *g, size_t i, int64_t *out_version);  /* a domain; NULL: no more */
  const char *(*model_prop)(const ox_graph_view *g, size_t i, const char **out_value); /* a key; NULL: no more */
  /* During claim, kernel_create, compile and load: non-zero if the caller has cancelled or the deadline has passed;
   * from any thread. Ask every 50 us or so in work of more than 100 us. A call that stops may return NULL with an
   * unfinished result, which is released and never run: the host makes the error. */
  int (*stopped)(const ox_graph_view *g);
  /* 1.5. As parallel_for, on at most |max_threads| threads (0: max_threads()), the caller included. |worker| is below
   * their number and differs between the threads of a loop. The first error of |fn| ends the loop and is returned. */
  ox_status *(*parallel_tiles)(const struct ox_ep_host *h, int64_t n_tiles, uint32_t max_threads,
                               ox_status *(*fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker), void *ctx);
  /* Calls |fn| for each member of a team, all at the same time and each on a thread of its own, so that they may wait
   * for each other. The caller is member 0. |size| is the number of members, at most |n| (0: as above): threads that
   * are busy or slow to wake stay out, so a team may have one member. */
  void (*parallel_team)(const struct ox_ep_host *h, uint32_t n, void (*fn)(void *ctx, uint32_t member, uint32_t size),
                        void *ctx);
  size_t (*value_count)(const ox_graph_view *g); /* ids of values are below it */
  /* Consumes |st| and returns it with "|text|: " before its message; NULL stays NULL. */
  ox_status *(*status_note)(ox_status *st, const char *text);
  void (*status_free)(ox_status *st); /* one that is not returned; NULL is fine */
  /* Allocates a block of the provider's memory |memory| for its own use: from the host's arena over memory_alloc if
   * there is one, so that limits count it, else from memory_alloc. Not before create has returned; any thread. */
  ox_status *(*memory_take)(const struct ox_ep_host *h, uint32_t memory, size_t bytes, void **out_data);
  void (*memory_give)(const struct ox_ep_host *h, uint32_t memory, void *data, size_t bytes); /* NULL is fine */
  /* As value_const, for type, shape and size only: data is NULL where a rule left the constant to be computed later.
   * For kernels that will pack it (ox_ctx_host.pack). */
  const ox_tensor *(*value_const_type)(const ox_graph_view *g, uint32_t value);
} ox_ep_host;

typedef struct ox_ep_api {
  uint32_t struct_size; /* sizeof(ox_ep_api) when the PLUG-IN was compiled */
  uint32_t abi_major;   /* must match the host; minor growth shows in struct_size */
  const char *name;
  /* 1.0, required. The host makes one call at a time on an instance, except for kernel_create, run, and, from
   * memory_alloc on, calls without a graph: these may come from any thread, at the same time. */
  ox_status *(*create)(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep);
  void (*destroy)(ox_ep *ep); /* after the last kernel and program is released */
  ox_status *(*claim)(ox_ep *ep, const ox_graph_view *g, ox_claims *claims); /* for the main graph and each body */
  /* A provider has kernels, or compile + run + program_release, or both; the other may be NULL. */
  ox_status *(*kernel_create)(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel);
  /* Makes the program of |part|, which lives as long as the program. run gets its inputs and outputs (io_value) in this
   * order. Constants (value_const) are not among the inputs. */
  ox_status *(*compile)(ox_ep *ep, const ox_graph_view *part, ox_program **out_program);
  ox_status *(*run)(ox_program *p, const ox_io *io); /* from any thread, several at a time */
  void (*program_release)(ox_program *p);

  /* ---- 1.1: all below is optional; what lies beyond a shorter table's struct_size counts as 0 or NULL ---- */
  const char *version;             /* the provider's, part of the key of cached programs; NULL: "" */
  const ox_option_def *options;    /* NULL: the provider checks its options itself */
  size_t n_options;
  /* Operators and rules of the provider, for every session that uses it. Rules run on the nodes that it owns, before
   * its parts are compiled. */
  const struct ox_op *ops;
  size_t n_ops;
  const struct ox_rule_set *const *rule_sets;
  size_t n_rule_sets;
  /* Cached programs: |save| writes bytes from which |load| makes the same program again, also in another process, for
   * the same part, options and version. If load fails, the host compiles. Both or neither. */
  ox_status *(*save)(ox_program *p, ox_status *(*write)(void *ctx, const void *bytes, size_t n), void *ctx);
  ox_status *(*load)(ox_ep *ep, const ox_graph_view *part, const void *bytes, size_t n, ox_program **out_program);
  /* The preferred layout, OX_LAYOUT_*, of the first input and output of |op|. For NHWC, nodes that the provider claims
   * become nodes of the domain "ai.onyx.nhwc" between Transposes, which cancel where two meet. NULL: NCHW. */
  uint32_t (*layout)(ox_ep *ep, const char *domain, const char *op);
  /* Memories of its own: kernels and programs then read and write tensors in memory 1 unless value_memory says
   * otherwise; the host copies at the border. The host never dereferences data pointers of such tensors, but adds
   * offsets to them, since a block of memory_alloc holds many tensors. */
  const ox_memory_def *memories;
  size_t n_memories;
  ox_status *(*memory_alloc)(ox_ep *ep, uint32_t memory, size_t bytes, void **out_data); /* any thread */
  void (*memory_free)(ox_ep *ep, uint32_t memory, void *data, size_t bytes);
  /* The memory that input |i| (|output| 0) or output |i| of a kernel's node must be in, e.g. 0 for a shape. NULL: 1. */
  uint32_t (*value_memory)(ox_ep *ep, const ox_graph_view *g, size_t node, int output, size_t i);
  /* Copies between this provider's memories and the host's (0). May return before the copy is complete if |stream| is
   * not NULL. */
  ox_status *(*copy)(ox_ep *ep, void *to, uint32_t to_memory, const void *from, uint32_t from_memory, size_t bytes,
                     void *stream);
  /* Streams: the work on one is done in order. A run, and each body in it, has one stream of each provider; without
   * streams, every call has finished its work when it returns. An event is complete when all work submitted to the
   * stream before event_record is. The host waits for what it reads, for what a kernel of a provider with memories has
   * in host memory, and for all streams before a run returns; until then it does not touch host memory that a stream
   * reads or writes. Work that fails later makes stream_sync fail. All or none of these. */
  ox_status *(*stream_create)(ox_ep *ep, void **out_stream);
  void (*stream_release)(ox_ep *ep, void *stream);
  ox_status *(*stream_sync)(ox_ep *ep, void *stream);
  ox_status *(*event_create)(ox_ep *ep, void **out_event);
  void (*event_release)(ox_ep *ep, void *event);
  ox_status *(*event_record)(ox_ep *ep, void *event, void *stream);
  ox_status *(*event_sync)(ox_ep *ep, void *event);
  /* 1.5. A number that identifies where memory |memory| of this instance is. Instances in a process that return the
   * same number, not 0, can use each other's blocks (they share device and context, say), so their sessions read and
   * write a caller's value there in place. 0, or NULL: blocks are this instance's alone. Any thread. */
  uint64_t (*memory_space)(ox_ep *ep, uint32_t memory);
  uint32_t slow_alloc; /* not 0: memory_alloc is slow, so the host always keeps an arena over it */
  /* 1.5. The memory that input |i| of a part must be in, e.g. 0 for numbers that shapes depend on: the host then reads
   * them for shape inference, even if they are computed in the run. NULL: 1. */
  uint32_t (*part_memory)(ox_ep *ep, const ox_graph_view *part, size_t i);
  /* 1.5. The memory that output |i| of a part is left in. 0: the host's, complete when run returns, whatever else is
   * still on the stream. NULL: 1. */
  uint32_t (*part_out_memory)(ox_ep *ep, const ox_graph_view *part, size_t i);
  /* 1.5. What determines, besides |version|, the speed of this instance: device, driver, library, as a text that lives
   * as long as it does. "auto" ignores measurements made under another text. NULL: nothing does. */
  const char *(*describe)(ox_ep *ep);
} ox_ep_api;

enum { OX_LAYOUT_NCHW = 0, OX_LAYOUT_NHWC = 1 };

/* The one symbol that a plug-in exports. Returns NULL if it cannot serve |host_abi_major|. */
OX_API const ox_ep_api *ox_ep_query(uint32_t host_abi_major);

#ifdef __cplusplus
}
#endif
#endif
