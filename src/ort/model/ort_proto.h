/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_proto.h - bytes of protobuf's wire format, appended to a buffer that grows. Out of memory is
 * remembered: whoever begins a buffer asks once, at the end. */
#ifndef OX_ORT_PROTO_H
#define OX_ORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ort_bytes {
  uint8_t *p; /* malloc's */
  size_t n, room;
  bool failed;
} ort_bytes;

void ort_bytes_deinit(ort_bytes *b);
void ort_put_raw(ort_bytes *b, const void *p, size_t n);
void ort_put_int(ort_bytes *b, uint32_t field, int64_t v);
void ort_put_float(ort_bytes *b, uint32_t field, float v);
void ort_put_bytes(ort_bytes *b, uint32_t field, const void *p, size_t n);
void ort_put_text(ort_bytes *b, uint32_t field, const char *text);
/* |message| as a field of |b|; it is empty then. */
void ort_put_message(ort_bytes *b, uint32_t field, ort_bytes *message);

/* A field as it is read. */
typedef struct ort_field {
  uint32_t number, wire; /* 0: a number in |value|; 2: |bytes| of |n|; 1 and 5: a number that is skipped */
  uint64_t value;
  const uint8_t *bytes; /* wire 2 */
  size_t n;
  const uint8_t *whole; /* all of it, with its tag */
  size_t whole_n;
} ort_field;

/* The field at |*at|, which moves behind it; false: it is broken. */
bool ort_next_field(const uint8_t **at, const uint8_t *end, ort_field *out);

#endif
