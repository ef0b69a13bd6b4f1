/* SPDX-License-Identifier: Apache-2.0
 * base/status.c - statuses come from malloc, so that they outlive what failed. */
#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ox_status {
  ox_code code;
  bool is_static; /* said by the status itself: it may be the engine's, and a plug-in's copy of this file free it */
  char text[];
};

/* Handed out when there is no memory for a real one; never written, never freed. */
static struct {
  ox_code code;
  bool is_static;
  char text[32];
} no_memory = {OX_OUT_OF_MEMORY, true, "out of memory"};

static ox_status *static_oom(void) { return (ox_status *)(void *)&no_memory; }

ox_status *ox_oom(void) { return static_oom(); }

ox_status *ox_status_make_v(ox_code code, const char *file, int line, const char *fmt, va_list args) {
  (void)file, (void)line; /* kept in the signature for debuggers: break on ox_status_make_v */
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, args);
  ox_status *st = n < 0 ? NULL : malloc(sizeof *st + (size_t)n + 1);
  if (st) {
    st->code = code, st->is_static = false;
    vsnprintf(st->text, (size_t)n + 1, fmt, again);
  }
  va_end(again);
  return st ? st : static_oom();
}

ox_status *ox_status_make(ox_code code, const char *file, int line, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  ox_status *st = ox_status_make_v(code, file, line, fmt, args);
  va_end(args);
  return st;
}

ox_status *ox_status_of_text(ox_code code, const char *text) { return ox_fail(code, "%s", text ? text : ""); }

/* Small as it is, there may be memory for it. */
static ox_status *own(ox_status *st) { return st && st->is_static ? ox_fail(OX_OUT_OF_MEMORY, "%s", st->text) : st; }

ox_status *ox_status_note(ox_status *st, const char *fmt, ...) {
  st = own(st);
  if (!st || st->is_static) return st;
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, args);
  size_t old = strlen(st->text);
  ox_status *grown = n < 0 ? NULL : realloc(st, sizeof *st + (size_t)n + 2 + old + 1);
  if (grown) {
    st = grown;
    memmove(st->text + n + 2, st->text, old + 1);
    char first = st->text[n + 2];
    vsnprintf(st->text, (size_t)n + 1, fmt, again);
    st->text[n] = ':', st->text[n + 1] = ' ', st->text[n + 2] = first;
  }
  va_end(again);
  va_end(args);
  return st;
}

ox_code ox_status_code(const ox_status *st) { return st ? st->code : OX_OK; }

const char *ox_status_message(const ox_status *st) { return st ? st->text : ""; }

void ox_status_free(ox_status *st) {
  if (st && !st->is_static) free(st);
}

const char *ox_code_name(ox_code code) {
  static const char *const names[] = {"OK",           "FAIL",          "INVALID_ARGUMENT", "NO_SUCH_FILE",
                                      "INVALID_MODEL", "NOT_IMPLEMENTED", "OUT_OF_MEMORY", "INCOMPATIBLE",
                                      "CANCELLED",    "LIMIT",         "SHAPE_MISMATCH"};
  return (unsigned)code < OX_COUNT(names) ? names[code] : "UNKNOWN";
}
