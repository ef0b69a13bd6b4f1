/* SPDX-License-Identifier: Apache-2.0
 * session/dump.c - see dump.h. The text is made as a whole: the caller gets it in one piece, and the log line by line,
 * since it cuts long messages. */
#include "session/dump.h"

#include <string.h>

#include "onnx/text.h"

typedef struct {
  ox_alloc alloc;
  char *at;
  size_t n, room;
} text;

static ox_status *append(void *ctx, const void *bytes, size_t n) {
  text *t = ctx;
  void *at = t->at;
  if (!ox_grow(t->alloc, &at, &t->room, t->n + n, 1)) return ox_oom();
  t->at = at;
  if (n) memcpy(t->at + t->n, bytes, n);
  t->n += n;
  return NULL;
}

static ox_status *make_text(text *t, const ox_model *m, bool brief) {
  ox_sink sink = {append, t};
  OX_TRY(brief ? ox_text_write_short(m, OX_SHORT_ELEMENTS, sink) : ox_text_write(m, sink));
  return append(t, "", 1);
}

static void put_lines(const ox_log *log, const char *title, char *lines) {
  ox_log_write(log, OX_LOG_INFO, "%s", title);
  for (size_t n; *lines; lines += n) {
    n = strcspn(lines, "\n");
    if (lines[n]) lines[n++] = 0;
    ox_log_write(log, OX_LOG_INFO, "%s", lines);
  }
}

ox_status *ox_session_dump_model(void *ctx, const ox_model *m, const char *title) {
  const ox_session_dump *d = ctx;
  text t = {.alloc = m->alloc};
  if (!d->o->dump && (!d->log->fn || d->log->least > OX_LOG_INFO)) return NULL;
  ox_status *st = make_text(&t, m, !d->o->dump || d->o->dump_short);
  if (!st && d->o->dump)
    d->o->dump(d->o->dump_ctx, title, t.at);
  else if (!st)
    put_lines(d->log, title, t.at);
  ox_delete(t.alloc, t.at, t.room);
  return st;
}
