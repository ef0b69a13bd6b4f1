/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/proto_write.h - writes messages, for models and for values on their own (private to onnx/). */
#ifndef OX_ONNX_PROTO_WRITE_H
#define OX_ONNX_PROTO_WRITE_H

#include "graph/graph.h"
#include "onnx/proto/wire_out.h"

/* The fields of a TensorProto or SparseTensorProto for |t|; |name| may be NULL. Large data is borrowed. */
void ox_out_tensor(ox_wire_out *o, const ox_tensor *t, const char *name);
void ox_out_sparse(ox_wire_out *o, const ox_tensor *t, const char *name);
/* The same as field |number|: a TensorProto, or a SparseTensorProto if |t| is sparse. */
void ox_out_tensor_field(ox_wire_out *o, uint32_t number, const ox_tensor *t, const char *name);

/* The fields of a TypeProto; |m| names symbols. */
void ox_out_type(ox_wire_out *o, const ox_model *m, const ox_type *t);
/* True if anything is known about the type. */
bool ox_type_has_info(const ox_type *t);
/* A ValueInfoProto as field |number|. */
void ox_out_value_info(ox_wire_out *o, uint32_t number, const ox_graph *g, ox_id v);
/* The fields of a GraphProto. Errors: INVALID_MODEL. */
OX_NODISCARD ox_status *ox_out_graph(ox_wire_out *o, const ox_graph *g);
/* The fields of a ModelProto. Errors: INVALID_MODEL, NOT_IMPLEMENTED. */
OX_NODISCARD ox_status *ox_out_model(ox_wire_out *o, const ox_model *m);
/* NOT_IMPLEMENTED if |n| is written for another operator set than the model imports (ox_node.version): a file cannot
 * express that. */
OX_NODISCARD ox_status *ox_check_version(const ox_model *m, const ox_node *n);
/* Each live node as field |number|, in topological order. */
OX_NODISCARD ox_status *ox_out_nodes(ox_wire_out *o, uint32_t number, const ox_graph *g);
OX_NODISCARD ox_status *ox_out_attr(ox_wire_out *o, uint32_t number, const ox_graph *g, const ox_attr *a);

#endif
