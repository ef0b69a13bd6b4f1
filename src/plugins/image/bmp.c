/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/bmp.c - Windows bitmaps: 1, 4 and 8 bits with a palette, also run-length coded; 16, 24 and 32 bits with
 * masks. Headers from OS/2's 12 bytes on. Every offset is checked against the stream. */
#include <string.h>

#include "image.h"

enum { PACKING_NONE = 0, PACKING_RLE8 = 1, PACKING_RLE4 = 2, PACKING_MASKS = 3 };
enum { FILE_HEADER = 14, OS2_HEADER = 12, INFO_HEADER = 40 };

typedef struct {
  int64_t width, height;
  bool top_down;
  uint32_t bits, packing;
  uint32_t mask[3];       /* of red, green, blue in a pixel */
  const uint8_t *palette; /* blue, green, red of each colour */
  size_t n_colors, color_bytes;
  const uint8_t *pixels;
  size_t n_pixels; /* bytes available at |pixels| */
} bmp;

static ox_status *read_size(const image *im, bmp *b, uint32_t header) {
  const uint8_t *p = im->bytes;
  if (header == OS2_HEADER) {
    b->width = image_little(p + 18, 2), b->height = image_little(p + 20, 2), b->bits = image_little(p + 24, 2);
    return NULL;
  }
  b->width = (int32_t)image_little(p + 18, 4), b->height = (int32_t)image_little(p + 22, 4);
  b->bits = image_little(p + 28, 2), b->packing = image_little(p + 30, 4);
  b->top_down = b->height < 0;
  if (b->top_down) b->height = -b->height;
  return b->width > 0 && b->height > 0
             ? NULL
             : image_fail(im, OX_INVALID_ARGUMENT, "%lld x %lld pixels", (long long)b->width, (long long)b->height);
}

static ox_status *read_masks(const image *im, bmp *b) {
  static const uint32_t masks16[] = {0x7c00, 0x3e0, 0x1f}, masks32[] = {0xff0000, 0xff00, 0xff};
  memcpy(b->mask, b->bits == 16 ? masks16 : masks32, sizeof b->mask);
  if (b->packing != PACKING_MASKS) return NULL;
  if (im->n < FILE_HEADER + INFO_HEADER + 12) return image_cut_short(im);
  for (int i = 0; i < 3; i++) b->mask[i] = image_little(im->bytes + FILE_HEADER + INFO_HEADER + 4 * i, 4);
  return NULL;
}

static ox_status *read_header(const image *im, bmp *b) {
  if (im->n < FILE_HEADER + OS2_HEADER) return image_cut_short(im);
  uint32_t offset = image_little(im->bytes + 10, 4), header = image_little(im->bytes + FILE_HEADER, 4);
  if (header != OS2_HEADER && header < INFO_HEADER)
    return image_fail(im, OX_INVALID_ARGUMENT, "a header of %u bytes", header);
  if (header > im->n - FILE_HEADER || offset > im->n) return image_cut_short(im);
  ox_status *st = read_size(im, b, header);
  if (!st) st = read_masks(im, b);
  b->pixels = im->bytes + offset, b->n_pixels = im->n - offset;
  b->color_bytes = header == OS2_HEADER ? 3 : 4;
  b->palette = im->bytes + FILE_HEADER + header, b->n_colors = (im->n - FILE_HEADER - header) / b->color_bytes;
  return st;
}

static bool is_known(const bmp *b) {
  switch (b->packing) {
    case PACKING_NONE:
      return b->bits == 1 || b->bits == 4 || b->bits == 8 || b->bits == 16 || b->bits == 24 || b->bits == 32;
    case PACKING_RLE8:
      return b->bits == 8;
    case PACKING_RLE4:
      return b->bits == 4;
    default:
      return b->packing == PACKING_MASKS && (b->bits == 16 || b->bits == 32);
  }
}

static void put_color(const bmp *b, uint32_t index, uint8_t *out) {
  const uint8_t *c = b->palette + index * b->color_bytes;
  if (index >= b->n_colors)
    memset(out, 0, 3); /* black */
  else
    out[0] = c[2], out[1] = c[1], out[2] = c[0];
}

/* ---- run-length coding ---- */

typedef struct {
  const bmp *b;
  image *im;
  int64_t x, y;
} pen;

static void put_next(pen *p, uint32_t index) {
  const bmp *b = p->b;
  if (p->x < b->width && p->y < b->height) {
    int64_t row = b->top_down ? p->y : b->height - 1 - p->y;
    put_color(b, index, p->im->rgb + 3 * (row * b->width + p->x));
  }
  p->x++;
}

/* The |i|-th palette index in packed bytes. */
static uint32_t index_at(const uint8_t *p, int64_t i, uint32_t bits) {
  uint32_t per_byte = 8 / bits, at = (uint32_t)(i % per_byte);
  return p[i / per_byte] >> (8 - bits - at * bits) & ((1u << bits) - 1);
}

static ox_status *read_runs(image *im, const bmp *b) {
  const uint8_t *p = b->pixels, *end = p + b->n_pixels;
  pen at = {b, im, 0, 0};
  for (int64_t i = 0; i < b->width * b->height; i++) put_color(b, 0, im->rgb + 3 * i); /* pixels may be skipped */
  while (end - p >= 2) {
    uint8_t count = p[0], what = p[1];
    p += 2;
    if (count) { /* a run that repeats the byte's indices */
      for (int i = 0; i < count; i++) put_next(&at, index_at(p - 1, i % (8 / (int)b->bits), b->bits));
    } else if (what == 0) {
      at.x = 0, at.y++;
    } else if (what == 1) {
      return NULL;
    } else if (what == 2) {
      if (end - p < 2) break;
      at.x += p[0], at.y += p[1], p += 2;
    } else { /* |what| literal indices, padded to two bytes */
      int64_t bytes = (what * (int64_t)b->bits + 7) / 8;
      if (end - p < bytes) break;
      for (int i = 0; i < what; i++) put_next(&at, index_at(p, i, b->bits));
      p += end - p < bytes + (bytes & 1) ? bytes : bytes + (bytes & 1);
    }
  }
  return at.y >= b->height ? NULL : image_cut_short(im); /* complete, though without an end marker */
}

/* ---- rows ---- */

/* The channel of a pixel selected by |mask|, scaled to 0 to 255. */
static uint8_t channel(uint32_t pixel, uint32_t mask) {
  if (!mask) return 0;
  uint32_t lowest = mask & (~mask + 1);
  return (uint8_t)((uint64_t)((pixel & mask) / lowest) * 255 / (mask / lowest));
}

static int64_t row_bytes(const bmp *b) { return (b->width * b->bits + 31) / 32 * 4; }

static bool rows_are_there(const bmp *b) {
  int64_t before_last = (int64_t)b->n_pixels - (b->width * b->bits + 7) / 8; /* the last row may lack its padding */
  return before_last >= 0 && b->height - 1 <= before_last / row_bytes(b);
}

static ox_status *read_rows(image *im, const bmp *b) {
  int64_t step = row_bytes(b);
  uint8_t *out = im->rgb;
  for (int64_t y = 0; y < b->height; y++) {
    const uint8_t *row = b->pixels + (b->top_down ? y : b->height - 1 - y) * step;
    for (int64_t x = 0; x < b->width; x++, out += 3) {
      if (b->bits <= 8) {
        put_color(b, index_at(row, x, b->bits), out);
        continue;
      }
      uint32_t pixel = image_little(row + x * (b->bits / 8), (int)b->bits / 8);
      for (int i = 0; i < 3; i++) out[i] = channel(pixel, b->mask[i]);
    }
  }
  return NULL;
}

ox_status *image_read_bmp(image *im) {
  bmp b = {0};
  ox_status *st = read_header(im, &b);
  if (!st && !is_known(&b)) st = image_fail(im, OX_NOT_IMPLEMENTED, "%u bits in packing %u", b.bits, b.packing);
  if (st) return st;
  bool runs = b.packing == PACKING_RLE8 || b.packing == PACKING_RLE4;
  if (!runs && !rows_are_there(&b)) return image_cut_short(im);
  st = image_room(im, (uint64_t)b.width, (uint64_t)b.height);
  if (st) return st;
  return runs ? read_runs(im, &b) : read_rows(im, &b);
}
