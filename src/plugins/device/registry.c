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

const dev_op *dev_op_find(const char *domain, const char *name) {
  for (size_t i = 0; i < OX_COUNT(all); i++)
    for (const char *const *s = all[i]->names; *s; s++)
      if (strcmp(*s, name) == 0 && strcmp(all[i]->domain, domain) == 0) return all[i];
  return NULL;
}
