/* SPDX-License-Identifier: Apache-2.0
 * kern/text/utf8.h - code points in UTF-8, and their simple case mappings. Needs no locale. */
#ifndef OX_KERN_TEXT_UTF8_H
#define OX_KERN_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The code point at |p| (n > 0 bytes left) and its length. A malformed byte counts as one code point of its own,
 * 0xFFFD, so that every string can be decoded. */
size_t ox_utf8_next(const char *p, size_t n, uint32_t *out_cp);
/* Bytes written to |out| (room for 4). */
size_t ox_utf8_put(uint32_t cp, char *out);
/* The one code point that is |cp| in the other case; |cp| itself if there is none. Latin, Greek, Cyrillic, Armenian
 * and full-width letters. */
uint32_t ox_utf8_lower(uint32_t cp);
uint32_t ox_utf8_upper(uint32_t cp);

#endif
