/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_build.h - building a plan: graph values and the layouts ("forms") they exist in, steps, constants.
 */
#ifndef OD_BUILD_H
#define OD_BUILD_H

#include "od_plan.h"

enum { OD_MOST_FORMS = 4 };

/* Quantization of a value: (q - zero) * scale. */
typedef struct od_quant {
  uint32_t from;                 /* the value that holds the integers q; OD_NO_VALUE: not quantized */
  const ox_tensor *scale, *zero; /* constants of one element, or of one for each index of |axis|; |zero| may be NULL */
  int axis;
} od_quant;

typedef struct od_value {
  ox_shape shape;
  uint32_t dtype;                        /* OX_UNDEFINED: not built yet */
  uint32_t n_forms, form[OD_MOST_FORMS]; /* indices of mems */
  uint32_t uses;                         /* uses by nodes that are not built yet */
  int32_t output;                        /* index among the part's outputs; OD_NONE */
  const ox_tensor *constant;
  od_quant quant; /* dequantized only when a reader needs the floats */
} od_value;

typedef struct od_builder {
  ox_ep *ep;
  ox_program *p;
  const ox_graph_view *g;
  od_plan *plan;
  od_value *values;
  size_t n_values, n_extra, n_nodes; /* n_extra: values of our own, numbered after the graph's */
  bool *done;                        /* per node */
  size_t node;                       /* the node being built */
} od_builder;

typedef struct od_args {
  uint32_t n;
  od_arg a[OD_MOST_ARGS];
} od_args;

static inline void od_arg_add(od_args *args, int id, uint32_t mem) {
  if (mem != OD_NO_VALUE && args->n < OD_MOST_ARGS) args->a[args->n++] = (od_arg){id, mem};
}

/* ---- memory descriptors ---- */

dnnl_data_type_t od_type(uint32_t dtype); /* dnnl_data_type_undef: the library has none */
size_t od_type_bytes(uint32_t dtype);
int64_t od_count(const ox_shape *s); /* the number of elements, clamped to INT64_MAX */
/* Row-major; rank 0 becomes one dimension of 1. */
dnnl_memory_desc_t od_md_plain(int rank, const int64_t *dims, dnnl_data_type_t type);
dnnl_memory_desc_t od_md_any(int rank, const int64_t *dims, dnnl_data_type_t type);
dnnl_memory_desc_t od_md_strided(int rank, const int64_t *dims, const int64_t *strides, dnnl_data_type_t type);
dnnl_memory_desc_t od_md_of(const od_value *v); /* row-major */
const dnnl_memory_desc_t *od_md(const od_builder *b, uint32_t mem);
bool od_md_is_plain(const dnnl_memory_desc_t *md);
bool od_md_is_dense(const dnnl_memory_desc_t *md); /* elements are contiguous, in any order of dimensions */
/* The descriptor that |pd| chose for an argument; |what|: dnnl_query_src_md and its like. */
dnnl_memory_desc_t od_md_wanted(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index);

/* ---- errors ---- */

/* NULL for dnnl_success; else an error that names the node that is being built. */
ox_status *od_check(const od_builder *b, dnnl_status_t s, const char *doing);
ox_status *od_bad_shape(const od_builder *b, const char *what);

/* ---- values ---- */

od_node od_node_of(const od_builder *b, size_t index);
od_value *od_val(od_builder *b, uint32_t value);
const ox_shape *od_in_shape(od_builder *b, const od_node *n, size_t i); /* the value must have been built */
/* Marks the node as done and drops its uses of its inputs; called once for each node. */
void od_node_done(od_builder *b, size_t node);

size_t od_next_reader(const od_builder *b, uint32_t value, size_t from); /* a node at or after |from|, or SIZE_MAX */
/* The only node that reads |value|, unless |value| is also an output of the part; else SIZE_MAX. */
size_t od_only_reader(const od_builder *b, uint32_t value);

/* A value of our own, which the graph does not have; at most one per node. */
uint32_t od_extra_value(od_builder *b);

/* A value in memory. od_read: in any layout it exists in; _plain: row-major; _as: in the layout |md|; _dims: row-major
 * and reshaped to |dims|. A reorder is added where needed. */
ox_status *od_read(od_builder *b, uint32_t value, uint32_t *out_mem);
ox_status *od_read_plain(od_builder *b, uint32_t value, uint32_t *out_mem);
ox_status *od_read_dense(od_builder *b, uint32_t value, uint32_t *out_mem); /* od_read if that is dense, else _plain */
ox_status *od_read_as(od_builder *b, uint32_t value, const dnnl_memory_desc_t *md, uint32_t *out_mem);
ox_status *od_read_dims(od_builder *b, uint32_t value, int rank, const int64_t *dims, uint32_t *out_mem);
/* Reorders |mem| to the layout |md| of the same dimensions; |mem| itself if it has that layout already. */
ox_status *od_reorder(od_builder *b, uint32_t mem, const dnnl_memory_desc_t *md, uint32_t *out_mem);

/* Adds a reorder from one mem to the other. */
ox_status *od_copy(od_builder *b, uint32_t from, uint32_t to);

/* Allocates memory for a value that the current node makes. A row-major |md| may have other dimensions than |shape|. */
ox_status *od_write(od_builder *b, uint32_t value, const ox_shape *shape, uint32_t dtype, const dnnl_memory_desc_t *md,
                    uint32_t *out_mem);
/* Declares that the value is in |mem|. */
ox_status *od_define(od_builder *b, uint32_t value, const ox_shape *shape, uint32_t dtype, uint32_t mem);
/* Likewise, where a row-major |mem| may have other dimensions than |shape|. */
ox_status *od_define_seen(od_builder *b, uint32_t value, const ox_shape *shape, uint32_t dtype, uint32_t mem);
/* Memory for an intermediate that is no graph value. */
ox_status *od_temporary(od_builder *b, const dnnl_memory_desc_t *md, uint32_t *out_mem);
/* A view of |mem| described by |md|, which must lie within it. */
ox_status *od_view(od_builder *b, uint32_t mem, const dnnl_memory_desc_t *md, uint32_t *out_mem);
/* Likewise, from |bytes| on. */
ox_status *od_view_at(od_builder *b, uint32_t mem, const dnnl_memory_desc_t *md, size_t bytes, uint32_t *out_mem);

/* ---- constants ---- */

/* Constant |value| in the layout |to|, if it has been made with this tag; OD_NO_VALUE if not. */
ox_status *od_fixed_find(od_builder *b, uint32_t value, uint64_t tag, const dnnl_memory_desc_t *to, uint32_t *out_mem);
/* Makes it from |data|, whose layout is |from|. */
ox_status *od_fixed_make(od_builder *b, uint32_t value, uint64_t tag, const void *data, const dnnl_memory_desc_t *from,
                         const dnnl_memory_desc_t *to, uint32_t *out_mem);
/* Weights described by |from| (row-major or strided, of any dimensions) in the layout |to|: reordered once for all
 * plans if they are constant, else in each run. */
ox_status *od_weights(od_builder *b, uint32_t value, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                      uint32_t *out_mem);

/* ---- steps ---- */

/* Attributes with a scratchpad provided by us and the user's precision. */
ox_status *od_attr_create(od_builder *b, dnnl_primitive_attr_t *out_attr);
/* Takes ownership of |pd|, also when it fails. */
ox_status *od_emit(od_builder *b, dnnl_primitive_desc_t pd, od_args *args);
ox_status *od_emit_fill(od_builder *b, uint32_t mem, float with);
/* |mems|: the result, then |n| - 1 operands, all dense (od_md_is_dense) and with the same order of dimensions. */
ox_status *od_emit_own(od_builder *b, od_own own, const od_loops_job *job, const uint32_t *mems, uint32_t n);
/* Can the library create a primitive from |pd|? It may find out only then that it cannot: some functions have no code
 * for narrow vectors. The primitive stays in the library's cache, so creating it again is cheap. */
bool od_can_create(const_dnnl_primitive_desc_t pd);
bool od_is_reference(const_dnnl_primitive_desc_t pd); /* the library's slow reference implementation */

#endif
