/* SPDX-License-Identifier: Apache-2.0
 * cli/npy.h - NumPy's .npy files (format 1.0 and 2.0; numpy.lib.format). */
#ifndef OX_CLI_NPY_H
#define OX_CLI_NPY_H

#include "cli.h"

/* Reads a tensor of little-endian elements in C or Fortran order. *out_value: the caller's to release. False with the
 * reason in |why| (of |n_why| bytes): the file is missing, malformed or cut short, or of a type that is not read. */
bool npy_read(ox_env *env, const char *path, ox_value **out_value, char *why, size_t n_why);
/* False, with the reason in |why|, if NumPy lacks the type (bfloat16, strings ...) or the file cannot be written. */
bool npy_write(const char *path, const ox_tensor *t, char *why, size_t n_why);

#endif
