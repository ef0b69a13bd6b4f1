/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/wire.c - varints, tags, lengths and groups of protobuf. */
#include "onnx/proto/wire.h"

#include <string.h>

enum { TYPE_GROUP = 3, TYPE_GROUP_END = 4, MAX_GROUPS = 32 };

static bool fail(ox_wire *w, const char *why) {
  if (!w->error) w->error = why;
  w->end = w->p;
  return false;
}

bool ox_wire_varint(ox_wire *w, uint64_t *out_value) {
  const unsigned char *p = w->p;
  if (p == w->end) return false;
  if (OX_LIKELY(*p < 0x80)) {
    *out_value = *p, w->p = p + 1;
    return true;
  }
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (p == w->end) return fail(w, "a varint ends outside its message");
    unsigned char b = *p++;
    v |= (uint64_t)(b & 0x7f) << shift; /* protobuf drops the bits above 64 as well */
    if (b < 0x80) {
      *out_value = v, w->p = p;
      return true;
    }
  }
  return fail(w, "a varint is longer than 10 bytes");
}

static bool fixed(ox_wire *w, size_t n, uint64_t *out_value) {
  if ((size_t)(w->end - w->p) < n) return fail(w, "a number ends outside its message");
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++) v |= (uint64_t)w->p[i] << (8 * i);
  *out_value = v, w->p += n;
  return true;
}

static bool tag_of(ox_wire *w, uint32_t *out_tag) {
  uint64_t tag;
  if (!ox_wire_varint(w, &tag)) return false;
  if (tag > UINT32_MAX || tag < 8) return fail(w, "a field number is out of range");
  *out_tag = (uint32_t)tag;
  return true;
}

/* Reads what follows a tag that is not a group's. */
static bool content(ox_wire *w, ox_wire_field *f) {
  switch (ox_wire_type(f->tag)) {
    case OX_WIRE_TYPE_VARINT:
      return ox_wire_varint(w, &f->value) || fail(w, "a field ends outside its message");
    case OX_WIRE_TYPE_F64:
      return fixed(w, 8, &f->value);
    case OX_WIRE_TYPE_F32:
      return fixed(w, 4, &f->value);
    case OX_WIRE_TYPE_LEN: {
      uint64_t n;
      if (!ox_wire_varint(w, &n)) return fail(w, "a field ends outside its message");
      if (n > (size_t)(w->end - w->p)) return fail(w, "a field is longer than its message");
      f->bytes = (ox_str){(const char *)w->p, (size_t)n};
      w->p += n;
      return true;
    }
    default:
      return fail(w, "a field has an unknown wire type");
  }
}

static bool skip_group(ox_wire *w, uint32_t tag) {
  uint32_t open[MAX_GROUPS] = {ox_wire_number(tag)};
  size_t n = 1;
  while (n) {
    ox_wire_field f = {0};
    if (!tag_of(w, &f.tag)) return fail(w, "a group is not closed");
    switch (ox_wire_type(f.tag)) {
      case TYPE_GROUP:
        if (n == MAX_GROUPS) return fail(w, "groups are nested too deep");
        open[n++] = ox_wire_number(f.tag);
        break;
      case TYPE_GROUP_END:
        if (open[--n] != ox_wire_number(f.tag)) return fail(w, "a group is closed by another's end");
        break;
      default:
        if (!content(w, &f)) return false;
    }
  }
  return true;
}

bool ox_wire_next(ox_wire *w, ox_wire_field *out_field) {
  while (w->p != w->end) {
    if (!tag_of(w, &out_field->tag)) return false;
    if (ox_wire_type(out_field->tag) == TYPE_GROUP) {
      if (!skip_group(w, out_field->tag)) return false;
      continue;
    }
    return content(w, out_field);
  }
  return false;
}

ox_status *ox_wire_end(const ox_wire *w, const char *what) {
  if (OX_LIKELY(!w->error)) return NULL;
  return ox_fail(OX_INVALID_MODEL, "malformed %s: %s (byte %zu of it)", what, w->error, (size_t)(w->p - w->begin));
}

size_t ox_wire_count_varints(ox_str s) {
  const unsigned char *p = (const unsigned char *)s.p;
  size_t n = 0;
  for (size_t i = 0; i < s.n; i++) n += p[i] < 0x80;
  return n;
}

/* A tag and the longest varint fit, so that nothing is to be checked byte by byte; the rest is for ox_wire_next. */
enum { TAG_AND_VARINT = 11, TAG_AND_FLOAT = 5 };

size_t ox_wire_run_varints(ox_wire *w, uint32_t tag, int64_t *to) {
  const unsigned char *p = w->p;
  size_t n = 0;
  for (; w->end - p >= TAG_AND_VARINT && *p == tag; n++) {
    uint64_t v = p[1] & 0x7f;
    size_t bytes = 2;
    while (p[bytes - 1] >= 0x80 && bytes < TAG_AND_VARINT) {
      v |= (uint64_t)(p[bytes] & 0x7f) << (7 * (bytes - 1));
      bytes++;
    }
    if (p[bytes - 1] >= 0x80) break;
    if (to) to[n] = (int64_t)v;
    p += bytes;
  }
  w->p = p;
  return n;
}

size_t ox_wire_run_floats(ox_wire *w, uint32_t tag, float *to) {
  const unsigned char *p = w->p;
  size_t n = 0;
  for (; w->end - p >= TAG_AND_FLOAT && *p == tag; n++, p += TAG_AND_FLOAT) {
    uint64_t bits = (uint64_t)p[1] | (uint64_t)p[2] << 8 | (uint64_t)p[3] << 16 | (uint64_t)p[4] << 24;
    if (to) to[n] = ox_wire_float(bits);
  }
  w->p = p;
  return n;
}

float ox_wire_float(uint64_t bits) {
  uint32_t b = (uint32_t)bits;
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}

double ox_wire_double(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}
