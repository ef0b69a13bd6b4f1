/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_memory_device.h - memory as providers of libraries tell it apart. */
#ifndef OX_ORT_MEMORY_DEVICE_H
#define OX_ORT_MEMORY_DEVICE_H

#include "ort/value/ort_memory.h"

/* The place that |info| names, as long as |info| lives; and back. */
const OrtMemoryDevice *ort_memory_device(const OrtMemoryInfo *info);
const OrtMemoryInfo *ort_memory_of_device(const OrtMemoryDevice *device);

#endif
