/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_program.h - compiled parts: the functions behind compile and run of the provider's table. */
#ifndef OD_PROGRAM_H
#define OD_PROGRAM_H

#include "od_plan.h"

ox_status *od_compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program);
void od_program_release(ox_program *p);
ox_status *od_run(ox_program *p, const ox_io *io);

#endif
