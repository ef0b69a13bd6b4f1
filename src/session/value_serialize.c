/* SPDX-License-Identifier: Apache-2.0
 * session/value_serialize.c - values from and to bytes: the messages of onnx/value_message.h. */
#include "onnx/value_message.h"
#include "session/caller_sink.h"
#include "session/value.h"

ox_status *ox_value_parse(ox_env *env, uint32_t kind, const void *bytes, size_t n, ox_value **out_value) {
  ox_arena arena;
  ox_tensor t;
  *out_value = NULL;
  ox_alloc alloc = env ? env->alloc : ox_alloc_heap();
  ox_arena_init(&arena, alloc);
  ox_status *st = ox_value_message_read(&arena, ox_value_message_of(kind), bytes, n, &t, NULL);
  if (!st) st = ox_value_clone(alloc, &t, out_value);
  ox_arena_deinit(&arena);
  return st;
}

ox_status *ox_value_serialize(const ox_value *v, const char *name, int (*write)(void *ctx, const void *bytes, size_t n),
                              void *ctx) {
  ox_caller_sink caller = {write, ctx};
  const ox_tensor *t = ox_value_get(v);
  if (ox_value_memory(v) && !ox_memory_host_accessible(ox_value_memory(v)))
    return ox_fail(OX_INVALID_ARGUMENT, "'%s' lies on a device: what is written is to be copied from there before",
                   name);
  return ox_value_message_write(ox_alloc_heap(), ox_value_message_of(t->kind), t, name, ox_caller_sink_of(&caller));
}
