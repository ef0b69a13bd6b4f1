/* SPDX-License-Identifier: Apache-2.0
 * onyx/onyx.h - runs ONNX models. Create an env, a session per model, give values, take values.
 *
 * Conventions. A function that can fail returns `ox_status *`, NULL on success (onyx/status.h). create/release pair up;
 * release(NULL) is a no-op. `get`-like functions lend: what they return lives as long as the object asked. Option
 * structs begin with struct_size: set it to sizeof, zero the rest, then set what you need. Unless said otherwise an
 * object may be used by one thread at a time; a session may run from many threads at once. */
#ifndef ONYX_ONYX_H
#define ONYX_ONYX_H

#include "onyx/ep.h"
#include "onyx/rule.h"
#include "onyx/status.h"
#include "onyx/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
OX_API const char *ox_version(void);

/* ---- environment: what sessions share ---- */

typedef struct ox_env ox_env;

enum { OX_LOG_LEVEL_DEBUG = 0, OX_LOG_LEVEL_INFO = 1, OX_LOG_LEVEL_WARNING = 2, OX_LOG_LEVEL_ERROR = 3, OX_LOG_LEVEL_OFF = 4 };

typedef struct ox_env_opts {
  size_t struct_size;
  ox_alloc alloc;                                          /* alloc.alloc NULL: the heap */
  void (*log)(void *ctx, int level, const char *text);     /* NULL: silence. May be called from any thread */
  void *log_ctx;
  int log_level;                                           /* least level that reaches |log| */
  ox_pool *pool;                                           /* NULL: ox_pool_default(). Must outlive the env */
} ox_env_opts;

/* |opts| may be NULL. Counted: sessions hold it, so it may be released before them. */
OX_API OX_NODISCARD ox_status *ox_env_create(const ox_env_opts *opts, ox_env **out_env);
OX_API void ox_env_release(ox_env *env);
/* Adds a provider for sessions created later, built in or from a plug-in's ox_ep_query. The table is copied. */
OX_API OX_NODISCARD ox_status *ox_env_add_provider(ox_env *env, const ox_ep_api *api);
/* Operators for sessions created later, borrowed until the env is released: rows of onyx/op.h, of any domain. One that the
 * standard has, too, is replaced from the row's version on. Kernels run on the CPU, before the CPU provider is asked.
 * Errors: INVALID_ARGUMENT naming a row that is not well-formed, or there already. Not while sessions are being created. */
OX_API OX_NODISCARD ox_status *ox_env_add_ops(ox_env *env, const ox_op *rows, size_t n);
/* Rules and passes for sessions created later, borrowed until the env is released. INVALID_ARGUMENT naming the rule. */
OX_API OX_NODISCARD ox_status *ox_env_add_rules(ox_env *env, const ox_rule_set *set);
/* Loads the shared library |path| and adds what its ox_plugin_query (onyx/plugin.h) or ox_ep_query gives. Errors:
 * NO_SUCH_FILE with the system's reason; INCOMPATIBLE; those of what it adds. The library stays loaded. */
OX_API OX_NODISCARD ox_status *ox_env_load_plugin(ox_env *env, const char *path);
/* Name of provider |i| of those that the env has so far, or NULL when there are no more. "cpu" is always there. */
OX_API const char *ox_env_provider_name(const ox_env *env, size_t i);

/* What is known of an execution provider, be it here or not. Static. */
typedef struct ox_provider_info {
  const char *name;     /* "cuda" */
  const char *ort_name; /* ONNX Runtime's: "CUDAExecutionProvider" */
  const char *aliases;  /* others that it goes by, separated by '|': "CUDA"; "": none */
  const char *get;      /* what it takes to have it here; "": nothing, it is built in */
  int foreign; /* 1: its maker's library has ONNX Runtime's interface, libonnxruntime.so.1 loads it; 2: there is
                  none for this system, and |get| tells what there is instead; 0: Onyx's own */
} ox_provider_info;

/* Row |i| of the list of known providers, those that are asked first by habit first, "cpu" last; 0: no more. */
OX_API int ox_provider_known(size_t i, ox_provider_info *out);
/* The row that has |name| as one of its names, upper or lower case, with or without "ExecutionProvider" behind it; 0:
 * none has. */
OX_API int ox_provider_find(const char *name, ox_provider_info *out);
/* Whether sessions can use provider |name| here: NULL, if it is there and one can be created without options. It is
 * found as for a session (ox_provider_spec). Errors: INVALID_ARGUMENT saying where it was looked for and what to
 * install; what loading or creating it says. The answer of create is kept for the env's life. Any thread. */
OX_API OX_NODISCARD ox_status *ox_env_check_provider(ox_env *env, const char *name);
/* Option |i| that provider |name| declares, loading it if need be; 0: no more, or no such provider. */
OX_API int ox_env_provider_option(ox_env *env, const char *name, size_t i, ox_option_def *out);

/* A provider to ask. |name| "auto": the fastest of those that are here, as measured with this model (docs/tuning.md;
 * option "among": names with '|' between). Else: of one of the session's own or of the env's; else any of the names of
 * onyx's list (ox_provider_find). One that the env lacks is loaded: libonyx-<name>.so, out of the files and folders
 * that the environment variable ONYX_PLUGINS lists (':' between), of the folder of this library and "onyx" in it, and
 * of
 * "../lib/onyx" and "../lib" beside it. */
typedef struct ox_provider_spec {
  const char *name;
  ox_options options;
} ox_provider_spec;

/* ---- values: tensors, sequences, maps, optionals ---- */

typedef struct ox_value ox_value;

/* Where a function takes an env, NULL means: memory of the heap. */

/* A tensor with memory of its own, zeroed. Errors: LIMIT for absurd sizes, OUT_OF_MEMORY. */
OX_API OX_NODISCARD ox_status *ox_value_create(ox_env *env, uint32_t dtype, const int64_t *dims, size_t rank,
                                               ox_value **out_value);
/* A tensor over the caller's memory of |bytes| (at least what the shape needs), without copying. |release| (may be
 * NULL) is called with |ctx| when the last user is done. Alignment: any; that of the element type avoids a copy in run. */
OX_API OX_NODISCARD ox_status *ox_value_wrap(ox_env *env, uint32_t dtype, const int64_t *dims, size_t rank, void *data,
                                             size_t bytes, void (*release)(void *ctx), void *ctx, ox_value **out_value);
/* A value of any kind that is what |t| says, without copying: the caller keeps what |t| leads to (data, items, strings)
 * well-formed and in place until |release| (may be NULL) is called with the room, when the last user is done. The room
 * is |room| zeroed bytes beside the value, aligned to 16, for the caller's own. */
OX_API OX_NODISCARD ox_status *ox_value_view(ox_env *env, const ox_tensor *t, size_t room, void (*release)(void *room),
                                             ox_value **out_value);
OX_API void *ox_value_room(ox_value *v); /* NULL: it has none */
/* A deep copy of any value. */
OX_API OX_NODISCARD ox_status *ox_value_create_copy(ox_env *env, const ox_tensor *from, ox_value **out_value);
OX_API ox_value *ox_value_retain(ox_value *v);
OX_API void ox_value_release(ox_value *v);
/* What the value is; never NULL. The data of a tensor may be written while no run uses it. */
OX_API const ox_tensor *ox_value_get(const ox_value *v);
OX_API void *ox_value_data(ox_value *v);

/* Values on devices. A memory is a place of a provider's (ox_ep_api.memories), seen through an instance of the provider
 * that lives as long as the memory and the values in it. Counted; any thread. Sessions of the env whose instance has
 * the same memory_space read and write such values in place, others by way of the host. */
typedef struct ox_memory ox_memory;

/* |name|: of one of the provider's memories; NULL: the first. Errors: INVALID_ARGUMENT if it has none, those of finding
 * and creating the provider. */
OX_API OX_NODISCARD ox_status *ox_memory_open(ox_env *env, const ox_provider_spec *provider, const char *name,
                                              ox_memory **out_memory);
OX_API ox_memory *ox_memory_retain(ox_memory *m);
OX_API void ox_memory_release(ox_memory *m);
OX_API const char *ox_memory_name(const ox_memory *m);
OX_API const char *ox_memory_provider(const ox_memory *m);
OX_API int ox_memory_host_accessible(const ox_memory *m); /* the CPU may use its addresses */
/* Blocks there; no bytes are NULL. OUT_OF_MEMORY names provider and memory. */
OX_API OX_NODISCARD ox_status *ox_memory_take(ox_memory *m, size_t bytes, void **out_data);
OX_API void ox_memory_give(ox_memory *m, void *data, size_t bytes);
/* What a memory, or a session's provider with a limit or a strategy (below), takes comes from an arena: regions of the
 * provider's, of which pieces are used again. Options of the host's own for any provider that has memories, not seen by
 * the provider: "arena_extend_strategy": "kNextPowerOfTwo" (regions double) or "kSameAsRequested"; "gpu_mem_limit": the
 * most bytes of regions, 0: no limit. An error of the limit names node or tensor. */
typedef struct ox_memory_stats {
  size_t limit, in_use, total, max_in_use, max_alloc; /* bytes; limit 0: none. total: of all regions */
  uint64_t n_allocs, n_reserves, n_extensions, n_shrinkages;
} ox_memory_stats;
OX_API void ox_memory_get_stats(ox_memory *m, ox_memory_stats *out);
OX_API void ox_memory_shrink(ox_memory *m); /* gives regions back to the provider that nobody uses */
/* As ox_value_create and ox_value_wrap, of numbers, there; contents are not set. */
OX_API OX_NODISCARD ox_status *ox_value_create_in(ox_memory *m, uint32_t dtype, const int64_t *dims, size_t rank,
                                                  ox_value **out_value);
OX_API OX_NODISCARD ox_status *ox_value_wrap_in(ox_memory *m, uint32_t dtype, const int64_t *dims, size_t rank,
                                                void *data, size_t bytes, void (*release)(void *ctx), void *ctx,
                                                ox_value **out_value);
/* Where the data of |v| lies; NULL: in host memory. */
OX_API ox_memory *ox_value_memory(const ox_value *v);
/* |v|, a view that nobody else has yet, shows data in |m|. */
OX_API void ox_value_set_memory(ox_value *v, ox_memory *m);
/* Copies the elements of a tensor into another of the same type and number of bytes, wherever they lie; done when it
 * returns. */
OX_API OX_NODISCARD ox_status *ox_value_copy_to(const ox_value *from, ox_value *to);
/* Writes |v| as a TensorProto, SequenceProto, MapProto ... called |name|; a non-zero return of |write| is FAIL. */
OX_API OX_NODISCARD ox_status *ox_value_serialize(const ox_value *v, const char *name,
                                                  int (*write)(void *ctx, const void *bytes, size_t n), void *ctx);
/* Reads a serialized TensorProto; |kind| OX_SEQUENCE: SequenceProto, OX_MAP: MapProto, OX_SPARSE: SparseTensorProto,
 * OX_NONE_VALUE: OptionalProto. The result owns its memory. */
OX_API OX_NODISCARD ox_status *ox_value_parse(ox_env *env, uint32_t kind, const void *bytes, size_t n, ox_value **out_value);

/* ---- sessions ---- */

typedef struct ox_session ox_session;

/* A file that the caller has in memory. */
typedef struct ox_memory_file {
  const char *name;
  const void *bytes;
  size_t n;
} ox_memory_file;

/* A provider that one session has: its create finds |user| in ox_ep_host. */
typedef struct ox_own_provider {
  const ox_ep_api *api;
  void *user;
} ox_own_provider;

typedef struct ox_session_opts {
  size_t struct_size;
  uint32_t optimize;                   /* OX_OPTIMIZE_*; note that a zeroed struct means NONE: see ox_session_opts_init */
  uint32_t n_threads;                  /* most threads that loading or a run uses, the caller included: of the env's
                                        * pool or, if that has fewer, of a pool of its own; 0: the env's pool */
  const ox_provider_spec *providers;   /* asked in this order; the CPU provider is always added last */
  size_t n_providers;
  const char *const *disabled_rules;   /* names of optimizer rules to leave out */
  size_t n_disabled_rules;
  const char *const *dim_names;        /* symbolic dimensions fixed to dim_values */
  const int64_t *dim_values;
  size_t n_dims;
  size_t max_workspace;                /* bytes of host memory a run may use beside inputs, outputs and constants, those
                                        * of bodies included; 0: no limit. Counted: values between nodes, scratch for all
                                        * threads, what kernels take while they run (strings, sequences), outputs of
                                        * which only the run knows the shape. LIMIT names node, tensor, wanted, limit */
  int profile;                         /* collect per-node times from the start */
  const char *external_dir;            /* models from memory: where external data lies; NULL: nowhere */
  int copy_bytes;                      /* models from memory: keep a copy; 0: the caller's bytes must outlive the session */
  const char *cache_dir;               /* a folder for the compiled programs of providers that can save them; NULL: none */
  const ox_op *ops;                    /* as ox_env_add_ops, for this session; borrowed until it is released */
  size_t n_ops;
  const ox_rule_set *const *rule_sets; /* as ox_env_add_rules, for this session */
  size_t n_rule_sets;
  const char *const *require;          /* what must hold of the placement, else the load fails: "no NODES on PROVIDER",
                                        * "all NODES on PROVIDER"; NODES: "nodes", or operators: "Conv|Gemm" */
  size_t n_require;
  /* Contents for initializers of the main graph, by name, in place of the model's own, which are not looked for: their
   * file may be missing. Retained, not copied, so that sessions can share them; not to be written while a session has
   * them. (What a kernel packs for itself is another copy.) Errors: SHAPE_MISMATCH naming tensor, wanted and given;
   * INVALID_ARGUMENT for a name that the model lacks, or that is there twice. */
  const char *const *initializer_names;
  const ox_value *const *initializers;
  size_t n_initializers;
  /* Name of a rule or pass of the optimizer, or NULL. Whenever it is applied while the session is created, |dump| gets
   * the model as it is before, or after: |title| says which ("before 'conv-add'"), |text| is ONNX's textual syntax as
   * ox_session_write's OX_WRITE_TEXT has it, or OX_WRITE_TEXT_SHORT if |dump_short|, and lives as long as the call.
   * |dump| NULL: a line of the env's log each, at level info, short. A name that nobody has is a warning in the log. */
  const char *dump_before, *dump_after;
  void (*dump)(void *ctx, const char *title, const char *text);
  void *dump_ctx;
  int dump_short;
  /* Bytes of host memory that the session may have at once, over the load and all runs: functions as they are expanded,
   * constants that are folded or unfolded, packed weights, contexts, workspace, outputs that the library makes, until
   * they are released. Not counted: mapped files, the caller's memory, what libraries of providers and drivers take
   * for themselves. What is only kept for later runs goes before a run is refused. LIMIT names node or tensor, wanted,
   * in use, limit. SIZE_MAX: none. 0: the default: 2 GiB and 256 times the bytes of model and inputs, but at most 80 %
   * of the memory of the machine, or of the process's cgroup. */
  size_t max_memory;
  /* Every value of the main graph that a node of the model makes is an output, too, behind the model's own and in the
   * order in which the model makes them: as far as it is still there under its name, as what the model says, when the
   * graph has been optimized and divided. So what runs is what would run without. Values that went into a fused node,
   * or into a provider's program, are not there. Defaults cannot be overridden then: INVALID_ARGUMENT. */
  int all_values;
  const volatile int *cancel;          /* as in ox_run_opts, for loading: also while a constant is packed */
  int64_t timeout_ms;                  /* of loading; 0: none */
  ox_pool *pool;                       /* in place of the env's; must outlive the session. |n_threads| as before */
  void (*log)(void *ctx, int level, const char *text); /* in place of the env's; NULL: the env's. Any thread */
  void *log_ctx;
  int log_level;                       /* least level that reaches |log| */
  /* As ox_env_add_provider, for this session: |providers| finds them by name, before those of the env. Tables and what
   * they point to are borrowed until the session is released. */
  const ox_own_provider *own_providers;
  size_t n_own_providers;
  size_t n_optional_initializers;      /* of |initializers|, the last so many are skipped if the model lacks the name */
  /* Files of external data by the location that tensors name, in place of the file system's. Bytes outlive the
   * session. */
  const ox_memory_file *memory_files;
  size_t n_memory_files;
  /* Open dimensions with such a denotation (TensorShapeProto.Dimension.denotation) are fixed to denotation_values. */
  const char *const *denotations;
  const int64_t *denotation_values;
  size_t n_denotations;
  /* Where an operator can be computed in several ways, the fastest as it was measured on this machine instead of what a
   * model of costs says (docs/tuning.md): what the file |tune_cache| (NULL: none) knows; with |tune|, what it lacks is
   * measured when it is met first and added when the session is released. These are options of the CPU provider. */
  const char *tune_cache;
  int tune;
  /* Where providers of the session take their blocks from, as far as one of these is the place that they want and share
   * it (ox_ep_api.memory_space): so sessions have one arena. Retained. */
  ox_memory *const *memories;
  size_t n_memories;
  /* When a provider fails (a device that is lost, has no memory left, does not take a program), loading and runs are
   * made again by the CPU provider alone, with a warning in the log: for that the model is loaded a second time, so its
   * files or bytes are to stay. One that lacked memory is asked again in the next run, another is not. */
  int fall_back;
} ox_session_opts;

OX_API void ox_session_opts_init(ox_session_opts *opts); /* the defaults: OX_OPTIMIZE_ALL */

/* Loads, optimizes and plans a model. The file is mapped, weights are used in place. |opts| may be NULL. Errors:
 * NO_SUCH_FILE; INVALID_MODEL saying what is broken and where; NOT_IMPLEMENTED listing all missing operators. */
OX_API OX_NODISCARD ox_status *ox_session_create_file(ox_env *env, const char *path, const ox_session_opts *opts,
                                                      ox_session **out_session);
OX_API OX_NODISCARD ox_status *ox_session_create(ox_env *env, const void *bytes, size_t n, const ox_session_opts *opts,
                                                 ox_session **out_session);
OX_API void ox_session_release(ox_session *s);

/* An input or output. dims: -1 where the model leaves it open; dim_names[i] is the symbol's name or NULL; of sequences,
 * maps and optionals: the names of the tensors that they are of in the end. */
typedef struct ox_value_info {
  const char *name;
  uint32_t kind, dtype;
  int optional;                  /* may be left out: an optional type, or an input with a default */
  int32_t rank;                  /* -1: not even the rank is fixed */
  int64_t dims[OX_MAX_RANK];
  const char *dim_names[OX_MAX_RANK];
  const struct ox_type *type;    /* all of it (onyx/op.h), as long as the session: what sequences and maps are of. Open
                                  * dimensions are negative there */
} ox_value_info;

OX_API size_t ox_session_input_count(const ox_session *s);  /* inputs without a default: every run names them */
OX_API size_t ox_session_output_count(const ox_session *s);
OX_API OX_NODISCARD ox_status *ox_session_input(const ox_session *s, size_t i, ox_value_info *out_info);
OX_API OX_NODISCARD ox_status *ox_session_output(const ox_session *s, size_t i, ox_value_info *out_info);
/* Inputs with a default: initializers that are listed among the inputs, too, in a model of ir_version 4 or later. A run
 * that names one overrides it, within its declared type. The session's own plan takes them as constants; the first run
 * that names one loads the model a second time, with all of them as inputs, and later ones that do run there. So the
 * model's files or bytes are to stay until the session is released, and what holds for creating a session (ox_env_add_ops)
 * holds for that run. Workspace, placement, size and what is written are those of the session's own plan. */
OX_API size_t ox_session_default_count(const ox_session *s);
OX_API OX_NODISCARD ox_status *ox_session_default(const ox_session *s, size_t i, ox_value_info *out_info);

/* Metadata. Well-known keys "producer_name", "producer_version", "domain", "doc_string", "graph_name", "ir_version",
 * "model_version", "opset", "graph_doc_string" are first, empty where the model has none, then its metadata_props.
 * *out_key NULL: no more. */
OX_API void ox_session_metadata(const ox_session *s, size_t i, const char **out_key, const char **out_value);

/* The model's version of the operator set |domain| ("" and "ai.onnx" are one); 0: it does not import it. */
OX_API int64_t ox_session_opset(const ox_session *s, const char *domain);

typedef struct ox_run_opts {
  size_t struct_size;
  const volatile int *cancel;    /* polled between nodes and within kernels; set non-zero from any thread: CANCELLED */
  int64_t timeout_ms;            /* 0: none; CANCELLED, within a millisecond or so */
  const char *tag;               /* for the log */
  /* Where outputs are to lie that the run makes: for each output that is asked for a memory, or NULL: the host's. NULL:
   * all there. What is no tensor of numbers is made on the host in any case. */
  ox_memory *const *output_memories;
} ox_run_opts;

/* Runs the model. inputs[i] is for the input called input_names[i]; every input without default must be there, those of
 * an optional type excepted. Where a scalar is declared, a tensor of one element will do. outputs[i] for
 * output_names[i]: NULL on entry: *outputs[i] becomes a new value, the caller's to release (released values lend their
 * memory to later runs: a repeated run allocates nothing). Not NULL: a tensor of the right type and shape that is
 * written. Values may lie in memories of devices (ox_memory): what a provider reads or writes there is not copied, and
 * when the run returns all is done. output_names NULL: all outputs in order. Thread-safe. Errors: INVALID_ARGUMENT,
 * SHAPE_MISMATCH naming input, wanted and got; CANCELLED; what the kernels report, with the node's name. On error no
 * output is set. */
OX_API OX_NODISCARD ox_status *ox_session_run(ox_session *s, const ox_run_opts *opts, const char *const *input_names,
                                              const ox_value *const *inputs, size_t n_inputs,
                                              const char *const *output_names, ox_value **outputs, size_t n_outputs);

/* Frees what is only kept for later runs: idle contexts, released outputs, unused regions of arenas. Any thread. */
OX_API void ox_session_shrink(ox_session *s);
/* What the arena of |provider|'s memory |name| (NULL: the first) in this session has; 0: it has no arena. */
OX_API int ox_session_memory_stats(const ox_session *s, const char *provider, const char *name, ox_memory_stats *out);

/* Bytes of workspace that a run with these input shapes needs, before any run. shapes[i] for input i. This is all of it
 * if all shapes follow from those of the inputs; nodes that only the run knows the shapes of, and kernels that take memory
 * as they run, come on top. */
OX_API OX_NODISCARD ox_status *ox_session_plan(ox_session *s, const ox_shape *shapes, size_t n, size_t *out_workspace);

/* ---- looking inside ---- */

typedef struct ox_node_time {
  const char *name, *op, *provider;
  double start_us, duration_us;
  uint64_t output_bytes;
  double flops;
  uint64_t constant_bytes;    /* of the inputs, those that are constants */
  uint32_t index;             /* of the node among those of its graph that run */
  uint32_t n_in, n_out;       /* 0, 0: not known */
  const ox_tensor *in, *out;  /* types and shapes, without data; UNDEFINED: omitted. Until the profile is started again */
} ox_node_time;

OX_API void ox_session_profile_start(ox_session *s); /* forgets what was collected */
OX_API void ox_session_profile_stop(ox_session *s);
/* Event |i|; 0 when there are no more. Not while runs are under way. */
OX_API int ox_session_profile_event(const ox_session *s, size_t i, ox_node_time *out);
/* How event |i| was computed, in a few words of whoever computed it ("depthwise"), until the profile is started again;
 * NULL: it does not say. */
OX_API const char *ox_session_profile_form(const ox_session *s, size_t i);
/* Writes a trace for Chrome or Perfetto. */
OX_API OX_NODISCARD ox_status *ox_session_profile_write(const ox_session *s, const char *path);

/* Where a node runs, and why. Everything lives as long as the session. */
typedef struct ox_placement {
  const char *graph;  /* "" for the main graph, else the path of the body: "loop.body" */
  const char *name, *op, *domain;
  uint32_t version;
  const char *owner;  /* a provider, or "host" */
  const char *how;    /* "kernel", "program", "view", "control", "copy"; "refused": its operator refuses it, a
                       * run that comes to it fails */
  const char *part;   /* the name of the program that it belongs to; "" if none */
  size_t n_from;      /* nodes of the model that it does the work of; 0: it is one of them, or was added.
                       * A node without a name is called like its first output */
  const char *const *from;
  size_t n_refusals;  /* providers that were asked and declined */
  const char *const *refused_by, *const *refused_why;
} ox_placement;

/* Placement of node |i|: of every node that runs, in the order of the graph, bodies behind their node, pieces of a
 * program behind the program. 0 when there are no more. */
OX_API int ox_session_placement(const ox_session *s, size_t i, ox_placement *out);
/* The index there of the node that makes output |i|; SIZE_MAX: none does, it is an input or a constant. */
OX_API size_t ox_session_output_node(const ox_session *s, size_t i);
enum {
  OX_WRITE_MODEL = 0,     /* a model file: ModelProto */
  OX_WRITE_TEXT = 1,      /* ONNX's textual syntax */
  OX_WRITE_TEXT_SHORT = 2 /* the same for reading: long constants end in "..." */
};

/* Passes the optimized graph to |write|, piece by piece; |format| is OX_WRITE_*. If |write| returns non-zero, writing
 * stops with OX_FAIL. */
OX_API OX_NODISCARD ox_status *ox_session_write(const ox_session *s, uint32_t format,
                                                int (*write)(void *ctx, const void *bytes, size_t n), void *ctx);
/* Non-zero if the model draws random numbers: its outputs have a type and a shape, but no expected value. */
OX_API int ox_session_is_random(const ox_session *s);
/* Non-zero if these numbers reach output |i|. */
OX_API int ox_session_output_is_random(const ox_session *s, size_t i);
/* Random operators whose node names no seed draw other numbers on each run. After this call they follow from |seed| and the
 * order of the runs, in all sessions of the process: with the same calls they come again. Not while runs are under way. */
OX_API void ox_random_seed(uint64_t seed);
/* Rules and passes that were applied, and how often; *out_rule NULL: no more. */
OX_API void ox_session_applied(const ox_session *s, size_t i, const char **out_rule, uint64_t *out_n);
/* Elements and bytes of all constants, and nodes, of the optimized graph. */
OX_API void ox_session_size(const ox_session *s, uint64_t *out_parameters, uint64_t *out_bytes, uint64_t *out_nodes);

/* dtype helpers: "float32" and so on; bits of an element. */
OX_API const char *ox_type_name(uint32_t dtype);
OX_API uint32_t ox_type_bits(uint32_t dtype);
/* Element |i| of a tensor of numbers or bools, as a double (64-bit integers round; complex: the real part). NaN for
 * strings. |i| must be below the element count. */
OX_API double ox_tensor_element(const ox_tensor *t, int64_t i);
/* Product of the dimensions; -1 if one is unknown. */
OX_API int64_t ox_tensor_count(const ox_tensor *t);

#ifdef __cplusplus
}
#endif
#endif
