/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/image_plugin_test.c - pictures whose pixels are known before they are encoded come back as they were;
 * pixel formats; what is refused, and how. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/image/decode.h"
#include "plugins/image/encode.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

static uint32_t next(uint32_t *state) { return *state = *state * 1664525u + 1013904223u; }

/* ---- there and back ---- */

static const struct {
  const char *name;
  encoder *encode;
  int channels, bits, variant;
} files[] = {
    {"BMP", encode_bmp, 3, 8, 0},
    {"BMP, 32 bits", encode_bmp, 3, 8, 1},
    {"BMP, top down", encode_bmp, 3, 8, 2},
    {"PPM", encode_pnm, 3, 8, 0},
    {"PPM as text", encode_pnm, 3, 8, 1},
    {"PGM", encode_pnm, 1, 8, 0},
    {"PGM as text", encode_pnm, 1, 8, 1},
    {"PNG gray", encode_png, 1, 8, 0},
    {"PNG gray alpha", encode_png, 2, 8, 1},
    {"PNG", encode_png, 3, 8, 0},
    {"PNG interlaced", encode_png, 3, 8, 1},
    {"PNG alpha", encode_png, 4, 8, 0},
    {"PNG gray, 16", encode_png, 1, 16, 0},
    {"PNG, 16", encode_png, 3, 16, 1},
    {"PNG alpha, 16", encode_png, 4, 16, 1},
    {"TIFF gray", encode_tiff, 1, 8, 0},
    {"TIFF", encode_tiff, 3, 8, 0},
    {"TIFF alpha", encode_tiff, 4, 8, 0},
    {"TIFF gray, 16", encode_tiff, 1, 16, 3},
    {"TIFF tiles", encode_tiff, 3, 8, 1},
    {"TIFF tiles, 16", encode_tiff, 3, 16, 1},
    {"TIFF planes", encode_tiff, 3, 8, 2},
    {"TIFF big-endian, 16", encode_tiff, 4, 16, 3},
    {"WebP", encode_webp, 3, 8, 0},
    {"WebP alpha", encode_webp, 4, 8, 0},
    {"JPEG 2000 gray", encode_jpeg2000, 1, 8, 0},
    {"JPEG 2000", encode_jpeg2000, 3, 8, 0},
    {"JPEG 2000 alpha", encode_jpeg2000, 4, 8, 1},
    {"JPEG 2000, 16", encode_jpeg2000, 3, 16, 0},
};

/* What 16 bits come to: cut, in PNM rounded, in JPEG 2000 rounded to the nearest of 256 steps. */
static uint8_t as_8(encoder *encode, int bits, uint16_t v) {
  if (bits == 8) return (uint8_t)v;
  return (uint8_t)(encode == encode_jpeg2000 ? (v + 128 > 65535 ? 255 : (v + 128) / 256) : v / 256);
}

static void check_file(size_t k, decoder *d, int width, int height) {
  int n = width * height, channels = files[k].channels;
  uint16_t *samples = malloc(sizeof *samples * (size_t)(n * channels));
  uint32_t seed = (uint32_t)(k + 1);
  for (int i = 0; i < n * channels; i++) samples[i] = (uint16_t)(next(&seed) >> (32 - files[k].bits));
  for (int i = 3; channels == 4 && i < n * 4; i += 4) samples[i] |= 1; /* WebP forgets the colour where alpha is 0 */
  const sheet s = {width, height, channels, files[k].bits, samples};
  stream file = files[k].encode(&s, files[k].variant);
  if (file.p) {
    ox_value *picture;
    ox_status *st = decode(d, file.p, file.n, &picture);
    if (st) fail_msg("%s, %d x %d: %s", files[k].name, width, height, ox_status_message(st));
    const ox_tensor *t = ox_value_get(picture);
    assert_true(t->shape.rank == 3 && t->shape.dim[0] == height && t->shape.dim[1] == width && t->shape.dim[2] == 3);
    for (int i = 0; i < 3 * n; i++) {
      int from = i / 3 * channels + (channels < 3 ? 0 : i % 3);
      int got = ((uint8_t *)t->data)[i], wanted = as_8(files[k].encode, files[k].bits, samples[from]);
      if (got != wanted)
        fail_msg("%s, %d x %d: byte %d is %d, wanted %d", files[k].name, width, height, i, got, wanted);
    }
    ox_value_release(picture);
  }
  free(file.p);
  free(samples);
}

static void test_what_was_encoded_without_loss_comes_back(void **state) {
  (void)state;
  decoder d = decoder_open("RGB");
  for (size_t k = 0; k < OX_COUNT(files); k++) {
    check_file(k, &d, 13, 9);
    check_file(k, &d, 2, 3);
    check_file(k, &d, 33, 17);
    if (files[k].encode != encode_jpeg2000) check_file(k, &d, 1, 1);
  }
  decoder_close(&d);
}

/* ---- pixel formats ---- */

static void test_pixel_formats(void **state) {
  (void)state;
  static const char ppm[] = "P3 5 1 255  255 0 0  0 255 0  0 0 255  255 255 255  10 20 30";
  static const struct {
    const char *format;
    uint8_t wanted[15];
    size_t n;
  } rows[] = {
      {"RGB", {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 10, 20, 30}, 15},
      {"BGR", {0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 30, 20, 10}, 15},
      {"Grayscale", {76, 150, 29, 255, 18}, 5}, /* 76.245, 149.685, 29.07, 255, 18.15 */
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    decoder d = decoder_open(rows[i].format);
    ox_value *picture;
    CHECK_OK(decode(&d, ppm, sizeof ppm - 1, &picture));
    assert_int_equal(ox_value_get(picture)->bytes, rows[i].n);
    assert_memory_equal(ox_value_get(picture)->data, rows[i].wanted, rows[i].n);
    ox_value_release(picture);
    decoder_close(&d);
  }
}

/* ---- bitmaps that other programs read wrongly ---- */

static void test_runs_with_jumps_and_odd_literals(void **state) {
  (void)state;
  /* 6 x 4, four colours whose reds are 0, 10, 20 and 30; bottom row first: a run; an odd literal; a jump two right and
   * one up; a run that is too long */
  static const uint8_t head[] = {'B', 'M', 0, 0, 0, 0, 0, 0, 0, 0, 70, 0, 0,  0, 40, 0, 0,  0, 6, 0, 0,  0, 4, 0,
                                 0,   0,   1, 0, 4, 0, 2, 0, 0, 0, 0,  0, 0,  0, 0,  0, 0,  0, 0, 0, 0,  0, 4, 0,
                                 0,   0,   0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 10, 0, 0,  0, 20, 0, 0, 0, 30, 0};
  static const uint8_t runs[] = {3, 0x12, 0, 0, 0, 3, 0x12, 0x30, 0, 2, 1, 1, 9, 0x33, 0, 1};
  static const uint8_t reds[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 30, 30, 10, 20, 30, 0, 0, 0, 10, 20, 10, 0, 0, 0};
  uint8_t file[sizeof head + sizeof runs];
  memcpy(file, head, sizeof head), memcpy(file + sizeof head, runs, sizeof runs);
  decoder d = decoder_open("RGB");
  ox_value *picture;
  CHECK_OK(decode(&d, file, sizeof file, &picture));
  for (size_t i = 0; i < sizeof reds; i++) assert_int_equal(((uint8_t *)ox_value_data(picture))[3 * i], reds[i]);
  ox_value_release(picture);
  decoder_close(&d);
}

/* ---- refusals ---- */

#define STREAM(s) (s), sizeof(s) - 1

static void test_what_is_wrong_is_said(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    ox_code code;
    const char *says;
  } rows[] = {
      {STREAM(""), OX_INVALID_ARGUMENT, "0 bytes is no image"},
      {STREAM("hello"), OX_INVALID_ARGUMENT, "5 bytes is no image"},
      {STREAM("GIF89a..........."), OX_INVALID_ARGUMENT, "no image of a known format"},
      {STREAM("BM"), OX_INVALID_ARGUMENT, "BMP: the stream of 2 bytes is cut short"},
      {STREAM("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x0d\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0"), OX_INVALID_ARGUMENT,
       "a header of 13 bytes"},
      {STREAM("P"), OX_INVALID_ARGUMENT, "PNM: the kind"},
      {STREAM("P7 1 1 1"), OX_INVALID_ARGUMENT, "PNM: the kind"},
      {STREAM("P2 1"), OX_INVALID_ARGUMENT, "PNM: the header is broken"},
      {STREAM("P2 0 1 1 1"), OX_INVALID_ARGUMENT, "PNM: the header is broken"},
      {STREAM("P2 1 1 70000 1"), OX_INVALID_ARGUMENT, "PNM: the header is broken"},
      {STREAM("P2 2 1 9 1 10"), OX_INVALID_ARGUMENT, "the pixels are broken"},
      {STREAM("P2 2 1 9 1 "), OX_INVALID_ARGUMENT, "the pixels are broken"},
      {STREAM("P5 2 2 9 abc"), OX_INVALID_ARGUMENT, "cut short"},
      {STREAM("P6 99999999999 99999999999 9 abc"), OX_INVALID_ARGUMENT, "PNM"},
  };
  decoder d = decoder_open("RGB");
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_value *picture;
    CHECK_FAILS(decode(&d, rows[i].bytes, rows[i].n, &picture), rows[i].code, rows[i].says);
    assert_null(picture);
  }
  decoder_close(&d);
}

/* Two bytes of a JPEG's header say that it is huge. */
static void test_too_many_pixels(void **state) {
  (void)state;
  const uint16_t samples[3] = {1, 2, 3};
  const sheet s = {1, 1, 3, 8, samples};
  stream file = encode_jpeg(&s, 0);
  if (!file.p) skip();
  for (size_t i = 0; i + 9 < file.n; i++)
    if (file.p[i] == 0xff && file.p[i + 1] == 0xc0) memset(file.p + i + 5, 0xfe, 4);
  decoder d = decoder_open("Grayscale");
  ox_value *picture;
  CHECK_FAILS(decode(&d, file.p, file.n, &picture), OX_LIMIT, "JPEG: 65278 x 65278 pixels, at most");
  decoder_close(&d);
  free(file.p);
}

static void test_models_that_make_no_sense(void **state) {
  (void)state;
  static const struct {
    const char *model, *says;
  } rows[] = {
      {"(uint8[n] x) => (uint8[h, w, c] y) { y = ImageDecoder <pixel_format = \"CMYK\"> (x) }", "not \"CMYK\""},
      {"(uint8[n, m] x) => (uint8[h, w, c] y) { y = ImageDecoder (x) }", "rank 2, wanted 1"},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    char text[256];
    ox_env *env;
    ox_session *s;
    snprintf(text, sizeof text, "<ir_version: 9, opset_import: [\"\" : 20]> g %s", rows[i].model);
    CHECK_OK(ox_env_create(NULL, &env));
    CHECK_FAILS(text_session(env, text, NULL, &s), OX_NOT_IMPLEMENTED, "ImageDecoder(20) x1"); /* nobody has it yet */
    CHECK_OK(ox_env_load_plugin(env, IMAGE_PLUGIN));
    CHECK_FAILS(text_session(env, text, NULL, &s), OX_INVALID_MODEL, rows[i].says);
    ox_env_release(env);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_was_encoded_without_loss_comes_back),
                                     cmocka_unit_test(test_pixel_formats),
                                     cmocka_unit_test(test_runs_with_jumps_and_odd_literals),
                                     cmocka_unit_test(test_what_is_wrong_is_said),
                                     cmocka_unit_test(test_too_many_pixels),
                                     cmocka_unit_test(test_models_that_make_no_sense)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
