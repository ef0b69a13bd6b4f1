/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_optimize.c - onyx optimize: writes the graph as it would run. */
#include <errno.h>
#include <string.h>

#include "cli_model.h"

static int write_bytes(void *ctx, const void *bytes, size_t n) { return fwrite(bytes, 1, n, ctx) != n; }

static int run(int argc, char **argv) {
  static cli_model m;
  const char *out = NULL;
  bool text = false;
  const cli_option options[] = {
      CLI_MODEL_ROWS(&m), {"-o", NULL, &out, NULL}, {"--output", NULL, &out, NULL}, {"--text", &text, NULL, NULL}};
  if (!cli_parse(argc, argv, options, sizeof options / sizeof *options, &m.paths)) return EXIT_USAGE;
  if (!out) {
    fprintf(stderr, "onyx optimize: -o OUT is missing (see onyx optimize --help)\n");
    return EXIT_USAGE;
  }
  int code = cli_model_open(&m, "optimize", true);
  FILE *f = code == EXIT_OK ? fopen(out, "wb") : NULL;
  if (code == EXIT_OK && !f) {
    fprintf(stderr, "onyx: %s: %s\n", out, strerror(errno));
    code = EXIT_FAILED;
  }
  if (f) {
    ox_status *st = ox_session_write(m.session, text ? OX_WRITE_TEXT : OX_WRITE_MODEL, write_bytes, f);
    if (fclose(f) != 0 && !st) st = ox_task_error(OX_FAIL, "the file could not be written");
    uint64_t parameters, bytes, nodes;
    ox_session_size(m.session, &parameters, &bytes, &nodes);
    if (st) code = cli_fail(st);
    else if (m.json) printf("{\"nodes\": %llu, \"parameters\": %llu}\n", (unsigned long long)nodes, (unsigned long long)parameters);
    else printf("%s: %llu nodes, %llu parameters\n", out, (unsigned long long)nodes, (unsigned long long)parameters);
  }
  cli_model_close(&m);
  return code;
}

const cli_command cmd_optimize = {"optimize", "writes the optimized model",
                                  "usage: onyx optimize MODEL -o OUT [options]\n\n"
                                  "Writes the graph as it would run. From level 2 on it holds operators of com.microsoft and ai.onyx.\n\n"
                                  "  -o OUT              the file to write\n"
                                  "  --text              write ONNX's textual syntax\n" CLI_MODEL_HELP,
                                  run};
