/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_build_info.c - what this library says of itself. */
#include "ort/ort_api.h"

const char *ort_GetBuildInfoString(void) {
  return "ORT Build Info: Onyx, an implementation of ONNX Runtime's C ABI";
}
