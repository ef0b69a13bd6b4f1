/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_file_read.h - a file as a whole. */
#ifndef OX_ORT_FILE_READ_H
#define OX_ORT_FILE_READ_H

#include <stddef.h>

#include "onyx/ort_abi.h"
#include "onyx/status.h"

/* The bytes of the model |path|, from malloc. NO_SUCHFILE. */
OX_NODISCARD OrtStatus *ort_file_read(const char *path, unsigned char **out, size_t *out_n);

#endif
