/* SPDX-License-Identifier: Apache-2.0
 * device/module.c - see module.h. */
#include "plugins/device/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/fail.h"

/* The files of kernels/, made by the build. */
#include "device_kernels.inc"

static const char *text_of(const char *name, size_t n) {
  for (size_t i = 0; i < OX_COUNT(dev_texts); i++)
    if (strlen(dev_texts[i].name) == n && memcmp(dev_texts[i].name, name, n) == 0) return dev_texts[i].text;
  return NULL;
}

ox_status *dev_modules_init(dev_modules *m, const ox_ep_host *host, dev_device *d, const char *cache) {
  *m = (dev_modules){.device = d};
  if (pthread_mutex_init(&m->lock, NULL)) return dev_fail(host, OX_FAIL, "a lock cannot be made");
  m->host = host;
  return dev_kernel_cache_init(&m->cache, host, dev_the_driver.info(d)->key, cache);
}

void dev_modules_deinit(dev_modules *m) {
  if (!m->host) return;
  for (size_t i = 0; i < m->n; i++) dev_the_driver.module_release(m->of[i].module);
  dev_kernel_cache_deinit(&m->cache);
  pthread_mutex_destroy(&m->lock);
}

/* ---- building ---- */

/* A source with what it includes, each file once. */
typedef struct {
  char *text; /* malloc'd */
  size_t n, capacity;
  const char *seen[32];
  size_t n_seen;
} whole;

static bool append(whole *w, const char *s, size_t n) {
  if (w->n + n >= w->capacity) {
    size_t capacity = OX_MAX(2 * w->capacity, w->n + n + 4096);
    char *text = realloc(w->text, capacity);
    if (!text) return false;
    w->text = text, w->capacity = capacity;
  }
  memcpy(w->text + w->n, s, n);
  w->text[w->n += n] = 0;
  return true;
}

/* Lines #include "…/name.h" become that file; others (of the plain C part) stay. */
static bool append_file(whole *w, const char *name, size_t name_bytes) {
  static const char include[] = "#include \"plugins/device/kernels/";
  const char *line = text_of(name, name_bytes);
  bool ok = line != NULL;
  for (size_t i = 0; i < w->n_seen; i++)
    if (w->seen[i] == line) return true;
  if (ok && w->n_seen < OX_COUNT(w->seen)) w->seen[w->n_seen++] = line;
  while (ok && *line) {
    const char *end = line + strcspn(line, "\n"), *file = line + sizeof include - 1;
    if (strncmp(line, include, sizeof include - 1) == 0)
      ok = append_file(w, file, strcspn(file, "."));
    else
      ok = append(w, line, (size_t)(end - line) + (*end == '\n'));
    line = end + (*end == '\n');
  }
  return ok;
}

static char *whole_text(const char *source, bool half) {
  whole w = {0};
  const char *first = half ? "#define DEV_F16 1\n" : "#define DEV_F16 0\n";
  if (append(&w, first, strlen(first)) && append_file(&w, source, strlen(source))) return w.text;
  free(w.text);
  return NULL;
}

static ox_status *build(dev_modules *m, const char *name, const char *text, dev_module **out) {
  size_t n = 0;
  void *binary = dev_kernel_cache_read(&m->cache, name, text, &n);
  ox_status *st = binary ? dev_the_driver.build(m->device, name, text, binary, n, out) : NULL;
  free(binary);
  if (binary && !st) return NULL;
  m->host->status_free(st); /* of another driver, or damaged: build it again */
  DEV_TRY(dev_the_driver.build(m->device, name, text, NULL, 0, out));
  const void *bytes = dev_the_driver.module_binary(*out, &n);
  if (bytes) dev_kernel_cache_write(&m->cache, name, text, bytes, n);
  return NULL;
}

static ox_status *module_of(dev_modules *m, const char *source, bool half, dev_module **out) {
  char name[64];
  for (size_t i = 0; i < m->n; i++)
    if (m->of[i].half == half && strcmp(m->of[i].source, source) == 0) {
      *out = m->of[i].module;
      return NULL;
    }
  snprintf(name, sizeof name, "%s_%s", source, half ? "f16" : "f32");
  if (m->n == DEV_MOST_MODULES) return dev_fail(m->host, OX_LIMIT, "more than %d sources of kernels", DEV_MOST_MODULES);
  char *text = whole_text(source, half);
  if (!text) return dev_fail(m->host, OX_OUT_OF_MEMORY, "no memory for the source of kernels '%s'", source);
  ox_status *st = build(m, name, text, out);
  free(text);
  if (!st) m->of[m->n].source = source, m->of[m->n].half = half, m->of[m->n++].module = *out;
  return st;
}

ox_status *dev_kernel_find(dev_modules *m, const char *source, const char *name, bool half, dev_kernel **out_kernel) {
  char full[96];
  dev_module *module = NULL;
  snprintf(full, sizeof full, "%s_%s", name, half ? "f16" : "f32");
  pthread_mutex_lock(&m->lock);
  ox_status *st = module_of(m, source, half, &module);
  if (!st) st = dev_the_driver.kernel(module, full, out_kernel);
  pthread_mutex_unlock(&m->lock);
  return st;
}
