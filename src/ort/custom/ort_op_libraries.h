/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_op_libraries.h - libraries of operators that session options loaded; counted. */
#ifndef OX_ORT_OP_LIBRARIES_H
#define OX_ORT_OP_LIBRARIES_H

struct ort_op_library;

void ort_op_libraries_retain(struct ort_op_library *library);
void ort_op_libraries_release(struct ort_op_library *library);

#endif
