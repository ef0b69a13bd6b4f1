/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/reader.c - what the readers of several messages need: names, depth, and the small messages that appear in
 * more than one. */
#include <string.h>

#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/reader.h"

ox_status *ox_read_name(ox_arena *arena, ox_str s, const char **out_name) {
  *out_name = "";
  if (!s.n) return NULL;
  if (memchr(s.p, 0, s.n))
    return ox_fail(OX_INVALID_MODEL, "a name contains a NUL character: '%.*s'", (int)OX_MIN(s.n, 100), s.p);
  *out_name = ox_arena_str(arena, s.p, s.n);
  return *out_name ? NULL : ox_oom();
}

ox_status *ox_reader_enter(ox_reader *r) {
  if (r->depth >= r->limits.depth) return ox_fail(OX_LIMIT, "nested deeper than %u levels", r->limits.depth);
  r->depth++;
  return NULL;
}

ox_status *ox_read_opset(ox_reader *r, ox_str bytes, ox_opset *out_opset) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  *out_opset = (ox_opset){"", 0};
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(OX_OPERATOR_SET_ID_PROTO_DOMAIN))
      OX_TRY(ox_read_name(&r->m->arena, f.bytes, &out_opset->domain));
    if (f.tag == OX_WIRE_VARINT(OX_OPERATOR_SET_ID_PROTO_VERSION)) out_opset->version = (int64_t)f.value;
  }
  OX_TRY(ox_wire_end(&w, "OperatorSetIdProto"));
  if (out_opset->version < 1 || out_opset->version > INT32_MAX)
    return ox_fail(OX_INVALID_MODEL, "opset_import of domain '%s' has version %lld", out_opset->domain,
                   (long long)out_opset->version);
  if (strcmp(out_opset->domain, "ai.onnx") == 0) out_opset->domain = "";
  return NULL;
}

ox_status *ox_read_prop(ox_reader *r, ox_str bytes, ox_prop *out_prop) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  ox_str key = {"", 0}, value = {"", 0};
  while (ox_wire_next(&w, &f)) {
    if (f.tag == OX_WIRE_LEN(OX_STRING_STRING_ENTRY_PROTO_KEY)) key = f.bytes;
    if (f.tag == OX_WIRE_LEN(OX_STRING_STRING_ENTRY_PROTO_VALUE)) value = f.bytes;
  }
  out_prop->key = ox_arena_str(&r->m->arena, key.p, key.n);
  out_prop->value = ox_arena_str(&r->m->arena, value.p, value.n);
  if (!out_prop->key || !out_prop->value) return ox_oom();
  return ox_wire_end(&w, "StringStringEntryProto");
}
