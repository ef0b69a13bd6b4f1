/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/image.h - the interface of image readers. The plug-in uses public headers only. */
#ifndef OX_PLUGINS_IMAGE_H
#define OX_PLUGINS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "onyx/op.h"

/* Larger images are refused: a few bytes of a header can claim any size. */
enum { IMAGE_MOST_PIXELS = 1 << 28 };

/* The state of one decoding. */
typedef struct image {
  const ox_kernel_ctx *ctx;
  const char *format; /* for messages */
  const uint8_t *bytes;
  size_t n;
  bool gray; /* the operator's output has one channel */
  /* set by image_room */
  uint8_t *rgb; /* red, green, blue of each pixel, top row first, no gaps */
  int64_t width, height;
} image;

/* Reads the stream into |im->rgb|. A broken stream gives INVALID_ARGUMENT, an unsupported feature of the format
 * NOT_IMPLEMENTED. Thread-safe; prints nothing and keeps no memory. */
typedef ox_status *image_reader(image *im);
image_reader image_read_bmp, image_read_pnm, image_read_jpeg, image_read_png, image_read_webp, image_read_tiff,
    image_read_jpeg2000;

/* A status that begins with the operator and the format. */
__attribute__((format(printf, 3, 4))) ox_status *image_fail(const image *im, ox_code code, const char *fmt, ...);
ox_status *image_cut_short(const image *im); /* the stream ends too early */
ox_status *image_no_memory(const image *im);

/* Allocates the picture; to be called once. LIMIT if it is too large. */
ox_status *image_room(image *im, uint64_t width, uint64_t height);

/* |n| bytes as a little-endian number. */
static inline uint32_t image_little(const uint8_t *p, int n) {
  uint32_t v = 0;
  for (int i = n; i-- > 0;) v = v << 8 | p[i];
  return v;
}

/* Converts an ink of CMYK to light, nk - ink * nk / 255 with nk = 255 - black, with Pillow's rounding. */
static inline uint8_t image_of_ink(uint8_t ink, uint8_t not_black) {
  unsigned product = (unsigned)ink * not_black + 128;
  return (uint8_t)(not_black - (((product >> 8) + product) >> 8));
}

#endif
