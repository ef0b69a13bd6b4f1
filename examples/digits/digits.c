/* SPDX-License-Identifier: Apache-2.0
 * examples/digits/digits.c - recognises handwritten digits that the network never saw in training, and draws them.
 * usage: digits DIR [COUNT]   DIR holds digits.onnx and held_back.npy (rows of 64 pixels from 0 to 16, and the label) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <onyx/onyx.h>

enum { PIXELS = 64, ROW = PIXELS + 1, CLASSES = 10, ACROSS = 4 };

static int fail(ox_status *st) {
  fprintf(stderr, "digits: %s\n", ox_status_message(st));
  ox_status_free(st);
  return 1;
}

/* The rows behind the .npy header; NULL if the file is not what train.py writes. */
static unsigned char *read_rows(const char *path, size_t *out_n) {
  FILE *f = fopen(path, "rb");
  unsigned char head[10], *rows = NULL;
  *out_n = 0;
  if (!f) return NULL;
  if (fread(head, 1, 10, f) == 10 && memcmp(head, "\x93NUMPY", 6) == 0 && fseek(f, 0, SEEK_END) == 0) {
    long start = 10 + head[8] + 256 * head[9], bytes = ftell(f) - start;
    rows = bytes > 0 && fseek(f, start, SEEK_SET) == 0 ? malloc((size_t)bytes) : NULL;
    if (rows) *out_n = fread(rows, 1, (size_t)bytes, f) / ROW;
  }
  fclose(f);
  return rows;
}

/* Two pixel rows per line of text: the upper half block's foreground and background. */
static void draw_line(const unsigned char *image, int line) {
  for (int x = 0; x < 8; x++) {
    int up = 232 + image[16 * line + x] * 23 / 16, down = 232 + image[16 * line + 8 + x] * 23 / 16;
    printf("\033[38;5;%dm\033[48;5;%dm\xe2\x96\x80\xe2\x96\x80\033[0m", up, down);
  }
}

static int best_of(const float *p, int skip) {
  int best = skip == 0;
  for (int i = 0; i < CLASSES; i++)
    if (i != skip && p[i] > p[best]) best = i;
  return best;
}

static void draw(const unsigned char *rows, const float *probabilities, size_t n) {
  for (size_t first = 0; first < n; first += ACROSS) {
    size_t last = first + ACROSS < n ? first + ACROSS : n;
    for (int line = 0; line < 4; line++) {
      for (size_t i = first; i < last; i++) {
        const float *p = probabilities + i * CLASSES;
        int best = best_of(p, -1), second = best_of(p, best);
        draw_line(rows + i * ROW, line);
        if (line == 0) printf("  is a %d%s   ", best, best == rows[i * ROW + PIXELS] ? " " : "?");
        else if (line == 1) printf("  %d: %5.1f%% ", best, 100 * (double)p[best]);
        else if (line == 2) printf("  %d: %5.1f%% ", second, 100 * (double)p[second]);
        else printf("            ");
      }
      printf("\n");
    }
    printf("\n");
  }
}

static ox_status *recognise(ox_env *env, const char *model, const unsigned char *rows, size_t n, ox_value **out) {
  const int64_t dims[] = {(int64_t)n, 1, 8, 8};
  const char *name = "image";
  ox_session *session = NULL;
  ox_value *images = NULL;
  *out = NULL;
  ox_status *st = ox_session_create_file(env, model, NULL, &session);
  if (!st) st = ox_value_create(env, OX_F32, dims, 4, &images);
  for (size_t i = 0; !st && i < n * PIXELS; i++)
    ((float *)ox_value_data(images))[i] = (float)rows[i / PIXELS * ROW + i % PIXELS] / 16.0f;
  if (!st) st = ox_session_run(session, NULL, &name, (const ox_value *const *)&images, 1, NULL, out, 1);
  ox_value_release(images);
  ox_session_release(session);
  return st;
}

int main(int argc, char **argv) {
  char model[4096], data[4096];
  size_t n, right = 0;
  if (argc < 2) {
    fprintf(stderr, "usage: digits DIR [COUNT]\n");
    return 2;
  }
  snprintf(model, sizeof model, "%s/digits.onnx", argv[1]);
  snprintf(data, sizeof data, "%s/held_back.npy", argv[1]);
  unsigned char *rows = read_rows(data, &n);
  if (!rows || !n) {
    fprintf(stderr, "digits: %s cannot be read\n", data);
    free(rows);
    return 1;
  }
  ox_env *env = NULL;
  ox_value *probabilities = NULL;
  ox_status *st = ox_env_create(NULL, &env);
  if (!st) st = recognise(env, model, rows, n, &probabilities);
  if (!st) {
    const float *p = ox_value_get(probabilities)->data;
    size_t shown = argc > 2 ? (size_t)atoi(argv[2]) : 8;
    for (size_t i = 0; i < n; i++) right += best_of(p + i * CLASSES, -1) == rows[i * ROW + PIXELS];
    draw(rows, p, shown < n ? shown : n);
    printf("%zu of %zu images that were held back from training are recognised.\n", right, n);
  }
  ox_value_release(probabilities);
  ox_env_release(env);
  free(rows);
  return st ? fail(st) : right * 10 < n * 9;
}
