/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/jpeg.c - JPEG by libjpeg, whose default chroma upsampling is that of the reference. Errors come back by
 * longjmp. */
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include "image.h"

enum { MOST_SCANS = 500 }; /* a small file may ask for any number of passes over a large picture */

typedef struct {
  struct jpeg_error_mgr base; /* must be first: libjpeg passes a pointer to it */
  jmp_buf jump;
  const char *why; /* NULL: libjpeg has a text for it */
} errors;

static void on_error(j_common_ptr c) { longjmp(((errors *)c->err)->jump, 1); }

static void on_message(j_common_ptr c, int level) { (void)c, (void)level; }

static void fail(j_common_ptr c, const char *why) {
  ((errors *)c->err)->why = why;
  on_error(c);
}

/* libjpeg's own memory source would insert an end marker and continue. */
static boolean on_empty(j_decompress_ptr d) {
  fail((j_common_ptr)d, "the stream is cut short");
  return FALSE;
}

static void on_progress(j_common_ptr c) {
  if (((j_decompress_ptr)c)->input_scan_number > MOST_SCANS) fail(c, "too many scans");
}

static J_COLOR_SPACE wanted(const struct jpeg_decompress_struct *d) {
  return d->num_components == 1 ? JCS_GRAYSCALE : d->num_components == 4 ? JCS_CMYK : JCS_RGB;
}

/* One or four channels become three. */
static void to_rgb(const uint8_t *row, J_COLOR_SPACE space, int64_t width, uint8_t *out) {
  for (int64_t x = 0; x < width; x++)
    for (int i = 0; i < 3; i++)
      out[3 * x + i] = space == JCS_GRAYSCALE ? row[x] /* inks are stored as their absence, as Adobe does */
                                              : image_of_ink((uint8_t)(255 - row[4 * x + i]), row[4 * x + 3]);
}

static ox_status *read_pixels(image *im, struct jpeg_decompress_struct *d) {
  d->out_color_space = wanted(d);
  ox_status *st = image_room(im, d->image_width, d->image_height);
  if (st) return st;
  jpeg_start_decompress(d);
  uint8_t *row = im->ctx->host->alloc_run(im->ctx, (size_t)d->output_width * (size_t)d->output_components);
  if (!row) return image_no_memory(im);
  while (d->output_scanline < d->output_height) {
    uint8_t *out = im->rgb + (size_t)d->output_scanline * d->output_width * 3;
    JSAMPROW to = d->out_color_space == JCS_RGB ? out : row;
    jpeg_read_scanlines(d, &to, 1);
    if (to == row) to_rgb(row, d->out_color_space, d->output_width, out);
  }
  return NULL;
}

ox_status *image_read_jpeg(image *im) {
  struct jpeg_decompress_struct d = {0};
  struct jpeg_progress_mgr progress = {.progress_monitor = on_progress};
  errors e = {.why = NULL};
  ox_status *st;
  d.err = jpeg_std_error(&e.base);
  e.base.error_exit = on_error, e.base.emit_message = on_message;
  if (setjmp(e.jump)) {
    char text[JMSG_LENGTH_MAX] = "";
    if (!e.why) d.err->format_message((j_common_ptr)&d, text);
    st = image_fail(im, OX_INVALID_ARGUMENT, "%s", e.why ? e.why : text);
  } else {
    jpeg_create_decompress(&d);
    d.progress = &progress;
    jpeg_mem_src(&d, im->bytes, im->n);
    d.src->fill_input_buffer = on_empty;
    jpeg_read_header(&d, TRUE);
    st = read_pixels(im, &d);
  }
  jpeg_destroy_decompress(&d);
  return st;
}
