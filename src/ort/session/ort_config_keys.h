/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_config_keys.h - session entries by key. */
#ifndef OX_ORT_CONFIG_KEYS_H
#define OX_ORT_CONFIG_KEYS_H

#include "ort/env/ort_env.h"

/* INVALID_ARGUMENT if an entry has a value that its key cannot have. Few are checked. */
OX_NODISCARD OrtStatus *ort_config_check(const OrtKeyValuePairs *config);
/* A line for each key that the ABI does not know. */
void ort_config_log_unknown(const OrtKeyValuePairs *config, const OrtLogger *logger);

#endif
