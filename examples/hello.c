/* SPDX-License-Identifier: Apache-2.0
 * examples/hello.c - the shortest program: one model, one input of ones, one output. usage: hello MODEL */
#include <stdio.h>

#include <onyx/onyx.h>

int main(int argc, char **argv) {
  ox_env *env = NULL;
  ox_session *session = NULL;
  ox_value *in = NULL, *out = NULL;
  ox_value_info info;
  if (argc != 2) {
    fprintf(stderr, "usage: hello MODEL\n");
    return 2;
  }
  ox_status *st = ox_env_create(NULL, &env);
  if (!st) st = ox_session_create_file(env, argv[1], NULL, &session);
  if (!st) st = ox_session_input(session, 0, &info);
  for (int i = 0; !st && i < info.rank; i++)
    if (info.dims[i] < 0) info.dims[i] = 1; /* open dimensions */
  if (!st) st = ox_value_create(env, info.dtype, info.dims, (size_t)info.rank, &in);
  if (!st) st = ox_session_run(session, NULL, &info.name, (const ox_value *const *)&in, 1, NULL, &out, 1);
  if (!st) printf("first element: %g\n", ox_tensor_element(ox_value_get(out), 0));
  if (st) fprintf(stderr, "%s\n", ox_status_message(st));
  int failed = st != NULL;
  ox_status_free(st);
  ox_value_release(in);
  ox_value_release(out);
  ox_session_release(session);
  ox_env_release(env);
  return failed;
}
