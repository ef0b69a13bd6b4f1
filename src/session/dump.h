/* SPDX-License-Identifier: Apache-2.0
 * session/dump.h - the model as text around applications of a rule: ox_session_opts.dump_before and dump_after. */
#ifndef OX_SESSION_DUMP_H
#define OX_SESSION_DUMP_H

#include "session/session.h"

/* Elements of a constant that the short syntax shows. */
enum { OX_SHORT_ELEMENTS = 16 };

typedef struct ox_session_dump {
  const ox_session_opts *o;
  const ox_log *log;
} ox_session_dump;

/* For ox_opt_options.dump; |ctx| is an ox_session_dump. Errors: those of ox_text_write. */
OX_NODISCARD ox_status *ox_session_dump_model(void *ctx, const ox_model *m, const char *title);

#endif
