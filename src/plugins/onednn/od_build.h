/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_build.h - building a plan: values of the graph and the forms they exist in, steps, constants. */
#ifndef OD_BUILD_H
#define OD_BUILD_H

#include "od_plan.h"

enum { OD_MOST_FORMS = 4 };

/* Integers that stand for numbers: (q - zero) * scale. */
typedef struct od_quant {
  uint32_t from;                 /* the value that is the integers; OD_NO_VALUE: there are none */
  const ox_tensor *scale, *zero; /* constants, of one element or of one for each along |axis|; |zero| may be NULL */
  int axis;
} od_quant;

typedef struct od_value {
  ox_shape shape;
  uint32_t dtype;                        /* OX_UNDEFINED: not built yet */
  uint32_t n_forms, form[OD_MOST_FORMS]; /* mems */
  uint32_t uses;                         /* by nodes that are not built yet */
  int32_t output;                        /* of the part; OD_NONE */
  const ox_tensor *constant;
  od_quant quant; /* nothing is computed until somebody wants the numbers */
} od_value;

typedef struct od_builder {
  ox_ep *ep;
  ox_program *p;
  const ox_graph_view *g;
  od_plan *plan;
  od_value *values;
  size_t n_values, n_extra, n_nodes; /* n_extra: values that the graph does not have, behind the others */
  bool *done;                        /* nodes */
  size_t node;                       /* being built */
} od_builder;

typedef struct od_args {
  uint32_t n;
  od_arg a[OD_MOST_ARGS];
} od_args;

static inline void od_arg_add(od_args *args, int id, uint32_t mem) {
  if (mem != OD_NO_VALUE && args->n < OD_MOST_ARGS) args->a[args->n++] = (od_arg){id, mem};
}

/* ---- descriptions ---- */

dnnl_data_type_t od_type(uint32_t dtype); /* dnnl_data_type_undef: the library has none */
size_t od_type_bytes(uint32_t dtype);
int64_t od_count(const ox_shape *s); /* INT64_MAX: or more */
/* Row-major; rank 0 becomes one dimension of 1. */
dnnl_memory_desc_t od_md_plain(int rank, const int64_t *dims, dnnl_data_type_t type);
dnnl_memory_desc_t od_md_any(int rank, const int64_t *dims, dnnl_data_type_t type);
dnnl_memory_desc_t od_md_strided(int rank, const int64_t *dims, const int64_t *strides, dnnl_data_type_t type);
dnnl_memory_desc_t od_md_of(const od_value *v); /* row-major */
const dnnl_memory_desc_t *od_md(const od_builder *b, uint32_t mem);
bool od_md_is_plain(const dnnl_memory_desc_t *md);
bool od_md_is_dense(const dnnl_memory_desc_t *md); /* its elements are a row without gaps, in whatever order */
/* What |pd| wants of DNNL_ARG |what| (dnnl_query_src_md ...). */
dnnl_memory_desc_t od_md_wanted(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index);

/* ---- errors ---- */

/* NULL for dnnl_success; else an error that names the node that is being built. */
ox_status *od_check(const od_builder *b, dnnl_status_t s, const char *doing);
ox_status *od_bad_shape(const od_builder *b, const char *what);

/* ---- values ---- */

od_node od_node_of(const od_builder *b, size_t index);
od_value *od_val(od_builder *b, uint32_t value);
const ox_shape *od_in_shape(od_builder *b, const od_node *n, size_t i); /* of a built value */
/* The node and its uses of inputs are done; once for each node. */
void od_node_done(od_builder *b, size_t node);

size_t od_next_reader(const od_builder *b, uint32_t value, size_t from); /* a node, at or after |from|; SIZE_MAX */
/* The node that reads |value|, if it is the only one and |value| is no output; SIZE_MAX. */
size_t od_only_reader(const od_builder *b, uint32_t value);

/* A value that the graph does not have; at most one for each node. */
uint32_t od_extra_value(od_builder *b);

/* A form of a value, in memory. read: as it is; plain: row-major; as: in the layout |md|; dims: row-major, seen with
 * other dimensions of the same number of elements. */
ox_status *od_read(od_builder *b, uint32_t value, uint32_t *out_mem);
ox_status *od_read_plain(od_builder *b, uint32_t value, uint32_t *out_mem);
ox_status *od_read_dense(od_builder *b, uint32_t value, uint32_t *out_mem); /* as it is, or else row-major */
ox_status *od_read_as(od_builder *b, uint32_t value, const dnnl_memory_desc_t *md, uint32_t *out_mem);
ox_status *od_read_dims(od_builder *b, uint32_t value, int rank, const int64_t *dims, uint32_t *out_mem);
/* From the form |mem|, of whatever dimensions, to |md| of the same ones; |mem| itself if it is that already. */
ox_status *od_reorder(od_builder *b, uint32_t mem, const dnnl_memory_desc_t *md, uint32_t *out_mem);

/* What is in one goes to the other, in its layout. */
ox_status *od_copy(od_builder *b, uint32_t from, uint32_t to);

/* Memory for a value that is made now. |md| may have other dimensions than |shape|, if it is row-major. */
ox_status *od_write(od_builder *b, uint32_t value, const ox_shape *shape, uint32_t dtype, const dnnl_memory_desc_t *md,
                    uint32_t *out_mem);
/* The value lies in |mem| from now on. */
ox_status *od_define(od_builder *b, uint32_t value, const ox_shape *shape, uint32_t dtype, uint32_t mem);
/* Likewise, if |mem| is row-major, with other dimensions than |shape|. */
ox_status *od_define_seen(od_builder *b, uint32_t value, const ox_shape *shape, uint32_t dtype, uint32_t mem);
/* Memory of steps between two values. */
ox_status *od_temporary(od_builder *b, const dnnl_memory_desc_t *md, uint32_t *out_mem);
/* |mem| seen as |md|, which must lie within it. */
ox_status *od_view(od_builder *b, uint32_t mem, const dnnl_memory_desc_t *md, uint32_t *out_mem);

/* ---- constants ---- */

/* Constant |value| in the form |to|, if somebody has made it with this tag; OD_NO_VALUE if not. */
ox_status *od_fixed_find(od_builder *b, uint32_t value, uint64_t tag, const dnnl_memory_desc_t *to, uint32_t *out_mem);
/* Makes it of |data|, which is laid out as |from| says. */
ox_status *od_fixed_make(od_builder *b, uint32_t value, uint64_t tag, const void *data, const dnnl_memory_desc_t *from,
                         const dnnl_memory_desc_t *to, uint32_t *out_mem);
/* Weights as |from| describes them (row-major, or with strides, of any dimensions) in the form |to|: once for all plans
 * if they are constant, else by a reorder in each run. */
ox_status *od_weights(od_builder *b, uint32_t value, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                      uint32_t *out_mem);

/* ---- steps ---- */

ox_status *od_attr_create(od_builder *b,
                          dnnl_primitive_attr_t *out_attr); /* scratchpad of ours, the user's precision */
/* Takes |pd|, also when it fails. */
ox_status *od_emit(od_builder *b, dnnl_primitive_desc_t pd, od_args *args);
ox_status *od_emit_fill(od_builder *b, uint32_t mem, float with);
/* |mems|: the result, then its |n| - 1 operands, all as od_md_is_dense says and of one order of dimensions. */
ox_status *od_emit_own(od_builder *b, od_own own, const od_loops_job *job, const uint32_t *mems, uint32_t n);
/* Whether the library can make code of |pd|, which it finds out late: some functions are none for narrow vectors. What
 * it makes is in its cache. */
bool od_can_create(const_dnnl_primitive_desc_t pd);
bool od_is_reference(const_dnnl_primitive_desc_t pd); /* code that is right but not meant to be fast */

#endif
