/* SPDX-License-Identifier: Apache-2.0
 * base/log.h - messages go to the caller's function or nowhere. */
#ifndef OX_BASE_LOG_H
#define OX_BASE_LOG_H

#include "base/macros.h"

typedef enum ox_log_level {
  OX_LOG_DEBUG = 0,
  OX_LOG_INFO = 1,
  OX_LOG_WARNING = 2,
  OX_LOG_ERROR = 3,
  OX_LOG_OFF = 4
} ox_log_level;

typedef struct ox_log {
  void (*fn)(void *ctx, int level, const char *text); /* NULL: silence */
  void *ctx;
  ox_log_level least; /* messages below this level are dropped before they are formatted */
} ox_log;

OX_PRINTF(3, 4) void ox_log_write(const ox_log *log, ox_log_level level, const char *fmt, ...);

#endif
