/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/encode.h - writes small pictures, by the libraries' encoders and by hand. A format whose library was
 * not found gives no bytes. */
#ifndef OX_TESTS_IMAGE_ENCODE_H
#define OX_TESTS_IMAGE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Samples as they are to be in the file: gray, gray and alpha, RGB, or RGB and alpha; no gaps. */
typedef struct sheet {
  int width, height, channels, bits; /* 8 or 16 */
  const uint16_t *samples;
} sheet;

typedef struct stream {
  unsigned char *p; /* malloc; NULL: the format is not there */
  size_t n;
} stream;

/* |variant| is the encoder's own: see each. */
typedef stream encoder(const sheet *s, int variant);
encoder encode_png;      /* 1: interlaced */
encoder encode_tiff;     /* 0: LZW strips; 1: deflated tiles; 2: planes, one after the other; 3: big-endian, plain */
encoder encode_webp;     /* without loss; 8 bits, 3 or 4 channels */
encoder encode_jpeg;     /* 8 bits, 1 or 3 channels; 1: progressive, 2: whole chroma, 3: restart markers */
encoder encode_jpeg2000; /* without loss; 1: a bare codestream */
encoder encode_bmp;      /* 8 bits, 3 channels; 1: 32 bits, 2: top row first */
encoder encode_pnm;      /* 1: as text */

void stream_put(stream *out, const void *bytes, size_t n);

#endif
