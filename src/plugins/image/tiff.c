/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/tiff.c - the first page of a TIFF by libtiff's RGBA interface, which reads any layout into words of
 * alpha, blue, green, red. Where its colours differ from the reference's, its tables are filled differently and its
 * routine for CMYK is replaced, both of which that interface allows. The Orientation tag is followed, as in the
 * reference. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

#include "image.h"

enum { MOST_ALLOCATION = 1 << 30 };

/* The stream, as libtiff sees it. */
typedef struct {
  image *im;
  uint64_t at;
  char why[256]; /* the first error */
} source;

static tmsize_t on_read(thandle_t handle, void *to, tmsize_t n) {
  source *s = (source *)handle;
  uint64_t left = s->at < s->im->n ? s->im->n - s->at : 0;
  if ((uint64_t)n > left) n = (tmsize_t)left;
  if (n > 0) memcpy(to, s->im->bytes + s->at, (size_t)n);
  s->at += (uint64_t)n;
  return n;
}

static tmsize_t on_write(thandle_t handle, void *from, tmsize_t n) {
  (void)handle, (void)from, (void)n;
  return 0;
}

static toff_t on_seek(thandle_t handle, toff_t to, int whence) {
  source *s = (source *)handle;
  return s->at = to + (whence == SEEK_CUR ? s->at : whence == SEEK_END ? s->im->n : 0);
}

static int on_close(thandle_t handle) {
  (void)handle;
  return 0;
}

static toff_t on_size(thandle_t handle) { return ((source *)handle)->im->n; }

static int on_error(TIFF *tif, void *data, const char *module, const char *format, va_list args) {
  source *s = data;
  (void)tif, (void)module;
  if (!s->why[0]) vsnprintf(s->why, sizeof s->why, format, args);
  return 1; /* handled: libtiff prints nothing */
}

static int on_warning(TIFF *tif, void *data, const char *module, const char *format, va_list args) {
  (void)tif, (void)data, (void)module, (void)format, (void)args;
  return 1;
}

static TIFF *open_stream(source *s) {
  TIFFOpenOptions *o = TIFFOpenOptionsAlloc();
  if (!o) return NULL;
  TIFFOpenOptionsSetErrorHandlerExtR(o, on_error, s);
  TIFFOpenOptionsSetWarningHandlerExtR(o, on_warning, s);
  TIFFOpenOptionsSetMaxSingleMemAlloc(o, MOST_ALLOCATION);
  /* m: no memory mapping, so that libtiff does not swap bytes in the caller's memory */
  TIFF *tif =
      TIFFClientOpenExt("stream", "rm", (thandle_t)s, on_read, on_write, on_seek, on_close, on_size, NULL, NULL, o);
  TIFFOpenOptionsFree(o);
  return tif;
}

/* ---- colours ---- */

static void put_inks(TIFFRGBAImage *img, uint32_t *to, uint32_t x, uint32_t y, uint32_t w, uint32_t h,
                     int32_t from_skew, int32_t to_skew, unsigned char *from) {
  (void)x, (void)y;
  for (; h-- > 0; to += to_skew, from += (int64_t)from_skew * img->samplesperpixel)
    for (uint32_t i = 0; i < w; i++, from += img->samplesperpixel) {
      uint8_t not_black = (uint8_t)(255 - from[3]);
      *to++ = image_of_ink(from[0], not_black) | (uint32_t)image_of_ink(from[1], not_black) << 8 |
              (uint32_t)image_of_ink(from[2], not_black) << 16 | 0xff000000u;
    }
}

static void adjust(TIFFRGBAImage *img) {
  if (img->photometric == PHOTOMETRIC_SEPARATED && img->isContig && img->bitspersample == 8 &&
      img->samplesperpixel >= 4)
    img->put.contig = put_inks;
  for (uint32_t i = 0; img->UaToAa && i < 65536; i++)
    img->UaToAa[i] = (uint8_t)i; /* colours are not multiplied by alpha */
  for (uint32_t i = 0; img->Bitdepth16To8 && i < 65536; i++) img->Bitdepth16To8[i] = (uint8_t)(i >> 8);
}

static bool multiplied_by_alpha(TIFF *tif, const TIFFRGBAImage *img) {
  uint16_t n = 0, *kinds = NULL;
  TIFFGetFieldDefaulted(tif, TIFFTAG_EXTRASAMPLES, &n, &kinds);
  return img->photometric == PHOTOMETRIC_RGB && n && kinds[0] == EXTRASAMPLE_ASSOCALPHA;
}

static uint8_t divided(uint32_t v, uint32_t alpha) {
  uint32_t whole = alpha ? v * 255 / alpha : 0;
  return (uint8_t)(whole < 255 ? whole : 255);
}

/* ---- pixels ---- */

/* Copies |raster|, which has the file's rows, to the picture in the order given by |orientation|. */
static void turn(image *im, const uint32_t *raster, uint32_t orientation, bool by_alpha) {
  bool across = orientation >= ORIENTATION_LEFTTOP;
  int64_t w = across ? im->height : im->width, h = across ? im->width : im->height;
  bool from_right = orientation == ORIENTATION_TOPRIGHT || orientation == ORIENTATION_BOTRIGHT ||
                    orientation == ORIENTATION_RIGHTBOT || orientation == ORIENTATION_LEFTBOT;
  bool from_below = orientation == ORIENTATION_BOTRIGHT || orientation == ORIENTATION_BOTLEFT ||
                    orientation == ORIENTATION_RIGHTTOP || orientation == ORIENTATION_RIGHTBOT;
  uint8_t *out = im->rgb;
  for (int64_t i = 0; i < im->height; i++)
    for (int64_t j = 0; j < im->width; j++, out += 3) {
      int64_t x = across ? i : j, y = across ? j : i;
      uint32_t p = raster[(from_below ? h - 1 - y : y) * w + (from_right ? w - 1 - x : x)];
      for (int k = 0; k < 3; k++) {
        uint8_t v = (uint8_t)(p >> 8 * k);
        out[k] = by_alpha ? divided(v, TIFFGetA(p)) : v;
      }
    }
}

static ox_status *broken(const source *s, const char *why) {
  return image_fail(s->im, OX_INVALID_ARGUMENT, "%s", s->why[0] ? s->why : why);
}

static ox_status *read_pixels(const source *s, TIFF *tif, TIFFRGBAImage *img) {
  image *im = s->im;
  uint32_t orientation = img->orientation;
  bool across = orientation >= ORIENTATION_LEFTTOP && orientation <= ORIENTATION_LEFTBOT;
  ox_status *st = image_room(im, across ? img->height : img->width, across ? img->width : img->height);
  if (st) return st;
  uint32_t *raster = malloc((size_t)img->width * img->height * sizeof *raster);
  if (!raster) return image_no_memory(im);
  img->req_orientation = img->orientation; /* libtiff must not rotate anything */
  adjust(img);
  if (TIFFRGBAImageGet(img, raster, img->width, img->height))
    turn(im, raster, orientation, multiplied_by_alpha(tif, img));
  else
    st = broken(s, "the pixels cannot be read");
  free(raster);
  return st;
}

ox_status *image_read_tiff(image *im) {
  source s = {.im = im};
  char why[1024] = "";
  TIFFRGBAImage img;
  TIFF *tif = open_stream(&s);
  if (!tif) return broken(&s, "libtiff cannot open it");
  ox_status *st;
  if (TIFFRGBAImageBegin(&img, tif, 1, why)) {
    st = read_pixels(&s, tif, &img);
    TIFFRGBAImageEnd(&img);
  } else {
    st = broken(&s, why);
  }
  TIFFClose(tif);
  return st;
}
