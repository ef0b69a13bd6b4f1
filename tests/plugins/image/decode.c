/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/decode.c - see decode.h. */
#include "plugins/image/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/text_session.h"

decoder decoder_open(const char *format) {
  decoder d = {0};
  char model[256];
  snprintf(model, sizeof model,
           "<ir_version: 9, opset_import: [\"\" : 20]> g (uint8[n] x) => (uint8[h, w, c] y) "
           "{ y = ImageDecoder <pixel_format = \"%s\"> (x) }",
           format);
  CHECK_OK(ox_env_create(NULL, &d.env));
  CHECK_OK(ox_env_load_plugin(d.env, IMAGE_PLUGIN));
  CHECK_OK(text_session(d.env, model, NULL, &d.session));
  return d;
}

void decoder_close(decoder *d) {
  ox_session_release(d->session);
  ox_env_release(d->env);
}

static void release(void *bytes) { free(bytes); }

ox_status *decode(decoder *d, const void *bytes, size_t n, ox_value **out_picture) {
  ox_value *x;
  const char *name = "x";
  *out_picture = NULL;
  void *own = malloc(n); /* nothing behind the last byte, as a sanitizer sees it */
  if (n) memcpy(own, bytes, n);
  CHECK_OK(ox_value_wrap(d->env, OX_U8, (const int64_t[]){(int64_t)n}, 1, own, n, release, own, &x));
  ox_status *st = ox_session_run(d->session, NULL, &name, (const ox_value *const *)&x, 1, NULL, out_picture, 1);
  ox_value_release(x);
  return st;
}
