/* SPDX-License-Identifier: Apache-2.0
 * kern/text/regex.h - regular expressions in RE2's syntax, without backtracking: time is proportional to the length of
 * the text times that of the pattern. */
#ifndef OX_KERN_TEXT_REGEX_H
#define OX_KERN_TEXT_REGEX_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/stop.h"

typedef struct ox_regex ox_regex;

/* Compiles |pattern|; all memory is from |arena|. Errors: INVALID_MODEL with the position; NOT_IMPLEMENTED for \p. */
OX_NODISCARD ox_status *ox_regex_compile(ox_arena *arena, const char *pattern, size_t n, ox_regex **out_regex);
/* Scratch bytes that a match needs. */
size_t ox_regex_scratch(const ox_regex *r);

/* A limit on the steps of all matches in one text. Without it, thousands of states at each character of a long text, or
 * searches that begin anew at each, could take hours. */
typedef struct ox_regex_work {
  void *scratch;
  int64_t left; /* steps; below 0: given up, and results are undefined */
  ox_stop stop;
} ox_regex_work;
/* For a text of |n| bytes: 64 steps a byte plus 2^28, a few seconds at most. */
ox_regex_work ox_regex_work_on(size_t n, void *scratch, ox_stop stop);
/* LIMIT if |w| was given up, by the limit or by |w->stop|. */
OX_NODISCARD ox_status *ox_regex_work_status(const ox_regex_work *w, size_t n);

/* All of |text| matches. */
bool ox_regex_full_match(const ox_regex *r, const char *text, size_t n, ox_regex_work *w);
/* Length of the longest match that begins at |from|; SIZE_MAX: none. */
size_t ox_regex_longest_at(const ox_regex *r, const char *text, size_t n, size_t from, ox_regex_work *w);
/* The first position from |from| on where a match of at least one byte begins, and the longest length of a match there;
 * SIZE_MAX: none. */
size_t ox_regex_find(const ox_regex *r, const char *text, size_t n, size_t from, size_t *out_len, ox_regex_work *w);

#endif
