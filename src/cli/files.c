/* SPDX-License-Identifier: Apache-2.0
 * cli/files.c - files, standard output, clocks and memory, as the system gives them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"

unsigned char *cli_read_file(const char *path, size_t *out_n) {
  FILE *f = cli_is_dir(path) ? NULL : fopen(path, "rb");
  unsigned char *bytes = NULL;
  *out_n = 0;
  if (!f && cli_is_dir(path)) errno = EISDIR;
  if (!f) return NULL;
  long n = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
  if (n >= 0 && fseek(f, 0, SEEK_SET) == 0 && (bytes = malloc((size_t)n + 1)) != NULL) {
    *out_n = fread(bytes, 1, (size_t)n, f);
    if (*out_n != (size_t)n) {
      free(bytes);
      bytes = NULL;
    }
  }
  fclose(f);
  return bytes;
}

bool cli_is_dir(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

bool cli_exists(const char *path) {
  struct stat s;
  return stat(path, &s) == 0;
}

int cli_write(void *file, const void *bytes, size_t n) { return fwrite(bytes, 1, n, file) != n; }

ox_json cli_json(void) { return ox_json_to(cli_write, stdout); }

int cli_fail(ox_status *st) {
  fprintf(stderr, "onyx: %s\n", ox_status_message(st));
  ox_status_free(st);
  return EXIT_FAILED;
}

bool cli_load_value(ox_env *env, const char *path, const ox_value_info *declared, ox_value **out_value, char *why,
                    size_t n_why) {
  size_t n;
  uint32_t kind = declared->optional ? OX_NONE_VALUE : declared->kind; /* an optional comes in an OptionalProto */
  unsigned char *bytes = cli_read_file(path, &n);
  *out_value = NULL;
  if (!bytes) {
    snprintf(why, n_why, "%s: %s", path, strerror(errno));
    return false;
  }
  ox_status *st = ox_value_parse(env, kind, bytes, n, out_value);
  if (st) snprintf(why, n_why, "%s: %s", path, ox_status_message(st));
  ox_status_free(st);
  free(bytes);
  return *out_value != NULL;
}

double cli_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double cli_peak_rss_mb(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)u.ru_maxrss / 1024.0;
}
