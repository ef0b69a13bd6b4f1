/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/encode_seeking.c - TIFF and JPEG 2000, whose encoders go back in what they have written. */
#include "plugins/image/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(OX_TEST_TIFF) || defined(OX_TEST_JPEG2000)
typedef struct {
  stream out;
  size_t at;
} file;

static size_t file_write(file *f, const void *from, size_t n) {
  if (f->at + n > f->out.n) {
    f->out.p = realloc(f->out.p, f->at + n);
    memset(f->out.p + f->out.n, 0, f->at + n - f->out.n);
    f->out.n = f->at + n;
  }
  memcpy(f->out.p + f->at, from, n);
  f->at += n;
  return n;
}
#endif

#ifdef OX_TEST_TIFF
#include <tiffio.h>

static tmsize_t tiff_read(thandle_t h, void *to, tmsize_t n) {
  file *f = (file *)h;
  size_t left = f->at < f->out.n ? f->out.n - f->at : 0;
  if ((size_t)n > left) n = (tmsize_t)left;
  memcpy(to, f->out.p + f->at, (size_t)n);
  f->at += (size_t)n;
  return n;
}
static tmsize_t tiff_write(thandle_t h, void *from, tmsize_t n) {
  return (tmsize_t)file_write((file *)h, from, (size_t)n);
}
static toff_t tiff_seek(thandle_t h, toff_t to, int whence) {
  file *f = (file *)h;
  return f->at = (size_t)to + (whence == SEEK_CUR ? f->at : whence == SEEK_END ? f->out.n : 0);
}
static int tiff_close(thandle_t h) { return (void)h, 0; }
static toff_t tiff_size(thandle_t h) { return ((file *)h)->out.n; }

/* The samples of |w| x |h| pixels from (x, y) on; |plane| -1: all channels of each. Outside the picture: 0. */
static tmsize_t gather(const sheet *s, int x0, int y0, int w, int h, int plane, void *to) {
  uint8_t *to8 = to;
  uint16_t *to16 = to;
  tmsize_t n = 0;
  for (int y = y0; y < y0 + h; y++)
    for (int x = x0; x < x0 + w; x++)
      for (int k = plane < 0 ? 0 : plane; k < (plane < 0 ? s->channels : plane + 1); k++, n++) {
        uint16_t v = x < s->width && y < s->height ? s->samples[(y * s->width + x) * s->channels + k] : 0;
        if (s->bits == 8)
          to8[n] = (uint8_t)v;
        else
          to16[n] = v;
      }
  return n * s->bits / 8;
}

static void write_tiles(TIFF *tif, const sheet *s, void *room) {
  for (int y = 0; y < s->height; y += 16)
    for (int x = 0; x < s->width; x += 16) {
      tmsize_t n = gather(s, x, y, 16, 16, -1, room);
      TIFFWriteEncodedTile(tif, TIFFComputeTile(tif, (uint32_t)x, (uint32_t)y, 0, 0), room, n);
    }
}

static void write_strips(TIFF *tif, const sheet *s, bool planes, void *room) {
  for (int k = planes ? 0 : -1; k < (planes ? s->channels : 0); k++)
    for (int y = 0; y < s->height; y += 4) {
      int h = s->height - y < 4 ? s->height - y : 4;
      tmsize_t n = gather(s, 0, y, s->width, h, k, room);
      TIFFWriteEncodedStrip(tif, TIFFComputeStrip(tif, (uint32_t)y, (uint16_t)(k < 0 ? 0 : k)), room, n);
    }
}

stream encode_tiff(const sheet *s, int variant) {
  static const uint16_t compressions[] = {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS,
                                          COMPRESSION_NONE};
  file f = {0};
  TIFF *tif = TIFFClientOpen("made", variant == 3 ? "wb" : "wl", (thandle_t)&f, tiff_read, tiff_write, tiff_seek,
                             tiff_close, tiff_size, NULL, NULL);
  void *room = malloc((size_t)(s->width + 16) * 64 * 2);
  TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, s->width);
  TIFFSetField(tif, TIFFTAG_IMAGELENGTH, s->height);
  TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, s->channels);
  TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, s->bits);
  TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, s->channels > 2 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  TIFFSetField(tif, TIFFTAG_PLANARCONFIG, variant == 2 ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  TIFFSetField(tif, TIFFTAG_COMPRESSION, compressions[variant]);
  if (s->channels % 2 == 0) TIFFSetField(tif, TIFFTAG_EXTRASAMPLES, 1, &(uint16_t){EXTRASAMPLE_UNASSALPHA});
  if (variant == 1)
    TIFFSetField(tif, TIFFTAG_TILEWIDTH, 16), TIFFSetField(tif, TIFFTAG_TILELENGTH, 16);
  else
    TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, 4);
  if (variant == 1)
    write_tiles(tif, s, room);
  else
    write_strips(tif, s, variant == 2, room);
  TIFFClose(tif);
  free(room);
  return f.out;
}
#else
stream encode_tiff(const sheet *s, int variant) { return (void)s, (void)variant, (stream){0}; }
#endif

#ifdef OX_TEST_JPEG2000
#include <openjpeg.h>

static OPJ_SIZE_T opj_put(void *from, OPJ_SIZE_T n, void *f) { return file_write(f, from, n); }
static OPJ_OFF_T opj_skip(OPJ_OFF_T n, void *f) { return ((file *)f)->at += (size_t)n, n; }
static OPJ_BOOL opj_to(OPJ_OFF_T to, void *f) { return ((file *)f)->at = (size_t)to, OPJ_TRUE; }

stream encode_jpeg2000(const sheet *s, int variant) {
  file f = {0};
  opj_image_cmptparm_t channels[4];
  opj_cparameters_t p;
  memset(channels, 0, sizeof channels);
  for (int k = 0; k < s->channels; k++)
    channels[k] = (opj_image_cmptparm_t){.dx = 1,
                                         .dy = 1,
                                         .w = (OPJ_UINT32)s->width,
                                         .h = (OPJ_UINT32)s->height,
                                         .prec = (OPJ_UINT32)s->bits,
                                         .bpp = (OPJ_UINT32)s->bits};
  opj_image_t *image =
      opj_image_create((OPJ_UINT32)s->channels, channels, s->channels > 2 ? OPJ_CLRSPC_SRGB : OPJ_CLRSPC_GRAY);
  image->x1 = (OPJ_UINT32)s->width, image->y1 = (OPJ_UINT32)s->height;
  for (int k = 0; k < s->channels; k++)
    for (int i = 0; i < s->width * s->height; i++) image->comps[k].data[i] = s->samples[i * s->channels + k];
  opj_set_default_encoder_parameters(&p);
  p.numresolution = 2, p.tcp_numlayers = 1, p.cp_disto_alloc = 1, p.tcp_mct = s->channels > 2;
  opj_codec_t *codec = opj_create_compress(variant ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  opj_stream_t *out = opj_stream_default_create(OPJ_FALSE);
  opj_stream_set_user_data(out, &f, NULL);
  opj_stream_set_write_function(out, opj_put);
  opj_stream_set_skip_function(out, opj_skip);
  opj_stream_set_seek_function(out, opj_to);
  bool ok = opj_setup_encoder(codec, &p, image) && opj_start_compress(codec, image, out) && opj_encode(codec, out) &&
            opj_end_compress(codec, out);
  opj_stream_destroy(out);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  if (!ok) abort();
  return f.out;
}
#else
stream encode_jpeg2000(const sheet *s, int variant) { return (void)s, (void)variant, (stream){0}; }
#endif
