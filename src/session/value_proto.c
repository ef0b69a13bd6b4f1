/* SPDX-License-Identifier: Apache-2.0
 * session/value_proto.c - values from and to serialized protos. */
#include "onnx/loose.h"
#include "session/value.h"

/* The message that holds a value of |kind|: a sequence in a SequenceProto, and so on. */
static ox_loose_kind message_of(uint32_t kind) {
  switch (kind) {
    case OX_SEQUENCE:
      return OX_LOOSE_SEQUENCE;
    case OX_MAP:
      return OX_LOOSE_MAP;
    case OX_SPARSE:
      return OX_LOOSE_SPARSE;
    case OX_NONE_VALUE:
      return OX_LOOSE_OPTIONAL;
    default:
      return OX_LOOSE_TENSOR;
  }
}

ox_status *ox_value_parse(ox_env *env, uint32_t kind, const void *bytes, size_t n, ox_value **out_value) {
  ox_arena arena;
  ox_tensor t;
  *out_value = NULL;
  ox_arena_init(&arena, env->alloc);
  ox_status *st = ox_loose_read(&arena, message_of(kind), bytes, n, &t, NULL);
  if (!st) st = ox_value_clone(env->alloc, &t, out_value);
  ox_arena_deinit(&arena);
  return st;
}

typedef struct {
  int (*write)(void *ctx, const void *bytes, size_t n);
  void *ctx;
} caller_sink;

static ox_status *pass_on(void *ctx, const void *bytes, size_t n) {
  const caller_sink *s = ctx;
  return s->write(s->ctx, bytes, n) ? ox_fail(OX_FAIL, "writing was stopped by the caller") : NULL;
}

ox_status *ox_value_serialize(const ox_value *v, const char *name, int (*write)(void *ctx, const void *bytes, size_t n),
                              void *ctx) {
  caller_sink s = {write, ctx};
  const ox_tensor *t = ox_value_get(v);
  return ox_loose_write(ox_alloc_heap(), message_of(t->kind), t, name, (ox_sink){pass_on, &s});
}
