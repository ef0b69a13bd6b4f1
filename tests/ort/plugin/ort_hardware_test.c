/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_hardware_test.c - devices found in trees of files that look like /proc and /sys. Linked with the
 * library's objects, as no client can say where to look. */
#define _XOPEN_SOURCE 700 /* nftw, mkdtemp */
#include "ort/plugin/ort_hardware.h"

#include <ftw.h>
#include <sys/stat.h>

#include "ort/client.h"

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
  (void)st, (void)kind, (void)at;
  return remove(path);
}

static void write_file(const char *root, const char *path, const char *text) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s/%s", root, path);
  for (char *slash = strchr(whole + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(whole, 0700);
    *slash = '/';
  }
  FILE *f = fopen(whole, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

typedef struct file {
  const char *path, *text;
} file;

/* Devices as text: "type vendor-name vendor device metadata;". */
static void describe(const char *root, char *out, size_t room) {
  OrtHardwareDevice **devices;
  size_t n, used = 0;
  assert_null(ort_hardware_find(root, &devices, &n));
  *out = 0;
  for (size_t i = 0; i < n; i++) {
    const OrtHardwareDevice *d = devices[i];
    used += (size_t)snprintf(out + used, room - used, "%d %s %x %x", d->type, d->vendor, d->vendor_id, d->device_id);
    for (size_t k = 0; k < d->metadata.n; k++)
      used += (size_t)snprintf(out + used, room - used, " %s=%s", d->metadata.keys[k], d->metadata.values[k]);
    used += (size_t)snprintf(out + used, room - used, ";");
    ort_hardware_release(devices[i]);
  }
  free(devices);
}

#define GPU1 "sys/class/drm/card1/device/"
#define NPU "sys/class/accel/accel0/device/"
#define BUS "sys/bus/pci/devices/"

static void test_trees(void **state) {
  (void)state;
  static const struct {
    file files[16];
    const char *want;
  } rows[] = {
      {{{NULL, NULL}}, "0 unknown 0 0;"},
      {{{"proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t: 1\n"}}, "0 Intel 8086 0;"},
      {{{"proc/cpuinfo", "vendor_id\t: AuthenticAMD\n"}}, "0 AMD 1022 0;"},
      {{{"proc/cpuinfo", "vendor_id\t: Somebody\n"}}, "0 Somebody 0 0;"},
      {{{"proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n"}}, "0 ARM 13b5 0;"},
      /* a GPU and an NPU by their classes, and again on the bus; connectors and render nodes are none */
      {{{"proc/cpuinfo", "vendor_id\t: GenuineIntel\n"},
        {GPU1 "vendor", "0x8086\n"},
        {GPU1 "device", "0x56a0\n"},
        {GPU1 "uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:01:00.0\n"},
        {"sys/class/drm/card1-HDMI-A-1/status", "connected\n"},
        {"sys/class/drm/renderD128/device/vendor", "0x8086\n"},
        {NPU "vendor", "0x8086\n"},
        {NPU "device", "0x7d1d\n"},
        {NPU "uevent", "PCI_SLOT_NAME=0000:03:00.0\n"},
        {BUS "0000:01:00.0/class", "0x030000\n"},
        {BUS "0000:01:00.0/vendor", "0x8086\n"},
        {BUS "0000:01:00.0/device", "0x56a0\n"}},
       "0 Intel 8086 0;1 Intel 8086 56a0 pci_bus_id=0000:01:00.0 card_idx=1;"
       "2 Intel 8086 7d1d pci_bus_id=0000:03:00.0 accel_idx=0;"},
      /* on the bus alone; a network card is none */
      {{{BUS "0000:02:00.0/class", "0x030200\n"},
        {BUS "0000:02:00.0/vendor", "0x10de\n"},
        {BUS "0000:02:00.0/device", "0x2330\n"},
        {BUS "0000:03:00.0/class", "0x120000\n"},
        {BUS "0000:03:00.0/vendor", "0xabcd\n"},
        {BUS "0000:03:00.0/device", "0x1\n"},
        {BUS "0000:04:00.0/class", "0x020000\n"},
        {BUS "0000:04:00.0/vendor", "0x10de\n"},
        {BUS "0000:04:00.0/device", "0x1\n"}},
       "0 unknown 0 0;1 NVIDIA 10de 2330 pci_bus_id=0000:02:00.0;2  abcd 1 pci_bus_id=0000:03:00.0;"},
      /* what cannot be read is not there */
      {{{GPU1 "vendor", "none\n"}, {GPU1 "device", "0x1\n"}, {BUS "0000:02:00.0/class", "0x030200\n"}},
       "0 unknown 0 0;"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char root[] = "/tmp/ort_hardware_XXXXXX", got[1024];
    assert_non_null(mkdtemp(root));
    for (const file *f = rows[i].files; f->path != NULL; f++) write_file(root, f->path, f->text);
    describe(root, got, sizeof got);
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_string_equal(got, rows[i].want);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
