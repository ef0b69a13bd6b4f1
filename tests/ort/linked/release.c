/* SPDX-License-Identifier: Apache-2.0
 * ort/linked/release.c - a stand-in for a release of Microsoft's library, for the linker only: the same SONAME, and its one
 * symbol under the release's version. */
#include <stddef.h>

const void *OrtGetApiBase(void) {
  return NULL;
}
