/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/wire_out.c - messages in one pass: the length is inserted in front of a message when it ends. */
#include "onnx/proto/wire_out.h"

#include <string.h>

#include "base/cksize.h"
#include "onnx/proto/wire.h"

enum { BORROW_FROM = 1024, MAX_VARINT = 10 };

void ox_wire_out_deinit(ox_wire_out *o) {
  ox_delete(o->alloc, o->bytes, o->cap);
  ox_delete(o->alloc, o->chunks, o->cap_chunks * sizeof *o->chunks);
  *o = (ox_wire_out){.alloc = o->alloc};
}

/* Room for |n| more bytes, or NULL. */
static unsigned char *room(ox_wire_out *o, size_t n) {
  size_t last;
  if (o->failed) return NULL;
  if (!n ||
      (ox_add_ok(o->n, n - 1, &last) && (last < o->cap || ox_grow(o->alloc, (void **)&o->bytes, &o->cap, last, 1))))
    return o->bytes ? o->bytes + o->n : (unsigned char *)"";
  o->failed = true;
  return NULL;
}

static size_t varint_to(unsigned char *p, uint64_t v) {
  size_t n = 0;
  for (; v >= 0x80; v >>= 7) p[n++] = (unsigned char)(v | 0x80);
  p[n++] = (unsigned char)v;
  return n;
}

void ox_out_raw_varint(ox_wire_out *o, uint64_t v) {
  unsigned char *p = room(o, MAX_VARINT);
  if (p) o->n += varint_to(p, v);
}

void ox_out_raw(ox_wire_out *o, const void *bytes, size_t n) {
  unsigned char *p = room(o, n);
  if (p && n) memcpy(p, bytes, n), o->n += n;
}

void ox_out_varint(ox_wire_out *o, uint32_t number, uint64_t v) {
  ox_out_raw_varint(o, OX_WIRE_VARINT(number));
  ox_out_raw_varint(o, v);
}

void ox_out_f32(ox_wire_out *o, uint32_t number, float v) {
  ox_out_raw_varint(o, OX_WIRE_F32(number));
  ox_out_raw(o, &v, sizeof v);
}

void ox_out_bytes(ox_wire_out *o, uint32_t number, const void *p, size_t n) {
  ox_out_raw_varint(o, OX_WIRE_LEN(number));
  ox_out_raw_varint(o, n);
  if (n < BORROW_FROM) {
    ox_out_raw(o, p, n);
    return;
  }
  size_t total;
  if (o->failed || !ox_add_ok(o->borrowed, n, &total) ||
      !ox_grow(o->alloc, (void **)&o->chunks, &o->cap_chunks, o->n_chunks, sizeof *o->chunks)) {
    o->failed = true;
    return;
  }
  o->chunks[o->n_chunks++] = (ox_wire_chunk){o->n, p, n};
  o->borrowed = total;
}

void ox_out_str(ox_wire_out *o, uint32_t number, const char *s) { ox_out_bytes(o, number, s, strlen(s)); }

ox_wire_mark ox_out_mark(const ox_wire_out *o) { return (ox_wire_mark){o->n, o->n_chunks, o->borrowed}; }

void ox_out_take_back(ox_wire_out *o, ox_wire_mark m) {
  o->n = m.n, o->n_chunks = m.n_chunks, o->borrowed = m.borrowed;
}

ox_wire_mark ox_out_begin(ox_wire_out *o, uint32_t number) {
  ox_out_raw_varint(o, OX_WIRE_LEN(number));
  return ox_out_mark(o);
}

void ox_out_end(ox_wire_out *o, ox_wire_mark begin) {
  if (o->failed) return;
  unsigned char length[MAX_VARINT];
  size_t inside = o->n - begin.n, n = varint_to(length, (uint64_t)inside + (o->borrowed - begin.borrowed));
  if (!room(o, n)) return;
  unsigned char *p = o->bytes + begin.n;
  memmove(p + n, p, inside);
  memcpy(p, length, n);
  o->n += n;
  for (size_t i = begin.n_chunks; i < o->n_chunks; i++) o->chunks[i].at += n;
}

ox_status *ox_wire_out_flush(const ox_wire_out *o, ox_sink sink) {
  size_t at = 0;
  if (o->failed) return ox_oom();
  for (size_t i = 0; i < o->n_chunks; i++) {
    const ox_wire_chunk *c = &o->chunks[i];
    if (c->at > at) OX_TRY(sink.write(sink.ctx, o->bytes + at, c->at - at));
    OX_TRY(sink.write(sink.ctx, c->p, c->n));
    at = c->at;
  }
  return o->n > at ? sink.write(sink.ctx, o->bytes + at, o->n - at) : NULL;
}
