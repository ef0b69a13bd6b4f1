/* SPDX-License-Identifier: Apache-2.0
 * device/registry.c - the operators of ops/. */
#include <string.h>

#include "base/macros.h"
#include "plugins/device/op.h"

#define DEV_OP_FILE(stem) extern const dev_op dev_op_##stem;
#include "device_ops.inc"
#undef DEV_OP_FILE

#define DEV_OP_FILE(stem) &dev_op_##stem,
static const dev_op *const all[] = {
#include "device_ops.inc"
};
#undef DEV_OP_FILE

bool dev_op_is_called(const char *entry, const char *own, const char *domain, const char *name) {
  const char *colon = strchr(entry, ':');
  size_t n = colon ? (size_t)(colon - entry) : strlen(own);
  return strlen(domain) == n && memcmp(domain, colon ? entry : own, n) == 0 &&
         strcmp(name, colon ? colon + 1 : entry) == 0;
}

const dev_op *dev_op_find(const char *domain, const char *name) {
  for (size_t i = 0; i < OX_COUNT(all); i++)
    for (const char *const *s = all[i]->names; *s; s++)
      if (dev_op_is_called(*s, all[i]->domain, domain, name)) return all[i];
  return NULL;
}
