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
struct ox_tune;

/* What a kernel sees of its node. In prepare, in[i]->data is NULL unless the value is constant or already known. */
typedef struct ox_kernel_ctx {
  uint32_t struct_size;
  uint32_t n_in, n_out;
  const ox_tensor *const *in; /* NULL: omitted optional input */
  ox_tensor *const *out;      /* NULL: nobody wants it. Shape known, except where it depends on data */
  const void *attrs;          /* the provider's own: NULL on entry to prepare, what it sets comes back in run */
  void *state;                /* as attrs; rows of onyx/op.h: what load stored, immutable during runs */
  void *prep;                 /* what prepare stored for these shapes (ox_ctx_alloc) */
  uint32_t op_version;        /* opset version of the node's domain in the model */
  uint32_t isa;               /* as attrs; rows of onyx/op.h: the instruction sets kernels may use */
  /* prepare's answer; preset to one stage of one tile without scratch */
  uint32_t n_stages;
  int64_t n_tiles[OX_MAX_STAGES];   /* depends on shapes only, never on the thread count */
  size_t scratch_per_worker;        /* bytes, a worker's own: what a call leaves there its next of this stage finds */
  size_t shared_bytes;              /* bytes shared by all tiles and stages of this node: |shared| in run */
  void *shared;                     /* run only */
  ox_frame *frame;                  /* services below */
  const struct ox_ctx_host *host;
  /* 1.1 */
  void *stream;                     /* of this run, from the provider's stream_create; NULL: it has none */
  /* 1.3. prepare's answer, for profiles: how these shapes are computed, in a few words ("depthwise"). Static, or of
   * alloc_prep; NULL: nothing to tell. Only where struct_size says that it is there. */
  const char *form;
  struct ox_tune *tune; /* the engine's own (docs/tuning.md); NULL elsewhere */
  /* 1.5. prepare's answer: for these shapes output 0 is the inputs' bytes one after the other, or input 0 the outputs'.
   * Then the host may have them where they belong; run leaves what lies there already. 0: neither. */
  uint32_t in_a_row;
} ox_kernel_ctx;

enum { OX_INPUTS_IN_A_ROW = 1, OX_OUTPUTS_IN_A_ROW = 2 }; /* ox_kernel_ctx.in_a_row */

/* A form of constants that a kernel has consumed (packed weights), made when shapes are known and so is the form that
 * serves them best. */
typedef struct ox_pack {
  uint32_t struct_size;
  uint64_t form;    /* which one: of kernels that differ in varying inputs only, the same number has the same bytes */
  uint64_t inputs;  /* bit i: |fn| reads constant input i */
  size_t bytes;
  int64_t n_units;  /* of independent work, each of some 100 us or less: in any order, on several threads */
  size_t scratch_bytes; /* for |fn|, on each thread */
  /* Packs units [begin, end) into |to|. in[i]: the constant inputs with their data, at any address; NULL unless they are in
   * |inputs|. Must not fail. */
  void (*fn)(const struct ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end, void *scratch);
  const void *arg;  /* for |fn| */
  /* 1.5. Not NULL (ox_ctx_host.pack_pieces only): a unit reads elements [first, first + n) of the one input in
   * |inputs|. |fn| is called unit by unit then, and in[i]->data begin there: what is computed is computed for it, in
   * cache. */
  void (*piece)(const struct ox_pack *p, int64_t unit, int64_t *out_first, int64_t *out_n);
} ox_pack;

/* Services for kernels. alloc_prep: prepare only, zeroed, lives as long as the prepared shapes. alloc_output: run
 * only, for an output whose shape depends on data: sets out[i]->shape, data, bytes. alloc_run: run only, memory that
 * lives until the run's outputs are handed over (string characters, sequence items). The last two may only be called
 * from a stage of one tile. All return NULL on out of memory. */
typedef struct ox_ctx_host {
  uint32_t struct_size;
  void *(*alloc_prep)(ox_kernel_ctx *c, size_t bytes);
  void *(*alloc_output)(const ox_kernel_ctx *c, uint32_t index, const ox_shape *shape);
  void *(*alloc_run)(const ox_kernel_ctx *c, size_t bytes);
  /* 1.1. An event of the profile, from any thread; ignored while nobody profiles. Times as ox_ep_host.now_ns. */
  void (*profile_event)(const ox_kernel_ctx *c, const char *name, int64_t start_ns, int64_t duration_ns);
  /* An error, with a copy of |text|; for those who link against nothing of ours. */
  ox_status *(*status_make)(ox_code code, const char *text);
  /* Calls |fn| for blocks of [0, n) on the run's threads: for a stage of one tile that finds its work as it runs. |worker|
   * is below max_workers. The first error ends the loop and is returned. */
  ox_status *(*parallel_for)(const ox_kernel_ctx *c, int64_t n,
                             ox_status *(*fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker), void *ctx);
  uint32_t (*max_workers)(const ox_kernel_ctx *c);
  /* 1.2. Whether the caller has cancelled, or the deadline has passed; from any thread. Between tiles the host looks
   * itself: for tiles of more than 100 us, every 10 us or so. A kernel that stops returns NULL and may leave its outputs
   * as they are: the host makes the error. */
  int (*stopped)(const ox_kernel_ctx *c);
  /* An array of alloc_run that begins with the |used| bytes at |p| and has room for |more|. It may be |p| itself, if that
   * came from here and nobody has extended it beyond |used|: what is there stays, and appending again and again costs as
   * much as the array. NULL: out of memory. */
  void *(*extend_run)(const ox_kernel_ctx *c, const void *p, size_t used, size_t more);
  /* 1.3. A key for random numbers that no seed of the node's determines: another one each time. The same ones come again in
   * the same order after ox_random_seed. */
  uint64_t (*random_key)(const ox_kernel_ctx *c);
  /* 1.4. prepare only: |*out_data| are |p|'s bytes, aligned to 64, which live as long as the kernel. The first call for a
   * form packs it on the run's threads, later ones find it, of other shapes and other runs too. An error (out of memory,
   * cancelled) is prepare's to return; the next call tries again. */
  ox_status *(*pack)(ox_kernel_ctx *c, const ox_pack *p, const void **out_data);
  /* 1.5. The same, for forms with |piece|. */
  ox_status *(*pack_pieces)(ox_kernel_ctx *c, const ox_pack *p, const void **out_data);
  /* run only, from any thread: elements [first, first + n) of a constant input, also of one that was consumed, for what
   * is needed so rarely that nobody packs it. */
  void (*constant)(const ox_kernel_ctx *c, uint32_t input, int64_t first, int64_t n, void *to);
  /* 1.5. Where a constant input lies for as long as the kernel lives, also one that was consumed: at any address, often
   * in a mapped file. NULL: it is computed, and lies nowhere. Any thread. */
  const void *(*constant_place)(const ox_kernel_ctx *c, uint32_t input);
  /* 1.5. |pack| in two, for kernels that can do without in the first run, so that no later one allocates. pack_later:
   * prepare only, of a form without |piece| and |scratch_bytes| whose constants have a place: takes the memory;
   * |p->arg| is to live as long as the prepared shapes. pack_now: of what that gave, in a run, from a stage of one tile. */
  ox_status *(*pack_later)(ox_kernel_ctx *c, const ox_pack *p, void **out_later);
  ox_status *(*pack_now)(const ox_kernel_ctx *c, void *later, const void **out_data);
  /* 1.5. |pack|, with |piece| or not, for kernels that read the bytes in runs only: |*out_place| is where each run finds a
   * pointer to them, from its first stage on, and lives as long as the prepared shapes, as |p->arg| must. The host may pack
   * a first run's bytes where other steps' come, too, and only a later run's where they stay. */
  ox_status *(*pack_for_runs)(ox_kernel_ctx *c, const ox_pack *p, const void *const **out_place);
} ox_ctx_host;

/* A kernel: one node's implementation, created once per node (kernel_create may be called from several threads, for
 * different nodes), shared by all runs. consumed: bit i: constant input i was packed, or ox_ctx_host.pack will be asked to:
 * prepare and run see it without data.
 * prepare: all input shapes known: tiles, stages, scratch. run: tiles [begin, end) of a stage, from any worker, no
 * malloc, lock or thread; stages run one after the other. */
typedef struct ox_kernel ox_kernel;

/* What the host may do around a kernel. */
typedef struct ox_kernel_traits {
  uint32_t struct_size;
  uint32_t inplace;      /* bit i: output 0 may overwrite input i when both have the same bytes */
  uint32_t unaligned_in; /* bit i: input i is read bytewise, so a constant may stay unaligned in the mapped file */
} ox_kernel_traits;

typedef struct ox_kernel_api {
  uint32_t struct_size;
  ox_status *(*prepare)(ox_kernel *k, ox_kernel_ctx *c);
  ox_status *(*run)(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end, void *scratch);
  void (*release)(ox_kernel *k);
  /* 1.1, optional */
  void (*traits)(const ox_kernel *k, ox_kernel_traits *out);    /* |out| is zeroed but for struct_size */
  double (*flops)(const ox_kernel *k, const ox_kernel_ctx *c);  /* of one run on these prepared shapes; for profiles */
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
  const char *values;    /* STRING: the values allowed, separated by '|'; NULL: any */
  const char *otherwise; /* what holds when it is not given; for help */
  const char *help;      /* one line */
} ox_option_def;

/* Shapes of values by id, as ox_io.infer_shapes gives them, and those of their contents that follow from shapes and
 * from what the host can read: integers of at most one axis (NULL: not known). They live until it returns. */
typedef ox_status *(*ox_values_fn)(void *ctx, const ox_shape *shapes, const ox_tensor *const *contents, size_t n);

/* Inputs and outputs of one run of a program, in the order of its part. Outputs whose shape the host could infer have
 * memory; the others have data NULL, and the program asks for it. */
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
  const volatile int *cancel;  /* polled by long programs, which then return CANCELLED; NULL: never */
  int64_t deadline_ns;         /* on the clock of ox_ep_host.now_ns; 0: none */
  void (*profile_event)(const struct ox_io *io, const char *name, int64_t start_ns, int64_t duration_ns);
  /* As in ox_ctx_host: for the characters of strings and the items of sequences, from the thread that called run. Outputs
   * that are no tensors get their kind, shape and data from the program. */
  void *(*alloc_run)(const struct ox_io *io, size_t bytes);
  /* 1.5. The shapes of the first |n| values of the part (ox_ep_host.value_count), by id, as the host infers them for the
   * inputs of this run; a dimension of -1, or rank -1: only the run can tell. Allocates: for the first run of a shape. */
  ox_status *(*infer_shapes)(const struct ox_io *io, ox_shape *out_shapes, size_t n);
  /* 1.5. The same with contents, handed to |take|, whose status it returns. */
  ox_status *(*infer_values)(const struct ox_io *io, ox_values_fn take, void *ctx);
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

/* What is known of the model that a graph is from. Strings are never NULL. */
typedef struct ox_model_info {
  uint32_t struct_size; /* the caller's */
  uint32_t n_opsets, n_props;
  const char *path; /* of its file; "": it came from memory */
  const char *producer_name, *producer_version, *domain, *doc;
  int64_t ir_version, model_version;
  const char *graph_name, *graph_doc; /* of the main graph */
} ox_model_info;

/* A place where tensors can lie. Memory 0 is the host's; a provider's own are 1, 2 ... in the order of its table. */
typedef struct ox_memory_def {
  const char *name;          /* "cuda", "opencl" ... */
  uint32_t host_accessible;  /* 1: the CPU may read and write it directly, so nothing is copied at the border */
  uint32_t align;            /* of allocations and of tensors in them, a power of two; 0: 64 */
} ox_memory_def;

struct ox_op;       /* onyx/op.h */
struct ox_type;     /* onyx/op.h */
struct ox_rule_set; /* onyx/rule.h */

/* Services of the host. Strings live as long as the view. A provider may keep a copy of the struct while it lives. */
typedef struct ox_ep_host {
  uint32_t struct_size;
  uint32_t abi_major;
  ox_alloc alloc;
  ox_status *(*status_make)(ox_code code, const char *text);
  void (*log)(int level, const char *text); /* 1.0: goes nowhere, as it names no session; see log_text */
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
  void (*claim_node)(ox_claims *c, size_t node);                       /* as a kernel of its own */
  void (*claim_fused)(ox_claims *c, size_t node);                      /* as part of a compiled subgraph */
  void (*decline)(ox_claims *c, size_t node, const char *why);         /* kept: ox_session_placement tells it */
  ox_status *(*parallel_for)(const struct ox_ep_host *h, int64_t n, /* the session's task pool, from any thread */
                             void (*fn)(void *ctx, int64_t begin, int64_t end), void *ctx);
  /* 1.1 */
  void *host_data;                                                     /* the host's own */
  void (*log_text)(const struct ox_ep_host *h, int level, const char *text); /* 0 debug, 1 info, 2 warning, 3 error */
  int64_t (*now_ns)(void);                                             /* a monotonic clock */
  uint32_t (*max_threads)(const struct ox_ep_host *h);                 /* that parallel_for uses at most */
  /* These nodes become one program: INVALID_ARGUMENT, naming a node, if one is taken or if a path between two of them
   * leads through a node that is not among them. Nodes of claim_fused are joined into as few programs as possible. */
  ox_status *(*claim_part)(ox_claims *c, const size_t *nodes, size_t n);
  size_t (*node_attr_count)(const ox_graph_view *g, size_t node);
  const char *(*node_attr_at)(const ox_graph_view *g, size_t node, size_t i, ox_attr_view *out); /* its name */
  /* The body in attribute |name|, NULL if there is none; lives as long as |g|. A claimed node with bodies brings them
   * along: whoever claims it runs them, and what they read of the enclosing graph is an input of the part. */
  const ox_graph_view *(*node_body)(const ox_graph_view *g, size_t node, const char *name);
  uint32_t (*value_outer)(const ox_graph_view *body, uint32_t value);  /* of the enclosing graph; UINT32_MAX: its own */
  size_t (*value_producer)(const ox_graph_view *g, uint32_t value);    /* a node of the view; SIZE_MAX: none of them */
  size_t (*value_use_count)(const ox_graph_view *g, uint32_t value);   /* by nodes of the whole graph, bodies, outputs */
  const char *(*dim_name)(const ox_graph_view *g, int64_t dim);        /* of a symbolic dimension (< -1), or NULL */
  int64_t (*opset)(const ox_graph_view *g, const char *domain);        /* the model's version of it; 0: not imported */
  /* During compile: the program has what it needs of this constant, so that its pages may leave memory. */
  void (*constant_done)(const ox_graph_view *part, uint32_t value);
  /* 1.2 */
  void *user;                                                          /* of the ox_own_provider; else NULL */
  const struct ox_type *(*value_full_type)(const ox_graph_view *g, uint32_t value); /* what sequences, maps, optionals
                                                                                     * are of; NULL: no such value */
  /* The file that a constant lies in, as the model names it, and where in it; NULL: it is not in a file of its own. */
  const char *(*value_file)(const ox_graph_view *g, uint32_t value, uint64_t *out_offset);
  const char *(*graph_name)(const ox_graph_view *g);
  /* Of a body: a view of the one node that has it. NULL: no body, or out of memory. */
  const ox_graph_view *(*graph_parent)(const ox_graph_view *g);
  void (*model_info)(const ox_graph_view *g, ox_model_info *out);
  const char *(*model_opset)(const ox_graph_view *g, size_t i, int64_t *out_version);  /* a domain; NULL: no more */
  const char *(*model_prop)(const ox_graph_view *g, size_t i, const char **out_value); /* a key; NULL: no more */
  /* During claim, kernel_create, compile and load: whether the caller has cancelled, or the deadline has passed; from
   * any thread. For work of more than 100 us, every 50 us or so. A call that stops may return NULL with what it has,
   * which is released and never runs: the host makes the error. */
  int (*stopped)(const ox_graph_view *g);
  /* 1.5. As parallel_for, on at most |max_threads| threads (0: as many as max_threads() says), the caller included;
   * |worker| is below their number, and no two threads of one loop have the same. The first error of |fn| ends the loop
   * and is returned. */
  ox_status *(*parallel_tiles)(const struct ox_ep_host *h, int64_t n_tiles, uint32_t max_threads,
                               ox_status *(*fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker), void *ctx);
  /* Calls |fn| for each member of a team, all at the same time and each on a thread of its own, so that they may wait for
   * each other. The caller is member 0; |size|, at most |n| (0: as above), is what could be had at once: threads that are
   * busy, or slow to wake, stay out, and a team may be of one. */
  void (*parallel_team)(const struct ox_ep_host *h, uint32_t n, void (*fn)(void *ctx, uint32_t member, uint32_t size),
                        void *ctx);
  size_t (*value_count)(const ox_graph_view *g); /* ids of values are below it */
  /* |st|, which it takes, with "|text|: " before its text; NULL stays NULL. */
  ox_status *(*status_note)(ox_status *st, const char *text);
  void (*status_free)(ox_status *st); /* of one that is not passed on; NULL is fine */
  /* A block of the provider's memory |memory| for what it keeps there itself: from the arena that the host has over
   * memory_alloc, so that a limit counts it, or from memory_alloc. After create has returned; any thread. */
  ox_status *(*memory_take)(const struct ox_ep_host *h, uint32_t memory, size_t bytes, void **out_data);
  void (*memory_give)(const struct ox_ep_host *h, uint32_t memory, void *data, size_t bytes); /* NULL is fine */
  /* value_const for its type, shape and size: its data may be NULL, if a rule left it to be computed. For kernels
   * that will pack it (ox_ctx_host.pack). */
  const ox_tensor *(*value_const_type)(const ox_graph_view *g, uint32_t value);
} ox_ep_host;

typedef struct ox_ep_api {
  uint32_t struct_size; /* sizeof(ox_ep_api) when the PLUG-IN was compiled */
  uint32_t abi_major;   /* must match the host; minor growth shows in struct_size */
  const char *name;
  /* 1.0, required. The host serialises calls on one provider, except kernel_create, run, and from memory_alloc on those
   * without a graph: they may come from any thread, also at the same time. */
  ox_status *(*create)(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep);
  void (*destroy)(ox_ep *ep); /* after the last kernel and program is released */
  ox_status *(*claim)(ox_ep *ep, const ox_graph_view *g, ox_claims *claims); /* for the main graph and each body */
  /* A provider has kernels, or compile + run + program_release, or both; the other may be NULL. */
  ox_status *(*kernel_create)(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel);
  /* |part| lives as long as the program. Its inputs and outputs (io_value) are those of run, in order. Values that are
   * constant (value_const) are no inputs. */
  ox_status *(*compile)(ox_ep *ep, const ox_graph_view *part, ox_program **out_program);
  ox_status *(*run)(ox_program *p, const ox_io *io); /* from any thread, also at the same time */
  void (*program_release)(ox_program *p);

  /* ---- 1.1: everything below is optional; what a table is too short for counts as 0 or NULL ---- */
  const char *version;             /* of the provider, part of the key of cached programs; NULL: "" */
  const ox_option_def *options;    /* NULL: the provider checks its options itself */
  size_t n_options;
  /* Operators and rules that the provider brings: known to every session that uses it. Rules run on what it owns, before
   * its parts are compiled. */
  const struct ox_op *ops;
  size_t n_ops;
  const struct ox_rule_set *const *rule_sets;
  size_t n_rule_sets;
  /* Cached programs: |save| writes what |load| turns into the same program again, in another process too, for the same
   * part, options and version. A load that fails is followed by compile. Both or none. */
  ox_status *(*save)(ox_program *p, ox_status *(*write)(void *ctx, const void *bytes, size_t n), void *ctx);
  ox_status *(*load)(ox_ep *ep, const ox_graph_view *part, const void *bytes, size_t n, ox_program **out_program);
  /* Preferred layout of the first input and output of |op|: OX_LAYOUT_*; such nodes that the provider claims become nodes
   * of the domain "ai.onyx.nhwc" between transposes, which cancel where two meet. NULL: as they are. */
  uint32_t (*layout)(ox_ep *ep, const char *domain, const char *op);
  /* Memories of its own: kernels and programs then read and write tensors in memory 1 unless value_memory says otherwise;
   * the host copies at the border. Data pointers of such tensors are the device's and never touched by the host, but it
   * computes with them: a block that memory_alloc gave holds many tensors. */
  const ox_memory_def *memories;
  size_t n_memories;
  ox_status *(*memory_alloc)(ox_ep *ep, uint32_t memory, size_t bytes, void **out_data); /* any thread */
  void (*memory_free)(ox_ep *ep, uint32_t memory, void *data, size_t bytes);
  /* Which memory input (|output| 0) or output |i| of a kernel's node has to be in, e.g. 0 for a shape. NULL: 1. */
  uint32_t (*value_memory)(ox_ep *ep, const ox_graph_view *g, size_t node, int output, size_t i);
  /* Copies between memories of this provider and the host's (0); may return before it is done if |stream| is not NULL. */
  ox_status *(*copy)(ox_ep *ep, void *to, uint32_t to_memory, const void *from, uint32_t from_memory, size_t bytes,
                     void *stream);
  /* Streams: work on one runs in order; a run, and each body in it, has one of each provider. Without them every call has
   * finished when it returns. An event is done when all that was put on the stream before event_record is. The host waits
   * for what it reads, for what a kernel of a provider with memories has in host memory, and for all streams before a run
   * returns; until then it leaves alone what a stream reads and writes in host memory. Work that fails later makes
   * stream_sync fail. All or none. */
  ox_status *(*stream_create)(ox_ep *ep, void **out_stream);
  void (*stream_release)(ox_ep *ep, void *stream);
  ox_status *(*stream_sync)(ox_ep *ep, void *stream);
  ox_status *(*event_create)(ox_ep *ep, void **out_event);
  void (*event_release)(ox_ep *ep, void *event);
  ox_status *(*event_record)(ox_ep *ep, void *event, void *stream);
  ox_status *(*event_sync)(ox_ep *ep, void *event);
  /* 1.5. A number for the place that memory |memory| of this instance is: instances of a process that give the same one,
   * not 0, use each other's blocks (one device and one context, say), so that a value that a caller has there is read and
   * written in place by any of their sessions. 0, or NULL: blocks are this instance's alone. Any thread. */
  uint64_t (*memory_space)(ox_ep *ep, uint32_t memory);
  uint32_t slow_alloc; /* not 0: memory_alloc is slow, so the host keeps an arena over it even if nobody asks for one */
  /* 1.5. Which memory input |i| of a part has to be in, e.g. 0 for numbers that shapes follow from: the host then reads
   * them to infer, also those that only the run knows. NULL: 1. */
  uint32_t (*part_memory)(ox_ep *ep, const ox_graph_view *part, size_t i);
  /* 1.5. Which memory output |i| of a part is left in; 0: it is there when run returns, whatever is still on the
   * stream. NULL: 1. */
  uint32_t (*part_out_memory)(ox_ep *ep, const ox_graph_view *part, size_t i);
  /* 1.5. What decides, beside |version|, how fast this instance is: device, driver, library, in words that live as long
   * as it does. What was measured with others does not count ("auto"). NULL: nothing. */
  const char *(*describe)(ox_ep *ep);
} ox_ep_api;

enum { OX_LAYOUT_NCHW = 0, OX_LAYOUT_NHWC = 1 };

/* The one symbol a plug-in exports; NULL if it cannot serve |host_abi_major|. */
OX_API const ox_ep_api *ox_ep_query(uint32_t host_abi_major);

#ifdef __cplusplus
}
#endif
#endif
