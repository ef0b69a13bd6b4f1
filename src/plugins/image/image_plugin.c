/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/image_plugin.c - ONNX's ImageDecoder as a plug-in of one operator. The standard's reference is Pillow:
 * colours are those of Image.convert("RGB") and convert("L"). Alpha is dropped, 16 bits are reduced to their upper 8. A
 * stream that cannot be read is an error that says why; the standard's text asks for an empty image. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onyx/plugin.h"
#include "image.h"

/* ---- services for readers ---- */

ox_status *image_fail(const image *im, ox_code code, const char *fmt, ...) {
  char text[512];
  int at = snprintf(text, sizeof text, "ImageDecoder: %s: ", im->format);
  va_list args;
  va_start(args, fmt);
  vsnprintf(text + at, sizeof text - (size_t)at, fmt, args);
  va_end(args);
  return im->ctx->host->status_make(code, text);
}

ox_status *image_cut_short(const image *im) {
  return image_fail(im, OX_INVALID_ARGUMENT, "the stream of %zu bytes is cut short", im->n);
}

ox_status *image_no_memory(const image *im) { return im->ctx->host->status_make(OX_OUT_OF_MEMORY, "out of memory"); }

static uint8_t *output(const image *im, int channels) {
  ox_shape y = {.rank = 3, .dim = {im->height, im->width, channels}};
  return im->ctx->host->alloc_output(im->ctx, 0, &y);
}

ox_status *image_room(image *im, uint64_t width, uint64_t height) {
  if (!width || !height) return image_fail(im, OX_INVALID_ARGUMENT, "there are no pixels");
  if (width > IMAGE_MOST_PIXELS || height > IMAGE_MOST_PIXELS / width)
    return image_fail(im, OX_LIMIT, "%llu x %llu pixels, at most %d are read", (unsigned long long)width,
                      (unsigned long long)height, IMAGE_MOST_PIXELS);
  im->width = (int64_t)width, im->height = (int64_t)height;
  /* From malloc, as the libraries' memory is: memory of the run would stay allocated with the session. */
  im->rgb = im->gray ? malloc((size_t)(3 * width * height)) : output(im, 3);
  return im->rgb ? NULL : image_no_memory(im);
}

/* ---- the formats ---- */

/* For each library the build defines OX_IMAGE_<NAME> as image_read_<name>, or as NULL if it was not found. */
static const struct {
  const char *name, *codec; /* codec: the library that reads it */
  size_t at, n;             /* offset and length of |magic| */
  const char *magic;
  image_reader *read;
} formats[] = {
    {"BMP", "", 0, 2, "BM", image_read_bmp},
    {"PNM", "", 0, 1, "P", image_read_pnm},
    {"JPEG", "libjpeg", 0, 3, "\xff\xd8\xff", OX_IMAGE_JPEG},
    {"PNG", "libpng", 0, 8, "\x89PNG\r\n\x1a\n", OX_IMAGE_PNG},
    {"WebP", "libwebp", 8, 4, "WEBP", OX_IMAGE_WEBP},
    {"TIFF", "libtiff", 0, 4, "II*\0", OX_IMAGE_TIFF},
    {"TIFF", "libtiff", 0, 4, "MM\0*", OX_IMAGE_TIFF},
    {"TIFF", "libtiff", 0, 4, "II+\0", OX_IMAGE_TIFF}, /* BigTIFF */
    {"TIFF", "libtiff", 0, 4, "MM\0+", OX_IMAGE_TIFF},
    {"JPEG 2000", "openjpeg", 0, 8, "\0\0\0\x0cjP  ", OX_IMAGE_JPEG2000},
    {"JPEG 2000", "openjpeg", 0, 4, "\xff\x4f\xff\x51", OX_IMAGE_JPEG2000}, /* without the boxes around it */
};

static ox_status *read_any(image *im) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (im->n < formats[i].at + formats[i].n || memcmp(im->bytes + formats[i].at, formats[i].magic, formats[i].n) != 0)
      continue;
    im->format = formats[i].name;
    return formats[i].read
               ? formats[i].read(im)
               : image_fail(im, OX_NOT_IMPLEMENTED, "operator not implemented: built without %s", formats[i].codec);
  }
  return image_fail(im, OX_INVALID_ARGUMENT, "the stream of %zu bytes is no image of a known format", im->n);
}

/* ---- the operator ---- */

typedef struct {
  const char *pixel_format;
} decoder_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_STR(decoder_attrs, pixel_format, "RGB")};

static ox_status *infer(ox_infer_ctx *c) {
  const char *format = ((const decoder_attrs *)c->attrs)->pixel_format;
  bool gray = strcmp(format, "Grayscale") == 0;
  char text[128];
  if (!gray && strcmp(format, "RGB") != 0 && strcmp(format, "BGR") != 0) {
    snprintf(text, sizeof text, "pixel_format is RGB, BGR or Grayscale, not \"%.40s\"", format);
    return c->host->status_make(OX_INVALID_MODEL, text);
  }
  if (c->in[0]->shape.rank >= 0 && c->in[0]->shape.rank != 1) {
    snprintf(text, sizeof text, "encoded_stream has rank %d, wanted 1", c->in[0]->shape.rank);
    return c->host->status_make(OX_INVALID_MODEL, text);
  }
  c->out[0].dtype = OX_U8;
  c->out[0].shape = (ox_shape){.rank = 3, .dim = {-1, -1, gray ? 1 : 3}};
  return NULL;
}

/* ITU-R 601 luma in Pillow's integer arithmetic. */
static ox_status *to_gray(const image *im) {
  const uint8_t *in = im->rgb;
  uint8_t *out = output(im, 1);
  if (!out) return image_no_memory(im);
  for (int64_t i = 0; i < im->width * im->height; i++, in += 3)
    out[i] = (uint8_t)((19595u * in[0] + 38470u * in[1] + 7471u * in[2] + 32768u) >> 16);
  return NULL;
}

static void swap_red_and_blue(const image *im) {
  for (int64_t i = 0; i < im->width * im->height; i++) {
    uint8_t *p = im->rgb + 3 * i, red = p[0];
    p[0] = p[2], p[2] = red;
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const char *format = ((const decoder_attrs *)c->attrs)->pixel_format;
  image im = {.ctx = c, .format = "stream", .bytes = c->in[0]->data, .n = c->in[0]->bytes, .gray = format[0] == 'G'};
  ox_status *st = read_any(&im);
  if (!st && im.gray)
    st = to_gray(&im);
  else if (!st && format[0] == 'B')
    swap_red_and_blue(&im);
  if (im.gray) free(im.rgb);
  return st;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ImageDecoder", .since = 20, .types = {OX_BIT(OX_U8)}, .min_in = 1, .max_in = 1,
               OX_ATTRS(attr_rows), .attrs_bytes = sizeof(decoder_attrs), .infer = infer),
     OX_KERNEL(.unaligned_in = 1, .run = run)},
};

static const ox_plugin plugin = {
    .struct_size = sizeof plugin, .abi_major = OX_EP_ABI_MAJOR, .name = "image", .ops = ops, .n_ops = 1};

const ox_plugin *ox_plugin_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &plugin : NULL; }
