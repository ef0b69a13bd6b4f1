/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_custom_op.h - OrtCustomOp rows of a session's options as rows of onyx/op.h. */
#ifndef OX_ORT_CUSTOM_OP_H
#define OX_ORT_CUSTOM_OP_H

#include "onyx/op.h"
#include "ort/ort_session_options.h"

typedef struct ort_custom_ops ort_custom_ops;

/* The operators of all domains of |options|; kept by the session that gets them, until after its ox_session is
 * released. All arguments are borrowed until then. *out NULL: there are none. */
OX_NODISCARD OrtStatus *ort_custom_ops_create(const OrtEnv *env, const OrtSessionOptions *options,
                                              const OrtLogger *logger, ort_custom_ops **out);
const ox_op *ort_custom_ops_rows(const ort_custom_ops *ops, size_t *out_n);
void ort_custom_ops_release(ort_custom_ops *ops);

/* Libraries of operators, counted. */
void ort_op_libraries_retain(struct ort_op_library *library);
void ort_op_libraries_release(struct ort_op_library *library);

#endif
