/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/image_hostile_test.c - a small file of each format, cut at every byte and with every bit turned: an
 * error or a picture, nothing printed. Run it under the sanitizers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "plugins/image/decode.h"
#include "plugins/image/encode.h"
#include "support/check.h"

static const struct {
  const char *name;
  encoder *encode;
  int channels, bits, variant;
} files[] = {
    {"BMP", encode_bmp, 3, 8, 0},
    {"PPM", encode_pnm, 3, 8, 0},
    {"PPM as text", encode_pnm, 3, 8, 1},
    {"PNG", encode_png, 3, 8, 0},
    {"PNG, 16", encode_png, 4, 16, 1},
    {"JPEG", encode_jpeg, 3, 8, 0},
    {"JPEG progressive", encode_jpeg, 3, 8, 1},
    {"JPEG restarts", encode_jpeg, 1, 8, 3},
    {"WebP", encode_webp, 4, 8, 0},
    {"TIFF", encode_tiff, 3, 8, 0},
    {"TIFF tiles", encode_tiff, 4, 8, 1},
    {"TIFF planes", encode_tiff, 3, 16, 2},
    {"TIFF big-endian", encode_tiff, 1, 16, 3},
    {"JPEG 2000", encode_jpeg2000, 3, 8, 0},
    {"JPEG 2000 bare", encode_jpeg2000, 1, 8, 1},
};

static stream make(size_t k) {
  uint16_t samples[11 * 7 * 4];
  const sheet s = {11, 7, files[k].channels, files[k].bits, samples};
  for (int i = 0; i < 11 * 7 * s.channels; i++) samples[i] = (uint16_t)((i * i / 5 + i) & (s.bits == 8 ? 255 : 65535));
  return files[k].encode(&s, files[k].variant);
}

static FILE *printed; /* standard error while something is decoded */
static int own_stderr;

static ox_status *decode_watched(decoder *d, const stream *file, size_t n, ox_value **out_picture) {
  dup2(fileno(printed), 2);
  ox_status *st = decode(d, file->p, n, out_picture);
  dup2(own_stderr, 2);
  return st;
}

static bool same(const ox_value *a, const ox_value *b) {
  const ox_tensor *x = ox_value_get(a), *y = ox_value_get(b);
  return x->bytes == y->bytes && memcmp(x->data, y->data, x->bytes) == 0;
}

static void test_cut_at_every_byte(void **state) {
  (void)state;
  decoder d = decoder_open("RGB");
  for (size_t k = 0; k < OX_COUNT(files); k++) {
    stream file = make(k);
    ox_value *whole, *part;
    size_t refused = 0;
    if (!file.p) continue;
    CHECK_OK(decode_watched(&d, &file, file.n, &whole));
    for (size_t n = 0; n < file.n; n++) {
      ox_status *st = decode_watched(&d, &file, n, &part);
      /* text that ends within its last number is still a picture */
      bool text_end = files[k].encode == encode_pnm && files[k].variant == 1 && n + 4 > file.n;
      if (!st && !text_end && !same(whole, part))
        fail_msg("%s: %zu bytes of %zu are another picture", files[k].name, n, file.n);
      if (st && strlen(ox_status_message(st)) < 20)
        fail_msg("%s: says only \"%s\"", files[k].name, ox_status_message(st));
      refused += st != NULL;
      ox_status_free(st);
      ox_value_release(part);
    }
    if (refused < file.n / 2) fail_msg("%s: only %zu of %zu lengths are refused", files[k].name, refused, file.n);
    ox_value_release(whole);
    free(file.p);
  }
  decoder_close(&d);
}

static void test_every_bit_turned(void **state) {
  (void)state;
  decoder d = decoder_open("Grayscale");
  for (size_t k = 0; k < OX_COUNT(files); k++) {
    stream file = make(k);
    for (size_t i = 0; i < 8 * file.n; i++) {
      ox_value *picture;
      file.p[i / 8] ^= (unsigned char)(1u << i % 8);
      ox_status_free(decode_watched(&d, &file, file.n, &picture));
      ox_value_release(picture);
      file.p[i / 8] ^= (unsigned char)(1u << i % 8);
    }
    free(file.p);
  }
  decoder_close(&d);
}

static void test_nothing_was_printed(void **state) {
  (void)state;
  fseek(printed, 0, SEEK_END);
  assert_int_equal(ftell(printed), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cut_at_every_byte), cmocka_unit_test(test_every_bit_turned),
                                     cmocka_unit_test(test_nothing_was_printed)};
  printed = tmpfile(), own_stderr = dup(2);
  if (!printed || own_stderr < 0) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
