/* SPDX-License-Identifier: Apache-2.0
 * plugins/image/decode.h - the operator as a user has it: the plug-in loaded, a model of one node. */
#ifndef OX_TESTS_IMAGE_DECODE_H
#define OX_TESTS_IMAGE_DECODE_H

#include "onyx/onyx.h"

typedef struct decoder {
  ox_env *env;
  ox_session *session;
} decoder;

/* |format| as in pixel_format. Fails the test if it cannot be made. */
decoder decoder_open(const char *format);
void decoder_close(decoder *d);
/* Of exactly |n| bytes in memory of their own. */
OX_NODISCARD ox_status *decode(decoder *d, const void *bytes, size_t n, ox_value **out_picture);

#endif
