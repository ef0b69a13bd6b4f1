/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/c_locale.h - strtod and printf with a decimal point, whatever locale the process has set. */
#ifndef OX_ONNX_TEXT_C_LOCALE_H
#define OX_ONNX_TEXT_C_LOCALE_H

#include <locale.h>
#include <stdbool.h>

typedef struct ox_c_locale {
  locale_t c, before;
} ox_c_locale;

/* For the calling thread, until leave. False on out of memory. */
static inline bool ox_c_locale_enter(ox_c_locale *l) {
  l->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (l->c == (locale_t)0) return false;
  l->before = uselocale(l->c);
  return true;
}

static inline void ox_c_locale_leave(ox_c_locale *l) {
  uselocale(l->before);
  freelocale(l->c);
}

#endif
