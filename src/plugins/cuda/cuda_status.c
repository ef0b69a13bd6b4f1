/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda_status.c - converts CUDA's error codes to statuses. */
#include "plugins/cuda/cuda.h"

ox_status *cuda_fail(const ox_ep_host *host, const char *call, int code) {
  const char *name = NULL, *text = NULL;
  cu.cuGetErrorName(code, &name);
  cu.cuGetErrorString(code, &text);
  return dev_fail(host, code == CU_OUT_OF_MEMORY ? OX_OUT_OF_MEMORY : OX_FAIL, "CUDA: %s: %s (%d): %s", call,
                  name ? name : "unknown code", code, text ? text : "");
}
