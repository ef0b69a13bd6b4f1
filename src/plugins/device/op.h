/* SPDX-License-Identifier: Apache-2.0
 * device/op.h - operators of a device provider. Each file in ops/ defines one table entry, DEV_OP(stem): which nodes it
 * takes, and how it turns a node with known shapes into launches of kernels. The directory is the registry.
 *
 * Values are floats of 32 or 16 bits, row-major, unless an operator says otherwise. */
#ifndef OX_DEVICE_OP_H
#define OX_DEVICE_OP_H

#include "plugins/device/driver.h"
#include "plugins/reason/reason.h"

enum { DEV_NONE = -1 };

/* Where a value lies. ELSEWHERE: in the CPU's memory (never inside of a part). ON_DEVICE: in device memory. WITH_HOST:
 * the host computes it along with the shapes (shapes.h). SHAPE_ONLY: in host memory, because it is read for the shape
 * of an output and for nothing else. */
typedef enum dev_lies { DEV_ELSEWHERE, DEV_ON_DEVICE, DEV_WITH_HOST, DEV_SHAPE_ONLY } dev_lies;

/* A node of a graph (during claims) or of a part (afterwards). */
typedef struct dev_node {
  const ox_ep_host *host;
  const ox_graph_view *graph;
  size_t index;
  const uint8_t *lies;              /* dev_lies per value, where known; NULL: not known */
  const ox_tensor *const *contents; /* per value, while a plan is built: what the host has computed; else NULL */
} dev_node;

/* node.c: reading a node. Values are ids of its graph. */
const char *dev_node_op(const dev_node *n);
uint32_t dev_node_version(const dev_node *n);
size_t dev_in_count(const dev_node *n);
uint32_t dev_in(const dev_node *n, size_t i);                  /* UINT32_MAX: omitted */
uint32_t dev_out(const dev_node *n, size_t i);                 /* UINT32_MAX: unused */
uint32_t dev_in_dtype(const dev_node *n, size_t i);            /* OX_UNDEFINED: omitted, not a tensor, or not known */
int dev_in_rank(const dev_node *n, size_t i);                  /* -1: not known, or omitted */
int64_t dev_in_dim(const dev_node *n, size_t i, int d);        /* -1: not known yet */
const ox_tensor *dev_in_constant(const dev_node *n, size_t i); /* NULL: not constant. Data may be unaligned */
int64_t dev_attr_int(const dev_node *n, const char *name, int64_t otherwise);
float dev_attr_float(const dev_node *n, const char *name, float otherwise);
/* Is the string attribute |text|? |otherwise| is the value of an absent one. */
bool dev_attr_is(const dev_node *n, const char *name, const char *text, const char *otherwise);
/* The number of integers that the attribute has, up to |max| of which are copied; 0: absent. */
size_t dev_attr_ints(const dev_node *n, const char *name, int64_t *out, size_t max);
/* Is input |i| constant, or will the host have its content (integers of at most one axis) when a plan is built? */
bool dev_in_host(const dev_node *n, size_t i);
/* The integers of a constant input of I64 or I32 and, while a plan is built, of one that the host has computed;
 * SIZE_MAX: not known, or more than |max|. */
size_t dev_in_ints(const dev_node *n, size_t i, int64_t *out, size_t max);
/* Types and ranks of all inputs are known, input 0 is F32 or F16, and all other float inputs have the same type. */
bool dev_all_real(const dev_node *n);

/* ---- plans: the steps of a part for known shapes (plan.c) ---- */

typedef struct dev_plan dev_plan;

/* A reference to a buffer: none, a graph value, a temporary, or something made of constants (dev_emit_made). */
typedef struct dev_ref {
  enum { DEV_REF_NONE, DEV_REF_VALUE, DEV_REF_TEMP, DEV_REF_MADE } kind;
  uint32_t id;
  size_t offset; /* bytes, added to the address */
} dev_ref;

const ox_shape *dev_shape(const dev_plan *p, uint32_t value); /* fully known, without -1 */
int64_t dev_count(const dev_plan *p, uint32_t value);         /* elements */
uint32_t dev_dtype(const dev_plan *p, uint32_t value);
const dev_info *dev_plan_device(const dev_plan *p);
/* A reference to a value that the node reads or writes; UINT32_MAX gives none. Constants are copied to the device when
 * a step first uses them. */
dev_ref dev_value(dev_plan *p, uint32_t value);
/* A temporary of the node being emitted. It lives from the first to the last step that uses it. */
dev_ref dev_temp(dev_plan *p, size_t bytes);

/* A launch. |source|: kernels/<source>.h; |kernel|: the name without _f32 or _f16, which follows from |dtype|. */
typedef struct dev_call {
  const char *source, *kernel;
  uint32_t dtype;     /* OX_F32 or OX_F16; OX_F32 for kernels that move bytes */
  uint32_t groups[3]; /* 0 counts as 1 */
  uint32_t items;
  uint32_t n_buffers;
  dev_ref buffers[DEV_MAX_BUFFERS];
  uint32_t written; /* bit i: the kernel writes buffer i */
  const void *params;
  size_t params_bytes;
} dev_call;
OX_NODISCARD ox_status *dev_emit(dev_plan *p, const dev_call *c);
/* A launch that computes buffer |to|, of |bytes| bytes, from its other buffers; |*out| refers to the result. If all of
 * those are constants it runs once, immediately, and the part keeps the result; else it becomes a step. |slot|: a
 * number below DEV_MADE that distinguishes such launches of one node. */
enum { DEV_MADE = 4 };
OX_NODISCARD ox_status *dev_emit_made(dev_plan *p, const dev_call *c, uint32_t to, size_t bytes, int slot,
                                      dev_ref *out);
OX_NODISCARD ox_status *dev_emit_copy(dev_plan *p, dev_ref to, dev_ref from, size_t bytes);
/* Makes output |out| an alias of |in|; adds no step. */
OX_NODISCARD ox_status *dev_emit_view(dev_plan *p, uint32_t out, uint32_t in);
/* Tries to avoid a copy of |bytes| by aliasing: if |to| is a whole value that no step has written yet, it becomes a
 * view into |from|; or if |from| is a whole value in work memory, its producer is redirected to write into |to|. False:
 * the caller has to copy. */
bool dev_share(dev_plan *p, dev_ref to, dev_ref from, size_t bytes);
/* Buffers of a library's call: A, B, C or X, weights, Y; then the operands of the epilogue (DEV_REF_NONE: absent). */
typedef enum dev_call_buffer { DEV_CALL_BIAS = 3, DEV_CALL_ADD = 4, DEV_CALL_BUFFERS = 5 } dev_call_buffer;
/* Emits the call if the driver's library takes it (|*out_taken|). Addresses in |g| and |c| are ignored. */
OX_NODISCARD ox_status *dev_emit_gemm(dev_plan *p, const dev_gemm *g, const dev_ref buffers[DEV_CALL_BUFFERS],
                                      bool *out_taken);
OX_NODISCARD ox_status *dev_emit_conv(dev_plan *p, const dev_conv *c, const dev_ref buffers[DEV_CALL_BUFFERS],
                                      bool *out_taken);
/* An INVALID_ARGUMENT status with |text|, to which the plan adds the node's name. */
OX_NODISCARD ox_status *dev_refuse(const dev_plan *p, const char *text);

/* ---- tails: element-wise operators fused into the node before them (tail.c) ---- */

#include "plugins/device/kernels/tail_params.h"

/* The fused steps, which the node's kernel applies before it stores (kernels/tail.h), and the value that the last of
 * them makes. Operands are passed as the last buffers of the launch. If nothing can be fused there are no steps, and
 * |out| is the node's own output. */
typedef struct dev_tail {
  tail_params params;
  dev_ref operands[TAIL_OPERANDS];
  uint32_t out; /* a value of the same shape as the node's output */
} dev_tail;
/* Collects the tail of output 0 of |n| and marks its nodes as done. */
OX_NODISCARD ox_status *dev_take_tail(dev_plan *p, const dev_node *n, dev_tail *out);

/* ---- the table ---- */

typedef struct dev_op {
  const char *domain;       /* "" */
  const char *const *names; /* of the operators, NULL-terminated; "domain:name" for another domain */
  /* NULL if the node can be taken, whatever its unknown dimensions turn out to be; else the reason, a static string. */
  const char *(*takes)(const dev_node *n);
  ox_status *(*emit)(dev_plan *p, const dev_node *n);
} dev_op;
#define DEV_OP(stem) const dev_op dev_op_##stem

/* Does |entry| ("name", meaning domain |own|, or "domain:name") denote operator |name| of |domain|? */
bool dev_op_is_called(const char *entry, const char *own, const char *domain, const char *name);
/* The entry for an operator, or NULL (registry.c). */
const dev_op *dev_op_find(const char *domain, const char *name);

#endif
