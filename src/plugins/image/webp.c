/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/webp.c - still WebP pictures by libwebp. */
#include <webp/decode.h>

#include "image.h"

static ox_status *broken(const image *im, VP8StatusCode code) {
  static const char *const texts[] = {[VP8_STATUS_INVALID_PARAM] = "an invalid parameter",
                                      [VP8_STATUS_BITSTREAM_ERROR] = "the bits are broken",
                                      [VP8_STATUS_UNSUPPORTED_FEATURE] = "a feature that libwebp does not know"};
  size_t i = (size_t)code;
  if (code == VP8_STATUS_OUT_OF_MEMORY) return image_no_memory(im);
  if (code == VP8_STATUS_NOT_ENOUGH_DATA || code == VP8_STATUS_SUSPENDED) return image_cut_short(im);
  return image_fail(im, OX_INVALID_ARGUMENT, "%s",
                    i < sizeof texts / sizeof *texts && texts[i] ? texts[i] : "libwebp cannot read it");
}

ox_status *image_read_webp(image *im) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return image_fail(im, OX_INCOMPATIBLE, "libwebp has another ABI");
  VP8StatusCode code = WebPGetFeatures(im->bytes, im->n, &config.input);
  if (code != VP8_STATUS_OK) return broken(im, code);
  if (config.input.has_animation) return image_fail(im, OX_NOT_IMPLEMENTED, "operator not implemented: animations");
  ox_status *st = image_room(im, (uint64_t)config.input.width, (uint64_t)config.input.height);
  if (st) return st;
  size_t step = (size_t)im->width * 3;
  config.output.colorspace = MODE_RGB, config.output.is_external_memory = 1;
  config.output.u.RGBA = (WebPRGBABuffer){im->rgb, (int)step, step * (size_t)im->height};
  code = WebPDecode(im->bytes, im->n, &config);
  WebPFreeDecBuffer(&config.output);
  return code == VP8_STATUS_OK ? NULL : broken(im, code);
}
