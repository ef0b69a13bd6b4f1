/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_optimize.c - onyx optimize: writes the graph as it would run. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli_model.h"

static struct {
  cli_model model;
  char *output;
  bool text;
} args = {.model.args.level = OX_OPTIMIZE_ALL};

static const cli_option options[] = {
    {.name = "output", .letter = 'o', .arg = "OUT", .help = "the file to write", .text = &args.output},
    CLI_FLAG("text", &args.text, "write ONNX's textual syntax"),
    CLI_TEXT("dump-before", "RULE", &args.model.args.dump_before,
             "print the model to standard error before each application of this rule or\npass"),
    CLI_TEXT("dump-after", "RULE", &args.model.args.dump_after, "the same after it"),
    CLI_MODEL_OPTIONS(args.model),
};

static void tell(const cli_model *m) {
  uint64_t parameters, bytes, nodes;
  ox_session_size(m->session, &parameters, &bytes, &nodes);
  if (!m->json) {
    printf("%s: %" PRIu64 " nodes, %" PRIu64 " parameters\n", args.output, nodes, parameters);
    return;
  }
  ox_json j = cli_json();
  ox_json_begin_object(&j);
  ox_json_uint(ox_json_key(&j, "nodes"), nodes);
  ox_json_uint(ox_json_key(&j, "parameters"), parameters);
  ox_json_end_object(&j);
  ox_json_end(&j);
}

static int write_model(const cli_model *m) {
  FILE *f = fopen(args.output, "wb");
  if (!f) {
    fprintf(stderr, "onyx: %s: %s\n", args.output, strerror(errno));
    return EXIT_FAILED;
  }
  ox_status *st = ox_session_write(m->session, args.text ? OX_WRITE_TEXT : OX_WRITE_MODEL, cli_write, f);
  if (fclose(f) != 0 && !st) st = ox_task_error(OX_FAIL, "the file could not be written");
  if (st) return cli_fail(st);
  tell(m);
  return EXIT_OK;
}

static bool has_work(void) {
  if (args.output || args.model.args.dump_before || args.model.args.dump_after) return true;
  fprintf(stderr, "onyx optimize: an option is missing: --output (see onyx optimize --help)\n");
  return false;
}

static int run(const cli_operands *operands) {
  if (!has_work()) return EXIT_USAGE;
  int code = cli_model_open(&args.model, operands, true);
  if (code == EXIT_OK && args.output) code = write_model(&args.model);
  cli_model_close(&args.model);
  return code;
}

const cli_command cmd_optimize = {
    .name = "optimize",
    .summary = "writes the optimized model",
    .about =
        "Writes the graph as it would run. From level 2 on it holds operators of com.microsoft and ai.onyx. --output "
        "may\n"
        "be left out if a rule's work is to be seen.",
    .operand = "MODEL|DIR",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
