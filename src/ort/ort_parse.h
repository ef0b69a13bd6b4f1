/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_parse.h - values of config entries, which come as texts. */
#ifndef OX_ORT_PARSE_H
#define OX_ORT_PARSE_H

#include <stdbool.h>

/* 0, 1, false or true, in upper or lower case. False: it is none of them, and *out is as it was. */
bool ort_parse_bool(const char *text, bool *out);
/* A whole decimal number from |least| to |most|, with nothing behind it. Likewise. */
bool ort_parse_int(const char *text, long long least, long long most, long long *out);

#endif
