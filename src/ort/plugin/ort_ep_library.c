/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_library.c - loads libraries of execution providers. The lock of the environment guards the list,
 * and is never held while code of a library runs, which calls back. */
#define _GNU_SOURCE /* dladdr */
#include "ort/plugin/ort_ep_library.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/value/ort_allocators.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"

/* ---- one library ---- */

static void release_factory(ort_ep_library *l, ort_ep_factory *f) {
  for (size_t i = 0; i < f->n_devices; i++) ort_ep_ReleaseEpDevice(f->devices[i]);
  if (f->transfer != NULL && f->transfer->Release != NULL) f->transfer->Release(f->transfer);
  if (l->release != NULL && f->factory != NULL) ort_ReleaseStatus(l->release(f->factory));
}

static void destroy(ort_ep_library *l) {
  if (l == NULL) return;
  for (size_t i = 0; i < l->n_factories; i++) release_factory(l, &l->factories[i]);
  ort_ep_ReleaseEpDevice(l->cpu);
  if (l->handle != NULL) dlclose(l->handle);
  free(l->listed);
  free(l->name), free(l->path);
  free(l);
}

static OrtStatus *create(const char *name, const char *path, ort_ep_library **out) {
  ort_ep_library *l = calloc(1, sizeof *l);
  if (l != NULL) l->refs = 1, l->name = strdup(name), l->path = strdup(path);
  bool made = l != NULL && l->name != NULL && l->path != NULL;
  if (!made) destroy(l), l = NULL;
  *out = l;
  return made ? NULL : ort_out_of_memory();
}

/* ---- the CPU's ---- */

static OrtStatus *fill_cpu(ort_ep_library *l) {
  const OrtHardwareDevice *const *hardware;
  size_t n;
  ORT_TRY(ort_hardware_list(&hardware, &n));
  l->cpu = calloc(1, sizeof *l->cpu);
  if (l->cpu == NULL) return ort_out_of_memory();
  l->cpu->library = l, l->cpu->hardware = hardware[0];
  l->cpu->name = strdup("CPUExecutionProvider"), l->cpu->vendor = strdup("Onyx");
  l->listed = malloc(sizeof *l->listed);
  if (l->cpu->name == NULL || l->cpu->vendor == NULL || l->listed == NULL) return ort_out_of_memory();
  l->listed[0] = l->cpu, l->n_listed = 1;
  return ort_pairs_set(&l->cpu->metadata, "version", ort_api_base()->GetVersionString());
}

OrtStatus *ort_ep_libraries(OrtEnv *env, ort_ep_library **out_first) {
  ort_ep_library *mine = NULL;
  pthread_mutex_lock(&env->lock);
  *out_first = env->libraries;
  OrtStatus *st = *out_first == NULL ? create("", "", &mine) : NULL;
  if (st == NULL && mine != NULL) st = fill_cpu(mine);
  if (st == NULL && mine != NULL) *out_first = env->libraries = mine, mine = NULL;
  pthread_mutex_unlock(&env->lock);
  destroy(mine);
  return st;
}

/* ---- the list; under the lock ---- */

static ort_ep_library **place_of(ort_ep_library *first, const char *name) {
  ort_ep_library **at = &first->next;
  while (*at != NULL && strcmp((*at)->name, name) != 0) at = &(*at)->next;
  return at;
}

/* Lists all devices anew: what GetEpDevices gave before is no longer valid then. */
static OrtStatus *list_devices(ort_ep_library *first) {
  size_t n = 1;
  for (const ort_ep_library *l = first->next; l != NULL; l = l->next)
    for (size_t i = 0; i < l->n_factories; i++) n += l->factories[i].n_devices;
  const OrtEpDevice **list = malloc(n * sizeof *list);
  if (list == NULL) return ort_out_of_memory();
  list[0] = first->cpu, n = 1;
  for (const ort_ep_library *l = first->next; l != NULL; l = l->next)
    for (size_t i = 0; i < l->n_factories; i++)
      for (size_t k = 0; k < l->factories[i].n_devices; k++) list[n++] = l->factories[i].devices[k];
  free(first->listed);
  first->listed = list, first->n_listed = n;
  return NULL;
}

static OrtStatus *publish(OrtEnv *env, ort_ep_library *first, ort_ep_library *l) {
  pthread_mutex_lock(&env->lock);
  ort_ep_library **at = place_of(first, l->name);
  OrtStatus *st = *at != NULL ? ort_fail(ORT_FAIL, "library is already registered under %s", l->name) : NULL;
  if (st == NULL) {
    *at = l;
    st = list_devices(first);
    if (st != NULL) *at = NULL;
  }
  pthread_mutex_unlock(&env->lock);
  return st;
}

/* ---- loading ---- */

/* A path without a folder is beside this library, if such a file is there; else where the loader looks. */
static void *open_library(const char *path) {
  Dl_info self;
  char beside[4096];
  const char *end = strchr(path, '/') == NULL && dladdr((void *)(uintptr_t)ort_ep_libraries, &self) != 0
                        ? strrchr(self.dli_fname, '/')
                        : NULL;
  if (end != NULL) {
    snprintf(beside, sizeof beside, "%.*s/%s", (int)(end - self.dli_fname), self.dli_fname, path);
    void *handle = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL) return handle;
  }
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static OrtStatus *get_symbol(const ort_ep_library *l, const char *name, uintptr_t *out) {
  dlerror();
  *out = (uintptr_t)dlsym(l->handle, name);
  const char *why = dlerror();
  return *out != 0 ? NULL
                   : ort_fail(ORT_FAIL, "Failed to get symbol %s with error: %s", name, why != NULL ? why : "NULL");
}

static OrtStatus *check_factory(const OrtEpFactory *f, size_t i) {
  if (f == NULL) return ort_fail(ORT_EP_FAIL, "factory %zu is NULL", i);
  if (f->ort_version_supported == 0 || f->GetName == NULL || f->GetVendor == NULL || f->GetSupportedDevices == NULL ||
      f->CreateEp == NULL || f->ReleaseEp == NULL)
    return ort_fail(ORT_EP_FAIL, "factory %zu has no version, or lacks a function that all have", i);
  return NULL;
}

static OrtStatus *add_devices(ort_ep_library *l, ort_ep_factory *f) {
  const OrtHardwareDevice *const *hardware;
  size_t n_hardware, n = 0;
  ORT_TRY(ort_hardware_list(&hardware, &n_hardware));
  OrtStatus *st =
      f->factory->GetSupportedDevices(f->factory, hardware, n_hardware, f->devices, ORT_MOST_EP_DEVICES, &n);
  if (st == NULL && n > ORT_MOST_EP_DEVICES)
    st = ort_fail(ORT_EP_FAIL, "the factory says that it gave %zu devices, there was room for %d", n,
                  ORT_MOST_EP_DEVICES);
  for (size_t i = 0; st == NULL && i < n; i++)
    if (f->devices[i] == NULL) st = ort_fail(ORT_EP_FAIL, "device %zu of %zu is NULL", i, n);
  for (; st == NULL && f->n_devices < n; f->n_devices++) {
    f->devices[f->n_devices]->library = l;
    st = ort_pairs_set(&f->devices[f->n_devices]->metadata, "library_path", l->path);
  }
  return st;
}

static OrtStatus *add_factory(ort_ep_library *l, OrtEpFactory *factory, size_t i) {
  ORT_TRY(check_factory(factory, i));
  ort_ep_factory *f = &l->factories[l->n_factories++];
  f->factory = factory;
  ORT_TRY(add_devices(l, f));
  return ORT_HAS(factory, 23, CreateDataTransfer) ? factory->CreateDataTransfer(factory, &f->transfer) : NULL;
}

static OrtStatus *load(OrtEnv *env, ort_ep_library *l) {
  uintptr_t make, release;
  OrtEpFactory *factories[ORT_MOST_FACTORIES] = {NULL};
  size_t n = 0;
  l->handle = open_library(l->path);
  if (l->handle == NULL) return ort_fail(ORT_FAIL, "Failed to load library %s with error: %s", l->path, dlerror());
  ORT_TRY(get_symbol(l, "CreateEpFactories", &make));
  ORT_TRY(get_symbol(l, "ReleaseEpFactory", &release));
  ORT_TRY(((CreateEpApiFactoriesFn)make)(l->name, ort_api_base(), &env->logger, factories, ORT_MOST_FACTORIES, &n));
  l->release = (ReleaseEpApiFactoryFn)release;
  OrtStatus *st = NULL;
  if (n > ORT_MOST_FACTORIES)
    return ort_fail(ORT_EP_FAIL, "the library says that it made %zu factories, there was room for %d", n,
                    ORT_MOST_FACTORIES);
  for (size_t i = 0; i < n; i++) {
    if (st == NULL)
      st = add_factory(l, factories[i], i);
    else if (factories[i] != NULL)
      ort_ReleaseStatus(l->release(factories[i]));
  }
  return st;
}

/* A name that ends so is how a client allows devices that the machine has not. */
static OrtStatus *allow_virtual_devices(OrtEnv *env, const char *name) {
  static const char end[] = ".virtual";
  size_t n = strlen(name);
  if (n < sizeof end - 1 || strcmp(name + n - (sizeof end - 1), end) != 0) return NULL;
  return ort_pairs_set(&env->config, "allow_virtual_devices", "1");
}

/* Clients find an allocator for each memory of a device without making one. */
static OrtStatus *share_allocators(OrtEnv *env, ort_ep_library *l) {
  for (size_t i = 0; i < l->n_factories; i++)
    for (size_t k = 0; k < l->factories[i].n_devices; k++) {
      const OrtEpDevice *d = l->factories[i].devices[k];
      if (!ort_ep_device_has_memory(d)) continue;
      ORT_TRY(ort_CreateSharedAllocator(env, d, OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, NULL, NULL));
      if (d->host_memory == NULL) continue;
      ORT_TRY(ort_CreateSharedAllocator(env, d, OrtDeviceMemoryType_HOST_ACCESSIBLE, OrtDeviceAllocator, NULL, NULL));
    }
  return NULL;
}

/* ---- the slots ---- */

OrtStatus *ort_RegisterExecutionProviderLibrary(OrtEnv *env, const char *registration_name, const ORTCHAR_T *path) {
  ort_ep_library *first, *l;
  ORT_NEED(env);
  ORT_NEED(registration_name);
  ORT_NEED(path);
  ORT_TRY(ort_ep_libraries(env, &first));
  pthread_mutex_lock(&env->lock);
  bool taken = *place_of(first, registration_name) != NULL;
  pthread_mutex_unlock(&env->lock);
  if (taken) return ort_fail(ORT_FAIL, "library is already registered under %s", registration_name);
  ORT_TRY(allow_virtual_devices(env, registration_name));
  ORT_TRY(create(registration_name, path, &l));
  OrtStatus *st = load(env, l);
  if (st == NULL) st = publish(env, first, l);
  if (st != NULL) {
    destroy(l);
    return st;
  }
  st = share_allocators(env, l);
  if (st != NULL) ort_ReleaseStatus(ort_UnregisterExecutionProviderLibrary(env, registration_name));
  return st;
}

OrtStatus *ort_UnregisterExecutionProviderLibrary(OrtEnv *env, const char *registration_name) {
  ort_ep_library *first, *l;
  ORT_NEED(env);
  ORT_NEED(registration_name);
  ORT_TRY(ort_ep_libraries(env, &first));
  pthread_mutex_lock(&env->lock);
  ort_ep_library **at = place_of(first, registration_name);
  OrtStatus *st = NULL;
  l = *at;
  if (l == NULL) {
    st = ort_fail(ORT_FAIL, "Execution provider library: %s was not registered.", registration_name);
  } else {
    *at = l->next;
    st = list_devices(first);
    if (st != NULL) *at = l;
  }
  pthread_mutex_unlock(&env->lock);
  if (st != NULL) return st;
  ort_shared_allocators_drop(env, l);
  ort_ep_library_release(env, l);
  return NULL;
}

OrtStatus *ort_GetEpDevices(const OrtEnv *env, const OrtEpDevice *const **ep_devices, size_t *num_ep_devices) {
  ort_ep_library *first;
  ORT_NEED(env);
  ORT_NEED(ep_devices);
  ORT_NEED(num_ep_devices);
  ORT_TRY(ort_ep_libraries((OrtEnv *)(uintptr_t)env, &first));
  *ep_devices = first->listed, *num_ep_devices = first->n_listed;
  return NULL;
}

/* ---- for the rest of this library ---- */

void ort_ep_library_retain(OrtEnv *env, ort_ep_library *library) {
  pthread_mutex_lock(&env->lock);
  library->refs++;
  pthread_mutex_unlock(&env->lock);
}

void ort_ep_library_release(OrtEnv *env, ort_ep_library *library) {
  pthread_mutex_lock(&env->lock);
  bool last = --library->refs == 0;
  pthread_mutex_unlock(&env->lock);
  if (last) destroy(library);
}

void ort_ep_libraries_release(OrtEnv *env) {
  ort_ep_library *next;
  for (ort_ep_library *l = env->libraries; l != NULL; l = next) {
    next = l->next;
    destroy(l);
  }
  env->libraries = NULL;
}

bool ort_ep_device_known(OrtEnv *env, const OrtEpDevice *device) {
  pthread_mutex_lock(&env->lock);
  const ort_ep_library *first = env->libraries;
  bool known = false;
  for (size_t i = 0; first != NULL && i < first->n_listed; i++) known |= first->listed[i] == device;
  pthread_mutex_unlock(&env->lock);
  return known;
}
