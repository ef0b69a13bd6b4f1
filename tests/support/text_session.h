/* SPDX-License-Identifier: Apache-2.0
 * support/text_session.h - a session for a model in ONNX's textual syntax. */
#ifndef OX_TESTS_TEXT_SESSION_H
#define OX_TESTS_TEXT_SESSION_H

#include "onyx/onyx.h"

/* The serialized model for |text| in malloc'd memory; fails the test if it does not parse. */
unsigned char *text_model_bytes(const char *text, size_t *out_n);
/* A session over its own copy of the model. |opts| may be NULL. */
OX_NODISCARD ox_status *text_session(ox_env *env, const char *text, const ox_session_opts *opts, ox_session **out_session);
/* A float tensor of the given shape: element i is start + i * step. */
ox_value *ramp_value(ox_env *env, float start, float step, size_t rank, const int64_t *dims);
/* A tensor of the type and shape of |v| in another memory (NULL: the host's), and one with its elements, too. */
ox_value *value_like(ox_memory *m, const ox_value *v);
ox_value *value_copy(ox_memory *m, const ox_value *v);

/* How often the rule or pass |name| was applied. */
uint64_t times_applied(const ox_session *s, const char *name);

#endif
