/* SPDX-License-Identifier: Apache-2.0
 * session/fall_back.h - what a session does when a provider fails it (ox_session_opts.fall_back): the model is loaded a
 * second time for the CPU alone, and the run is made there. */
#ifndef OX_SESSION_FALL_BACK_H
#define OX_SESSION_FALL_BACK_H

#include "session/session.h"

/* The second session, if |s| gave up its providers for good; else NULL. */
ox_session *ox_session_fallen(const ox_session *s);
/* Whether |st| may be a provider's fault; errors of the model or the caller would be the same on the CPU. */
bool ox_may_be_the_providers(const ox_status *st);
/* Whether |st|, the end of a run of |s|, may be its providers' fault, and the caller set fall_back. */
bool ox_session_may_fall_back(const ox_session *s, const ox_status *st);
/* The second session, made by the first call. Any thread. Errors: those of loading it. */
OX_NODISCARD ox_status *ox_session_backup(ox_session *s, ox_session **out_session);
/* The status of a run that failed with |first| and then ended with |second| (NULL: success) on the second session.
 * Consumes both. A device that lacked memory is tried again in later runs, one that failed otherwise is not. */
OX_NODISCARD ox_status *ox_session_fell_back(ox_session *s, ox_status *first, ox_status *second);

#endif
