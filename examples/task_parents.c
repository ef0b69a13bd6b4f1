/* SPDX-License-Identifier: Apache-2.0
 * examples/task_parents.c - tasks that begin when others have ended: read -> (blur, sharpen) -> write; then a failure
 * and what it does to descendants; then the same order prepared once and run many times. */
#include <stdio.h>

#include <onyx/task.h>

static ox_status *say(void *payload, uint32_t unit) {
  printf("  %s, unit %u\n", *(const char **)payload, (unsigned)unit);
  return NULL;
}

static ox_status *fail(void *payload, uint32_t unit) {
  (void)payload, (void)unit;
  return ox_task_error(OX_NO_SUCH_FILE, "no such picture");
}

/* A task of so many units after so many parents. The payload, a pointer to a name, is copied. */
static ox_task *after(ox_unit_fn fn, const char *name, uint32_t n_units, ox_task *const *parents, uint32_t n_parents) {
  ox_task *task = NULL;
  ox_task_opts o = {.struct_size = sizeof o, .flags = OX_TASK_ASYNC, .n_units = n_units, .fn = fn};
  o.payload = &name, o.payload_bytes = sizeof name;
  o.parents = parents, o.n_parents = n_parents;
  ox_status *st = ox_task_submit(NULL, &o, &task); /* NULL: the default pool */
  if (st) fprintf(stderr, "%s\n", ox_status_message(st));
  ox_status_free(st);
  return task;
}

static void picture(ox_unit_fn read_fn) {
  ox_task *read = after(read_fn, "read", 1, NULL, 0);
  ox_task *both[] = {after(say, "blur", 2, &read, 1), after(say, "sharpen", 2, &read, 1)};
  ox_task *write = after(say, "write", 1, both, 2);
  ox_task_release(read), ox_task_release(both[0]), ox_task_release(both[1]); /* handles; the tasks go on */
  ox_status *st = ox_task_wait_release(write);
  printf("%s\n", st ? ox_status_message(st) : "written");
  ox_status_free(st);
}

static int prepared(void) {
  static const char *const names[] = {"read", "blur", "write"};
  ox_task_graph *graph = NULL;
  uint32_t last = 0;
  ox_status *st = ox_task_graph_create(&graph);
  for (uint32_t i = 0; !st && i < 3; i++) st = ox_task_graph_add(graph, say, (void *)&names[i], 1, &last, i > 0, &last);
  for (int frame = 0; !st && frame < 2; frame++) st = ox_task_graph_run(ox_pool_default(), graph);
  printf("%s\n", st ? ox_status_message(st) : "two frames");
  ox_task_graph_destroy(graph);
  int failed = st != NULL;
  ox_status_free(st);
  return failed;
}

int main(void) {
  picture(say);
  picture(fail); /* the others do not run */
  return prepared();
}
