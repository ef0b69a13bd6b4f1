/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_status.h - statuses of ONNX Runtime's ABI: made, checked, and translated from Onyx's. */
#ifndef OX_ORT_STATUS_H
#define OX_ORT_STATUS_H

#include "onyx/ort_abi.h"
#include "onyx/status.h"

/* Never NULL; out of memory it is a static status. */
OX_NODISCARD __attribute__((format(printf, 2, 3))) OrtStatus *ort_fail(OrtErrorCode code, const char *fmt, ...);

/* Of |st|, which it frees; NULL for NULL. */
OX_NODISCARD OrtStatus *ort_status_from(ox_status *st);
/* The other way, for callbacks of the engine that end in code of a client: releases |st|. */
OX_NODISCARD ox_status *ort_status_to(OrtStatus *st, ox_status *(*make)(ox_code code, const char *text));

OX_NODISCARD OrtStatus *ort_out_of_memory(void);
OX_NODISCARD OrtStatus *ort_null_argument(const char *function, const char *argument);

/* At the head of an API function: its argument is not to be NULL. */
#define ORT_NEED(argument)                                                                \
  do {                                                                                    \
    if ((argument) == NULL) return ort_null_argument(__func__ + sizeof "ort", #argument); \
  } while (0)

#define ORT_TRY(expr)            \
  do {                           \
    OrtStatus *st_ = (expr);     \
    if (st_ != NULL) return st_; \
  } while (0)

#endif
