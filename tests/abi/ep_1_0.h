/* SPDX-License-Identifier: Apache-2.0
 * abi/ep_1_0.h - the interface of providers as plug-ins of version 1.0 were compiled against it. Frozen: it is never
 * edited, and nothing of ours is included. What is here must stay a prefix of onyx/ep.h. */
#ifndef OX_TESTS_EP_1_0_H
#define OX_TESTS_EP_1_0_H

#include <stddef.h>
#include <stdint.h>

typedef struct ox_status ox_status;
typedef enum ox_code {
  OX_OK = 0, OX_FAIL = 1, OX_INVALID_ARGUMENT = 2, OX_NO_SUCH_FILE = 3, OX_INVALID_MODEL = 4, OX_NOT_IMPLEMENTED = 5,
  OX_OUT_OF_MEMORY = 6, OX_INCOMPATIBLE = 7, OX_CANCELLED = 8, OX_LIMIT = 9, OX_SHAPE_MISMATCH = 10
} ox_code;

enum { OX_F32 = 1, OX_TENSOR = 0, OX_MAX_RANK = 16, OX_MAX_STAGES = 6, OX_EP_ABI_MAJOR = 1 };

typedef struct ox_shape {
  int32_t rank;
  int64_t dim[OX_MAX_RANK];
} ox_shape;

typedef struct ox_str {
  const char *p;
  size_t n;
} ox_str;

typedef struct ox_tensor {
  uint32_t kind;
  uint32_t dtype;
  void *data;
  size_t bytes;
  ox_shape shape;
} ox_tensor;

typedef struct ox_alloc {
  void *(*alloc)(void *ctx, size_t bytes, size_t align);
  void (*free)(void *ctx, void *p, size_t bytes);
  void *ctx;
} ox_alloc;

typedef struct ox_frame ox_frame;

typedef struct ox_kernel_ctx {
  uint32_t struct_size;
  uint32_t n_in, n_out;
  const ox_tensor *const *in;
  ox_tensor *const *out;
  const void *attrs;
  void *state;
  void *prep;
  uint32_t op_version;
  uint32_t isa;
  uint32_t n_stages;
  int64_t n_tiles[OX_MAX_STAGES];
  size_t scratch_per_worker;
  size_t shared_bytes;
  void *shared;
  ox_frame *frame;
  const struct ox_ctx_host *host;
} ox_kernel_ctx;

typedef struct ox_ctx_host {
  uint32_t struct_size;
  void *(*alloc_prep)(ox_kernel_ctx *c, size_t bytes);
  void *(*alloc_output)(const ox_kernel_ctx *c, uint32_t index, const ox_shape *shape);
  void *(*alloc_run)(const ox_kernel_ctx *c, size_t bytes);
} ox_ctx_host;

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

typedef struct ox_ep ox_ep;
typedef struct ox_program ox_program;
typedef struct ox_graph_view ox_graph_view;
typedef struct ox_claims ox_claims;

typedef struct ox_options {
  uint32_t n;
  const char *const *keys;
  const char *const *values;
} ox_options;

typedef struct ox_io {
  uint32_t struct_size;
  uint32_t n_in, n_out;
  const ox_tensor *const *in;
  ox_tensor *const *out;
  void *(*alloc_output)(const struct ox_io *io, uint32_t index, const ox_shape *shape);
  void *host_data;
} ox_io;

typedef struct ox_attr_view {
  uint32_t kind;
  int64_t i;
  float f;
  ox_str s;
  size_t n;
  const int64_t *ints;
  const float *floats;
  const ox_str *strings;
  const ox_tensor *tensor;
} ox_attr_view;

typedef struct ox_ep_host {
  uint32_t struct_size;
  uint32_t abi_major;
  ox_alloc alloc;
  ox_status *(*status_make)(ox_code code, const char *text);
  void (*log)(int level, const char *text);
  size_t (*node_count)(const ox_graph_view *g);
  const char *(*node_op)(const ox_graph_view *g, size_t node);
  const char *(*node_domain)(const ox_graph_view *g, size_t node);
  const char *(*node_name)(const ox_graph_view *g, size_t node);
  uint32_t (*node_version)(const ox_graph_view *g, size_t node);
  size_t (*node_in_count)(const ox_graph_view *g, size_t node);
  size_t (*node_out_count)(const ox_graph_view *g, size_t node);
  uint32_t (*node_in)(const ox_graph_view *g, size_t node, size_t i);
  uint32_t (*node_out)(const ox_graph_view *g, size_t node, size_t i);
  int (*node_attr)(const ox_graph_view *g, size_t node, const char *name, ox_attr_view *out);
  const char *(*value_name)(const ox_graph_view *g, uint32_t value);
  void (*value_type)(const ox_graph_view *g, uint32_t value, uint32_t *kind, uint32_t *dtype, ox_shape *shape);
  const ox_tensor *(*value_const)(const ox_graph_view *g, uint32_t value);
  size_t (*io_count)(const ox_graph_view *g, int outputs);
  uint32_t (*io_value)(const ox_graph_view *g, int outputs, size_t i);
  void (*claim_node)(ox_claims *c, size_t node);
  void (*claim_fused)(ox_claims *c, size_t node);
  void (*decline)(ox_claims *c, size_t node, const char *why);
  ox_status *(*parallel_for)(const struct ox_ep_host *h, int64_t n, void (*fn)(void *ctx, int64_t begin, int64_t end),
                             void *ctx);
} ox_ep_host;

typedef struct ox_ep_api {
  uint32_t struct_size;
  uint32_t abi_major;
  const char *name;
  ox_status *(*create)(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep);
  void (*destroy)(ox_ep *ep);
  ox_status *(*claim)(ox_ep *ep, const ox_graph_view *g, ox_claims *claims);
  ox_status *(*kernel_create)(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel);
  ox_status *(*compile)(ox_ep *ep, const ox_graph_view *part, ox_program **out_program);
  ox_status *(*run)(ox_program *p, const ox_io *io);
  void (*program_release)(ox_program *p);
} ox_ep_api;

#endif
