/* SPDX-License-Identifier: Apache-2.0
 * onyx/status.h - the one error type of every Onyx interface.
 * A function that can fail returns `ox_status *`; NULL is success, so a check is one compare. */
#ifndef ONYX_STATUS_H
#define ONYX_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(OX_BUILDING) /* importing needs no attribute */
#define OX_API __declspec(dllexport)
#elif defined(_WIN32)
#define OX_API
#elif defined(__GNUC__)
#define OX_API __attribute__((visibility("default")))
#else
#define OX_API
#endif

#if defined(__GNUC__)
#define OX_NODISCARD __attribute__((warn_unused_result))
#else
#define OX_NODISCARD
#endif

/* What kind of failure it is. The numbers are ABI: append only. */
typedef enum ox_code {
  OX_OK = 0,
  OX_FAIL = 1,             /* a failure that fits no other code */
  OX_INVALID_ARGUMENT = 2, /* the caller's argument is wrong */
  OX_NO_SUCH_FILE = 3,     /* the file is missing or unreadable */
  OX_INVALID_MODEL = 4,    /* the bytes are not a valid ONNX model */
  OX_NOT_IMPLEMENTED = 5,  /* valid, but this build cannot run it */
  OX_OUT_OF_MEMORY = 6,    /* an allocation failed or a memory limit was reached */
  OX_INCOMPATIBLE = 7,     /* a plug-in speaks another ABI */
  OX_CANCELLED = 8,        /* the caller cancelled, or the deadline passed */
  OX_LIMIT = 9,            /* a size, depth or count limit was exceeded */
  OX_SHAPE_MISMATCH = 10   /* shapes or types of run-time inputs do not fit the model */
} ox_code;

typedef struct ox_status ox_status;

/* The code of |st|; OX_OK for NULL. Any thread. */
OX_API ox_code ox_status_code(const ox_status *st);

/* The text of |st|, owned by it; "" for NULL. Names node, operator, tensor, wanted and got. */
OX_API const char *ox_status_message(const ox_status *st);

/* Frees |st|; NULL is fine. Every status that a function returned is the caller's to free. */
OX_API void ox_status_free(ox_status *st);

/* The name of |code|, e.g. "INVALID_MODEL"; a static string. */
OX_API const char *ox_code_name(ox_code code);

#ifdef __cplusplus
}
#endif
#endif
