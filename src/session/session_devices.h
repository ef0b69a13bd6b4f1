/* SPDX-License-Identifier: Apache-2.0
 * session/session_devices.h - runs whose inputs or outputs lie in memories of devices. What the plan can use there it
 * does (exec/placed.h); all else goes by way of the host, before the run or after it. */
#ifndef OX_SESSION_SESSION_DEVICES_H
#define OX_SESSION_SESSION_DEVICES_H

#include "session/session.h"

/* Whether the run is one of these. */
bool ox_run_has_devices(const ox_run_opts *opts, const ox_value *const *inputs, size_t n_inputs,
                        ox_value *const *outputs, size_t n_outputs);
/* Makes |c| ready for it. */
OX_NODISCARD ox_status *ox_call_devices_begin(ox_call *c);
/* Input |i| is |*io|, the content of |v|: |*io| becomes what the run is to bind. |*out_there|: it stays on the device.
 */
OX_NODISCARD ox_status *ox_call_place_input(ox_call *c, uint32_t i, const ox_value *v, const ox_tensor **io,
                                            bool *out_there);
/* Output |i| is to lie in |m|; |given|: in this value, or NULL. */
void ox_call_place_output(ox_call *c, uint32_t i, ox_memory *m, ox_value *given);
/* After a run: *out, what it made of output |i| on the host (or NULL), becomes the value on the device, if there is to
 * be one; then it is the caller's to release, unless he has given it. */
OX_NODISCARD ox_status *ox_call_deliver(ox_call *c, uint32_t i, ox_value **out);
/* Lets go of all of the run's values. */
void ox_call_devices_end(ox_call *c);
void ox_call_devices_free(ox_call *c);

#endif
