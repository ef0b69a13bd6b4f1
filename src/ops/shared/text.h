/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/text.h - conversion between numbers and text, independent of the locale. */
#ifndef OX_OPS_SHARED_TEXT_H
#define OX_OPS_SHARED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OX_NUMBER_TEXT = 32 };

/* The shortest text that reads back as |v| (as a float if |is_float|); "NaN", "INF", "-INF". Returns its length. */
size_t ox_text_of_float(double v, bool is_float, char *buf);
/* Reads all of |s| (|n| bytes, spaces around it allowed) as a number; false if it is none. INF, +INF, -INF and NaN are
 * accepted in upper or lower case. */
bool ox_text_to_double(const char *s, size_t n, double *out);
/* The leading integer of |s|, as its 64 bits; false if there is none. */
bool ox_text_to_int(const char *s, size_t n, int64_t *out);

#endif
