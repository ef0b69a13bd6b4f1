/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/rig_cuda.c - the CUDA driver on the stand-in for a GPU, or, if ONYX_TEST_GPU is set, on a GPU. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/device/rig.h"
#include "plugins/device/use_standin.h"

extern const dev_driver dev_cuda_driver;

/* A function of the stand-in. */
static void *control(const char *name) {
  void *standin = dlopen(CUDA_STANDIN, RTLD_NOW | RTLD_LOCAL), *found = standin ? dlsym(standin, name) : NULL;
  if (!found) fail_msg("%s: %s", name, dlerror());
  dlclose(standin); /* the driver has it */
  return found;
}

static bool start_standin(void) {
  if (getenv("ONYX_TEST_GPU")) return false;
  use_standin();
  return true;
}

static bool start_gpu(void) { return getenv("ONYX_TEST_GPU") != NULL; }

/* What the libraries compute does not matter to tests that ask for this. */
static void fail_at(long call, int code) {
  void (*lose)(int), (*idle)(int);
  void (*fn)(long, int);
  *(void **)(void *)&lose = control("standin_lose");
  *(void **)(void *)&fn = control("standin_fail_at");
  *(void **)(void *)&idle = control("standin_idle");
  if (call < 0) lose(0);
  idle(1);
  fn(call, code);
}

/* Objects, and contexts that a call has left on the thread's stack. */
static long live(void) {
  long (*objects)(void);
  int (*depth)(void);
  *(void **)(void *)&objects = control("standin_live");
  *(void **)(void *)&depth = control("standin_depth");
  return objects() + depth();
}

/* Out of memory, launch timeout, unknown; illegal address loses the device. */
static const int codes[] = {2, 702, 999, 0};

const rig_driver rig_cuda_standin = {
    .driver = &dev_cuda_driver, .start = start_standin, .fail_at = fail_at, .live = live, .codes = codes, .lost = 700};
const rig_driver rig_cuda_gpu = {.driver = &dev_cuda_driver, .start = start_gpu};
