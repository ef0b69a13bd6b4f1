/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/wire_out.h - writes protobuf's wire format. Small fields go to a buffer, large ones are borrowed until the
 * end, so that weights are never copied. A failed allocation is remembered; ox_wire_out_flush reports it. */
#ifndef OX_ONNX_PROTO_WIRE_OUT_H
#define OX_ONNX_PROTO_WIRE_OUT_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/sink.h"

typedef struct ox_wire_chunk {
  size_t at; /* comes before this byte of the buffer */
  const void *p;
  size_t n;
} ox_wire_chunk;

typedef struct ox_wire_out {
  ox_alloc alloc;
  unsigned char *bytes;
  size_t n, cap;
  ox_wire_chunk *chunks;
  size_t n_chunks, cap_chunks, borrowed; /* borrowed: bytes of all chunks */
  bool failed;
} ox_wire_out;

/* A position: where a message begins, or where to go back to. */
typedef struct ox_wire_mark {
  size_t n, n_chunks, borrowed;
} ox_wire_mark;

static inline ox_wire_out ox_wire_out_of(ox_alloc alloc) { return (ox_wire_out){.alloc = alloc}; }
void ox_wire_out_deinit(ox_wire_out *o);

void ox_out_varint(ox_wire_out *o, uint32_t number, uint64_t v);
void ox_out_f32(ox_wire_out *o, uint32_t number, float v);
void ox_out_str(ox_wire_out *o, uint32_t number, const char *s);             /* NUL-terminated */
void ox_out_bytes(ox_wire_out *o, uint32_t number, const void *p, size_t n); /* borrows if n is large */
void ox_out_raw(ox_wire_out *o, const void *p, size_t n);                    /* no tag, always copied */
void ox_out_raw_varint(ox_wire_out *o, uint64_t v);                          /* an entry of a packed field */

/* What is written between the two is the content of a message (or packed field). */
ox_wire_mark ox_out_begin(ox_wire_out *o, uint32_t number);
void ox_out_end(ox_wire_out *o, ox_wire_mark begin);
/* Forgets what was written since |mark|. */
ox_wire_mark ox_out_mark(const ox_wire_out *o);
void ox_out_take_back(ox_wire_out *o, ox_wire_mark mark);

/* Sends everything to |sink|. Errors: the sink's; OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_wire_out_flush(const ox_wire_out *o, ox_sink sink);

#endif
