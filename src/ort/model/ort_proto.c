/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_proto.c - see ort_proto.h. */
#include "ort/model/ort_proto.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_size.h"

/* ---- writing ---- */

void ort_bytes_deinit(ort_bytes *b) {
  free(b->p);
  *b = (ort_bytes){0};
}

static bool grow(ort_bytes *b, size_t n) {
  size_t need, room = b->room == 0 ? 256 : b->room;
  if (b->failed || !ort_add_ok(b->n, n, &need) || need > SIZE_MAX / 2) return false;
  while (room < need) room *= 2;
  if (room == b->room) return true;
  uint8_t *p = realloc(b->p, room);
  if (p == NULL) return false;
  b->p = p, b->room = room;
  return true;
}

void ort_put_raw(ort_bytes *b, const void *p, size_t n) {
  if (!grow(b, n)) {
    b->failed = true;
    return;
  }
  if (n > 0) memcpy(b->p + b->n, p, n);
  b->n += n;
}

static void put_varint(ort_bytes *b, uint64_t v) {
  uint8_t bytes[10];
  size_t n = 0;
  for (; v > 127; v >>= 7) bytes[n++] = (uint8_t)(v | 128);
  bytes[n++] = (uint8_t)v;
  ort_put_raw(b, bytes, n);
}

void ort_put_int(ort_bytes *b, uint32_t field, int64_t v) {
  put_varint(b, (uint64_t)field << 3);
  put_varint(b, (uint64_t)v);
}

void ort_put_float(ort_bytes *b, uint32_t field, float v) {
  put_varint(b, (uint64_t)field << 3 | 5);
  ort_put_raw(b, &v, sizeof v);
}

void ort_put_bytes(ort_bytes *b, uint32_t field, const void *p, size_t n) {
  put_varint(b, (uint64_t)field << 3 | 2);
  put_varint(b, n);
  ort_put_raw(b, p, n);
}

void ort_put_text(ort_bytes *b, uint32_t field, const char *text) { ort_put_bytes(b, field, text, strlen(text)); }

void ort_put_message(ort_bytes *b, uint32_t field, ort_bytes *message) {
  ort_put_bytes(b, field, message->p, message->n);
  b->failed |= message->failed;
  message->n = 0;
}

/* ---- reading ---- */

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  *out = 0;
  for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
    uint8_t byte = *(*at)++;
    *out |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

static bool skip(const uint8_t **at, const uint8_t *end, size_t n) {
  if ((size_t)(end - *at) < n) return false;
  *at += n;
  return true;
}

bool ort_next_field(const uint8_t **at, const uint8_t *end, ort_field *out) {
  uint64_t tag, n;
  *out = (ort_field){.whole = *at};
  if (!read_varint(at, end, &tag) || tag >> 3 == 0 || tag >> 32 != 0) return false;
  out->number = (uint32_t)(tag >> 3), out->wire = (uint32_t)(tag & 7);
  switch (out->wire) {
    case 0:
      if (!read_varint(at, end, &out->value)) return false;
      break;
    case 1:
      if (!skip(at, end, 8)) return false;
      break;
    case 2:
      if (!read_varint(at, end, &n) || n > (uint64_t)(end - *at)) return false;
      out->bytes = *at, out->n = (size_t)n;
      *at += n;
      break;
    case 5:
      if (!skip(at, end, 4)) return false;
      break;
    default:
      return false;
  }
  out->whole_n = (size_t)(*at - out->whole);
  return true;
}
