/* SPDX-License-Identifier: Apache-2.0
 * support/set_variable.h - changes the environment of this process. */
#ifndef OX_TESTS_SET_VARIABLE_H
#define OX_TESTS_SET_VARIABLE_H

#include <stdlib.h>

/* NULL: the variable goes. */
static inline void set_variable(const char *name, const char *value) {
#if defined(_WIN32)
  (void)_putenv_s(name, value ? value : "");
#else
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
#endif
}

#endif
