/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_library.h - libraries of execution providers, and the devices that their factories serve. */
#ifndef OX_ORT_EP_LIBRARY_H
#define OX_ORT_EP_LIBRARY_H

#include "onyx/ort_ep.h"
#include "ort/env/ort_env.h"
#include "ort/value/ort_memory.h"
#include "ort/plugin/ort_hardware.h"

enum { ORT_MOST_FACTORIES = 8, ORT_MOST_EP_DEVICES = 8 }; /* of a library; of a factory */

/* A member that its owner's version has, and that is not NULL. */
#define ORT_HAS(object, since, member) ((object)->ort_version_supported >= (since) && (object)->member != NULL)

/* A device with the provider that serves it. The memories are the library's, which keeps them. */
struct OrtEpDevice {
  struct ort_ep_library *library; /* NULL: not registered yet */
  OrtEpFactory *factory;          /* NULL: the CPU provider */
  const OrtHardwareDevice *hardware;
  char *name, *vendor;
  OrtKeyValuePairs metadata, options;
  const OrtMemoryInfo *memory, *host_memory, *constants; /* NULL: none. |constants|: for initializers */
};

/* A factory and what it made for the environment. */
typedef struct ort_ep_factory {
  OrtEpFactory *factory;
  OrtEpDevice *devices[ORT_MOST_EP_DEVICES];
  size_t n_devices;
  OrtDataTransferImpl *transfer; /* NULL: none */
} ort_ep_factory;

/* The first of an environment's list is the CPU provider's: without a name, a handle or factories. */
typedef struct ort_ep_library {
  struct ort_ep_library *next;
  size_t refs; /* the environment's, and one per session; under the environment's lock, as |next| is */
  char *name, *path;
  void *handle;
  ReleaseEpApiFactoryFn release;
  ort_ep_factory factories[ORT_MOST_FACTORIES];
  size_t n_factories;
  OrtEpDevice *cpu;           /* of the first one */
  const OrtEpDevice **listed; /* of the first one: all devices, as GetEpDevices shows them */
  size_t n_listed;
} ort_ep_library;

/* The environment's list, with the CPU's at its head. */
OX_NODISCARD OrtStatus *ort_ep_libraries(OrtEnv *env, ort_ep_library **out_first);
/* Sessions hold the libraries of their devices, so that a library may be unregistered before they end. */
void ort_ep_library_retain(OrtEnv *env, ort_ep_library *library);
void ort_ep_library_release(OrtEnv *env, ort_ep_library *library);

/* Whether |device| is one that |env| lists. */
bool ort_ep_device_known(OrtEnv *env, const OrtEpDevice *device);
const char *ort_ep_device_name(const OrtEpDevice *device);
/* Neither the CPU's nor of a provider that works in memory of the host only. */
bool ort_ep_device_has_memory(const OrtEpDevice *device);
/* The machine's, found once. |*out_devices| is the list itself. */
OX_NODISCARD OrtStatus *ort_hardware_list(const OrtHardwareDevice *const **out_devices, size_t *out_n);

/* An allocator of the device's factory for |memory|, one that the device has (EpDevice_MemoryInfo). */
OX_NODISCARD OrtStatus *ort_ep_allocator_create(const OrtEpDevice *device, const OrtMemoryInfo *memory,
                                                const OrtKeyValuePairs *options, OrtAllocator **out);
void ort_ep_allocator_release(const OrtEpDevice *device, OrtAllocator *allocator);
/* Copies the content of |n| tensors, at least one side of each in memory of a library's provider. |stream| may be NULL.
 * NOT_IMPLEMENTED: nobody copies between the two places. */
OX_NODISCARD OrtStatus *ort_ep_copy_tensors(OrtEnv *env, const OrtValue *const *from, OrtValue *const *to,
                                            OrtSyncStream *stream, size_t n);

#endif
