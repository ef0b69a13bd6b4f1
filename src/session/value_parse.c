/* SPDX-License-Identifier: Apache-2.0
 * session/value_parse.c - values from serialized protos. */
#include "onnx/tensor.h"
#include "session/value.h"

ox_status *ox_value_parse(ox_env *env, uint32_t kind, const void *bytes, size_t n, ox_value **out_value) {
  *out_value = NULL;
  if (kind != OX_TENSOR) return ox_fail(OX_NOT_IMPLEMENTED, "kind %u", kind);
  ox_arena arena;
  ox_tensor t;
  ox_arena_init(&arena, env->alloc);
  ox_tensor_reader r = {.arena = &arena};
  ox_status *st = ox_tensor_read(&r, (ox_str){bytes, n}, &t, NULL);
  if (!st) st = ox_value_clone(env->alloc, &t, out_value);
  ox_arena_deinit(&arena);
  return st;
}
