/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/wire.h - a cursor over protobuf's wire format: bounds-checked, borrowing, one sticky error. */
#ifndef OX_ONNX_PROTO_WIRE_H
#define OX_ONNX_PROTO_WIRE_H

#include <stdbool.h>

#include "base/status.h"
#include "onyx/ep.h"

/* Bytes of one message. A malformed byte stops the cursor; ox_wire_end reports it. */
typedef struct ox_wire {
  const unsigned char *p, *end;
  const unsigned char *begin; /* for offsets in errors */
  const char *error;          /* a static text, or NULL */
} ox_wire;

enum { OX_WIRE_TYPE_VARINT = 0, OX_WIRE_TYPE_F64 = 1, OX_WIRE_TYPE_LEN = 2, OX_WIRE_TYPE_F32 = 5 };

/* To compare with ox_wire_field.tag. A field with an unexpected wire type then counts as unknown, as in protobuf. */
#define OX_WIRE_VARINT(number) ((uint32_t)(number) << 3 | OX_WIRE_TYPE_VARINT)
#define OX_WIRE_F64(number) ((uint32_t)(number) << 3 | OX_WIRE_TYPE_F64)
#define OX_WIRE_LEN(number) ((uint32_t)(number) << 3 | OX_WIRE_TYPE_LEN)
#define OX_WIRE_F32(number) ((uint32_t)(number) << 3 | OX_WIRE_TYPE_F32)

/* The field number and the wire type in a tag. */
static inline uint32_t ox_wire_number(uint32_t tag) { return tag >> 3; }
static inline uint32_t ox_wire_type(uint32_t tag) { return tag & 7; }

typedef struct ox_wire_field {
  uint32_t tag;
  uint64_t value; /* VARINT, F32, F64: the bits */
  ox_str bytes;   /* LEN: borrowed */
} ox_wire_field;

static inline ox_wire ox_wire_of(const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  return (ox_wire){p, n ? p + n : p, p, NULL};
}
static inline ox_wire ox_wire_sub(ox_str s) { return ox_wire_of(s.p, s.n); }

/* The next field; false at the end or at a malformed byte. Groups are skipped. */
bool ox_wire_next(ox_wire *w, ox_wire_field *out_field);
/* After the loop: INVALID_MODEL, naming |what| and the offset, if the bytes were malformed. */
OX_NODISCARD ox_status *ox_wire_end(const ox_wire *w, const char *what);

/* The next varint of a packed field; false at the end or if malformed (see ox_wire_end). */
bool ox_wire_varint(ox_wire *w, uint64_t *out_value);
/* How many varints |s| holds if it is well formed: bytes without a continuation bit. */
size_t ox_wire_count_varints(ox_str s);

/* Fields of the one-byte tag |tag| that follow each other from here on, where a list is not packed: their varints or
 * 32-bit values, as far as they are well formed and lie whole before the last bytes; how many. |to| NULL: counts. */
size_t ox_wire_run_varints(ox_wire *w, uint32_t tag, int64_t *to);
size_t ox_wire_run_floats(ox_wire *w, uint32_t tag, float *to);

float ox_wire_float(uint64_t bits);
double ox_wire_double(uint64_t bits);

#endif
