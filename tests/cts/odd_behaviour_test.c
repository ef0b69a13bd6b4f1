/* SPDX-License-Identifier: Apache-2.0
 * cts/odd_behaviour_test.c - providers that claim nonsense, give kernels, programs, streams and memory that are none,
 * or answer nonsense: the host says what is wrong, goes on where it can, and stays whole. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/device_ep.h"
#include "support/echo_ep.h"
#include "support/ep_models.h"
#include "support/ep_watch.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

/* Between two Negs lies an Abs; the If has bodies; the shape of y depends on data. */
static const char *const text = HEAD
    "g (float[N,3] x) => (float[N,3] d, float[A,B] y, float[N,3] z) { a = Neg (x) b = Abs (a) c = Neg (b) d = Add (c, "
    "a) "
    "i = NonZero (d) t = Transpose (i) f = Cast <to = 1> (t) y = Exp (f) m = ReduceSum <keepdims = 0> (x) k = Cast <to "
    "= 9> (m) "
    "z = If <then_branch = t1 () => (float[N,3] p) { p = Sin (a) }, else_branch = e1 () => (float[N,3] q) { q = Cos "
    "(b) }> (k) }";

/* ---- claims ---- */

static const ox_ep_host *services; /* of the provider under test */
static ox_status *(*real_create)(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep);
static ox_ep_host host_copy;

static ox_status *keep_host(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  host_copy = *host, services = &host_copy;
  return real_create(host, opts, out_ep);
}

static size_t find_op(const ox_graph_view *g, const char *op) {
  for (size_t i = 0; i < services->node_count(g); i++)
    if (strcmp(services->node_op(g, i), op) == 0) return i;
  return SIZE_MAX;
}

static bool is_main(const ox_graph_view *g) { return find_op(g, "If") != SIZE_MAX; }

static ox_status *claim_beyond(ox_ep *ep, const ox_graph_view *g, ox_claims *c) {
  const size_t beyond[] = {0, SIZE_MAX};
  size_t n = services->node_count(g);
  (void)ep;
  services->claim_node(c, n), services->claim_node(c, SIZE_MAX);
  services->claim_fused(c, n), services->claim_fused(c, SIZE_MAX);
  services->decline(c, n, "no such node"), services->decline(c, SIZE_MAX, NULL);
  CHECK_FAILS(services->claim_part(c, beyond, 2), OX_INVALID_ARGUMENT, "node 18446744073709551615");
  CHECK_FAILS(services->claim_part(c, NULL, 0), OX_INVALID_ARGUMENT, "no nodes");
  return NULL;
}

static ox_status *claim_twice(ox_ep *ep, const ox_graph_view *g, ox_claims *c) {
  (void)ep;
  if (!is_main(g)) return NULL;
  const size_t neg = find_op(g, "Neg"), abs = find_op(g, "Abs"), both[] = {neg, abs, neg}, other[] = {abs};
  services->claim_node(c, neg), services->claim_fused(c, neg);
  services->claim_fused(c, abs), services->claim_node(c, abs), services->claim_node(c, abs);
  CHECK_OK(services->claim_part(c, both, 3)); /* what was said of them before does not count */
  CHECK_FAILS(services->claim_part(c, other, 1), OX_INVALID_ARGUMENT, "in a part already");
  services->claim_node(c, neg), services->decline(c, abs, "too late");
  services->claim_node(c, find_op(g, "Add")), services->decline(c, find_op(g, "Add"), "changed its mind");
  return NULL;
}

static ox_status *claim_around(ox_ep *ep, const ox_graph_view *g, ox_claims *c) {
  (void)ep;
  if (!is_main(g)) return NULL;
  const size_t abs = find_op(g, "Abs"), add = find_op(g, "Add"), hole[] = {find_op(g, "Neg"), add};
  const size_t through_a_body[] = {abs, find_op(g, "If")};
  CHECK_FAILS(services->claim_part(c, hole, 2), OX_INVALID_ARGUMENT, "node 'c' (Neg)");
  CHECK_OK(services->claim_part(c, through_a_body, 2)); /* a body reads what the other makes */
  CHECK_FAILS(services->claim_part(c, hole, 2), OX_INVALID_ARGUMENT, "on a path");
  return NULL;
}

static ox_status *claim_bodies_as_kernels(ox_ep *ep, const ox_graph_view *g, ox_claims *c) {
  (void)ep;
  if (is_main(g)) services->claim_node(c, find_op(g, "If"));
  return NULL;
}

/* Whatever is asked for that is not there reads as nothing. */
static ox_status *read_beyond(ox_ep *ep, const ox_graph_view *g, ox_claims *c) {
  const ox_ep_host *h = services;
  uint32_t kind = 77, dtype = 77;
  ox_shape shape;
  ox_attr_view a;
  (void)ep, (void)c;
  for (size_t node = h->node_count(g);; node = SIZE_MAX) {
    assert_string_equal(h->node_op(g, node), "");
    assert_string_equal(h->node_domain(g, node), "");
    assert_string_equal(h->node_name(g, node), "");
    assert_int_equal(h->node_in_count(g, node) + h->node_out_count(g, node) + h->node_attr_count(g, node), 0);
    assert_int_equal(h->node_in(g, node, 0), UINT32_MAX);
    assert_int_equal(h->node_attr(g, node, "axis", &a), 0);
    assert_null(h->node_body(g, node, "body"));
    (void)h->node_version(g, node);
    if (node == SIZE_MAX) break;
  }
  assert_int_equal(h->node_in(g, 0, SIZE_MAX), UINT32_MAX);
  assert_int_equal(h->node_out(g, 0, SIZE_MAX), UINT32_MAX);
  assert_null(h->node_attr_at(g, 0, SIZE_MAX, &a));
  assert_null(h->node_body(g, 0, "nothing"));
  for (uint32_t value = UINT32_MAX - 1; value; value++) {
    assert_string_equal(h->value_name(g, value), "");
    h->value_type(g, value, &kind, &dtype, &shape);
    assert_int_equal(shape.rank, -1);
    assert_null(h->value_const(g, value));
    assert_int_equal(h->value_outer(g, value), UINT32_MAX);
    assert_int_equal(h->value_producer(g, value), SIZE_MAX);
    assert_int_equal(h->value_use_count(g, value), 0);
    h->constant_done(g, value);
  }
  for (int outputs = 0; outputs < 2; outputs++) assert_int_equal(h->io_value(g, outputs, SIZE_MAX), UINT32_MAX);
  assert_null(h->dim_name(g, INT64_MIN)), assert_null(h->dim_name(g, 5)), assert_null(h->dim_name(g, -1));
  assert_int_equal(h->opset(g, "no.such.domain"), 0);
  assert_int_equal(h->opset(g, ""), 17), assert_int_equal(h->opset(g, NULL), 17);
  h->log_text(h, 99, "too loud"), h->log_text(h, -99, NULL);
  assert_true(h->max_threads(h) >= 1 && h->now_ns() > 0);
  ox_status *st = h->status_make(OX_FAIL, NULL);
  assert_non_null(st);
  ox_status_free(st);
  return NULL;
}

/* ---- kernels ---- */

typedef struct {
  ox_kernel base;
  ox_kernel *echo;
} odd_kernel;

static ox_status *(*real_kernel_create)(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel);

static ox_status *plain_prepare(ox_kernel *k, ox_kernel_ctx *c) {
  const odd_kernel *o = (const odd_kernel *)k;
  return o->echo->api->prepare(o->echo, c);
}

static ox_status *plain_run(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                            void *scratch) {
  const odd_kernel *o = (const odd_kernel *)k;
  return o->echo->api->run(o->echo, c, stage, begin, end, scratch);
}

static void plain_release(ox_kernel *k) {
  odd_kernel *o = (odd_kernel *)k;
  o->echo->api->release(o->echo);
  host_copy.alloc.free(host_copy.alloc.ctx, o, sizeof *o);
}

static ox_kernel_api odd_api; /* of the case at hand */

static ox_status *odd_kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  odd_kernel *o = host_copy.alloc.alloc(host_copy.alloc.ctx, sizeof *o, 16);
  *o = (odd_kernel){.base.api = &odd_api};
  OX_TRY(real_kernel_create(ep, g, node, &o->echo));
  o->base.consumed = o->echo->consumed;
  *out_kernel = &o->base;
  return NULL;
}

static ox_status *no_kernel(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  (void)ep, (void)g, (void)node;
  *out_kernel = NULL;
  return NULL;
}

static ox_status *kernel_without_api(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  static ox_kernel hollow;
  (void)ep, (void)g, (void)node;
  *out_kernel = &hollow;
  return NULL;
}

static const ox_kernel_api lacks_prepare = {
    .struct_size = sizeof lacks_prepare, .run = plain_run, .release = plain_release};
static const ox_kernel_api lacks_run = {
    .struct_size = sizeof lacks_run, .prepare = plain_prepare, .release = plain_release};
static const ox_kernel_api lacks_release = {
    .struct_size = sizeof lacks_release, .prepare = plain_prepare, .run = plain_run};
static const ox_kernel_api too_small = {8, plain_prepare, plain_run, plain_release, NULL, NULL};

static ox_status *kernel_of(const ox_kernel_api *api, ox_kernel **out_kernel) {
  static ox_kernel kernel;
  kernel = (ox_kernel){api, 0};
  *out_kernel = &kernel;
  return NULL;
}
#define GIVES(name, api)                                                                           \
  static ox_status *name(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) { \
    (void)ep, (void)g, (void)node;                                                                 \
    return kernel_of(api, out_kernel);                                                             \
  }
GIVES(kernel_without_prepare, &lacks_prepare)
GIVES(kernel_without_run, &lacks_run)
GIVES(kernel_without_release, &lacks_release)
GIVES(kernel_too_small, &too_small)

static ox_status *kernel_and_error(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  (void)ep, (void)g, (void)node;
  *out_kernel = (ox_kernel *)(uintptr_t)0x10; /* freed, say */
  return services->status_make(OX_FAIL, "no kernel today");
}

#define PREPARES(name, ...)                                \
  static ox_status *name(ox_kernel *k, ox_kernel_ctx *c) { \
    OX_TRY(plain_prepare(k, c));                           \
    __VA_ARGS__;                                           \
    return NULL;                                           \
  }
PREPARES(seven_stages, c->n_stages = 7)
PREPARES(endless_stages, c->n_stages = UINT32_MAX)
PREPARES(negative_tiles, c->n_tiles[0] = -1)
PREPARES(least_tiles, c->n_tiles[0] = INT64_MIN)
PREPARES(endless_scratch, c->scratch_per_worker = SIZE_MAX)
PREPARES(large_scratch, c->scratch_per_worker = SIZE_MAX / 4)
PREPARES(endless_shared, c->shared_bytes = SIZE_MAX - 8)
PREPARES(large_prep,
         if (c->host->alloc_prep(c, SIZE_MAX / 4)) return services->status_make(OX_FAIL, "that much memory"))

static ox_status *shift(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) ((uint8_t *)ctx)[i]++;
  return NULL;
}

static ox_status *refuse(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)ctx, (void)begin, (void)end, (void)worker;
  return services->status_make(OX_FAIL, "not this block");
}

/* Asks for what cannot be had, and then does its work. */
static ox_status *greedy_run(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                             void *scratch) {
  const ox_shape open = {.rank = 1, .dim = {-1}}, none = {.rank = -1}, huge = {.rank = 2, .dim = {INT64_MAX / 4, 64}};
  const ox_shape other = {.rank = 1, .dim = {7}};
  uint8_t seen[100] = {0};
  bool known = c->out[0]->data != NULL;
  if (c->host->alloc_output(c, c->n_out, &other) || c->host->alloc_output(c, UINT32_MAX, &other))
    return services->status_make(OX_FAIL, "an output that is not there");
  if (c->host->alloc_output(c, 0, &open) || c->host->alloc_output(c, 0, &none))
    return services->status_make(OX_FAIL, "memory for an open shape");
  if (known && c->host->alloc_output(c, 0, &huge)) return services->status_make(OX_FAIL, "that much memory");
  if (known && c->host->alloc_output(c, 0, &other)) return services->status_make(OX_FAIL, "another shape than known");
  if (known && c->host->alloc_output(c, 0, &c->out[0]->shape) != c->out[0]->data)
    return services->status_make(OX_FAIL, "other memory for the known shape");
  if (c->host->alloc_run(c, SIZE_MAX / 2)) return services->status_make(OX_FAIL, "that much memory");
  if (begin == 0 && c->n_tiles[stage] == 1) {
    OX_TRY(c->host->parallel_for(c, 0, refuse, NULL));
    OX_TRY(c->host->parallel_for(c, -5, refuse, NULL));
    OX_TRY(c->host->parallel_for(c, (int64_t)sizeof seen, shift, seen));
    for (size_t i = 0; i < sizeof seen; i++)
      if (seen[i] != 1) return services->status_make(OX_FAIL, "parallel_for leaves some out");
    ox_status *st = c->host->parallel_for(c, 50, refuse, NULL);
    if (!st) return services->status_make(OX_FAIL, "parallel_for hides errors");
    ox_status_free(st);
  }
  c->host->profile_event(c, NULL, 0, 0);
  return plain_run(k, c, stage, begin, end, scratch);
}

static void all_in_place(const ox_kernel *k, ox_kernel_traits *out) {
  const odd_kernel *o = (const odd_kernel *)k;
  o->echo->api->traits(o->echo, out);
  out->unaligned_in = 0;
}

/* ---- programs ---- */

static ox_status *(*real_run)(ox_program *p, const ox_io *io);

static ox_status *no_program(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  (void)ep, (void)part, (void)out_program;
  return NULL;
}

static ox_status *program_and_error(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  (void)ep, (void)part;
  *out_program = (ox_program *)(uintptr_t)0x10;
  return services->status_make(OX_FAIL, "no program today");
}

static ox_status *run_nothing(ox_program *p, const ox_io *io) {
  (void)p, (void)io;
  return NULL;
}

static ox_status *greedy_program(ox_program *p, const ox_io *io) {
  for (uint32_t i = 0; i < io->n_out; i++) {
    ox_shape s = io->out[i]->shape;
    if (s.rank >= OX_MAX_RANK) continue;
    s.rank = s.rank < 0 ? 1 : s.rank + 1, s.dim[s.rank - 1] = 1;
    for (int d = 0; d < s.rank; d++) s.dim[d] = s.dim[d] < 0 ? 1 : s.dim[d];
    if (io->out[i]->shape.rank >= 0 && io->alloc_output(io, i, &s))
      return services->status_make(OX_FAIL, "the wrong rank");
    s = io->out[i]->shape;
    bool known = false;
    for (int d = 0; d < s.rank; d++) {
      known |= s.dim[d] >= 0;
      s.dim[d] = s.dim[d] < 0 ? 1 : s.dim[d] + 1;
    }
    if (known && io->alloc_output(io, i, &s)) return services->status_make(OX_FAIL, "the wrong dimension");
  }
  const ox_shape one = {.rank = 0}, open = {.rank = 1, .dim = {-1}};
  if (io->alloc_output(io, io->n_out, &one) || io->alloc_output(io, UINT32_MAX, &one))
    return services->status_make(OX_FAIL, "an output that is not there");
  if (io->n_out && io->alloc_output(io, 0, &open)) return services->status_make(OX_FAIL, "memory for an open shape");
  if (io->alloc_run(io, SIZE_MAX / 2)) return services->status_make(OX_FAIL, "that much memory");
  io->profile_event(io, NULL, 0, 0);
  return real_run(p, io);
}

/* ---- devices ---- */

static ox_status *nothing_created(ox_ep *ep, void **out) {
  (void)ep, (void)out;
  return NULL;
}

static ox_status *created_and_error(ox_ep *ep, void **out) {
  (void)ep;
  *out = (void *)(uintptr_t)0x10;
  return services->status_make(OX_FAIL, "not today");
}

static ox_status *no_memory(ox_ep *ep, uint32_t memory, size_t bytes, void **out_data) {
  (void)ep, (void)memory, (void)bytes, (void)out_data;
  return NULL;
}

static ox_status *memory_and_error(ox_ep *ep, uint32_t memory, size_t bytes, void **out_data) {
  (void)ep, (void)memory, (void)bytes;
  *out_data = (void *)(uintptr_t)0x10;
  return services->status_make(OX_FAIL, "not today");
}

static uint32_t memory_99(ox_ep *ep, const ox_graph_view *g, size_t node, int output, size_t i) {
  (void)ep, (void)g, (void)node, (void)output, (void)i;
  return 99;
}

static ox_status *create_nothing(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  (void)host, (void)opts, (void)out_ep;
  return NULL;
}

static ox_status *create_and_error(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  (void)opts;
  *out_ep = (ox_ep *)(uintptr_t)0x10;
  return host->status_make(OX_FAIL, "not today");
}

/* ---- the table of oddities ---- */

typedef enum { CLAIMS, KERNELS, PROGRAMS, DEVICE } base;

static const struct {
  const char *name;
  base base;
  ox_status *(*claim)(ox_ep *ep, const ox_graph_view *g, ox_claims *c);
  ox_status *(*kernel_create)(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel);
  ox_status *(*prepare)(ox_kernel *k, ox_kernel_ctx *c);
  ox_status *(*kernel_run)(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                           void *scratch);
  ox_status *(*compile)(ox_ep *ep, const ox_graph_view *part, ox_program **out_program);
  ox_status *(*run)(ox_program *p, const ox_io *io);
  ox_status *(*create)(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep);
  ox_status *(*stream_create)(ox_ep *ep, void **out), *(*event_create)(ox_ep *ep, void **out);
  ox_status *(*memory_alloc)(ox_ep *ep, uint32_t memory, size_t bytes, void **out_data);
  uint32_t (*value_memory)(ox_ep *ep, const ox_graph_view *g, size_t node, int output, size_t i);
  ox_code code;     /* OX_OK: it runs, with the right outputs */
  const char *part; /* of the message */
} cases[] = {
    {"claims nodes that are not there", CLAIMS, .claim = claim_beyond},
    {"claims nodes more than once", CLAIMS, .claim = claim_twice},
    {"claims parts that would close a cycle", CLAIMS, .claim = claim_around},
    {"claims bodies as kernels", CLAIMS, .claim = claim_bodies_as_kernels},
    {"reads what is not there", CLAIMS, .claim = read_beyond},
    {"no kernel", KERNELS, .kernel_create = no_kernel, .code = OX_INCOMPATIBLE, .part = "no kernel"},
    {"a kernel without calls", KERNELS, .kernel_create = kernel_without_api, .code = OX_INCOMPATIBLE, .part = "lacks"},
    {"no prepare", KERNELS, .kernel_create = kernel_without_prepare, .code = OX_INCOMPATIBLE, .part = "lacks"},
    {"no run", KERNELS, .kernel_create = kernel_without_run, .code = OX_INCOMPATIBLE, .part = "lacks"},
    {"no release", KERNELS, .kernel_create = kernel_without_release, .code = OX_INCOMPATIBLE, .part = "lacks"},
    {"calls that are too few", KERNELS, .kernel_create = kernel_too_small, .code = OX_INCOMPATIBLE, .part = "lacks"},
    {"a kernel and an error", KERNELS, .kernel_create = kernel_and_error, .code = OX_FAIL, .part = "no kernel today"},
    {"seven stages", KERNELS, .prepare = seven_stages, .code = OX_INCOMPATIBLE, .part = "7 stages"},
    {"endless stages", KERNELS, .prepare = endless_stages, .code = OX_INCOMPATIBLE, .part = "4294967295 stages"},
    {"-1 tiles", KERNELS, .prepare = negative_tiles, .code = OX_INCOMPATIBLE, .part = "-1 tiles"},
    {"least tiles", KERNELS, .prepare = least_tiles, .code = OX_INCOMPATIBLE, .part = "-9223372036854775808 tiles"},
    {"endless scratch", KERNELS, .prepare = endless_scratch, .code = OX_LIMIT, .part = "18446744073709551615 bytes"},
    {"much scratch", KERNELS, .prepare = large_scratch, .code = OX_LIMIT, .part = "scratch"},
    {"endless shared memory", KERNELS, .prepare = endless_shared, .code = OX_LIMIT, .part = "shared"},
    {"much memory of prepare", KERNELS, .prepare = large_prep},
    {"kernels that ask for everything", KERNELS, .kernel_run = greedy_run},
    {"no program", PROGRAMS, .compile = no_program, .code = OX_FAIL, .part = "no program"},
    {"a program and an error", PROGRAMS, .compile = program_and_error, .code = OX_FAIL, .part = "no program today"},
    {"a program that makes nothing", PROGRAMS, .run = run_nothing, .code = OX_FAIL,
     .part = "('y') without a shape or memory"},
    {"programs that ask for everything", PROGRAMS, .run = greedy_program},
    {"no provider", KERNELS, .create = create_nothing, .code = OX_FAIL, .part = "returned nothing"},
    {"a provider and an error", KERNELS, .create = create_and_error, .code = OX_FAIL, .part = "not today"},
    {"no stream", DEVICE, .stream_create = nothing_created, .code = OX_FAIL, .part = "no stream"},
    {"a stream and an error", DEVICE, .stream_create = created_and_error, .code = OX_FAIL, .part = "not today"},
    {"no event", DEVICE, .event_create = nothing_created, .code = OX_FAIL, .part = "no event"},
    {"an event and an error", DEVICE, .event_create = created_and_error, .code = OX_FAIL, .part = "not today"},
    {"no memory", DEVICE, .memory_alloc = no_memory, .code = OX_OUT_OF_MEMORY, .part = "'far'"},
    {"memory and an error", DEVICE, .memory_alloc = memory_and_error, .code = OX_FAIL, .part = "not today"},
    {"memory 99", DEVICE, .value_memory = memory_99, .code = OX_INVALID_ARGUMENT, .part = "in memory 99 of 2"},
};

static ox_ep_api table_of(size_t i) {
  ox_ep_api t = cases[i].base == DEVICE ? *device_ep() : *echo_ep();
  real_create = t.create, real_kernel_create = t.kernel_create, real_run = t.run;
  odd_api = (ox_kernel_api){.struct_size = sizeof odd_api,
                            .prepare = cases[i].prepare ? cases[i].prepare : plain_prepare,
                            .run = cases[i].kernel_run ? cases[i].kernel_run : plain_run,
                            .release = plain_release,
                            .traits = all_in_place};
  t.name = "odd", t.create = cases[i].create ? cases[i].create : keep_host;
  if (cases[i].claim) t.claim = cases[i].claim;
  if (cases[i].kernel_create)
    t.kernel_create = cases[i].kernel_create;
  else if (cases[i].prepare || cases[i].kernel_run)
    t.kernel_create = odd_kernel_create;
  if (cases[i].compile) t.compile = cases[i].compile;
  if (cases[i].run) t.run = cases[i].run;
  if (cases[i].stream_create) t.stream_create = cases[i].stream_create;
  if (cases[i].event_create) t.event_create = cases[i].event_create;
  if (cases[i].memory_alloc) t.memory_alloc = cases[i].memory_alloc;
  if (cases[i].value_memory) t.value_memory = cases[i].value_memory;
  return t;
}

static void check(size_t i, const ox_status *st) {
  bool named = !st || strstr(ox_status_message(st), "provider 'odd'");
  if (ox_status_code(st) != cases[i].code || !named ||
      !strstr(ox_status_message(st), cases[i].part ? cases[i].part : ""))
    fail_msg("%s: %s \"%s\"", cases[i].name, ox_code_name(ox_status_code(st)), ox_status_message(st));
}

static void test_odd_behaviour(void **state) {
  ep_outputs want;
  (void)state;
  ep_cpu_outputs(text, OX_OPTIMIZE_NONE, 3, &want);
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    const char *keys[] = {"as", "claims"}, *values[] = {cases[i].base == PROGRAMS ? "programs" : "kernels",
                                                        cases[i].base == DEVICE ? "second" : "all"};
    const ox_provider_spec spec = {"odd", {2, keys, values}};
    counting_alloc count = {.fail_at = -1};
    ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
    ox_ep_api t = table_of(i);
    ox_session_opts so;
    ox_env *env;
    ox_session *s = NULL;
    ep_inputs in = {.n = 0};
    ep_outputs got = {.n = 0};
    ep_watch_reset();
    ox_session_opts_init(&so);
    so.optimize = OX_OPTIMIZE_NONE, so.n_threads = 2, so.providers = &spec, so.n_providers = 1;
    CHECK_OK(ox_env_create(&eo, &env));
    CHECK_OK(ox_env_add_provider(env, &t));
    ox_status *st = text_session(env, text, &so, &s);
    if (!st) ep_inputs_make(env, s, 3, &in);
    for (int run = 0; run < 2 && !st; run++) {
      st = ep_run(s, &in, &got);
      if (!st) ep_outputs_compare(cases[i].name, &want, &got, 0);
      ep_outputs_free(&got);
    }
    check(i, st);
    ox_status_free(st);
    ep_inputs_free(&in);
    ox_session_release(s);
    ox_env_release(env);
    if (atomic_load(&count.live)) fail_msg("%s: %ld blocks leaked", cases[i].name, atomic_load(&count.live));
    if (atomic_load(&ep_watch.live)) fail_msg("%s: %ld objects are alive", cases[i].name, atomic_load(&ep_watch.live));
  }
  ep_outputs_free(&want);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_odd_behaviour)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
