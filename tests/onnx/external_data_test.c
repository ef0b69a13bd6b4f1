/* SPDX-License-Identifier: Apache-2.0
 * onnx/external_data_test.c - tensors in files beside the model; paths that lead elsewhere are refused. */
#define _XOPEN_SOURCE 700 /* mkdtemp, symlink */
#include "onnx/proto/external_data.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/byte_buf.h"
#include "onnx/proto/onnx_fields.h"

/* root/model/{m.onnx,data.bin,sub/more.bin,out -> ../secret.bin}, root/secret.bin, root/link.onnx -> model/m.onnx */
typedef struct folder {
  char root[64];
} folder;

static char *path_of(const folder *f, const char *name, char *path) {
  snprintf(path, 256, "%s/%s", f->root, name);
  return path;
}

static void put_file(const folder *f, const char *name, const void *bytes, size_t n) {
  char path[256];
  FILE *file = fopen(path_of(f, name, path), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  fclose(file);
}

static const float numbers[4] = {1, 2, 3, 4};

static int setup(void **state) {
  folder *f = calloc(1, sizeof *f);
  char path[256];
  strcpy(f->root, "/tmp/onyx-external-XXXXXX");
  if (!mkdtemp(f->root)) return 1;
  mkdir(path_of(f, "model", path), 0700), mkdir(path_of(f, "model/sub", path), 0700);
  put_file(f, "model/data.bin", numbers, sizeof numbers);
  put_file(f, "model/sub/more.bin", numbers, sizeof numbers);
  put_file(f, "secret.bin", numbers, sizeof numbers);
  if (symlink("../secret.bin", path_of(f, "model/out", path))) return 1;
  mkdir(path_of(f, "cache", path), 0700);
  if (symlink("../model/m.onnx", path_of(f, "cache/m.onnx", path))) return 1;
  if (symlink("../model/data.bin", path_of(f, "cache/data.bin", path))) return 1;
  if (mkfifo(path_of(f, "model/pipe", path), 0600)) return 1;
  *state = f;
  return 0;
}

static int teardown(void **state) {
  static const char *const names[] = {"model/data.bin", "model/sub/more.bin", "secret.bin", "model/out",
                                      "cache/m.onnx",   "cache/data.bin",     "cache",      "model/m.onnx",
                                      "model/pipe",     "model/sub",          "model",      ""};
  folder *f = *state;
  char path[256];
  for (size_t i = 0; i < OX_COUNT(names); i++) remove(path_of(f, names[i], path));
  free(f);
  return 0;
}

/* Writes a model whose constants' data is elsewhere, and reads it from |name|. */
static ox_status *read_with(const folder *f, const char *name, const char *entries, ox_model **m) {
  char path[256];
  ox_wire_out o = ox_wire_out_of(ox_alloc_heap());
  ox_out_varint(&o, OX_MODEL_PROTO_IR_VERSION, 8);
  ox_wire_mark opset = ox_out_begin(&o, OX_MODEL_PROTO_OPSET_IMPORT);
  ox_out_varint(&o, OX_OPERATOR_SET_ID_PROTO_VERSION, 7);
  ox_out_end(&o, opset);
  ox_wire_mark graph = ox_out_begin(&o, OX_MODEL_PROTO_GRAPH);
  for (int k = 0; k < 2; k++) {
    ox_wire_mark t = ox_out_begin(&o, OX_GRAPH_PROTO_INITIALIZER);
    ox_out_varint(&o, OX_TENSOR_PROTO_DIMS, 2), ox_out_varint(&o, OX_TENSOR_PROTO_DATA_TYPE, OX_F32);
    ox_out_varint(&o, OX_TENSOR_PROTO_DATA_LOCATION, OX_TENSOR_PROTO_DATA_LOCATION_EXTERNAL);
    ox_out_str(&o, OX_TENSOR_PROTO_NAME, k ? "v" : "w");
    for (const char *e = entries; *e; e += strlen(e) + 1) {
      ox_wire_mark entry = ox_out_begin(&o, OX_TENSOR_PROTO_EXTERNAL_DATA);
      ox_out_bytes(&o, OX_STRING_STRING_ENTRY_PROTO_KEY, e, strcspn(e, "="));
      ox_out_str(&o, OX_STRING_STRING_ENTRY_PROTO_VALUE, strchr(e, '=') + 1);
      ox_out_end(&o, entry);
    }
    ox_out_end(&o, t);
  }
  ox_out_end(&o, graph);
  byte_buf b = byte_buf_of(&o);
  put_file(f, "model/m.onnx", b.p, b.n);
  byte_buf_free(&b);
  return ox_model_read_file(ox_alloc_heap(), path_of(f, name, path), NULL, m);
}

static void test_data_beside_the_model(void **state) {
  static const char *const good[] = {
      "location=data.bin\0offset=4\0length=8\0",
      "location=data.bin\0offset=4\0",
      "location=./data.bin\0offset=4\0",
      "location=sub/more.bin\0offset=4\0length=8\0checksum=whatever\0",
  };
  for (size_t i = 0; i < OX_COUNT(good); i++)
    for (int linked = 0; linked < (i < 3 ? 2 : 1); linked++) {
      ox_model *m;
      CHECK_OK(read_with(*state, linked ? "cache/m.onnx" : "model/m.onnx", good[i], &m));
      const ox_tensor *w = ox_graph_const(m->graph, ox_graph_find(m->graph, "w"));
      assert_memory_equal(w->data, &numbers[1], 8);
      assert_int_equal(m->n_files, 2); /* the model and one data file, though two tensors lie in it */
      uint64_t offset;
      assert_string_equal(ox_model_file_of(m, w, &offset), good[i] + strlen("location="));
      assert_int_equal(offset, 4);
      assert_string_equal(m->path, path_of(*state, linked ? "cache/m.onnx" : "model/m.onnx", (char[256]){0}));
      ox_model_destroy(m);
    }
}

static void test_refused(void **state) {
  static const struct {
    const char *entries, *error;
    ox_code code;
  } rows[] = {
      {"location=../secret.bin\0", "not a path inside", OX_INVALID_MODEL},
      {"location=sub/../../secret.bin\0", "not a path inside", OX_INVALID_MODEL},
      {"location=..\0", "not a path inside", OX_INVALID_MODEL},
      {"location=/etc/passwd\0", "not a path inside", OX_INVALID_MODEL},
      {"location=\0", "not a path inside", OX_INVALID_MODEL},
      {"offset=0\0", "not a path inside", OX_INVALID_MODEL},
      {"location=out\0", "leads out", OX_INVALID_MODEL},
      {"location=absent\0", "absent", OX_NO_SUCH_FILE},
      {"location=sub\0", "not a regular file", OX_NO_SUCH_FILE},
      {"location=pipe\0", "not a regular file", OX_NO_SUCH_FILE},
      {"location=data.bin\0offset=12\0", "has 16 bytes", OX_INVALID_MODEL},
      {"location=data.bin\0offset=18446744073709551615\0", "has 16 bytes", OX_INVALID_MODEL},
      {"location=data.bin\0offset=18446744073709551616\0", "not a number", OX_INVALID_MODEL},
      {"location=data.bin\0offset=-4\0", "not a number", OX_INVALID_MODEL},
      {"location=data.bin\0length=16\0", "ask for 8", OX_INVALID_MODEL},
      {"location=data.bin\0length=x\0", "not a number", OX_INVALID_MODEL},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_model *m;
    CHECK_FAILS(read_with(*state, "model/m.onnx", rows[i].entries, &m), rows[i].code, rows[i].error);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_data_beside_the_model, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
