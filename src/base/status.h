/* SPDX-License-Identifier: Apache-2.0
 * base/status.h - how functions report errors. NULL is success: a check is one compare, success never allocates. */
#ifndef OX_BASE_STATUS_H
#define OX_BASE_STATUS_H

#include <stdarg.h>

#include "base/macros.h"
#include "onyx/status.h"

#define ox_fail(code, ...) ox_status_make((code), __FILE__, __LINE__, __VA_ARGS__)

/* Returns early with the status of |expr|: for functions with nothing to undo. */
#define OX_TRY(expr)                             \
  do {                                           \
    ox_status *st_ = (expr);                     \
    if (OX_UNLIKELY(st_ != NULL)) return st_;    \
  } while (0)

/* Jumps to |label| with the status in |st|: for functions with one clean-up label. */
#define OX_TRY_TO(label, st, expr)                        \
  do {                                                    \
    if (OX_UNLIKELY(((st) = (expr)) != NULL)) goto label; \
  } while (0)

/* Makes a status; cannot fail: under out-of-memory it returns a static one. */
OX_NODISCARD OX_PRINTF(4, 5)
ox_status *ox_status_make(ox_code code, const char *file, int line, const char *fmt, ...);
OX_NODISCARD
ox_status *ox_status_make_v(ox_code code, const char *file, int line, const char *fmt, va_list args);

/* The same with a copy of |text| (NULL: ""): the status_make of every table that is handed to plug-ins. */
OX_NODISCARD ox_status *ox_status_of_text(ox_code code, const char *text);

/* Adds context in front of the message on the way up. OK passes through. Consumes |st|. */
OX_NODISCARD OX_PRINTF(2, 3)
ox_status *ox_status_note(ox_status *st, const char *fmt, ...);

/* The static status for a failed allocation. */
OX_NODISCARD ox_status *ox_oom(void);

#endif
