/* SPDX-License-Identifier: Apache-2.0
 * kern/text/regex.h - regular expressions in RE2's syntax, without backtracking: time is text times pattern. */
#ifndef OX_KERN_TEXT_REGEX_H
#define OX_KERN_TEXT_REGEX_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct ox_regex ox_regex;

/* Compiles |pattern|; everything lives in |arena|. Error: INVALID_MODEL with the place; NOT_IMPLEMENTED for \p. */
OX_NODISCARD ox_status *ox_regex_compile(ox_arena *arena, const char *pattern, size_t n, ox_regex **out_regex);
/* Scratch bytes that a match needs. */
size_t ox_regex_scratch(const ox_regex *r);
/* All of |text| matches. */
bool ox_regex_full_match(const ox_regex *r, const char *text, size_t n, void *scratch);
/* Length of the longest match that begins at |from|; SIZE_MAX: none. */
size_t ox_regex_longest_at(const ox_regex *r, const char *text, size_t n, size_t from, void *scratch);
/* The first place from |from| on where a match of at least one byte begins, and its longest length; SIZE_MAX: none. */
size_t ox_regex_find(const ox_regex *r, const char *text, size_t n, size_t from, size_t *out_len, void *scratch);

#endif
