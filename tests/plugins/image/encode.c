/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/encode.c - the formats that need no library, and PNG, WebP and JPEG. */
#include "plugins/image/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stream_put(stream *out, const void *bytes, size_t n) {
  out->p = realloc(out->p, out->n + n + 1); /* never NULL, even for nothing */
  memcpy(out->p + out->n, bytes, n);
  out->n += n;
}

/* ---- by hand ---- */

static void put_number(stream *out, uint32_t v, int bytes) {
  for (int i = 0; i < bytes; i++) stream_put(out, &(unsigned char){(unsigned char)(v >> 8 * i)}, 1);
}

stream encode_bmp(const sheet *s, int variant) {
  stream out = {0};
  int bytes = variant == 1 ? 4 : 3, step = (s->width * bytes + 3) / 4 * 4;
  stream_put(&out, "BM", 2);
  const uint32_t fields[] = {54u + (uint32_t)(step * s->height),
                             0,
                             54,
                             40,
                             (uint32_t)s->width,
                             (uint32_t)(variant == 2 ? -s->height : s->height),
                             1u | (uint32_t)bytes << 19,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) put_number(&out, fields[i], 4);
  for (int i = 0; i < s->height; i++) {
    const uint16_t *row = s->samples + (variant == 2 ? i : s->height - 1 - i) * s->width * 3;
    for (int x = 0; x < s->width; x++) {
      put_number(&out, row[3 * x] << 16 | row[3 * x + 1] << 8 | row[3 * x + 2], bytes);
    }
    put_number(&out, 0, step - s->width * bytes);
  }
  return out;
}

stream encode_pnm(const sheet *s, int variant) {
  stream out = {0};
  char text[64];
  int kind = (s->channels == 3 ? 3 : 2) + (variant ? 0 : 3);
  int n = snprintf(text, sizeof text, "P%d\n%d %d\n%d\n", kind, s->width, s->height, s->bits == 8 ? 255 : 65535);
  stream_put(&out, text, (size_t)n);
  for (int i = 0; i < s->width * s->height * s->channels; i++) {
    if (variant)
      stream_put(&out, text, (size_t)snprintf(text, sizeof text, "%d ", s->samples[i]));
    else if (s->bits == 8)
      put_number(&out, s->samples[i], 1);
    else
      put_number(&out, (uint32_t)(s->samples[i] >> 8 | (s->samples[i] & 255) << 8), 2);
  }
  return out;
}

/* ---- PNG ---- */

#ifdef OX_TEST_PNG
#include <png.h>

static void png_put(png_structp png, png_bytep bytes, size_t n) { stream_put(png_get_io_ptr(png), bytes, n); }
static void png_flush_nothing(png_structp png) { (void)png; }

stream encode_png(const sheet *s, int variant) {
  static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
  stream out = {0};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, png_put, png_flush_nothing);
  png_set_IHDR(png, info, (png_uint_32)s->width, (png_uint_32)s->height, s->bits, types[s->channels],
               variant ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  int n = s->width * s->channels;
  unsigned char *bytes = malloc((size_t)(n * s->height * 2));
  unsigned char **rows = malloc((size_t)s->height * sizeof *rows);
  for (int i = 0; i < n * s->height; i++) {
    if (s->bits == 8)
      bytes[i] = (unsigned char)s->samples[i];
    else
      bytes[2 * i] = (unsigned char)(s->samples[i] >> 8), bytes[2 * i + 1] = (unsigned char)s->samples[i];
  }
  for (int y = 0; y < s->height; y++) rows[y] = bytes + y * n * s->bits / 8;
  png_write_image(png, rows);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  free(rows);
  free(bytes);
  return out;
}
#else
stream encode_png(const sheet *s, int variant) { return (void)s, (void)variant, (stream){0}; }
#endif

/* ---- WebP ---- */

#if defined(OX_TEST_WEBP) || defined(OX_TEST_JPEG)
static unsigned char *as_bytes(const sheet *s) {
  unsigned char *bytes = malloc((size_t)(s->width * s->height * s->channels));
  for (int i = 0; i < s->width * s->height * s->channels; i++) bytes[i] = (unsigned char)s->samples[i];
  return bytes;
}
#endif

#ifdef OX_TEST_WEBP
#include <webp/encode.h>

stream encode_webp(const sheet *s, int variant) {
  stream out = {0};
  uint8_t *webp = NULL;
  unsigned char *bytes = as_bytes(s);
  (void)variant;
  size_t n = s->channels == 3 ? WebPEncodeLosslessRGB(bytes, s->width, s->height, s->width * 3, &webp)
                              : WebPEncodeLosslessRGBA(bytes, s->width, s->height, s->width * 4, &webp);
  stream_put(&out, webp, n);
  WebPFree(webp);
  free(bytes);
  return out;
}
#else
stream encode_webp(const sheet *s, int variant) { return (void)s, (void)variant, (stream){0}; }
#endif

/* ---- JPEG ---- */

#ifdef OX_TEST_JPEG
#include <jpeglib.h>

stream encode_jpeg(const sheet *s, int variant) {
  struct jpeg_compress_struct c;
  struct jpeg_error_mgr e;
  unsigned char *bytes = as_bytes(s), *jpeg = NULL;
  unsigned long n = 0;
  stream out = {0};
  c.err = jpeg_std_error(&e);
  jpeg_create_compress(&c);
  jpeg_mem_dest(&c, &jpeg, &n);
  c.image_width = (JDIMENSION)s->width, c.image_height = (JDIMENSION)s->height;
  c.input_components = s->channels, c.in_color_space = s->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&c);
  jpeg_set_quality(&c, 90, TRUE);
  if (variant == 1) jpeg_simple_progression(&c);
  if (variant == 2) c.comp_info[0].h_samp_factor = c.comp_info[0].v_samp_factor = 1;
  if (variant == 3) c.restart_interval = 1;
  jpeg_start_compress(&c, TRUE);
  while (c.next_scanline < c.image_height)
    jpeg_write_scanlines(&c, &(JSAMPROW){bytes + (int)c.next_scanline * s->width * s->channels}, 1);
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  stream_put(&out, jpeg, n);
  free(jpeg);
  free(bytes);
  return out;
}
#else
stream encode_jpeg(const sheet *s, int variant) { return (void)s, (void)variant, (stream){0}; }
#endif
