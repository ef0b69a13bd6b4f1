/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/fake_ep.h - a library of three providers for tests. All compute Mul, Add and Relu of floats: "FakeCompile"
 * fuses them, "FakeKernels" has a kernel for each, and so has "FakeDevice", in memory that the host cannot touch, with
 * streams. A test loads it, too, to make its calls fail and to count them. */
#ifndef OX_TESTS_FAKE_EP_H
#define OX_TESTS_FAKE_EP_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct fake_state {
  const char *fail; /* the call that returns a status, or NULL */
  bool drop_constants;
  bool serial;
  bool context; /* Compile makes nodes EPContext */
  bool outside; /* their data goes to the client's function, by the part's name */
  bool virtual_allowed;
  unsigned version;                /* of the ABI, as providers say; 0: an old one */
  bool no_weightless;              /* providers have no GetWeightlessSupport */
  int weightless;                  /* what it answers */
  const char *weightless_modes[2]; /* the same in metadata of devices: "weightless_supported_modes", and the old key */
  char place[256];                 /* and of "ep.context_file_path" */
  char asked[64];                  /* what CreateEp saw: "ep.enable_weightless_mode ep.enable_weightless", - for none */
  atomic_int factories, eps, kernels, programs, states, allocators, transfers, streams, events; /* alive */
  atomic_int allocations; /* alive, of the device */
  atomic_int profilers;
  atomic_int imported;            /* importers and what they imported, alive */
  atomic_int inside, most_inside; /* calls of FakeCompile's Compute at a time */
  atomic_int copies, runs, began, ended, ready, options_set;
  char fused[2048]; /* what Compile saw: "name inputs outputs graph-inputs nodes;" */
} fake_state;

fake_state *fake_ep_state(void);
void fake_ep_context(bool make, bool outside); /* for tests in another language */

#endif
