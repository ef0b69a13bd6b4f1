/* SPDX-License-Identifier: Apache-2.0
 * ort/linked/program.c - a program that was linked with Microsoft's library, so that it asks for OrtGetApiBase under that
 * release's version, and runs with ours (docs/ort.md). */
#include <stdio.h>

#include "onyx/ort_abi.h"

int main(void) {
  const OrtApi *api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  OrtEnv *env = NULL;
  if (api == NULL || api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "linked", &env) != NULL) return 1;
  printf("%s, %s\n", OrtGetApiBase()->GetVersionString(), api->GetBuildInfoString());
  api->ReleaseEnv(env);
  return 0;
}
