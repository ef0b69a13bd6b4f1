/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_hardware.c - devices as Linux shows them: /proc/cpuinfo, the classes drm and accel of /sys, and the
 * PCI bus for display controllers and accelerators whose driver has no entry there (in containers, or with drivers of
 * their own). Elsewhere there is the CPU alone. */
#define _POSIX_C_SOURCE 200809L
#include "ort/plugin/ort_hardware.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"

enum { MOST_DEVICES = 64, MOST_PATH = 512 };

/* ---- one device ---- */

OrtStatus *ort_hardware_create(OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id, const char *vendor,
                               OrtHardwareDevice **out) {
  OrtHardwareDevice *d = *out = calloc(1, sizeof *d);
  char *copy = strdup(vendor);
  if (d == NULL || copy == NULL) {
    free(d), free(copy);
    *out = NULL;
    return ort_out_of_memory();
  }
  *d = (OrtHardwareDevice){.type = type, .vendor_id = vendor_id, .device_id = device_id, .vendor = copy};
  return NULL;
}

void ort_hardware_release(OrtHardwareDevice *device) {
  if (device == NULL) return;
  ort_pairs_deinit(&device->metadata);
  free(device->vendor);
  free(device);
}

/* ---- names ---- */

static const struct {
  uint32_t id;
  const char *name, *cpu; /* as it is called, and as /proc/cpuinfo calls its processors */
} vendors[] = {{0x8086, "Intel", "GenuineIntel"}, {0x1022, "AMD", "AuthenticAMD"}, {0x1002, "AMD", NULL},
               {0x10de, "NVIDIA", NULL},          {0x13b5, "ARM", "0x41"},         {0x5143, "Qualcomm", "0x51"},
               {0x106b, "Apple", "0x61"},         {0x17cb, "Qualcomm", NULL},      {0x1ae0, "Google", NULL},
               {0x1d0f, "Amazon", NULL},          {0x1414, "Microsoft", NULL}};

static const char *name_of(uint32_t id) {
  for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
    if (vendors[i].id == id) return vendors[i].name;
  return "";
}

/* ---- the list ---- */

typedef struct found {
  const char *root;
  OrtHardwareDevice *devices[MOST_DEVICES];
  char bus[MOST_DEVICES][32]; /* where on the PCI bus; "": not there */
  size_t n;
} found;

static OrtStatus *add(found *f, OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id, const char *vendor,
                      const char *bus) {
  if (f->n == MOST_DEVICES) return NULL;
  ORT_TRY(ort_hardware_create(type, vendor_id, device_id, vendor, &f->devices[f->n]));
  snprintf(f->bus[f->n], sizeof *f->bus, "%s", bus);
  OrtKeyValuePairs *metadata = &f->devices[f->n++]->metadata;
  return *bus ? ort_pairs_set(metadata, "pci_bus_id", bus) : NULL;
}

static OrtStatus *note(found *f, const char *key, unsigned number) {
  char text[16];
  snprintf(text, sizeof text, "%u", number);
  return ort_pairs_set(&f->devices[f->n - 1]->metadata, key, text);
}

/* ---- the CPU ---- */

static OrtStatus *add_cpu(found *f) {
  char path[MOST_PATH], line[256], maker[64];
  snprintf(path, sizeof path, "%s/proc/cpuinfo", f->root);
  FILE *file = fopen(path, "r");
  bool known = false;
  while (file != NULL && !known && fgets(line, sizeof line, file) != NULL)
    known = sscanf(line, "vendor_id : %63s", maker) == 1 || sscanf(line, "CPU implementer : %63s", maker) == 1;
  if (file != NULL) fclose(file);
  for (size_t i = 0; known && i < sizeof vendors / sizeof *vendors; i++)
    if (vendors[i].cpu != NULL && strcmp(vendors[i].cpu, maker) == 0)
      return add(f, OrtHardwareDeviceType_CPU, vendors[i].id, 0, vendors[i].name, "");
  return add(f, OrtHardwareDeviceType_CPU, 0, 0, known ? maker : "unknown", "");
}

/* ---- the rest ---- */

static bool read_hex(const char *folder, const char *name, uint32_t *out) {
  char path[MOST_PATH + 32];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  bool read = file != NULL && fscanf(file, "%x", out) == 1;
  if (file != NULL) fclose(file);
  return read;
}

/* The PCI address in |folder|'s uevent; "": none. */
static void read_bus(const char *folder, char bus[32]) {
  char path[MOST_PATH + 32], line[256];
  snprintf(path, sizeof path, "%s/uevent", folder);
  FILE *file = fopen(path, "r");
  *bus = 0;
  while (file != NULL && *bus == 0 && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "PCI_SLOT_NAME=%31s", bus) != 1) *bus = 0;
  if (file != NULL) fclose(file);
}

static bool is_there(const found *f, const char *bus) {
  for (size_t i = 0; i < f->n; i++)
    if (*bus && strcmp(f->bus[i], bus) == 0) return true;
  return false;
}

/* The devices |stem|0, |stem|1 ... of a class; what else is there (connectors, render nodes) has other names. */
static OrtStatus *add_class(found *f, const char *class_name, const char *stem, OrtHardwareDeviceType type) {
  for (unsigned i = 0; i < MOST_DEVICES; i++) {
    char folder[MOST_PATH], bus[32];
    uint32_t vendor_id, device_id;
    snprintf(folder, sizeof folder, "%s/sys/class/%s/%s%u/device", f->root, class_name, stem, i);
    if (!read_hex(folder, "vendor", &vendor_id) || !read_hex(folder, "device", &device_id)) continue;
    read_bus(folder, bus);
    if (is_there(f, bus)) continue;
    ORT_TRY(add(f, type, vendor_id, device_id, name_of(vendor_id), bus));
    ORT_TRY(note(f, type == OrtHardwareDeviceType_GPU ? "card_idx" : "accel_idx", i));
  }
  return NULL;
}

/* Class codes of the PCI bus: 03 are display controllers, 1200 processing accelerators. */
static OrtStatus *add_pci(found *f, const char *bus, OrtHardwareDeviceType type) {
  char folder[MOST_PATH];
  uint32_t class_code, vendor_id, device_id;
  snprintf(folder, sizeof folder, "%s/sys/bus/pci/devices/%.31s", f->root, bus);
  if (is_there(f, bus) || !read_hex(folder, "class", &class_code)) return NULL;
  bool wanted = type == OrtHardwareDeviceType_GPU ? class_code >> 16 == 0x03 : class_code >> 8 == 0x1200;
  if (!wanted || !read_hex(folder, "vendor", &vendor_id) || !read_hex(folder, "device", &device_id)) return NULL;
  return add(f, type, vendor_id, device_id, name_of(vendor_id), bus);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static OrtStatus *add_bus(found *f, OrtHardwareDeviceType type) {
  char path[MOST_PATH];
  struct dirent **entries = NULL;
  OrtStatus *st = NULL;
  snprintf(path, sizeof path, "%s/sys/bus/pci/devices", f->root);
  int n = scandir(path, &entries, NULL, by_name);
  for (int i = 0; i < n; i++) {
    if (st == NULL && entries[i]->d_name[0] != '.') st = add_pci(f, entries[i]->d_name, type);
    free(entries[i]);
  }
  free(entries);
  return st;
}

static OrtStatus *find_all(found *f) {
  ORT_TRY(add_cpu(f));
  ORT_TRY(add_class(f, "drm", "card", OrtHardwareDeviceType_GPU));
  ORT_TRY(add_bus(f, OrtHardwareDeviceType_GPU));
  ORT_TRY(add_class(f, "accel", "accel", OrtHardwareDeviceType_NPU));
  return add_bus(f, OrtHardwareDeviceType_NPU);
}

OrtStatus *ort_hardware_find(const char *root, OrtHardwareDevice ***out_devices, size_t *out_n) {
  found f = {.root = root};
  *out_devices = NULL, *out_n = 0;
  OrtStatus *st = find_all(&f);
  OrtHardwareDevice **list = st == NULL ? malloc(f.n * sizeof *list) : NULL;
  if (st == NULL && list == NULL) st = ort_out_of_memory();
  if (st != NULL) {
    for (size_t i = 0; i < f.n; i++) ort_hardware_release(f.devices[i]);
    return st;
  }
  memcpy(list, f.devices, f.n * sizeof *list);
  *out_devices = list, *out_n = f.n;
  return NULL;
}

/* ---- what clients ask ---- */

OrtHardwareDeviceType ort_HardwareDevice_Type(const OrtHardwareDevice *device) {
  return device != NULL ? device->type : OrtHardwareDeviceType_CPU;
}
uint32_t ort_HardwareDevice_VendorId(const OrtHardwareDevice *device) { return device != NULL ? device->vendor_id : 0; }
const char *ort_HardwareDevice_Vendor(const OrtHardwareDevice *device) { return device != NULL ? device->vendor : ""; }
uint32_t ort_HardwareDevice_DeviceId(const OrtHardwareDevice *device) { return device != NULL ? device->device_id : 0; }
const OrtKeyValuePairs *ort_HardwareDevice_Metadata(const OrtHardwareDevice *device) {
  return device != NULL ? &device->metadata : NULL;
}

/* ---- what libraries make: virtual devices ---- */

OrtStatus *ort_ep_CreateHardwareDevice(OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id,
                                       const char *vendor_name, const OrtKeyValuePairs *metadata,
                                       OrtHardwareDevice **hardware_device) {
  ORT_NEED(vendor_name);
  ORT_NEED(hardware_device);
  *hardware_device = NULL;
  if ((unsigned)type > OrtHardwareDeviceType_NPU)
    return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.CreateHardwareDevice: there is no hardware device type %d",
                    (int)type);
  OrtHardwareDevice *made;
  ORT_TRY(ort_hardware_create(type, vendor_id, device_id, vendor_name, &made));
  OrtStatus *st = metadata != NULL ? ort_pairs_copy(metadata, &made->metadata) : NULL;
  if (st == NULL)
    *hardware_device = made;
  else
    ort_hardware_release(made);
  return st;
}

void ort_ep_ReleaseHardwareDevice(OrtHardwareDevice *device) { ort_hardware_release(device); }
