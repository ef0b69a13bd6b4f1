/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/jpeg2000.c - JPEG 2000 by OpenJPEG: JP2 files and raw codestreams; gray, RGB and YCC, with or without
 * alpha. */
#include <openjpeg.h>
#include <string.h>

#include "image.h"

typedef struct {
  const image *im;
  OPJ_SIZE_T at;
} source;

static OPJ_SIZE_T on_read(void *to, OPJ_SIZE_T n, void *data) {
  source *s = data;
  OPJ_SIZE_T left = s->im->n - s->at;
  if (!left) return (OPJ_SIZE_T)-1;
  if (n > left) n = left;
  memcpy(to, s->im->bytes + s->at, n);
  s->at += n;
  return n;
}

static OPJ_OFF_T on_skip(OPJ_OFF_T n, void *data) {
  source *s = data;
  if (n < 0 || (OPJ_SIZE_T)n > s->im->n - s->at) return -1;
  s->at += (OPJ_SIZE_T)n;
  return n;
}

static OPJ_BOOL on_seek(OPJ_OFF_T to, void *data) {
  source *s = data;
  if (to < 0 || (OPJ_SIZE_T)to > s->im->n) return OPJ_FALSE;
  s->at = (OPJ_SIZE_T)to;
  return OPJ_TRUE;
}

static opj_stream_t *open_stream(source *s) {
  opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
  if (!stream) return NULL;
  opj_stream_set_user_data(stream, s, NULL);
  opj_stream_set_user_data_length(stream, s->im->n);
  opj_stream_set_read_function(stream, on_read);
  opj_stream_set_skip_function(stream, on_skip);
  opj_stream_set_seek_function(stream, on_seek);
  return stream;
}

/* ---- pixels ---- */

/* The sample of component |c| at a pixel of the picture, as 0 to 255. Fewer than 8 bits are shifted up, as in the
 * reference. */
static int sample(const opj_image_comp_t *c, int64_t x, int64_t y) {
  int64_t i = x / c->dx, j = y / c->dy;
  if (i >= c->w) i = (int64_t)c->w - 1;
  if (j >= c->h) j = (int64_t)c->h - 1;
  int64_t v = (int64_t)c->data[j * c->w + i] + (c->sgnd ? (int64_t)1 << (c->prec - 1) : 0);
  v = c->prec > 8 ? (v + ((int64_t)1 << (c->prec - 9))) >> (c->prec - 8) : v * (1 << (8 - c->prec));
  return v < 0 ? 0 : v > 255 ? 255 : (int)v;
}

static uint8_t rounded(double v) { return (uint8_t)(v < 0 ? 0 : v > 254.5 ? 255 : v + 0.5); }

static void from_ycc(uint8_t *p) {
  double y = p[0], cb = p[1] - 128.0, cr = p[2] - 128.0;
  p[0] = rounded(y + 1.402 * cr), p[1] = rounded(y - 0.344136 * cb - 0.714136 * cr), p[2] = rounded(y + 1.772 * cb);
}

static bool is_ycc(const opj_image_t *p) {
  bool thinned = p->numcomps >= 3 && p->comps[0].dx == 1 && p->comps[1].dx == 2; /* a raw codestream's only hint */
  return p->numcomps >= 3 &&
         (p->color_space == OPJ_CLRSPC_SYCC || (thinned && p->color_space <= OPJ_CLRSPC_UNSPECIFIED));
}

static ox_status *check_channels(const image *im, const opj_image_t *p) {
  if (p->numcomps < 1 || p->numcomps > 4)
    return image_fail(im, OX_NOT_IMPLEMENTED, "operator not implemented: %u channels", p->numcomps);
  for (uint32_t k = 0; k < p->numcomps; k++)
    if (p->comps[k].prec < 1 || p->comps[k].prec > 31 || !p->comps[k].dx || !p->comps[k].dy)
      return image_fail(im, OX_INVALID_ARGUMENT, "a channel of %u bits", p->comps[k].prec);
  return NULL;
}

/* Checks the header before anything is allocated by its sizes. */
static ox_status *check(image *im, const opj_image_t *p) {
  ox_status *st = check_channels(im, p);
  if (st) return st;
  if (p->x1 <= p->x0 || p->y1 <= p->y0) return image_fail(im, OX_INVALID_ARGUMENT, "there are no pixels");
  if (p->color_space == OPJ_CLRSPC_CMYK || p->color_space == OPJ_CLRSPC_EYCC)
    return image_fail(im, OX_NOT_IMPLEMENTED, "operator not implemented: colours as inks or e-YCC");
  return image_room(im, p->x1 - p->x0, p->y1 - p->y0);
}

/* Channels are checked again, as decoding may have expanded a palette. */
static ox_status *copy_pixels(image *im, const opj_image_t *p) {
  ox_status *st = check_channels(im, p);
  bool ycc = is_ycc(p), gray = p->numcomps < 3;
  for (uint32_t k = 0; !st && k < p->numcomps; k++)
    if (!p->comps[k].data || !p->comps[k].w || !p->comps[k].h)
      st = image_fail(im, OX_INVALID_ARGUMENT, "a channel is empty");
  if (st) return st;
  uint8_t *out = im->rgb;
  for (int64_t y = 0; y < im->height; y++)
    for (int64_t x = 0; x < im->width; x++, out += 3) {
      for (int k = 0; k < 3; k++) out[k] = (uint8_t)sample(&p->comps[gray ? 0 : k], x, y);
      if (ycc) from_ycc(out);
    }
  return NULL;
}

static ox_status *read_pixels(image *im, opj_codec_t *codec, opj_stream_t *stream, opj_image_t **picture) {
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (!opj_setup_decoder(codec, &parameters) || !opj_decoder_set_strict_mode(codec, OPJ_TRUE))
    return image_fail(im, OX_FAIL, "OpenJPEG cannot be set up");
  if (!opj_read_header(stream, codec, picture)) return image_fail(im, OX_INVALID_ARGUMENT, "the header is broken");
  ox_status *st = check(im, *picture);
  if (st) return st;
  if (!opj_decode(codec, stream, *picture) || !opj_end_decompress(codec, stream))
    return image_fail(im, OX_INVALID_ARGUMENT, "the pixels are broken or cut short");
  return copy_pixels(im, *picture);
}

ox_status *image_read_jpeg2000(image *im) {
  source s = {im, 0};
  opj_image_t *picture = NULL;
  opj_stream_t *stream = open_stream(&s);
  opj_codec_t *codec = opj_create_decompress(im->bytes[0] ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  ox_status *st = stream && codec ? read_pixels(im, codec, stream, &picture) : image_no_memory(im);
  if (picture) opj_image_destroy(picture);
  if (codec) opj_destroy_codec(codec);
  if (stream) opj_stream_destroy(stream);
  return st;
}
