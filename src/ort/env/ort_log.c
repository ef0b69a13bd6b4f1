/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_log.c - log lines go to the client's function, or to standard error in the form that users of Microsoft's
 * library know: "2026-01-31 12:00:00.123456789 [W:category:id, where] text", from warnings on in colour. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "ort/ort_api.h"
#include "ort/env/ort_env.h"
#include "ort/ort_status.h"

void ort_log_print(OrtLoggingLevel level, const char *category, const char *id, const char *where, const char *text) {
  static const char letters[] = "VIWEF";
  static const char *const colours[] = {"", "", "\x1b[0;93m", "\x1b[0;31m", "\x1b[0;35m"};
  struct timespec now = {0};
  struct tm day;
  char date[32] = "";
  clock_gettime(CLOCK_REALTIME, &now);
  if (localtime_r(&now.tv_sec, &day) != NULL) strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &day);
  fprintf(stderr, "%s%s.%09ld [%c:%s:%s, %s] %s%s\n", colours[level], date, now.tv_nsec, letters[level], category, id,
          where, text, *colours[level] ? "\x1b[m" : "");
}

static void put(const OrtLogger *logger, OrtLoggingLevel level, const char *category, const char *where,
                const char *text) {
  const char *id = logger->id != NULL ? logger->id : "";
  if (logger->function != NULL)
    logger->function(logger->param, level, category, id, where, text);
  else
    ort_log_print(level, category, id, where, text);
}

void ort_log(const OrtLogger *logger, OrtLoggingLevel level, const char *category, const char *where, const char *fmt,
             ...) {
  char text[2048];
  va_list args;
  if (level < logger->least) return;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  put(logger, level, category, where, text);
}

int ort_log_level(OrtLoggingLevel level) {
  static const int levels[] = {OX_LOG_LEVEL_DEBUG, OX_LOG_LEVEL_INFO, OX_LOG_LEVEL_WARNING, OX_LOG_LEVEL_ERROR,
                               OX_LOG_LEVEL_OFF};
  return levels[level];
}

void ort_log_engine(void *logger, int level, const char *text) {
  static const OrtLoggingLevel levels[] = {ORT_LOGGING_LEVEL_VERBOSE, ORT_LOGGING_LEVEL_INFO, ORT_LOGGING_LEVEL_WARNING,
                                           ORT_LOGGING_LEVEL_ERROR};
  const OrtLogger *l = logger;
  if (levels[level] >= l->least) put(l, levels[level], "onnxruntime", "onyx", text);
}

OrtStatus *ort_Logger_LogMessage(const OrtLogger *logger, OrtLoggingLevel level, const char *text,
                                 const ORTCHAR_T *file, int line, const char *function) {
  char where[512];
  ORT_NEED(logger);
  ORT_NEED(text);
  ORT_NEED(file);
  ORT_NEED(function);
  if ((unsigned)level > ORT_LOGGING_LEVEL_FATAL)
    return ort_fail(ORT_INVALID_ARGUMENT, "Logger_LogMessage: level %d, wanted 0 to 4", (int)level);
  snprintf(where, sizeof where, "%s:%d %s", file, line, function);
  if (level >= logger->least) put(logger, level, "onnxruntime", where, text);
  return NULL;
}

OrtStatus *ort_Logger_GetLoggingSeverityLevel(const OrtLogger *logger, OrtLoggingLevel *out) {
  ORT_NEED(logger);
  ORT_NEED(out);
  *out = logger->least;
  return NULL;
}
