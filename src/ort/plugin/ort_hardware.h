/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_hardware.h - what the machine has: processors, GPUs, NPUs. */
#ifndef OX_ORT_HARDWARE_H
#define OX_ORT_HARDWARE_H

#include "ort/ort_pairs.h"

struct OrtHardwareDevice {
  OrtHardwareDeviceType type;
  uint32_t vendor_id, device_id; /* as on the PCI bus; 0: not known */
  char *vendor;
  OrtKeyValuePairs metadata;
};

/* What the system tells under |root| ("" for the machine itself): the CPU first, always there, then GPUs, then NPUs.
 * The caller's to release, each and the array from malloc. */
OX_NODISCARD OrtStatus *ort_hardware_find(const char *root, OrtHardwareDevice ***out_devices, size_t *out_n);
OX_NODISCARD OrtStatus *ort_hardware_create(OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id,
                                            const char *vendor, OrtHardwareDevice **out);
void ort_hardware_release(OrtHardwareDevice *device);

#endif
