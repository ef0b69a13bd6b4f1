/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_standin.c - what takes operators of clients is not there: sessions have none. */
#include "ort/ort_custom_op.h"
#include "ort/ort_status.h"

__attribute__((weak)) OrtStatus *ort_custom_ops_create(const OrtEnv *env, const OrtSessionOptions *options,
                                                       const OrtLogger *logger, ort_custom_ops **out) {
  (void)env, (void)options, (void)logger;
  *out = NULL;
  return NULL;
}
__attribute__((weak)) const ox_op *ort_custom_ops_rows(const ort_custom_ops *ops, size_t *out_n) {
  (void)ops;
  *out_n = 0;
  return NULL;
}
__attribute__((weak)) void ort_custom_ops_release(ort_custom_ops *ops) { (void)ops; }
__attribute__((weak)) void ort_op_libraries_retain(struct ort_op_library *library) { (void)library; }
__attribute__((weak)) void ort_op_libraries_release(struct ort_op_library *library) { (void)library; }
