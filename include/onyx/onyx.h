/* SPDX-License-Identifier: Apache-2.0
 * onyx/onyx.h - runs ONNX models. Create an env, a session per model, give values, take values.
 *
 * Conventions. A function that can fail returns `ox_status *`, NULL on success (onyx/status.h); it may also return
 * OUT_OF_MEMORY where only other errors are listed. What a create function makes is the caller's to release;
 * release(NULL) is a no-op. What a getter returns is borrowed, and lives as long as the object that was asked. Option
 * structs begin with struct_size: set it to sizeof, zero the rest, then set what you need. Unless a comment says
 * otherwise, use an object from one thread at a time; a session may be run from many threads at once. */
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

/* Makes an environment. |opts| NULL: the defaults. Sessions retain it, so it may be released before them. Error:
 * INVALID_ARGUMENT if struct_size is none that there has been. */
OX_API OX_NODISCARD ox_status *ox_env_create(const ox_env_opts *opts, ox_env **out_env);
OX_API void ox_env_release(ox_env *env);
/* Adds a provider to the env, for sessions created later: a built-in one, or what a plug-in's ox_ep_query returned. The
 * table is copied. */
OX_API OX_NODISCARD ox_status *ox_env_add_provider(ox_env *env, const ox_ep_api *api);
/* Adds operators of any domain (rows of onyx/op.h) for sessions created later; the rows are borrowed until the env is
 * released. A row for an operator of the standard replaces it from the row's version on. The kernels run on the CPU and
 * are asked before the CPU provider. Error: INVALID_ARGUMENT naming a row that is malformed or was added before. Do not
 * call it while a session is being created. */
OX_API OX_NODISCARD ox_status *ox_env_add_ops(ox_env *env, const ox_op *rows, size_t n);
/* Adds rules and passes for sessions created later; |set| is borrowed until the env is released. Errors:
 * INVALID_ARGUMENT naming the malformed rule; LIMIT for too many sets. */
OX_API OX_NODISCARD ox_status *ox_env_add_rules(ox_env *env, const ox_rule_set *set);
/* Loads the shared library |path| and adds what its ox_plugin_query (onyx/plugin.h) or ox_ep_query returns. The library
 * stays loaded. Errors: NO_SUCH_FILE with the system's reason; INCOMPATIBLE; those of the three functions above. */
OX_API OX_NODISCARD ox_status *ox_env_load_plugin(ox_env *env, const char *path);
/* The name of provider |i| of those that the env has so far, NULL past the last. "cpu" is always among them. */
OX_API const char *ox_env_provider_name(const ox_env *env, size_t i);

/* What Onyx knows of an execution provider, installed or not. The strings are static. */
typedef struct ox_provider_info {
  const char *name;     /* "cuda" */
  const char *ort_name; /* ONNX Runtime's: "CUDAExecutionProvider" */
  const char *aliases;  /* other names for it, separated by '|': "CUDA"; "": none */
  const char *get;      /* what must be installed to use it; "": nothing, it is built in */
  int foreign; /* 0: Onyx's own; 1: its vendor's library has ONNX Runtime's interface, so libonnxruntime.so.1 loads
                * it; 2: there is none for this system, and |get| names what there is instead */
} ox_provider_info;

/* Row |i| of the list of known providers, in the usual order of preference, "cpu" last. Returns 0 past the last. */
OX_API int ox_provider_known(size_t i, ox_provider_info *out);
/* The row that has |name| among its names, in upper or lower case, with or without the suffix "ExecutionProvider".
 * Returns 0 if there is none. */
OX_API int ox_provider_find(const char *name, ox_provider_info *out);
/* Whether sessions can use provider |name|: NULL if it is found, as for a session (ox_provider_spec), and can be
 * created without options. Errors: INVALID_ARGUMENT saying where it was looked for and what to install; those of
 * loading and creating it. The outcome of creating it is kept for the env's life. Any thread. */
OX_API OX_NODISCARD ox_status *ox_env_check_provider(ox_env *env, const char *name);
/* Option |i| of those that provider |name| declares; loads the provider if need be. Returns 0 past the last, or if
 * there is no such provider. */
OX_API int ox_env_provider_option(ox_env *env, const char *name, size_t i, ox_option_def *out);

/* A provider to ask. |name| is "auto", which stands for the fastest installed one as measured with this model
 * (docs/tuning.md; its option "among" limits the choice to names separated by '|'); or the name of one of the session's
 * own or of the env's providers; or any name of a known provider (ox_provider_find). One that the env lacks is loaded
 * from libonyx-<name>.so, which is looked for in the files and folders that the environment variable ONYX_PLUGINS lists
 * (separated by ':'), then in the folder of this library, in "onyx" below it, and in "../lib/onyx" and "../lib"
 * relative to it. */
typedef struct ox_provider_spec {
  const char *name;
  ox_options options;
} ox_provider_spec;

/* ---- values: tensors, sequences, maps, optionals ---- */

typedef struct ox_value ox_value;

/* |env| NULL: memory comes from the heap. */

/* Makes a tensor with zeroed memory of its own. Errors: INVALID_ARGUMENT for an unknown type; LIMIT for a rank above
 * OX_MAX_RANK, a negative dimension or an impossible size; OUT_OF_MEMORY. */
OX_API OX_NODISCARD ox_status *ox_value_create(ox_env *env, uint32_t dtype, const int64_t *dims, size_t rank,
                                               ox_value **out_value);
/* Makes a tensor over the caller's memory, without copying. |release| (may be NULL) is called with |ctx| when the last
 * reference is gone. |data| may have any alignment; that of the element type saves a copy in each run. Errors: as
 * above; INVALID_ARGUMENT if |bytes| are fewer than the shape needs. */
OX_API OX_NODISCARD ox_status *ox_value_wrap(ox_env *env, uint32_t dtype, const int64_t *dims, size_t rank, void *data,
                                             size_t bytes, void (*release)(void *ctx), void *ctx, ox_value **out_value);
/* Makes a value of any kind that shows what |t| describes, without copying: what |t| points to (data, items, strings)
 * must stay valid and in place until |release| (may be NULL) is called, when the last reference is gone. |release| gets
 * the value's room: |room| zeroed bytes, aligned to 16, that are allocated with the value for the caller's use. */
OX_API OX_NODISCARD ox_status *ox_value_view(ox_env *env, const ox_tensor *t, size_t room, void (*release)(void *room),
                                             ox_value **out_value);
OX_API void *ox_value_room(ox_value *v); /* NULL: it has none */
/* Makes a deep copy of any value in host memory. Error: OUT_OF_MEMORY. */
OX_API OX_NODISCARD ox_status *ox_value_create_copy(ox_env *env, const ox_tensor *from, ox_value **out_value);
OX_API ox_value *ox_value_retain(ox_value *v);
OX_API void ox_value_release(ox_value *v);
/* Kind, type, shape and data of the value; never NULL. A tensor's data may be written while no run uses it. */
OX_API const ox_tensor *ox_value_get(const ox_value *v);
OX_API void *ox_value_data(ox_value *v); /* ox_value_get(v)->data */

/* Values on devices. An ox_memory is one of the memories of a provider (ox_ep_api.memories); it and the values in it
 * keep an instance of the provider alive. Reference-counted; any thread. Sessions of the env whose instance has the
 * same memory_space read and write such values in place; others copy them by way of the host. */
typedef struct ox_memory ox_memory;

/* Opens the provider's memory |name|; NULL: its first. Errors: INVALID_ARGUMENT if it has no such memory; those of
 * finding and creating the provider. */
OX_API OX_NODISCARD ox_status *ox_memory_open(ox_env *env, const ox_provider_spec *provider, const char *name,
                                              ox_memory **out_memory);
OX_API ox_memory *ox_memory_retain(ox_memory *m);
OX_API void ox_memory_release(ox_memory *m);
OX_API const char *ox_memory_name(const ox_memory *m);
OX_API const char *ox_memory_provider(const ox_memory *m);
OX_API int ox_memory_host_accessible(const ox_memory *m); /* 1: the CPU may read and write it */
/* Allocates a block there, to be given back with the same size; 0 bytes: NULL. Error: OUT_OF_MEMORY naming provider and
 * memory. */
OX_API OX_NODISCARD ox_status *ox_memory_take(ox_memory *m, size_t bytes, void **out_data);
OX_API void ox_memory_give(ox_memory *m, void *data, size_t bytes);
/* Blocks come from an arena, which takes large regions from the provider and uses pieces of them again. A session's
 * provider gets an arena, too, if one of these options is given; the host handles them for every provider that has
 * memories, and the provider does not see them: "arena_extend_strategy": "kNextPowerOfTwo" (regions double) or
 * "kSameAsRequested"; "gpu_mem_limit": the most bytes of all regions, 0: no limit. An error for that limit names node
 * or tensor. */
typedef struct ox_memory_stats {
  size_t limit, in_use, total, max_in_use, max_alloc; /* in bytes. limit 0: none; total: of all regions */
  uint64_t n_allocs, n_reserves, n_extensions, n_shrinkages;
} ox_memory_stats;
OX_API void ox_memory_get_stats(ox_memory *m, ox_memory_stats *out);
OX_API void ox_memory_shrink(ox_memory *m); /* gives unused regions back to the provider */
/* As ox_value_create and ox_value_wrap, for tensors of numbers in |m| (NULL: in host memory). Contents that
 * ox_value_create_in makes on a device are not initialized. Error: INVALID_ARGUMENT for strings. */
OX_API OX_NODISCARD ox_status *ox_value_create_in(ox_memory *m, uint32_t dtype, const int64_t *dims, size_t rank,
                                                  ox_value **out_value);
OX_API OX_NODISCARD ox_status *ox_value_wrap_in(ox_memory *m, uint32_t dtype, const int64_t *dims, size_t rank,
                                                void *data, size_t bytes, void (*release)(void *ctx), void *ctx,
                                                ox_value **out_value);
/* Where the data of |v| lies; NULL: in host memory. */
OX_API ox_memory *ox_value_memory(const ox_value *v);
/* Says that the data of |v|, a view without other references yet, lies in |m|. */
OX_API void ox_value_set_memory(ox_value *v, ox_memory *m);
/* Copies a tensor of numbers to another of the same type and number of bytes, wherever they lie; the copy is complete
 * on return. Errors: INVALID_ARGUMENT; those of the provider's copy. */
OX_API OX_NODISCARD ox_status *ox_value_copy_to(const ox_value *from, ox_value *to);
/* Writes |v|, named |name|, as a TensorProto, SequenceProto, MapProto ... If |write| returns non-zero, writing stops
 * with FAIL. Error: INVALID_ARGUMENT if |v| lies in a memory that the CPU cannot read. */
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

/* A provider of one session alone: its create finds |user| in ox_ep_host. */
typedef struct ox_own_provider {
  const ox_ep_api *api;
  void *user;
} ox_own_provider;

typedef struct ox_session_opts {
  size_t struct_size;
  uint32_t optimize;                   /* OX_OPTIMIZE_*; note that a zeroed struct means NONE: see ox_session_opts_init */
  uint32_t n_threads;                  /* most threads that loading or a run uses, the caller included; 0: all of the
                                        * env's pool. More than that has: the session gets a pool of its own */
  const ox_provider_spec *providers;   /* asked in this order; the CPU provider is always added last */
  size_t n_providers;
  const char *const *disabled_rules;   /* names of optimizer rules to leave out */
  size_t n_disabled_rules;
  const char *const *dim_names;        /* symbolic dimensions fixed to dim_values */
  const int64_t *dim_values;
  size_t n_dims;
  size_t max_workspace;                /* most bytes of host memory for a run, bodies included, besides inputs, outputs
                                        * and constants; 0: no limit. Counted: intermediate values, scratch of all
                                        * threads, what kernels allocate as they run (strings, sequences), and outputs
                                        * whose shape only the run tells. LIMIT names node, tensor, wanted, limit */
  int profile;                         /* collect per-node times from the start */
  const char *external_dir;            /* models from memory: where external data lies; NULL: nowhere */
  int copy_bytes;                      /* models from memory: keep a copy; 0: the caller's bytes must outlive the session */
  const char *cache_dir;               /* a folder for the compiled programs of providers that can save them; NULL: none */
  const ox_op *ops;                    /* as ox_env_add_ops, for this session; borrowed until it is released */
  size_t n_ops;
  const ox_rule_set *const *rule_sets; /* as ox_env_add_rules, for this session */
  size_t n_rule_sets;
  const char *const *require;          /* conditions on the placement, else loading fails: "no NODES on PROVIDER",
                                        * "all NODES on PROVIDER"; NODES: "nodes", or operators: "Conv|Gemm" */
  size_t n_require;
  /* Contents for initializers of the main graph, by name, instead of the model's own, which are not read: their file
   * may be missing. They are retained, not copied, so that sessions can share them, and must not be written to while a
   * session has them. (What a kernel packs for itself is another copy.) Errors: SHAPE_MISMATCH naming tensor, wanted
   * and given; INVALID_ARGUMENT for a name that the model lacks or that is given twice. */
  const char *const *initializer_names;
  const ox_value *const *initializers;
  size_t n_initializers;
  /* Names of a rule or pass of the optimizer, or NULL. Whenever the session's creation applies it, |dump| is called
   * with the model as it is before, or after, the application: |title| says which ("before 'conv-add'"); |text|, valid
   * during the call, is the model in ONNX's textual syntax (OX_WRITE_TEXT, or OX_WRITE_TEXT_SHORT if |dump_short|).
   * |dump| NULL: the short form goes to the log, at level info. An unknown name is a warning in the log. */
  const char *dump_before, *dump_after;
  void (*dump)(void *ctx, const char *title, const char *text);
  void *dump_ctx;
  int dump_short;
  /* Most bytes of host memory that the session may hold at a time, for loading and all runs together: expanded
   * functions, constants that were computed or converted, packed weights, contexts, workspace, and the library's
   * outputs until they are released. Not counted: mapped files, the caller's memory, what providers' libraries and
   * drivers allocate for themselves. Memory that is only kept for later runs is freed before a run is refused. LIMIT
   * names node or tensor, wanted, in use, limit. SIZE_MAX: no limit. 0, the default: 2 GiB plus 256 times the bytes of
   * model and inputs, but at most 80 % of the memory of the machine or of the process's cgroup. */
  size_t max_memory;
  /* Non-zero: the intermediate values of the main graph are outputs, too, after the model's own and in the order in
   * which the model computes them. They are those that still exist, under their name and with the model's meaning, once
   * the graph has been optimized and partitioned; so the run is the same as without this option, and values inside a
   * fused node or a provider's program are missing. Defaults cannot be overridden then: INVALID_ARGUMENT. */
  int all_values;
  const volatile int *cancel;          /* as in ox_run_opts, for loading: also while a constant is packed */
  int64_t timeout_ms;                  /* of loading; 0: none */
  ox_pool *pool;                       /* instead of the env's; must outlive the session; |n_threads| applies */
  void (*log)(void *ctx, int level, const char *text); /* instead of the env's; NULL: the env's. Any thread */
  void *log_ctx;
  int log_level;                       /* least level that reaches |log| */
  /* As ox_env_add_provider, for this session: |providers| finds them by name, before those of the env. Tables and what
   * they point to are borrowed until the session is released. */
  const ox_own_provider *own_providers;
  size_t n_own_providers;
  size_t n_optional_initializers;      /* so many of the last |initializers| are skipped if the model lacks them */
  /* Files of external data, by the location that tensors name, used instead of the file system's. The bytes must
   * outlive the session. */
  const ox_memory_file *memory_files;
  size_t n_memory_files;
  /* Unknown dimensions with one of these denotations (TensorShapeProto.Dimension.denotation) are fixed to the
   * denotation_values. */
  const char *const *denotations;
  const int64_t *denotation_values;
  size_t n_denotations;
  /* Where an operator can be computed in several ways, the CPU provider takes the way measured as fastest on this
   * machine instead of what a cost model says (docs/tuning.md). |tune_cache|: the file of measurements; NULL: none.
   * |tune| non-zero: what the file lacks is measured when it is first met, and added when the session is released. */
  const char *tune_cache;
  int tune;
  /* Memories for the session's providers to allocate from, where their memory_space (ox_ep_api) is the same, so that
   * several sessions share one arena. Retained. */
  ox_memory *const *memories;
  size_t n_memories;
  /* Non-zero: if a provider fails (its device is lost, has no memory left, or rejects a program), the load or run is
   * repeated by the CPU provider alone, with a warning in the log. For that the model is loaded a second time, so its
   * files or bytes must stay. A provider that lacked memory is tried again in the next run; any other is not. */
  int fall_back;
} ox_session_opts;

OX_API void ox_session_opts_init(ox_session_opts *opts); /* the defaults: OX_OPTIMIZE_ALL */

/* Loads, optimizes and plans a model. The file is mapped, and weights are used in place. |opts| NULL: the defaults.
 * Errors: NO_SUCH_FILE; INVALID_MODEL saying what is broken and where; NOT_IMPLEMENTED listing all missing
 * operators. */
OX_API OX_NODISCARD ox_status *ox_session_create_file(ox_env *env, const char *path, const ox_session_opts *opts,
                                                      ox_session **out_session);
/* The same from |n| bytes in memory, which must outlive the session unless opts->copy_bytes is set. */
OX_API OX_NODISCARD ox_status *ox_session_create(ox_env *env, const void *bytes, size_t n, const ox_session_opts *opts,
                                                 ox_session **out_session);
OX_API void ox_session_release(ox_session *s);

/* An input or output. dims: -1 where the model leaves a dimension open; dim_names: the symbol's name, or NULL. Of
 * sequences, maps and optionals, dtype and dim_names are those of the tensors inside. */
typedef struct ox_value_info {
  const char *name;
  uint32_t kind, dtype;
  int optional;                  /* may be left out: an optional type, or an input with a default */
  int32_t rank;                  /* -1: not even the rank is fixed */
  int64_t dims[OX_MAX_RANK];
  const char *dim_names[OX_MAX_RANK];
  const struct ox_type *type;    /* the full type (onyx/op.h), with what sequences and maps contain; lives as long as
                                  * the session. Open dimensions are negative there */
} ox_value_info;

OX_API size_t ox_session_input_count(const ox_session *s);  /* those without a default */
OX_API size_t ox_session_output_count(const ox_session *s);
/* Input |i|, or output |i|. Error: INVALID_ARGUMENT if there is none. */
OX_API OX_NODISCARD ox_status *ox_session_input(const ox_session *s, size_t i, ox_value_info *out_info);
OX_API OX_NODISCARD ox_status *ox_session_output(const ox_session *s, size_t i, ox_value_info *out_info);
/* Inputs with a default: initializers that are listed among the inputs as well, in a model of ir_version 4 or later. A
 * run that names one overrides it, within its declared type. The session takes them as constants; the first run that
 * names one loads the model a second time, with all of them as inputs, for this and later such runs. So the model's
 * files or bytes must stay until the session is released, and that first run counts as creating a session
 * (ox_env_add_ops). Workspace, placement, size and ox_session_write are about the session with constants. */
OX_API size_t ox_session_default_count(const ox_session *s);
OX_API OX_NODISCARD ox_status *ox_session_default(const ox_session *s, size_t i, ox_value_info *out_info);

/* Metadata. Well-known keys "producer_name", "producer_version", "domain", "doc_string", "graph_name", "ir_version",
 * "model_version", "opset", "graph_doc_string" come first, empty where the model has none, then its metadata_props.
 * Past the last *out_key is NULL. */
OX_API void ox_session_metadata(const ox_session *s, size_t i, const char **out_key, const char **out_value);

/* The version of the operator set |domain| that the model imports ("" and "ai.onnx" are the same); 0: none. */
OX_API int64_t ox_session_opset(const ox_session *s, const char *domain);

typedef struct ox_run_opts {
  size_t struct_size;
  const volatile int *cancel;    /* polled between nodes and in kernels; non-zero, from any thread: CANCELLED */
  int64_t timeout_ms;            /* 0: none; CANCELLED, within a millisecond or so */
  const char *tag;               /* for the log */
  /* Where to allocate outputs that the run makes: for each requested output a memory, or NULL for the host's. NULL: all
   * on the host. Values other than tensors of numbers are always on the host. */
  ox_memory *const *output_memories;
  struct ox_state *state;        /* what the run reads and leaves; see below. NULL: none */
} ox_run_opts;

/* Runs the model. inputs[i] is the value of the input input_names[i]; every input without a default must be given,
 * unless its type is optional. A tensor of one element will do for a scalar. outputs[i] is for output_names[i] (NULL:
 * all outputs, in order). If it is NULL on entry it becomes a new value, the caller's to release (released values lend
 * their memory to later runs, so a repeated run allocates nothing); else it must be a tensor of the right type and
 * shape, and is overwritten. Values may lie in device memories (ox_memory): what a provider reads or writes there is
 * not copied, and all work is complete on return. Thread-safe. Errors: INVALID_ARGUMENT; SHAPE_MISMATCH naming input,
 * wanted and got; CANCELLED; what kernels report, with the node's name. On error no output is set. */
OX_API OX_NODISCARD ox_status *ox_session_run(ox_session *s, const ox_run_opts *opts, const char *const *input_names,
                                              const ox_value *const *inputs, size_t n_inputs,
                                              const char *const *output_names, ox_value **outputs, size_t n_outputs);

/* States: outputs of a run that are inputs of the next one, as a decoder's keys and values are. An ox_state keeps those
 * of one sequence (or batch of them), so that no value passes through the caller's hands or is copied; a session may
 * have any number, one run at a time each, and all of them are to be released before the session. A run with a state
 * (ox_run_opts.state) takes the inputs of its pairs from the state, and leaves the outputs there; the results are those
 * of a run that is given the values. A run that fails leaves the state as it was (but for rows of GroupQueryAttention
 * beyond the tokens that it is told of). A pair's input that the run is given counts instead of what the state has.
 * Where it is not given and the state is empty, it is zeros, of the declared shape: open dimensions are those of other
 * inputs with that name, and one that no other input has is 0. Pairs' outputs cannot be asked for; NULL names ask for
 * all others, in order. */
typedef struct ox_state ox_state;

typedef struct ox_state_pair {
  const char *output, *input; /* the output of a run that is the input of the next one; tensors of one type */
} ox_state_pair;

/* Makes an empty state. |pairs| NULL: the pairs that the usual names tell, "past_key_values.0.key" and "present.0.key",
 * or "past_0" and "present_0" ... Error: INVALID_ARGUMENT naming what the model lacks, or does not fit. */
OX_API OX_NODISCARD ox_status *ox_state_create(ox_session *s, const ox_state_pair *pairs, size_t n_pairs,
                                               ox_state **out_state);
OX_API void ox_state_release(ox_state *st);
/* Pair |i|. Returns 0 past the last. The names live as long as the state. */
OX_API int ox_state_pair_at(const ox_state *st, size_t i, ox_state_pair *out);
/* Copies what the state has for the input |input|, as a value of the caller's. Errors: INVALID_ARGUMENT if no pair has
 * that input, or the state is empty. */
OX_API OX_NODISCARD ox_status *ox_state_get(const ox_state *st, const char *input, ox_value **out_value);
/* The tokens that the state has: the length of the first pair that the last run made longer, along the axis where it
 * did. 0: it is empty, or nothing grows. */
OX_API int64_t ox_state_length(const ox_state *st);
/* Goes back to the first |length| tokens: pairs that the last run made longer are cut, the others stay as they are. 0
 * empties the state, for a new sequence. Error: INVALID_ARGUMENT if it has fewer. */
OX_API OX_NODISCARD ox_status *ox_state_truncate(ox_state *st, int64_t length);
/* Keys and values that a node of attention reads and writes ([batch, heads, tokens, size]) grow where they are: a run adds
 * its rows and copies nothing, but when their memory is full, which doubles it. From the next time on they get memory
 * for |length| tokens at once. */
OX_API void ox_state_reserve(ox_state *st, int64_t length);

/* Frees what is only kept for later runs: idle contexts, released outputs, unused regions of arenas. Any thread. */
OX_API void ox_session_shrink(ox_session *s);
/* The arena of |provider|'s memory |name| (NULL: the first) in this session. Returns 0 if it has no arena. */
OX_API int ox_session_memory_stats(const ox_session *s, const char *provider, const char *name, ox_memory_stats *out);

/* The bytes of workspace that a run with these input shapes needs, without running; shapes[i] is of input i, and |n| is
 * ox_session_input_count. This is all of it if all shapes follow from those of the inputs; nodes whose shapes only the
 * run tells, and kernels that allocate as they run, need more on top. Thread-safe. Errors: INVALID_ARGUMENT for another
 * number of shapes or an open dimension; SHAPE_MISMATCH; LIMIT, as a run. */
OX_API OX_NODISCARD ox_status *ox_session_plan(ox_session *s, const ox_shape *shapes, size_t n, size_t *out_workspace);

/* ---- looking inside ---- */

typedef struct ox_node_time {
  const char *name, *op, *provider;
  double start_us, duration_us;
  uint64_t output_bytes;
  double flops;
  uint64_t constant_bytes;    /* of those inputs that are constants */
  uint32_t index;             /* of the node among those of its graph that run */
  uint32_t n_in, n_out;       /* 0, 0: not known */
  const ox_tensor *in, *out;  /* types and shapes without data, valid until the profile is started again; dtype
                               * OX_UNDEFINED: omitted */
} ox_node_time;

OX_API void ox_session_profile_start(ox_session *s); /* forgets what was collected */
OX_API void ox_session_profile_stop(ox_session *s);
/* Event |i|. Returns 0 past the last. Do not call it while a run is under way. */
OX_API int ox_session_profile_event(const ox_session *s, size_t i, ox_node_time *out);
/* How event |i| was computed, in a few words of the kernel's ("depthwise"), valid until the profile is started again;
 * NULL: it does not say. */
OX_API const char *ox_session_profile_form(const ox_session *s, size_t i);
/* Writes a trace for Chrome or Perfetto. Error: FAIL with the system's reason. Do not call it while a run is under
 * way. */
OX_API OX_NODISCARD ox_status *ox_session_profile_write(const ox_session *s, const char *path);

/* Where a node runs, and why. Everything lives as long as the session. */
typedef struct ox_placement {
  const char *graph;  /* "" for the main graph, else the path of the body: "loop.body" */
  const char *name, *op, *domain;
  uint32_t version;
  const char *owner;  /* a provider, or "host" */
  const char *how;    /* "kernel", "program", "view", "control", "copy"; "refused": its operator rejects it, and a
                       * run that reaches it fails */
  const char *part;   /* the name of the program that it is part of; "": none */
  size_t n_from;      /* nodes of the model whose work it does; 0: it is such a node itself, or was added. One
                       * without a name goes by its first output's */
  const char *const *from;
  size_t n_refusals;  /* providers that were asked and declined */
  const char *const *refused_by, *const *refused_why;
} ox_placement;

/* The placement of node |i| of all that run, in the order of the graph; a body's nodes come after the node that has it,
 * a program's after the program. Returns 0 past the last. */
OX_API int ox_session_placement(const ox_session *s, size_t i, ox_placement *out);
/* The index, for ox_session_placement, of the node that computes output |i|; SIZE_MAX: none, it is an input or a
 * constant. */
OX_API size_t ox_session_output_node(const ox_session *s, size_t i);

enum {
  OX_WRITE_MODEL = 0,     /* a model file: ModelProto */
  OX_WRITE_TEXT = 1,      /* ONNX's textual syntax */
  OX_WRITE_TEXT_SHORT = 2 /* the same for reading: long constants end in "..." */
};

/* Passes the optimized graph to |write|, piece by piece; |format| is OX_WRITE_*. Errors: FAIL once |write| returns
 * non-zero; INVALID_ARGUMENT for another format. */
OX_API OX_NODISCARD ox_status *ox_session_write(const ox_session *s, uint32_t format,
                                                int (*write)(void *ctx, const void *bytes, size_t n), void *ctx);
/* Non-zero if the model draws random numbers: its outputs have a type and a shape, but no expected value. */
OX_API int ox_session_is_random(const ox_session *s);
/* Non-zero if output |i| depends on random numbers. */
OX_API int ox_session_output_is_random(const ox_session *s, size_t i);
/* Random operators whose node has no seed draw different numbers in each run. After this call the numbers follow from
 * |seed| and the order of the runs, in all sessions of the process, so that the same calls give the same numbers. Do
 * not call it while a run is under way. */
OX_API void ox_random_seed(uint64_t seed);
/* Rule or pass |i| of those that were applied, and how often. Past the last *out_rule is NULL. */
OX_API void ox_session_applied(const ox_session *s, size_t i, const char **out_rule, uint64_t *out_n);
/* Elements and bytes of all constants, and nodes, of the optimized graph. */
OX_API void ox_session_size(const ox_session *s, uint64_t *out_parameters, uint64_t *out_bytes, uint64_t *out_nodes);

/* Of an element type: its name ("float32"), and the bits of an element. "undefined" and 0: there is no such type. */
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
