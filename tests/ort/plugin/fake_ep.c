/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/fake_ep.c - see fake_ep.h: the factories and providers. What is on a device is in fake_device.c. */
#include "fake_ep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_parts.h"

#define EXPORT __attribute__((visibility("default")))

static fake_state state;
const OrtApi *api;
const OrtEpApi *ep_api;

EXPORT fake_state *fake_ep_state(void) { return &state; }
EXPORT void fake_ep_context(bool make, bool outside) { state.context = make, state.outside = outside; }

OrtStatus *fake_call(const char *name) {
  if (state.fail == NULL || strcmp(state.fail, name) != 0) return NULL;
  char text[128];
  snprintf(text, sizeof text, "%s fails on purpose", name);
  return api->CreateStatus(ORT_EP_FAIL, text);
}

struct fake_factory {
  OrtEpFactory base;
  fake_kind kind;
  OrtMemoryInfo *memory;     /* of the device; NULL: none */
  OrtCustomOpDomain *domain; /* of FakeCompile */
};

/* ---- arithmetic ---- */

float fake_op(char op, float a, float b) {
  return op == 'M' ? a * b : op == 'A' ? a + b : op == 'T' ? 2 * a : a > 0 ? a : 0;
}

char fake_op_of(const OrtNode *node) {
  const char *op = "", *domain = "";
  CHECK(api->Node_GetOperatorType(node, &op));
  CHECK(api->Node_GetDomain(node, &domain));
  bool known = strcmp(op, "Mul") == 0 || strcmp(op, "Add") == 0 || strcmp(op, "Relu") == 0;
  if (strcmp(op, "Twice") == 0 && strcmp(domain, "fake.ops") == 0) return 'T';
  return known && *domain == 0 ? *op : 0;
}

/* ---- an operator of the library's own: float[*] => the same, twice; FakeCompile takes it ---- */

static const char *op_name(const OrtCustomOp *op) {
  (void)op;
  return "Twice";
}
static const char *op_ep(const OrtCustomOp *op) {
  (void)op;
  return "FakeCompile";
}
static size_t one(const OrtCustomOp *op) {
  (void)op;
  return 1;
}
static ONNXTensorElementDataType op_type(const OrtCustomOp *op, size_t i) {
  (void)op, (void)i;
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}
static OrtCustomOpInputOutputCharacteristic op_needs(const OrtCustomOp *op, size_t i) {
  (void)op, (void)i;
  return INPUT_OUTPUT_REQUIRED;
}
static OrtMemType op_memory(const OrtCustomOp *op, size_t i) {
  (void)op, (void)i;
  return OrtMemTypeDefault;
}
static void *op_kernel(const OrtCustomOp *op, const OrtApi *a, const OrtKernelInfo *info) {
  (void)op, (void)a, (void)info;
  return NULL;
}
static void op_compute(void *kernel, OrtKernelContext *context) { (void)kernel, (void)context; }
static void op_destroy(void *kernel) { (void)kernel; }

static const OrtCustomOp twice = {.version = 13,
                                  .CreateKernel = op_kernel,
                                  .GetName = op_name,
                                  .GetExecutionProviderType = op_ep,
                                  .GetInputType = op_type,
                                  .GetInputTypeCount = one,
                                  .GetOutputType = op_type,
                                  .GetOutputTypeCount = one,
                                  .KernelCompute = op_compute,
                                  .KernelDestroy = op_destroy,
                                  .GetInputCharacteristic = op_needs,
                                  .GetOutputCharacteristic = op_needs,
                                  .GetInputMemoryType = op_memory};

static OrtStatus *count_domains(OrtEpFactory *f, size_t *out) {
  (void)f;
  *out = 1;
  return fake_call("GetNumCustomOpDomains");
}

static OrtStatus *get_domains(OrtEpFactory *f, OrtCustomOpDomain **out, size_t n) {
  (void)n;
  TRY(fake_call("GetCustomOpDomains"));
  out[0] = ((fake_factory *)f)->domain;
  return NULL;
}

/* ---- providers ---- */

static const char *const names[] = {"FakeCompile", "FakeKernels", "FakeDevice"};

static const char *ep_name(const OrtEp *ep) { return names[((const fake_ep *)ep)->kind]; }

/* Runs of nodes that follow each other in the graph's order become one part each. */
static OrtStatus *get_capability(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info) {
  const fake_ep *e = (const fake_ep *)ep;
  const OrtNode *nodes[64], *part[64];
  size_t n = 0, n_part = 0;
  OrtNodeFusionOptions options = {ORT_API_VERSION, state.drop_constants};
  TRY(fake_call("GetCapability"));
  TRY(api->Graph_GetNumNodes(graph, &n));
  TRY(api->Graph_GetNodes(graph, nodes, n));
  for (size_t i = 0; i <= n; i++) {
    bool context = i < n && e->kind == FAKE_COMPILE && fake_is_context(nodes[i]);
    bool mine = i < n && fake_op_of(nodes[i]) != 0;
    if (context) TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(info, &nodes[i], 1, &options));
    if (mine && e->kind == FAKE_COMPILE) part[n_part++] = nodes[i];
    if (!mine && n_part > 0) {
      TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(info, part, n_part, &options));
      n_part = 0;
    }
    const OrtKernelDef *def = NULL;
    if (i == n || e->kind == FAKE_COMPILE) continue;
    TRY(ep_api->EpGraphSupportInfo_LookUpKernel(info, nodes[i], &def));
    if (def != NULL) TRY(ep_api->EpGraphSupportInfo_AddSingleNode(info, nodes[i]));
  }
  return NULL;
}

static OrtStatus *on_run_start(OrtEp *ep, const OrtRunOptions *options) {
  (void)ep, (void)options;
  state.began++;
  return fake_call("OnRunStart");
}

static OrtStatus *on_run_end(OrtEp *ep, const OrtRunOptions *options, bool sync) {
  (void)ep, (void)options, (void)sync;
  state.ended++;
  return fake_call("OnRunEnd");
}

static OrtStatus *set_dynamic_options(OrtEp *ep, const char *const *keys, const char *const *values, size_t n) {
  (void)ep, (void)keys, (void)values;
  state.options_set += (int)n;
  return fake_call("SetDynamicOptions");
}

static OrtStatus *is_concurrent(OrtEp *ep, bool *out) {
  (void)ep;
  *out = !state.serial;
  return fake_call("IsConcurrentRunSupported");
}

static OrtStatus *on_ready(OrtEp *ep) {
  (void)ep;
  state.ready++;
  return fake_call("OnSessionInitializationEnd");
}

static void release_profiler(OrtEpProfilerImpl *p) {
  state.profilers--;
  free(p);
}

static OrtStatus *start_profiling(OrtEpProfilerImpl *p, int64_t offset) {
  (void)p, (void)offset;
  return fake_call("StartProfiling");
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *p, OrtProfilingEventsContainer *events) {
  const char *const keys[] = {"shape"}, *const values[] = {"round"};
  OrtProfilingEvent *e;
  (void)p;
  TRY(fake_call("EndProfiling"));
  TRY(ep_api->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, -1, -1, "fake event", 5, 7, keys, values, 1, &e));
  const OrtProfilingEvent *list[] = {e};
  OrtStatus *st = ep_api->ProfilingEventsContainer_AddEvents(events, list, 1);
  ep_api->ReleaseProfilingEvent(e);
  return st;
}

static OrtStatus *start_event(OrtEpProfilerImpl *p, uint64_t id) {
  (void)p, (void)id;
  return NULL;
}

static OrtStatus *stop_event(OrtEpProfilerImpl *p, uint64_t id, const OrtProfilingEvent *event) {
  (void)p, (void)id, (void)event;
  return NULL;
}

static OrtStatus *create_profiler(OrtEp *ep, OrtEpProfilerImpl **out) {
  (void)ep;
  TRY(fake_call("CreateProfiler"));
  *out = calloc(1, sizeof **out);
  **out = (OrtEpProfilerImpl){25, release_profiler, start_profiling, start_event, stop_event, end_profiling};
  state.profilers++;
  return NULL;
}

static const char *compatibility_of(OrtEp *ep, const OrtGraph *graph) {
  (void)ep, (void)graph;
  return "good";
}

static OrtStatus *weightless_support(const OrtEp *ep, OrtWeightlessSupport *out) {
  (void)ep;
  *out = (OrtWeightlessSupport)state.weightless;
  return fake_call("GetWeightlessSupport");
}

static OrtStatus *read_entry(const OrtSessionOptions *options, const char *key, char *out, size_t room) {
  int has;
  snprintf(out, room, "-");
  TRY(api->HasSessionConfigEntry(options, key, &has));
  return has ? api->GetSessionConfigEntry(options, key, out, &room) : NULL;
}

/* What the session asks for. */
static OrtStatus *note_entries(const OrtSessionOptions *options) {
  char mode[16], old[16];
  TRY(read_entry(options, "ep.enable_weightless_mode", mode, sizeof mode));
  TRY(read_entry(options, "ep.enable_weightless", old, sizeof old));
  snprintf(state.asked, sizeof state.asked, "%s %s", mode, old);
  return read_entry(options, "ep.context_file_path", state.place, sizeof state.place);
}

static OrtStatus *get_registry(OrtEp *ep, const OrtKernelRegistry **out) {
  TRY(fake_call("GetKernelRegistry"));
  *out = ((fake_ep *)ep)->registry;
  return NULL;
}

/* ---- factories ---- */

static const char *factory_name(const OrtEpFactory *f) { return names[((const fake_factory *)f)->kind]; }
static const char *factory_vendor(const OrtEpFactory *f) {
  (void)f;
  return "Fake & Co.";
}
static uint32_t factory_vendor_id(const OrtEpFactory *f) {
  (void)f;
  return FAKE_VENDOR;
}
static const char *factory_version(const OrtEpFactory *f) {
  (void)f;
  return "1.2.3";
}

static OrtStatus *supported_devices(OrtEpFactory *base, const OrtHardwareDevice *const *hardware, size_t n,
                                    OrtEpDevice **out, size_t room, size_t *out_n) {
  fake_factory *f = (fake_factory *)base;
  OrtKeyValuePairs *metadata, *options;
  TRY(fake_call("GetSupportedDevices"));
  *out_n = 0;
  for (size_t i = 0; i < n && *out_n < room && *out_n < 1; i++) {
    if (api->HardwareDevice_Type(hardware[i]) != OrtHardwareDeviceType_CPU) continue;
    api->CreateKeyValuePairs(&metadata);
    api->CreateKeyValuePairs(&options);
    api->AddKeyValuePair(metadata, "colour", "blue");
    if (state.weightless_modes[0] != NULL)
      api->AddKeyValuePair(metadata, "weightless_supported_modes", state.weightless_modes[0]);
    if (state.weightless_modes[1] != NULL)
      api->AddKeyValuePair(metadata, "weightless_support", state.weightless_modes[1]);
    api->AddKeyValuePair(options, "speed", "low");
    OrtStatus *st = ep_api->CreateEpDevice(base, hardware[i], metadata, options, &out[*out_n]);
    api->ReleaseKeyValuePairs(metadata);
    api->ReleaseKeyValuePairs(options);
    TRY(st);
    if (f->memory != NULL) TRY(ep_api->EpDevice_AddAllocatorInfo(out[*out_n], f->memory));
    ++*out_n;
  }
  return NULL;
}

static OrtStatus *create_ep(OrtEpFactory *base, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *metadata, size_t n, const OrtSessionOptions *options,
                            const OrtLogger *logger, OrtEp **out) {
  fake_factory *f = (fake_factory *)base;
  (void)devices, (void)logger;
  TRY(fake_call("CreateEp"));
  if (n != 1 || strcmp(api->GetKeyValue(metadata[0], "colour"), "blue") != 0)
    return api->CreateStatus(ORT_EP_FAIL, "CreateEp: other devices than asked for");
  TRY(note_entries(options));
  fake_ep *e = calloc(1, sizeof *e);
  e->kind = f->kind, e->memory = f->memory;
  e->base = (OrtEp){.ort_version_supported = state.version != 0 ? state.version : 27,
                    .GetName = ep_name,
                    .GetCapability = get_capability,
                    .SetDynamicOptions = set_dynamic_options,
                    .OnRunStart = on_run_start,
                    .OnRunEnd = on_run_end,
                    .IsConcurrentRunSupported = is_concurrent,
                    .GetCompiledModelCompatibilityInfo = compatibility_of,
                    .CreateProfiler = create_profiler,
                    .OnSessionInitializationEnd = on_ready,
                    .GetWeightlessSupport = state.no_weightless ? NULL : weightless_support};
  if (state.outside) TRY(ep_api->SessionOptionsGetEpContextConfig(options, &e->context));
  state.eps++;
  if (f->kind == FAKE_COMPILE)
    e->base.Compile = fake_compile, e->base.ReleaseNodeComputeInfos = fake_release_infos;
  else
    e->base.GetKernelRegistry = get_registry, e->registry = fake_registry_create(f->kind);
  *out = &e->base;
  return NULL;
}

static void release_ep(OrtEpFactory *f, OrtEp *ep) {
  fake_ep *e = (fake_ep *)ep;
  (void)f;
  state.eps--;
  ep_api->ReleaseKernelRegistry(e->registry);
  if (e->context != NULL) ep_api->ReleaseEpContextConfig(e->context);
  free(e);
}

static OrtStatus *incompatibility(OrtEpFactory *f, const OrtHardwareDevice *hardware,
                                  OrtDeviceEpIncompatibilityDetails *details) {
  (void)f, (void)hardware;
  TRY(fake_call("GetHardwareDeviceIncompatibilityDetails"));
  return ep_api->DeviceEpIncompatibilityDetails_SetDetails(details, OrtDeviceEpIncompatibility_DRIVER_INCOMPATIBLE, 7,
                                                           "too old");
}

static OrtStatus *validate(OrtEpFactory *f, const OrtHardwareDevice *const *devices, size_t n, const char *info,
                           OrtCompiledModelCompatibility *out) {
  (void)f, (void)devices, (void)n;
  *out = strcmp(info, "good") == 0 ? OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL
                                   : OrtCompiledModelCompatibility_EP_UNSUPPORTED;
  return fake_call("ValidateCompiledModelCompatibilityInfo");
}

/* Microsoft's library calls these of every factory, so that those without a device say so. */
static OrtStatus *no_allocator(OrtEpFactory *f, const OrtMemoryInfo *memory, const OrtKeyValuePairs *options,
                               OrtAllocator **out) {
  (void)f, (void)memory, (void)options;
  *out = NULL;
  return NULL;
}

static void release_no_allocator(OrtEpFactory *f, OrtAllocator *a) { (void)f, (void)a; }

static OrtStatus *no_transfer(OrtEpFactory *f, OrtDataTransferImpl **out) {
  (void)f;
  *out = NULL;
  return NULL;
}

static bool no_streams(const OrtEpFactory *f) {
  (void)f;
  return false;
}

static OrtStatus *make_factory(fake_kind kind, OrtEpFactory **out) {
  fake_factory *f = calloc(1, sizeof *f);
  f->kind = kind;
  f->base = (OrtEpFactory){.ort_version_supported = 24,
                           .GetName = factory_name,
                           .GetVendor = factory_vendor,
                           .GetSupportedDevices = supported_devices,
                           .CreateEp = create_ep,
                           .ReleaseEp = release_ep,
                           .GetVendorId = factory_vendor_id,
                           .GetVersion = factory_version,
                           .ValidateCompiledModelCompatibilityInfo = validate,
                           .CreateAllocator = no_allocator,
                           .ReleaseAllocator = release_no_allocator,
                           .CreateDataTransfer = no_transfer,
                           .IsStreamAware = no_streams,
                           .GetHardwareDeviceIncompatibilityDetails = incompatibility};
  state.factories++;
  *out = &f->base;
  if (kind == FAKE_COMPILE) {
    f->base.GetNumCustomOpDomains = count_domains, f->base.GetCustomOpDomains = get_domains;
    TRY(api->CreateCustomOpDomain("fake.ops", &f->domain));
    TRY(api->CustomOpDomain_Add(f->domain, &twice));
  }
  if (kind != FAKE_DEVICE) return NULL;
  TRY(api->CreateMemoryInfo_V2("Fake", OrtMemoryInfoDeviceType_GPU, FAKE_VENDOR, 0, OrtDeviceMemoryType_DEFAULT, 0,
                               OrtDeviceAllocator, &f->memory));
  fake_device_fill(&f->base);
  return NULL;
}

EXPORT OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                                    OrtEpFactory **factories, size_t room, size_t *out_n) {
  (void)name, (void)logger;
  api = base->GetApi(27);
  ep_api = api->GetEpApi();
  *out_n = 0;
  TRY(fake_call("CreateEpFactories"));
  OrtKeyValuePairs *config;
  TRY(ep_api->GetEnvConfigEntries(&config));
  const char *allowed = api->GetKeyValue(config, "allow_virtual_devices");
  state.virtual_allowed = allowed != NULL && strcmp(allowed, "1") == 0;
  api->ReleaseKeyValuePairs(config);
  for (int kind = FAKE_COMPILE; kind <= FAKE_DEVICE && *out_n < room; kind++)
    TRY(make_factory((fake_kind)kind, &factories[(*out_n)++]));
  return NULL;
}

EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory) {
  api->ReleaseMemoryInfo(((fake_factory *)factory)->memory);
  api->ReleaseCustomOpDomain(((fake_factory *)factory)->domain);
  state.factories--;
  free(factory);
  return NULL;
}
