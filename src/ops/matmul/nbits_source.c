/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/nbits_source.c - see nbits_source.h. */
#include "ops/matmul/nbits_source.h"

#include <string.h>

#include "kern/quant/convert.h"

static float float_at(const ox_tensor *t, size_t i) {
  float x;
  if (t->dtype == OX_F32) return ((const ox_f32u *)t->data)[i];
  ox_convert_select(0)->load_f32[t->dtype](t->data, i, 1, &x);
  return x;
}

static size_t place_of(const ox_nbits_source *w, size_t row, size_t block) {
  if (w->share == 1) return w->first_scale + row * w->blocks + block; /* no division */
  return w->first_scale + row * (w->blocks / w->share) + block / w->share;
}

float ox_nbits_scale(const ox_nbits_source *w, size_t row, size_t block) {
  return float_at(w->scales, place_of(w, row, block));
}

float ox_nbits_zero_point(const ox_nbits_source *w, size_t row, size_t block) {
  if (!w->zeros) return (float)(1u << (w->bits - 1));
  if (w->zeros->dtype != OX_U8) return float_at(w->zeros, place_of(w, row, block));
  return (float)ox_nbits_bits(w->zeros->data, w->first_zero + row * w->zero_row + block / w->share * w->bits, w->bits);
}

ox_nbits_format ox_nbits_format_of(size_t bits, size_t block, size_t blocks, const ox_tensor *zeros) {
  return (ox_nbits_format){.bits = bits <= 2   ? 2
                                   : bits <= 4 ? 4
                                               : 8,
                           .middle = (float)(1u << (bits - 1)),
                           .block = block,
                           .blocks = blocks,
                           .zero = !zeros                  ? OX_NBITS_MIDDLE
                                   : zeros->dtype == OX_U8 ? OX_NBITS_BYTES
                                                           : OX_NBITS_FLOATS};
}

/* Eight nibbles, one to a byte. */
static uint64_t spread(uint64_t s) {
  s = (s | s << 16) & 0x0000ffff0000ffff;
  s = (s | s << 8) & 0x00ff00ff00ff00ff;
  return (s | s << 4) & 0x0f0f0f0f0f0f0f0f;
}

static uint32_t swap(uint32_t s) { return (s & 0x0f0f0f0f) << 4 | (s >> 4 & 0x0f0f0f0f); }

/* |n| bytes of codes behind |low| as the low halves, and as many behind |high| as the high ones: a byte for each code.
 * |n| is a constant after inlining. */
static inline uint64_t join(const uint8_t *low, const uint8_t *high, const size_t n, bool high_first) {
  uint32_t x = 0, y = 0;
  memcpy(&x, low, n), memcpy(&y, high, n);
  if (high_first) x = swap(x), y = swap(y);
  return spread(x) | spread(y) << 4;
}

/* The common case: 4 bits, words of the record two at a time; a block of 8, 24 ... codes has an odd number of them. */
static void pack_nibbles(const uint8_t *blob, size_t block, bool high_first, size_t lanes, uint8_t *to) {
  const size_t half = block / 4, step = lanes * 4;
  size_t i = 0;
  uint64_t words;
  for (; i + 4 <= half; i += 4, to += 2 * step) {
    words = join(blob + i, blob + half + i, 4, high_first);
    memcpy(to, &words, 4), memcpy(to + step, (const char *)&words + 4, 4);
  }
  if (i == half) return;
  words = join(blob + i, blob + half + i, 2, high_first);
  memcpy(to, &words, 4);
}

static void pack_bytes(const uint8_t *blob, size_t block, size_t lanes, uint8_t *to) {
  for (size_t v = 0; v < block / 4; v++) memcpy(to + v * lanes * 4, blob + v * 4, 4);
}

static void pack_block(const ox_nbits_source *w, const ox_nbits_format *f, const int32_t *order, size_t lanes,
                       size_t row, size_t block, uint8_t *record) {
  uint8_t values[OX_NBITS_MOST_BLOCK];
  size_t lane = row % lanes, vectors = f->block * f->bits / 32;
  const uint8_t *codes = w->b + row * w->blocks * w->blob, *blob = codes + block * w->blob;
  float scale = ox_nbits_scale(w, row, block), zero = ox_nbits_zero_point(w, row, block);
  if ((w->bits == 4 || w->bits == 8) && !order) {
    if (w->bits == 4)
      pack_nibbles(blob, w->block, w->high_first, lanes, record + lane * 4);
    else
      pack_bytes(blob, w->block, lanes, record + lane * 4);
    uint8_t *at = record + vectors * lanes * 4;
    memcpy(at + lane * 4, &scale, 4), at += lanes * 4;
    if (f->zero == OX_NBITS_BYTES) at[lane] = (uint8_t)zero;
    if (f->zero == OX_NBITS_FLOATS) memcpy(at + lane * 4, &zero, 4);
    return;
  }
  for (size_t i = 0; i < w->block; i++) {
    size_t at = order ? (size_t)order[block * w->block + i] : block * w->block + i;
    values[i] = (uint8_t)ox_nbits_bits(codes, at * w->bits, w->bits);
  }
  ox_nbits_pack(f, lanes, lane, values, scale, zero, record);
}

void ox_nbits_pack_panel(const ox_nbits_source *w, const ox_nbits_format *f, const int32_t *order, size_t lanes,
                         size_t panel, uint8_t *to) {
  size_t record = ox_nbits_record(f, lanes), last = OX_MIN((panel + 1) * lanes, w->n);
  if ((panel + 1) * lanes > w->n) memset(to, 0, record * f->blocks);
  for (size_t row = panel * lanes; row < last; row++)
    for (size_t b = 0; b < w->blocks; b++) pack_block(w, f, order, lanes, row, b, to + b * record);
}
