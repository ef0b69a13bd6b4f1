/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_since.h - when the standard last changed an operator: kernels of libraries are registered by that. */
#ifndef OX_ORT_SINCE_H
#define OX_ORT_SINCE_H

/* The version of |domain| that brought |op| as it is in |version|; 1 for operators that are not the standard's. */
int ort_op_since(const char *domain, const char *op, int version);

#endif
