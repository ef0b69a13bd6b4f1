/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/png.c - PNG by libpng. Transparency and gamma are left alone, as the reference does. */
#include <png.h>
#include <string.h>

#include "image.h"

/* The argument of libpng's callbacks. */
typedef struct {
  image *im;
  size_t at;
  char why[128];
} source;

static void on_error(png_structp png, png_const_charp text) {
  source *s = png_get_error_ptr(png);
  strncpy(s->why, text, sizeof s->why - 1);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) { (void)png, (void)text; }

static void on_read(png_structp png, png_bytep to, size_t n) {
  source *s = png_get_io_ptr(png);
  if (n > s->im->n - s->at) png_error(png, "the stream is cut short");
  memcpy(to, s->im->bytes + s->at, n);
  s->at += n;
}

/* Converts whatever the file holds to 8 bits of red, green, blue. */
static ox_status *read_pixels(image *im, png_structp png, png_infop info) {
  png_read_info(png, info);
  png_set_expand_gray_1_2_4_to_8(png);
  if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  png_set_strip_16(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  ox_status *st = image_room(im, png_get_image_width(png, info), png_get_image_height(png, info));
  if (st) return st;
  size_t step = (size_t)im->width * 3;
  if (png_get_rowbytes(png, info) != step) png_error(png, "the rows are of no known form");
  for (int pass = 0; pass < passes; pass++)
    for (int64_t y = 0; y < im->height; y++) png_read_row(png, im->rgb + (size_t)y * step, NULL);
  return NULL;
}

ox_status *image_read_png(image *im) {
  source s = {.im = im};
  ox_status *st;
  png_infop info = NULL;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
  if (png) info = png_create_info_struct(png);
  if (!info) {
    png_destroy_read_struct(&png, NULL, NULL);
    return image_no_memory(im);
  }
  if (setjmp(png_jmpbuf(png))) {
    st = image_fail(im, OX_INVALID_ARGUMENT, "%s", s.why);
  } else {
    png_set_read_fn(png, &s, on_read);
    st = read_pixels(im, png, info);
  }
  png_destroy_read_struct(&png, &info, NULL);
  return st;
}
