/* SPDX-License-Identifier: Apache-2.0
 * device/use_standin.h - the CUDA provider of this process finds the stand-in in place of NVIDIA's four libraries, unless
 * ONYX_TEST_GPU is set. */
#ifndef OX_TEST_USE_STANDIN_H
#define OX_TEST_USE_STANDIN_H

#include <stddef.h>
#include <stdlib.h>

#include "support/set_variable.h"

static inline void use_standin(void) {
  if (getenv("ONYX_TEST_GPU")) return;
  static const char *const variables[] = {"ONYX_CUDA_LIBRARY", "ONYX_NVRTC_LIBRARY", "ONYX_CUBLASLT_LIBRARY",
                                          "ONYX_CUDNN_LIBRARY"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) set_variable(variables[i], CUDA_STANDIN);
  set_variable("ONYX_KERNEL_CACHE", "none");
}

#endif
