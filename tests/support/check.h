/* SPDX-License-Identifier: Apache-2.0
 * support/check.h - cmocka with its prerequisites, and checks for statuses. */
#ifndef OX_TESTS_CHECK_H
#define OX_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h must come after these */
#include <cmocka.h>

#include "base/status.h"

/* Fails the test with the status's text unless |expr| is OK. */
#define CHECK_OK(expr)                                                      \
  do {                                                                      \
    ox_status *check_st_ = (expr);                                          \
    if (check_st_) fail_msg("%s: %s", #expr, ox_status_message(check_st_)); \
  } while (0)

/* Fails unless |expr| is an error of |wanted| whose text contains |part|. Frees it. */
#define CHECK_FAILS(expr, wanted, part)                                                                     \
  do {                                                                                                      \
    ox_status *check_st_ = (expr);                                                                          \
    if (ox_status_code(check_st_) != (wanted) || !strstr(ox_status_message(check_st_), (part)))             \
      fail_msg("%s: got %s \"%s\", wanted %s \"...%s...\"", #expr, ox_code_name(ox_status_code(check_st_)), \
               ox_status_message(check_st_), ox_code_name(wanted), (part));                                 \
    ox_status_free(check_st_);                                                                              \
  } while (0)

/* The same, whatever the code. */
#define CHECK_FAILS_WITH(expr, part)                                                                \
  do {                                                                                              \
    ox_status *check_st_ = (expr);                                                                  \
    if (!check_st_ || !strstr(ox_status_message(check_st_), (part)))                                \
      fail_msg("%s: got \"%s\", wanted \"...%s...\"", #expr, ox_status_message(check_st_), (part)); \
    ox_status_free(check_st_);                                                                      \
  } while (0)

#endif
