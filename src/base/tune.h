/* SPDX-License-Identifier: Apache-2.0
 * base/tune.h - what has been measured on this machine: for a task (an operation on certain shapes) the fastest of the
 * ways to do it. Kept in memory, read from a file and written to it (docs/tuning.md).
 *
 * A table lives as long as the provider that has it and is asked by any thread. What it answers for a task never
 * changes while it lives, so that asking twice gives the same bits. A file comes from outside: it can only make an
 * engine slow, since a name counts only where that way serves the task anyway.
 *
 *   onyx tune 1
 *   machine <processor>, <instruction sets>, onyx <version>
 *   task <task>|<fastest way> <ns>|<next way> <ns> ...
 *
 * A line per task, in the order in which they were measured. Lines are printable ASCII, shorter than OX_TUNE_LINE. */
#ifndef OX_BASE_TUNE_H
#define OX_BASE_TUNE_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/status.h"

typedef struct ox_tune ox_tune;

enum {
  OX_TUNE_KEY = 256, /* most characters of a task, with the 0 */
  OX_TUNE_WAYS = 16, /* most ways that are compared */
  OX_TUNE_LINE = 2048
};

typedef struct ox_tune_opts {
  ox_alloc alloc;
  ox_isa isa;                                          /* the kernels'; a file for another set is ignored */
  const char *path;                                    /* NULL: in memory only */
  bool measures;                                       /* a task that is not in the table is measured when it is met */
  void (*log)(void *ctx, int level, const char *text); /* may be NULL */
  void *log_ctx;
} ox_tune_opts;

/* One way and what it took. */
typedef struct ox_tune_way {
  const char *name; /* letters, digits, blanks and punctuation but '|'; shorter than OX_TUNE_KEY */
  double ns;
} ox_tune_way;

/* Reads the file. One that is broken, or of another machine or version, is ignored with a line in the log. The only
 * error is OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_tune_open(const ox_tune_opts *opts, ox_tune **out_tune);
/* Writes the file if anything was added, and frees the table. NULL is fine. */
void ox_tune_close(ox_tune *t);

/* The fastest way for |task|, valid as long as the table; NULL: it was not measured. |t| may be NULL. */
const char *ox_tune_find(ox_tune *t, const char *task);
/* If nothing is found and ox_tune_measures: call begin, find again, measure, put, end. Only one thread at a time is
 * between begin and end, so that measurements do not disturb each other. */
bool ox_tune_measures(const ox_tune *t); /* |t| may be NULL */
void ox_tune_begin(ox_tune *t);
void ox_tune_end(ox_tune *t);
/* Adds the answer for a task unless there is one; sorts |ways|. |n| 0: nothing could be measured, which is remembered,
 * too. */
void ox_tune_put(ox_tune *t, const char *task, ox_tune_way *ways, size_t n);
/* Memory for measuring. */
ox_alloc ox_tune_alloc(const ox_tune *t);
/* The undisturbed time of fn(ctx) in ns: the least of several calls, for 3 ms but at least three. */
double ox_tune_time(void (*fn)(void *ctx), void *ctx);

#endif
