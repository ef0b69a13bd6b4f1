/* SPDX-License-Identifier: Apache-2.0
 * ops/image_decoder.c - ImageDecoder for the formats that need no decompression: BMP (24 and 32 bits) and PNM (P2, P3,
 * P5, P6, up to 255). Other formats are refused by name. Every offset is checked against the stream. */
#include <string.h>

#include "graph/op_def.h"

typedef struct decoder_attrs {
  const char *pixel_format;
} decoder_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_STR(decoder_attrs, pixel_format, "RGB")};

enum { MOST_PIXELS = 1 << 28 };

/* An image that lies in the stream. */
typedef struct picture {
  int64_t width, height;
  const uint8_t *rows; /* top row first */
  int64_t row_step, pixel_step;
  int red, green, blue; /* byte of a pixel */
} picture;

typedef struct stream {
  const uint8_t *p;
  size_t n, at;
} stream;

static uint32_t little(const uint8_t *p, int bytes) {
  uint32_t v = 0;
  for (int i = bytes; i-- > 0;) v = v << 8 | p[i];
  return v;
}

static ox_status *read_bmp(const stream *s, picture *out) {
  if (s->n < 54) return ox_fail(OX_INVALID_ARGUMENT, "ImageDecoder: the BMP header is cut short");
  int64_t offset = little(s->p + 10, 4), bits = little(s->p + 28, 2), packing = little(s->p + 30, 4);
  int64_t width = (int32_t)little(s->p + 18, 4), height = (int32_t)little(s->p + 22, 4);
  bool top_down = height < 0;
  if (top_down) height = -height;
  if ((bits != 24 && bits != 32) || (packing != 0 && packing != 3))
    return ox_fail(OX_NOT_IMPLEMENTED, "ImageDecoder: BMP of %d bits, packing %d", (int)bits, (int)packing);
  if (width < 1 || height < 1 || width > MOST_PIXELS / height)
    return ox_fail(OX_INVALID_ARGUMENT, "ImageDecoder: BMP of %lld x %lld", (long long)width, (long long)height);
  int64_t step = (width * bits / 8 + 3) / 4 * 4;
  if (offset > (int64_t)s->n || step * height > (int64_t)s->n - offset)
    return ox_fail(OX_INVALID_ARGUMENT, "ImageDecoder: the BMP's pixels are cut short");
  *out = (picture){
      width, height, s->p + offset + (top_down ? 0 : (height - 1) * step), top_down ? step : -step, bits / 8, 2, 1, 0};
  return NULL;
}

/* The next number of a PNM header or body, past white space and comments; -1: there is none. */
static int64_t number(stream *s) {
  while (s->at < s->n && (s->p[s->at] <= ' ' || s->p[s->at] == '#'))
    if (s->p[s->at++] == '#')
      while (s->at < s->n && s->p[s->at] != '\n') s->at++;
  int64_t v = -1;
  for (; s->at < s->n && s->p[s->at] >= '0' && s->p[s->at] <= '9' && v < MOST_PIXELS; s->at++)
    v = (v < 0 ? 0 : v * 10) + (s->p[s->at] - '0');
  return v;
}

static ox_status *read_pnm(const ox_kernel_ctx *c, stream *s, picture *out) {
  int kind = s->p[1] - '0', channels = kind == 3 || kind == 6 ? 3 : 1;
  s->at = 2;
  int64_t width = number(s), height = number(s), most = number(s);
  if (width < 1 || height < 1 || width > MOST_PIXELS / height || most < 1)
    return ox_fail(OX_INVALID_ARGUMENT, "ImageDecoder: the PNM header is broken");
  if (most > 255) return ox_fail(OX_NOT_IMPLEMENTED, "ImageDecoder: PNM with values up to %lld", (long long)most);
  int64_t count = width * height * channels;
  const uint8_t *pixels = s->p + s->at + 1;
  if (kind < 4) { /* as text */
    uint8_t *text = ox_ctx_run_alloc(c, (size_t)count);
    if (!text) return ox_oom();
    for (int64_t i = 0; i < count; i++) {
      int64_t v = number(s);
      if (v < 0 || v > most) return ox_fail(OX_INVALID_ARGUMENT, "ImageDecoder: the PNM's pixels are broken");
      text[i] = (uint8_t)v;
    }
    pixels = text;
  } else if (s->at >= s->n || count > (int64_t)(s->n - s->at - 1)) {
    return ox_fail(OX_INVALID_ARGUMENT, "ImageDecoder: the PNM's pixels are cut short");
  }
  *out = (picture){width, height, pixels, width * channels, channels, 0, channels == 3, channels == 3 ? 2 : 0};
  return NULL;
}

static ox_status *open_picture(const ox_kernel_ctx *c, picture *out) {
  stream s = {c->in[0]->data, c->in[0]->bytes, 0};
  if (s.n >= 2 && memcmp(s.p, "BM", 2) == 0) return read_bmp(&s, out);
  if (s.n >= 3 && s.p[0] == 'P' && strchr("2356", s.p[1]) && s.p[1]) return read_pnm(c, &s, out);
  static const struct {
    const char *name, *magic;
    size_t at, n;
  } others[] = {{"PNG", "\x89PNG", 0, 4}, {"JPEG", "\xff\xd8", 0, 2}, {"TIFF", "II*", 0, 3},
                {"TIFF", "MM", 0, 2},     {"WebP", "WEBP", 8, 4},     {"JPEG 2000", "jP  ", 4, 4}};
  for (size_t i = 0; i < OX_COUNT(others); i++)
    if (s.n >= others[i].at + others[i].n && memcmp(s.p + others[i].at, others[i].magic, others[i].n) == 0)
      return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: ImageDecoder of %s images (only BMP and PNM)",
                     others[i].name);
  return ox_fail(OX_INVALID_ARGUMENT, "ImageDecoder: the stream is no image");
}

static ox_status *infer(ox_infer_ctx *c) {
  const char *f = ((const decoder_attrs *)c->attrs)->pixel_format;
  bool gray = strcmp(f, "Grayscale") == 0;
  ox_shape y = {.rank = 3, .dim = {-1, -1, gray ? 1 : 3}};
  if (!gray && strcmp(f, "RGB") != 0 && strcmp(f, "BGR") != 0)
    return ox_fail(OX_INVALID_MODEL, "pixel_format is RGB, BGR or Grayscale, not \"%.40s\"", f);
  if (c->in[0]->shape.rank >= 0 && c->in[0]->shape.rank != 1)
    return ox_fail(OX_INVALID_MODEL, "encoded_stream has rank %d, wanted 1", c->in[0]->shape.rank);
  ox_infer_out(c, 0, OX_U8, &y);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const char *f = ((const decoder_attrs *)c->attrs)->pixel_format;
  picture p = {0};
  OX_TRY(open_picture(c, &p));
  int channels = f[0] == 'G' ? 1 : 3;
  ox_shape y = {.rank = 3, .dim = {p.height, p.width, channels}};
  uint8_t *out = ox_ctx_output(c, 0, &y);
  if (!out) return ox_oom();
  for (int64_t i = 0; i < p.height; i++)
    for (int64_t j = 0; j < p.width; j++, out += channels) {
      const uint8_t *in = p.rows + i * p.row_step + j * p.pixel_step;
      uint8_t r = in[p.red], g = in[p.green], b = in[p.blue];
      if (channels == 1)
        out[0] = (uint8_t)((19595u * r + 38470u * g + 7471u * b + 32768u) >> 16); /* ITU-R 601 */
      else
        out[0] = f[0] == 'R' ? r : b, out[1] = g, out[2] = f[0] == 'R' ? b : r;
    }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ImageDecoder", .since = 20, .types = {OX_BIT(OX_U8)}, .min_in = 1, .max_in = 1,
               OX_ATTRS(attr_rows), .attrs_bytes = sizeof(decoder_attrs), .infer = infer),
     OX_KERNEL(.run = run)},
};
const ox_op_set ox_ops_image_decoder = {ops, OX_COUNT(ops)};
