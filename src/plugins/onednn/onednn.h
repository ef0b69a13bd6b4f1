/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/onednn.h - what all files of the oneDNN provider share: its instance, memory, errors, and how a node
 * of the host's graph is read. */
#ifndef OD_ONEDNN_H
#define OD_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

#include "od_loops.h"
#include "od_openmp.h"
#include "onyx/ep.h"

#define OD_COUNT(a) (sizeof(a) / sizeof *(a))
#define OD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define OD_MAX(a, b) ((a) > (b) ? (a) : (b))
#define OD_TRY(expr)             \
  do {                           \
    ox_status *st_ = (expr);     \
    if (st_ != NULL) return st_; \
  } while (0)

enum { OD_NONE = -1 }; /* no value, no node; as an id: UINT32_MAX */
#define OD_NO_VALUE UINT32_MAX
enum { OD_MOST_DIMS = 8 }; /* of a tensor that is handed to the library, which has 12 */

struct ox_ep {
  ox_ep_host host;
  dnnl_engine_t engine;
  dnnl_stream_t stream; /* the CPU's: it has no state, so that all threads use one */
  int threads;          /* that the library may have */
  size_t cache_capacity;
  const od_loops_table *loops;
  bool bf16;     /* the user lets float32 be computed in bfloat16 */
  bool has_bf16; /* the CPU computes with tensors of bfloat16 */
  bool has_int8; /* the CPU adds products of bytes without saturation in between */
  bool foreign;  /* libdnnl is bound to another OpenMP run-time than od_openmp.c */
  char library[128]; /* what describe gave */
};

/* ---- memory and errors ---- */

void *od_alloc(ox_ep *ep, size_t bytes); /* zeroed, aligned to 64; NULL: out of memory, or |bytes| is absurd */
void od_free(ox_ep *ep, void *p);        /* NULL is fine */
/* Room for |n| items of |size| bytes; false: out of memory, and *p is as it was. */
bool od_grow(ox_ep *ep, void **p, size_t *capacity, size_t n, size_t size);

__attribute__((format(printf, 3, 4))) ox_status *od_fail(const ox_ep *ep, ox_code code, const char *fmt, ...);
ox_status *od_no_memory(const ox_ep *ep);
const char *od_status_text(dnnl_status_t s);
ox_code od_status_code(dnnl_status_t s);

/* ---- nodes ---- */

typedef struct od_node {
  const ox_ep *ep;
  const ox_graph_view *g;
  size_t index;
} od_node;

const char *od_op_name(const od_node *n);
bool od_is_op(const od_node *n, const char *op); /* of the standard */
size_t od_n_in(const od_node *n);
size_t od_n_out(const od_node *n);
uint32_t od_in(const od_node *n, size_t i);  /* UINT32_MAX: omitted, or there are not so many */
uint32_t od_out(const od_node *n, size_t i); /* likewise, or nobody wants it */
uint32_t od_version(const od_node *n);
uint32_t od_in_type(const od_node *n, size_t i, ox_shape *shape); /* |shape| may be NULL; rank -1: not known */
int od_in_rank(const od_node *n, size_t i);
const ox_tensor *od_in_const(const od_node *n, size_t i);    /* NULL: not constant, or omitted */
bool od_is_dequantized(const od_node *n, size_t i);          /* it comes from a DequantizeLinear */
bool od_float_const(const od_node *n, size_t i, float *out); /* a constant of one float32 */

int64_t od_int(const od_node *n, const char *name, int64_t otherwise);
float od_float(const od_node *n, const char *name, float otherwise);
bool od_is(const od_node *n, const char *name, const char *value, const char *otherwise); /* of a string */
/* The integers of an attribute, all |otherwise| where there are none; false: there are not |n_want| of them. */
bool od_ints(const od_node *n, const char *name, int64_t *to, size_t n_want, int64_t otherwise);
/* Integers of an attribute or, from some version on, of a constant input: how many, -1: not known before the run. */
int od_axes(const od_node *n, const char *name, size_t input, int64_t *to, int most);

/* ---- operators ---- */

struct od_builder;
typedef struct od_op {
  const char *name;
  /* Why the node cannot be taken; NULL: it can, for all shapes that may come. */
  const char *(*refuse)(const od_node *n);
  /* Appends the node, and what it swallows of those after it, to the plan. */
  ox_status *(*build)(struct od_builder *b, const od_node *n);
} od_op;

const od_op *od_op_find(const od_node *n); /* NULL: none */

/* Lists of rows, each ends with a name of NULL. */
extern const od_op od_conv_ops[], od_matmul_ops[], od_pool_ops[], od_eltwise_ops[], od_binary_ops[], od_norm_ops[],
    od_reduce_ops[], od_rnn_ops[], od_move_ops[], od_quant_ops[], od_qconv_ops[], od_qmatmul_ops[], od_gelu_ops[];

#endif
