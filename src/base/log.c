/* SPDX-License-Identifier: Apache-2.0
 * base/log.c - formats into a fixed buffer; a longer message is cut. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void ox_log_write(const ox_log *log, ox_log_level level, const char *fmt, ...) {
  if (!log || !log->fn || level < log->least) return;
  char text[2048];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  log->fn(log->ctx, level, text);
}
