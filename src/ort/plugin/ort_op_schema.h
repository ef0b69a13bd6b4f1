/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_op_schema.h - names and type variables of operators' inputs and outputs. */
#ifndef OX_ORT_OP_SCHEMA_H
#define OX_ORT_OP_SCHEMA_H

#include "onyx/ort_abi.h"
#include "onyx/status.h"

/* The schema that serves |version| of |domain|'s operators; *out NULL: none does. */
OX_NODISCARD OrtStatus *ort_op_schema_find(const char *domain, const char *name, int version, OrtOpSchema **out);

/* Which inputs (or outputs) of |schema| the variable or the name |constraint| is about: bit i. 0: none. The last input
 * or output stands for all that follow it, too. */
uint64_t ort_op_schema_inputs(const OrtOpSchema *schema, const char *constraint);
uint64_t ort_op_schema_outputs(const OrtOpSchema *schema, const char *constraint);
size_t ort_op_schema_n_inputs(const OrtOpSchema *schema);
size_t ort_op_schema_n_outputs(const OrtOpSchema *schema);

#endif
