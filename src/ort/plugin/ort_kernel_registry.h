/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_kernel_registry.h - the kernels that a library's provider has. */
#ifndef OX_ORT_KERNEL_REGISTRY_H
#define OX_ORT_KERNEL_REGISTRY_H

#include "ort/plugin/ort_kernel_def.h"

typedef struct ort_registered_kernel {
  OrtKernelDef *def; /* a copy of the library's */
  OrtKernelCreateFunc create;
  void *state; /* for |create| */
} ort_registered_kernel;

struct OrtKernelRegistry {
  ort_registered_kernel *kernels;
  size_t n, room;
};

/* The kernel of |registry| for |node|: of its operator, version and element types; NULL: none. |registry| may be NULL.
 */
const ort_registered_kernel *ort_kernel_find(const OrtKernelRegistry *registry, const OrtNode *node);

#endif
