/* SPDX-License-Identifier: Apache-2.0
 * device/op.h - operators of a device provider. Each file in ops/ defines one table entry, DEV_OP(stem): what it takes
 * of a graph, and how it turns a node with known shapes into launches of kernels. The directory is the registry.
 *
 * Values are floats of 32 or 16 bits, row-major as in ONNX, unless an operator says otherwise. */
#ifndef OX_DEVICE_OP_H
#define OX_DEVICE_OP_H

#include "plugins/device/driver.h"

enum { DEV_NONE = -1 };

/* Where a value lies: with the CPU, and in a part never; on the device; nowhere, for the host computes it with the
 * shapes (shapes.h); with the host, for a shape follows from it, and nothing else does. */
typedef enum dev_lies { DEV_ELSEWHERE, DEV_ON_DEVICE, DEV_WITH_HOST, DEV_SHAPE_ONLY } dev_lies;

/* A node of a graph, while claims are made and later of a part. */
typedef struct dev_node {
  const ox_ep_host *host;
  const ox_graph_view *graph;
  size_t index;
  const uint8_t *lies;              /* per value, as far as it is known; NULL: nothing is */
  const ox_tensor *const *contents; /* per value, when a plan is made: what the host computed; else NULL */
} dev_node;

/* node.c: reading a node. Values are ids of its graph. */
const char *dev_node_op(const dev_node *n);
uint32_t dev_node_version(const dev_node *n);
size_t dev_in_count(const dev_node *n);
uint32_t dev_in(const dev_node *n, size_t i);                  /* UINT32_MAX: omitted */
uint32_t dev_out(const dev_node *n, size_t i);                 /* UINT32_MAX: nobody wants it */
uint32_t dev_in_dtype(const dev_node *n, size_t i);            /* OX_UNDEFINED: omitted, not a tensor, or not known */
int dev_in_rank(const dev_node *n, size_t i);                  /* -1: not known, or omitted */
int64_t dev_in_dim(const dev_node *n, size_t i, int d);        /* -1: not known yet */
const ox_tensor *dev_in_constant(const dev_node *n, size_t i); /* NULL: not constant. Data at any address */
int64_t dev_attr_int(const dev_node *n, const char *name, int64_t otherwise);
float dev_attr_float(const dev_node *n, const char *name, float otherwise);
/* Equal to |text|; an absent attribute equals |otherwise|. */
bool dev_attr_is(const dev_node *n, const char *name, const char *text, const char *otherwise);
/* How many numbers it has, copied up to |max|; 0: absent. */
size_t dev_attr_ints(const dev_node *n, const char *name, int64_t *out, size_t max);
/* Constant, or the host has its content when a plan is made, as integers of at most one axis. */
bool dev_in_host(const dev_node *n, size_t i);
/* The integers of a constant input of I64 or I32, in a plan also of what the host computed; SIZE_MAX: they are not
 * known or more than |max|. */
size_t dev_in_ints(const dev_node *n, size_t i, int64_t *out, size_t max);
/* Both data types and ranks are known, input 0 is F32 or F16, and all other float inputs are of the same type. */
bool dev_all_real(const dev_node *n);

/* ---- plans: a part with known shapes, as steps (plan.c) ---- */

typedef struct dev_plan dev_plan;

/* Where a buffer lies. */
typedef struct dev_ref {
  enum { DEV_REF_NONE, DEV_REF_VALUE, DEV_REF_TEMP, DEV_REF_MADE } kind;
  uint32_t id;
  size_t offset; /* bytes, added to the address */
} dev_ref;

const ox_shape *dev_shape(const dev_plan *p, uint32_t value); /* known: no -1 in it */
int64_t dev_count(const dev_plan *p, uint32_t value);         /* elements */
uint32_t dev_dtype(const dev_plan *p, uint32_t value);
const dev_info *dev_plan_device(const dev_plan *p);
/* A value that the node reads (constants are brought to the device when first asked for) or writes; UINT32_MAX: none.
 */
dev_ref dev_value(dev_plan *p, uint32_t value);
/* Memory of the node that is being emitted, until its last step is done. */
dev_ref dev_temp(dev_plan *p, size_t bytes);

/* A launch. |kernel| without _f32: |dtype| says which. |source|: kernels/<source>.h */
typedef struct dev_call {
  const char *source, *kernel;
  uint32_t dtype;     /* OX_F32 or OX_F16; kernels that move bytes: OX_F32 */
  uint32_t groups[3]; /* 0 counts as 1; none: nothing is launched */
  uint32_t items;
  uint32_t n_buffers;
  dev_ref buffers[DEV_MAX_BUFFERS];
  uint32_t written; /* bit i: buffer i is written */
  const void *params;
  size_t params_bytes;
} dev_call;
OX_NODISCARD ox_status *dev_emit(dev_plan *p, const dev_call *c);
/* A launch that fills |bytes| of memory from its other buffers: buffer |to|, which becomes |*out|. If these are
 * constants it runs once for the part, now; else in each run. |slot|, below DEV_MADE: the node's number for it. */
enum { DEV_MADE = 4 };
OX_NODISCARD ox_status *dev_emit_made(dev_plan *p, const dev_call *c, uint32_t to, size_t bytes, int slot,
                                      dev_ref *out);
OX_NODISCARD ox_status *dev_emit_copy(dev_plan *p, dev_ref to, dev_ref from, size_t bytes);
/* Output |out| is the bytes of |in|: nothing runs. */
OX_NODISCARD ox_status *dev_emit_view(dev_plan *p, uint32_t out, uint32_t in);
/* Instead of a copy of |bytes|: |to| becomes a part of |from|, if it is a whole value that nothing has written yet; or
 * |from| of |to|, where it is written at once, if it is a whole value that lies in work memory. False: it has to be
 * copied. */
bool dev_share(dev_plan *p, dev_ref to, dev_ref from, size_t bytes);
/* A library's call: A, B, C or X, weights, Y; then what is added (DEV_REF_NONE: nothing is). */
typedef enum dev_call_buffer { DEV_CALL_BIAS = 3, DEV_CALL_ADD = 4, DEV_CALL_BUFFERS = 5 } dev_call_buffer;
/* By a library of the driver, if it takes it (|*out_taken|). Addresses in |g| and |c| are ignored. */
OX_NODISCARD ox_status *dev_emit_gemm(dev_plan *p, const dev_gemm *g, const dev_ref buffers[DEV_CALL_BUFFERS],
                                      bool *out_taken);
OX_NODISCARD ox_status *dev_emit_conv(dev_plan *p, const dev_conv *c, const dev_ref buffers[DEV_CALL_BUFFERS],
                                      bool *out_taken);
/* "…": INVALID_ARGUMENT; the plan adds the node's name. */
OX_NODISCARD ox_status *dev_refuse(const dev_plan *p, const char *text);

/* ---- tails: element-wise operators that follow a node and are computed with its output (tail.c) ---- */

#include "plugins/device/kernels/tail_params.h"

/* What follows, and the value that the last of it makes: the node's kernel applies it before it stores
 * (kernels/tail.h). Its operands go to the last buffers of the launch. Without anything to follow: no steps, the node's
 * own output. */
typedef struct dev_tail {
  tail_params params;
  dev_ref operands[TAIL_OPERANDS];
  uint32_t out; /* a value; has the shape of the node's output */
} dev_tail;
/* For output 0 of |n|. The nodes in it are not emitted any more. */
OX_NODISCARD ox_status *dev_take_tail(dev_plan *p, const dev_node *n, dev_tail *out);

/* ---- the table ---- */

typedef struct dev_op {
  const char *domain;       /* "" */
  const char *const *names; /* of the operators, NULL at the end; "domain:name" where another domain has it */
  /* NULL: it can, whatever the dimensions that are not known yet turn out to be. Else why not, static. */
  const char *(*takes)(const dev_node *n);
  ox_status *(*emit)(dev_plan *p, const dev_node *n);
} dev_op;
#define DEV_OP(stem) const dev_op dev_op_##stem

/* Whether |entry|, "name" of domain |own| or "domain:name", stands for |name| of |domain|. */
bool dev_op_is_called(const char *entry, const char *own, const char *domain, const char *name);
/* For |domain| and |name|, or NULL (registry.c). */
const dev_op *dev_op_find(const char *domain, const char *name);

#endif
