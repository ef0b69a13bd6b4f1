/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/image.h - what the readers of image formats share. The plug-in sees public headers only. */
#ifndef OX_PLUGINS_IMAGE_H
#define OX_PLUGINS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "onyx/op.h"

/* Larger pictures are refused: a few bytes can claim to be one. */
enum { IMAGE_MOST_PIXELS = 1 << 28 };

/* One decoding. */
typedef struct image {
  const ox_kernel_ctx *ctx;
  const char *format; /* for messages */
  const uint8_t *bytes;
  size_t n;
  bool gray; /* the operator's output has one channel */
  /* answer, by image_room */
  uint8_t *rgb; /* red, green, blue of each pixel, top row first, no gaps */
  int64_t width, height;
} image;

/* Reads the stream into |im->rgb|. A broken one is INVALID_ARGUMENT, what a format has and we do not read
 * NOT_IMPLEMENTED. Any thread; prints nothing, and leaves nothing behind. */
typedef ox_status *image_reader(image *im);
image_reader image_read_bmp, image_read_pnm, image_read_jpeg, image_read_png, image_read_webp, image_read_tiff,
    image_read_jpeg2000;

/* A status that begins with the operator and the format. */
__attribute__((format(printf, 3, 4))) ox_status *image_fail(const image *im, ox_code code, const char *fmt, ...);
ox_status *image_cut_short(const image *im); /* the stream ends too early */
ox_status *image_no_memory(const image *im);

/* Makes room for a picture; to be called once. LIMIT if it is too large. */
ox_status *image_room(image *im, uint64_t width, uint64_t height);

/* |n| bytes as a little-endian number. */
static inline uint32_t image_little(const uint8_t *p, int n) {
  uint32_t v = 0;
  for (int i = n; i-- > 0;) v = v << 8 | p[i];
  return v;
}

/* An ink and 255 - black, as light: Pillow's rounding of nk - ink * nk / 255. */
static inline uint8_t image_of_ink(uint8_t ink, uint8_t not_black) {
  unsigned product = (unsigned)ink * not_black + 128;
  return (uint8_t)(not_black - (((product >> 8) + product) >> 8));
}

#endif
