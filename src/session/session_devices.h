/* SPDX-License-Identifier: Apache-2.0
 * session/session_devices.h - runs whose inputs or outputs lie in memories of devices. What the plan can use there it
 * uses in place (exec/placed.h); the rest is copied by way of the host, before or after the run. */
#ifndef OX_SESSION_SESSION_DEVICES_H
#define OX_SESSION_SESSION_DEVICES_H

#include "session/session.h"

/* Whether the run has inputs or outputs in memories of devices. */
bool ox_run_has_devices(const ox_run_opts *opts, const ox_value *const *inputs, size_t n_inputs,
                        ox_value *const *outputs, size_t n_outputs);
/* Prepares |c| for such a run. */
OX_NODISCARD ox_status *ox_call_devices_begin(ox_call *c);
/* Replaces |*io|, the content of |v| for input |i|, by what the run is to bind. *out_there: it stays on the device. */
OX_NODISCARD ox_status *ox_call_place_input(ox_call *c, uint32_t i, const ox_value *v, const ox_tensor **io,
                                            bool *out_there);
/* Directs output |i| into |m|; |given|: into this value, or NULL. */
void ox_call_place_output(ox_call *c, uint32_t i, ox_memory *m, ox_value *given);
/* After a run: replaces *out, output |i| on the host (or NULL), by the value on the device, if there is to be one. That
 * is the caller's to release, unless the caller gave it. */
OX_NODISCARD ox_status *ox_call_deliver(ox_call *c, uint32_t i, ox_value **out);
/* Releases all of the run's values. */
void ox_call_devices_end(ox_call *c);
void ox_call_devices_free(ox_call *c);

#endif
