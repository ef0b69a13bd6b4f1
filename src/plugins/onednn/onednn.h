/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/onednn.h - common definitions of the oneDNN provider: the instance, memory, errors, and access to the
 * nodes of the host's graph. */
#ifndef OD_ONEDNN_H
#define OD_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

#include "od_loops.h"
#include "od_openmp.h"
#include "onyx/ep.h"
#include "plugins/reason/reason.h"

#define OD_COUNT(a) (sizeof(a) / sizeof *(a))
#define OD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define OD_MAX(a, b) ((a) > (b) ? (a) : (b))
#define OD_TRY(expr)             \
  do {                           \
    ox_status *st_ = (expr);     \
    if (st_ != NULL) return st_; \
  } while (0)

enum { OD_NONE = -1 }; /* none, in a signed field; ids use OD_NO_VALUE */
#define OD_NO_VALUE UINT32_MAX
enum { OD_MOST_DIMS = 8 }; /* of tensors that we describe to the library, which allows 12 */

struct ox_ep {
  ox_ep_host host;
  dnnl_engine_t engine;
  dnnl_stream_t stream; /* a CPU stream has no state, so all threads share one */
  int threads;          /* the most that the library may use */
  size_t cache_capacity;
  const od_loops_table *loops;
  bool bf16;         /* option precision=bf16: the library may compute float32 in bfloat16 */
  bool has_bf16;     /* the CPU supports bfloat16 tensors */
  bool has_int8;     /* the CPU accumulates products of bytes without intermediate saturation */
  bool foreign;      /* libdnnl is bound to another OpenMP run-time than od_openmp.c */
  char library[128]; /* the library's description of itself */
};

/* ---- memory and errors ---- */

void *od_alloc(ox_ep *ep, size_t bytes); /* zeroed, aligned to 64; NULL: out of memory, or |bytes| is absurd */
void od_free(ox_ep *ep, void *p);        /* NULL is fine */
/* Makes room for |n| items of |size| bytes; false: out of memory, and *p is unchanged. */
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
bool od_is_op(const od_node *n, const char *op); /* an operator of ONNX's own domain */
size_t od_n_in(const od_node *n);
size_t od_n_out(const od_node *n);
uint32_t od_in(const od_node *n, size_t i);  /* UINT32_MAX: omitted, or there are fewer inputs */
uint32_t od_out(const od_node *n, size_t i); /* likewise, or unused */
uint32_t od_version(const od_node *n);
uint32_t od_in_type(const od_node *n, size_t i, ox_shape *shape); /* |shape| may be NULL; rank -1: not known */
int od_in_rank(const od_node *n, size_t i);
const ox_tensor *od_in_const(const od_node *n, size_t i);    /* NULL: not constant, or omitted */
bool od_is_dequantized(const od_node *n, size_t i);          /* input |i| is the output of a DequantizeLinear */
bool od_float_const(const od_node *n, size_t i, float *out); /* a constant of one float32 */

int64_t od_int(const od_node *n, const char *name, int64_t otherwise);
float od_float(const od_node *n, const char *name, float otherwise);
bool od_is(const od_node *n, const char *name, const char *value, const char *otherwise); /* a string attribute */
/* The integers of an attribute, all |otherwise| if it is absent; false: it does not have |n_want| of them. */
bool od_ints(const od_node *n, const char *name, int64_t *to, size_t n_want, int64_t otherwise);
/* Integers that are an attribute in old versions and an input in newer ones. Returns their number; -1: the input is not
 * constant. */
int od_axes(const od_node *n, const char *name, size_t input, int64_t *to, int most);

/* ---- operators ---- */

struct od_builder;
typedef struct od_op {
  const char *name;
  /* Why the node cannot be taken; NULL: it can, whatever shapes a run brings. */
  const char *(*refuse)(const od_node *n);
  /* Appends the node to the plan, together with the nodes after it that are fused into it. */
  ox_status *(*build)(struct od_builder *b, const od_node *n);
} od_op;

const od_op *od_op_find(const od_node *n); /* NULL: none */

/* Tables of operators, each terminated by a name of NULL. */
extern const od_op od_conv_ops[], od_matmul_ops[], od_pool_ops[], od_eltwise_ops[], od_binary_ops[], od_norm_ops[],
    od_reduce_ops[], od_rnn_ops[], od_move_ops[], od_quant_ops[], od_qconv_ops[], od_qmatmul_ops[], od_gelu_ops[];

#endif
