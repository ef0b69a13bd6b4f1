/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_profile.c - see ort_profile.h. One event a line: cat, pid, tid, dur, ts, ph, name, args. Times are in
 * microseconds since the profile began. */
#include "ort/session/ort_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ort/env/ort_providers.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session_options.h"
#include "ort/ort_status.h"
#include "ort/ort_list.h"

enum { MOST_EVENTS = 1000000 };

static int64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t ort_profile_now(void) { return read_clock(CLOCK_MONOTONIC); }

OrtStatus *ort_profile_create(const char *prefix, ort_profile **out) {
  char path[4096], date[32] = "";
  struct tm day;
  ort_profile *p = *out = calloc(1, sizeof *p);
  if (p == NULL) return ort_out_of_memory();
  pthread_mutex_init(&p->lock, NULL);
  p->start_ns = ort_profile_now(), p->start_real_ns = (uint64_t)read_clock(CLOCK_REALTIME);
  time_t seconds = (time_t)(p->start_real_ns / 1000000000);
  if (localtime_r(&seconds, &day) != NULL) strftime(date, sizeof date, "%Y-%m-%d_%H-%M-%S", &day);
  snprintf(path, sizeof path, "%s_%s_%03u.json", prefix, date, (unsigned)(p->start_real_ns / 1000000 % 1000));
  OrtStatus *st = ort_text_set(&p->path, path);
  if (st == NULL) return NULL;
  ort_profile_destroy(p);
  *out = NULL;
  return st;
}

void ort_profile_destroy(ort_profile *p) {
  if (p == NULL) return;
  pthread_mutex_destroy(&p->lock);
  for (size_t i = 0; i < p->n_events; i++) free(p->events[i]);
  free(p->events), free(p->spans);
  free(p->path);
  free(p);
}

void ort_profile_add(ort_profile *p, const char *name, int64_t start_ns) {
  int64_t duration_ns = ort_profile_now() - start_ns;
  pthread_mutex_lock(&p->lock);
  if (p->n_spans < MOST_EVENTS) {
    OrtStatus *st = ort_list_grow(&p->spans, p->n_spans, sizeof *p->spans);
    if (st == NULL) p->spans[p->n_spans++] = (ort_profile_span){name, start_ns, duration_ns};
  }
  pthread_mutex_unlock(&p->lock);
}

/* ---- JSON ---- */

static void put_text(FILE *f, const char *text) {
  fputc('"', f);
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(f, "\\%c", c);
    else if (c < 0x20)
      fprintf(f, "\\u%04x", c);
    else
      fputc(c, f);
  }
  fputc('"', f);
}

static void put_head(FILE *f, const char *category, int64_t start_us, int64_t duration_us) {
  int pid = (int)getpid();
  fprintf(
      f, "{\"cat\" : \"%s\",\"pid\" :%d,\"tid\" :%d,\"dur\" :%" PRId64 ",\"ts\" :%" PRId64 ",\"ph\" : \"X\",\"name\" :",
      category, pid, pid, duration_us, start_us);
}

static void put_shapes(FILE *f, const char *key, const ox_tensor *t, uint32_t n) {
  bool first = true;
  fprintf(f, ",\"%s\" : [", key);
  for (uint32_t i = 0; i < n; i++) {
    if (t[i].kind != OX_TENSOR || t[i].dtype == OX_UNDEFINED) continue;
    const char *type = ox_type_name(t[i].dtype);
    fprintf(f, "%s{\"%s\":[", first ? "" : ",", strcmp(type, "float32") == 0 ? "float" : type);
    for (int32_t d = 0; d < t[i].shape.rank; d++) fprintf(f, "%s%" PRId64, d > 0 ? "," : "", t[i].shape.dim[d]);
    fputs("]}", f);
    first = false;
  }
  fputc(']', f);
}

static void put_node(FILE *f, const ort_profile *p, const ox_node_time *t) {
  char name[512];
  uint64_t read = 0;
  for (uint32_t i = 0; i < t->n_in; i++) read += t->in[i].bytes;
  if (t->name[0] != '\0')
    snprintf(name, sizeof name, "%s_kernel_time", t->name);
  else
    snprintf(name, sizeof name, "%s_%u_kernel_time", t->op, t->index);
  put_head(f, "Node", (int64_t)t->start_us - p->start_ns / 1000, (int64_t)t->duration_us);
  put_text(f, name);
  fputs(",\"args\" : {\"op_name\" : ", f);
  put_text(f, t->op);
  fputs(",\"provider\" : ", f);
  put_text(f, ort_provider_name(t->provider));
  fprintf(f,
          ",\"node_index\" : \"%u\",\"activation_size\" : \"%" PRIu64 "\",\"parameter_size\" : \"%" PRIu64
          "\",\"output_size\" : \"%" PRIu64 "\"",
          t->index, read - t->constant_bytes, t->constant_bytes, t->output_bytes);
  put_shapes(f, "input_type_shape", t->in, t->n_in);
  put_shapes(f, "output_type_shape", t->out, t->n_out);
  fputs(",\"thread_scheduling_stats\" : \"\"}}", f);
}

void ort_profile_add_event(ort_profile *p, const char *category, const char *name, int64_t start_us,
                           int64_t duration_us, const OrtKeyValuePairs *args) {
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  if (f == NULL) return;
  put_head(f, category, start_us, duration_us);
  put_text(f, name);
  fputs(",\"args\" : {", f);
  for (size_t i = 0; i < args->n; i++) {
    if (i > 0) fputc(',', f);
    put_text(f, args->keys[i]);
    fputs(" : ", f);
    put_text(f, args->values[i]);
  }
  fputs("}}", f);
  if (fclose(f) != 0) {
    free(text);
    return;
  }
  pthread_mutex_lock(&p->lock);
  OrtStatus *st =
      p->n_events < MOST_EVENTS ? ort_list_grow(&p->events, p->n_events, sizeof *p->events) : ort_out_of_memory();
  if (st == NULL)
    p->events[p->n_events++] = text;
  else
    free(text);
  ort_ReleaseStatus(st);
  pthread_mutex_unlock(&p->lock);
}

OrtStatus *ort_profile_write(ort_profile *p, const ox_session *s) {
  ox_node_time t;
  FILE *f = fopen(p->path, "w");
  if (f == NULL) return ort_fail(ORT_FAIL, "profile '%s' cannot be written: %s", p->path, strerror(errno));
  fputs("[", f);
  pthread_mutex_lock(&p->lock);
  for (size_t i = 0; i < p->n_spans; i++) {
    const ort_profile_span *span = &p->spans[i];
    fputs(i > 0 ? ",\n" : "\n", f);
    put_head(f, "Session", (span->start_ns - p->start_ns) / 1000, span->duration_ns / 1000);
    put_text(f, span->name);
    fputs(",\"args\" : {}}", f);
  }
  for (size_t i = 0; i < MOST_EVENTS && ox_session_profile_event(s, i, &t); i++) {
    fputs(i > 0 || p->n_spans > 0 ? ",\n" : "\n", f);
    put_node(f, p, &t);
  }
  for (size_t i = 0; i < p->n_events; i++) fprintf(f, ",\n%s", p->events[i]);
  pthread_mutex_unlock(&p->lock);
  fputs("\n]\n", f);
  bool failed = ferror(f) != 0;
  failed |= fclose(f) != 0;
  return failed ? ort_fail(ORT_FAIL, "profile '%s' cannot be written", p->path) : NULL;
}
