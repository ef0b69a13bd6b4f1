/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/pnm.c - portable bitmaps, graymaps and pixmaps, as text (P1, P2, P3) and binary (P4, P5, P6). */
#include <string.h>

#include "image.h"

enum { MOST_NUMBER = 1 << 29 }; /* no larger number is valid */

typedef struct {
  const uint8_t *p;
  size_t n, at;
} text;

static bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void skip_space(text *t) {
  while (t->at < t->n && (is_space(t->p[t->at]) || t->p[t->at] == '#'))
    if (t->p[t->at++] == '#')
      while (t->at < t->n && t->p[t->at] != '\n') t->at++;
}

/* The next number after white space and comments; -1: there is none. |one_digit|: each digit is a number (bitmaps). */
static int64_t next_number(text *t, bool one_digit) {
  int64_t v = -1;
  skip_space(t);
  while (t->at < t->n && t->p[t->at] >= '0' && t->p[t->at] <= '9' && v < MOST_NUMBER && !(one_digit && v >= 0))
    v = (v < 0 ? 0 : v * 10) + (t->p[t->at++] - '0');
  return v;
}

/* v / most * 255, rounded half to even. */
static uint8_t scale(int64_t v, int64_t most) {
  int64_t whole = v * 255 / most, rest = v * 255 % most;
  return (uint8_t)(whole + (2 * rest > most || (2 * rest == most && whole % 2)));
}

static int64_t next_of_text(text *t) { return next_number(t, false); }
static int64_t next_of_8(text *t) { return t->p[t->at++]; }
static int64_t next_of_16(text *t) { return t->at += 2, t->p[t->at - 2] << 8 | t->p[t->at - 1]; }

/* 1 is black. */
static int64_t next_bit(text *t) {
  int64_t v = next_number(t, true);
  return v < 0 ? v : 1 - v;
}

/* |next| returns the next value, -1 if there is none. */
static ox_status *fill(image *im, int channels, int64_t most, int64_t (*next)(text *t), text *t) {
  uint8_t *out = im->rgb;
  for (int64_t i = 0; i < im->width * im->height * 3; i++) {
    if (i % 3 && channels == 1) {
      out[i] = out[i - 1];
      continue;
    }
    int64_t v = next(t);
    if (v < 0 || v > most) return image_fail(im, OX_INVALID_ARGUMENT, "the pixels are broken or cut short");
    out[i] = scale(v, most);
  }
  return NULL;
}

static ox_status *read_packed_bits(image *im, const text *t) {
  int64_t step = (im->width + 7) / 8;
  for (int64_t y = 0; y < im->height; y++)
    for (int64_t x = 0; x < im->width; x++) {
      int black = t->p[t->at + (size_t)(y * step + x / 8)] >> (7 - x % 8) & 1;
      memset(im->rgb + 3 * (y * im->width + x), black ? 0 : 255, 3);
    }
  return NULL;
}

typedef struct {
  int kind; /* 1 to 6 */
  int64_t width, height, most;
  int channels;
} header;

static ox_status *read_header(const image *im, text *t, header *h) {
  h->kind = im->n > 1 ? im->bytes[1] - '0' : 0;
  if (h->kind < 1 || h->kind > 6) return image_fail(im, OX_INVALID_ARGUMENT, "the kind is none of P1 to P6");
  h->channels = h->kind % 3 ? 1 : 3;
  h->width = next_number(t, false), h->height = next_number(t, false);
  h->most = h->kind % 3 == 1 ? 1 : next_number(t, false);
  if (h->width < 1 || h->height < 1 || h->most < 1 || h->most > 65535)
    return image_fail(im, OX_INVALID_ARGUMENT, "the header is broken");
  return h->kind < 4 || (t->at < t->n && is_space(t->p[t->at++])) ? NULL : image_cut_short(im);
}

/* The smallest size that a row can have in the stream. */
static int64_t row_bytes(const header *h) {
  int64_t values = h->width * h->channels;
  return h->kind == 4 ? (values + 7) / 8 : h->kind > 4 && h->most > 255 ? 2 * values : values;
}

ox_status *image_read_pnm(image *im) {
  text t = {im->bytes, im->n, 2};
  header h = {0};
  ox_status *st = read_header(im, &t, &h);
  if (!st && h.height > (int64_t)(t.n - t.at) / row_bytes(&h)) st = image_cut_short(im);
  if (!st) st = image_room(im, (uint64_t)h.width, (uint64_t)h.height);
  if (st) return st;
  if (h.kind == 4) return read_packed_bits(im, &t);
  return fill(im, h.channels, h.most,
              h.kind == 1    ? next_bit
              : h.kind < 4   ? next_of_text
              : h.most > 255 ? next_of_16
                             : next_of_8,
              &t);
}
