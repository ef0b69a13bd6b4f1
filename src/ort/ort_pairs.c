/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_pairs.c - OrtKeyValuePairs: two arrays of strings, searched from the front; few of them are long. */
#include "ort/ort_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"

static size_t find(const OrtKeyValuePairs *pairs, const char *key) {
  for (size_t i = 0; i < pairs->n; i++)
    if (strcmp(pairs->keys[i], key) == 0) return i;
  return SIZE_MAX;
}

static bool grow(char ***list, size_t room) {
  size_t bytes;
  char **grown = ort_mul_ok(room, sizeof *grown, &bytes) ? realloc(*list, bytes) : NULL;
  if (grown != NULL) *list = grown;
  return grown != NULL;
}

static bool reserve(OrtKeyValuePairs *pairs) {
  if (pairs->n < pairs->room) return true;
  size_t room = pairs->room ? 2 * pairs->room : 8;
  if (!grow(&pairs->keys, room) || !grow(&pairs->values, room)) return false;
  pairs->room = room;
  return true;
}

static char *copy_text(const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = malloc(n);
  return copy != NULL ? memcpy(copy, text, n) : NULL;
}

OrtStatus *ort_pairs_create(OrtKeyValuePairs **out) {
  *out = calloc(1, sizeof **out);
  return *out != NULL ? NULL : ort_out_of_memory();
}

OrtStatus *ort_pairs_set(OrtKeyValuePairs *pairs, const char *key, const char *value) {
  size_t i = find(pairs, key);
  char *v = copy_text(value);
  char *k = i == SIZE_MAX && v != NULL && reserve(pairs) ? copy_text(key) : NULL;
  if (v == NULL || (k == NULL && i == SIZE_MAX)) {
    free(v);
    return ort_out_of_memory();
  }
  if (i == SIZE_MAX) {
    i = pairs->n++;
    pairs->keys[i] = k;
  } else {
    free(pairs->values[i]);
  }
  pairs->values[i] = v;
  return NULL;
}

const char *ort_pairs_get(const OrtKeyValuePairs *pairs, const char *key) {
  size_t i = find(pairs, key);
  return i != SIZE_MAX ? pairs->values[i] : NULL;
}

void ort_pairs_remove(OrtKeyValuePairs *pairs, const char *key) {
  size_t i = find(pairs, key);
  if (i == SIZE_MAX) return;
  free(pairs->keys[i]);
  free(pairs->values[i]);
  size_t behind = --pairs->n - i;
  memmove(&pairs->keys[i], &pairs->keys[i + 1], behind * sizeof *pairs->keys);
  memmove(&pairs->values[i], &pairs->values[i + 1], behind * sizeof *pairs->values);
}

OrtStatus *ort_pairs_copy(const OrtKeyValuePairs *from, OrtKeyValuePairs *to) {
  *to = (OrtKeyValuePairs){0};
  OrtStatus *st = NULL;
  for (size_t i = 0; st == NULL && i < from->n; i++) st = ort_pairs_set(to, from->keys[i], from->values[i]);
  if (st != NULL) ort_pairs_deinit(to);
  return st;
}

void ort_pairs_deinit(OrtKeyValuePairs *pairs) {
  for (size_t i = 0; i < pairs->n; i++) {
    free(pairs->keys[i]);
    free(pairs->values[i]);
  }
  free(pairs->keys);
  free(pairs->values);
  *pairs = (OrtKeyValuePairs){0};
}

/* ---- the ABI's calls: they have no status; what cannot be done is not done ---- */

void ort_CreateKeyValuePairs(OrtKeyValuePairs **out) {
  if (out != NULL) *out = calloc(1, sizeof **out);
}

void ort_AddKeyValuePair(OrtKeyValuePairs *pairs, const char *key, const char *value) {
  if (pairs == NULL || key == NULL || *key == 0 || value == NULL) return;
  ort_ReleaseStatus(ort_pairs_set(pairs, key, value));
}

const char *ort_GetKeyValue(const OrtKeyValuePairs *pairs, const char *key) {
  return pairs != NULL && key != NULL ? ort_pairs_get(pairs, key) : NULL;
}

void ort_GetKeyValuePairs(const OrtKeyValuePairs *pairs, const char *const **keys, const char *const **values,
                          size_t *n) {
  if (keys != NULL) *keys = pairs != NULL ? (const char *const *)pairs->keys : NULL;
  if (values != NULL) *values = pairs != NULL ? (const char *const *)pairs->values : NULL;
  if (n != NULL) *n = pairs != NULL ? pairs->n : 0;
}

void ort_RemoveKeyValuePair(OrtKeyValuePairs *pairs, const char *key) {
  if (pairs != NULL && key != NULL) ort_pairs_remove(pairs, key);
}

void ort_ReleaseKeyValuePairs(OrtKeyValuePairs *pairs) {
  if (pairs == NULL) return;
  ort_pairs_deinit(pairs);
  free(pairs);
}
