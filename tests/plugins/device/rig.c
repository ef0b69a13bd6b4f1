/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/rig.c - see rig.h. */
#include "plugins/device/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/device/rig_drivers.h"

/* One host for all, as a driver keeps a copy. */
void rig_host(rig *r, const rig_driver *from) {
  memset(r, 0, sizeof *r);
  r->from = from;
  r->v = from->driver;
  r->heap.fail_at = -1;
  r->host = (ox_ep_host){.struct_size = sizeof r->host,
                         .abi_major = OX_EP_ABI_MAJOR,
                         .alloc = counting_alloc_of(&r->heap),
                         .status_make = ox_status_of_text};
}

ox_status *rig_open(rig *r) {
  const char *keys[8], *values[8];
  ox_options options = {0, keys, values};
  for (const char *const *o = r->from->options; o && *o; o += 2, options.n++)
    keys[options.n] = o[0], values[options.n] = o[1];
  return r->v->open(&r->host, &options, &r->d);
}

void rig_close(rig *r) {
  if (r->d) r->v->close(r->d);
  r->d = NULL;
  assert_int_equal(atomic_load(&r->heap.live), 0);
  if (r->from->live) assert_int_equal(r->from->live(), 0);
}

static size_t append(char *to, size_t at, size_t room, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s: cannot be read", path);
  size_t n = fread(to + at, 1, room - at - 1, f);
  fclose(f);
  to[at + n] = 0;
  return at + n;
}

const char *rig_source(bool f16) {
  static char text[2][1 << 16];
  static const char include[] = "#include \"plugins/device/kernels/dialect.h\"\n";
  char *to = text[f16];
  if (*to) return to;
  size_t at = (size_t)snprintf(to, sizeof text[0], "#define DEV_F16 %d\n", f16);
  at = append(to, at, sizeof text[0], "src/plugins/device/kernels/dialect.h");
  append(to, at, sizeof text[0], "tests/plugins/device/test_kernels.h");
  char *line = strstr(to + at, include); /* it stands there already */
  assert_non_null(line);
  memset(line, ' ', sizeof include - 2);
  return to;
}

void rig_find(const rig_driver *out[8]) {
  size_t n = 0;
  for (size_t i = 0; rig_drivers[i]; i++) {
    rig r;
    if (rig_drivers[i]->start && !rig_drivers[i]->start()) continue;
    rig_host(&r, rig_drivers[i]);
    ox_status *st = rig_open(&r);
    if (st)
      printf("%s: no device: %s\n", r.v->name, ox_status_message(st));
    else
      out[n++] = rig_drivers[i], printf("%s: %s\n", r.v->name, r.v->info(r.d)->name);
    ox_status_free(st);
    rig_close(&r);
  }
  out[n] = NULL;
}
