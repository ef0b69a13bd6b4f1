/* SPDX-License-Identifier: Apache-2.0
 * ort/ep/graph_reader.c - a library with a provider that writes down the graphs it is asked about. Options: "file" gets
 * the text; "take" names the operators that it takes, as "|Add|If|"; "constants" 1: constants are inputs of programs.
 */
#include "ort/graph_dump.h"

#define EXPORT __attribute__((visibility("default")))

static const OrtApi *api;
static const OrtEpApi *ep_api;
static const char name[] = "graph_reader";

/* ---- the provider ---- */

typedef struct reader {
  OrtEp base;
  FILE *file;
  char take[200];
  bool constants;
} reader;

static const char *get_name(const OrtEp *ep) {
  (void)ep;
  return name;
}

static bool takes(const reader *r, const OrtNode *node) {
  const char *op;
  char quoted[100];
  api->ReleaseStatus(api->Node_GetOperatorType(node, &op));
  snprintf(quoted, sizeof quoted, "|%s|", op);
  return strstr(r->take, quoted) != NULL;
}

static void refuse(const reader *r, const char *call, OrtStatus *st) {
  fprintf(r->file, "%s %d\n", call, (int)api->GetErrorCode(st));
  api->ReleaseStatus(st);
}
#define REFUSE(slot, ...) refuse(r, #slot, api->slot(__VA_ARGS__))

/* Arrays without room for all that there is, and what is not there. */
static void ask_for_too_much(const reader *r, const OrtGraph *graph, const OrtNode *node) {
  const OrtValueInfo *values[8];
  const OrtNode *nodes[8];
  const OrtOpAttr *attr;
  const OrtGraph *bodies[8];
  const char *domain;
  int64_t number;
  size_t n = 0;
  fprintf(r->file, "== refused\n");
  REFUSE(Graph_GetOperatorSets, graph, &domain, &number, 0);
  REFUSE(Graph_GetInputs, graph, values, 0);
  REFUSE(Graph_GetOutputs, graph, values, 0);
  REFUSE(Graph_GetInitializers, graph, values, 0);
  REFUSE(Graph_GetNodes, graph, nodes, 0);
  REFUSE(Node_GetInputs, node, values, 0);
  REFUSE(Node_GetOutputs, node, values, 0);
  REFUSE(Node_GetImplicitInputs, node, values, 0);
  REFUSE(Node_GetAttributes, node, &attr, 0);
  REFUSE(Node_GetSubgraphs, node, bodies, 0, NULL);
  REFUSE(Node_GetAttributeByName, node, "nobody's", &attr);
  api->ReleaseStatus(api->Node_GetNumOutputs(node, &n));
  api->ReleaseStatus(api->Node_GetOutputs(node, values, n));
  REFUSE(ValueInfo_GetValueConsumers, values[0], nodes, &number, 0);
}

static OrtStatus *get_capability(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info) {
  reader *r = (reader *)ep;
  const graph_dump dump = {api, r->file, 0, false}, *d = &dump;
  const OrtNode *parent = NULL;
  OrtGraph *view;
  size_t n, n_taken = 0;
  fprintf(r->file, "== asked\n");
  dump_model(d, graph);
  dump_metadata(d, graph);
  dump_graph(d, graph);
  DUMP(Graph_GetParentNode(graph, &parent));
  if (parent != NULL) {
    fprintf(r->file, "body of ");
    dump_owner(d, parent);
  }
  DUMP(Graph_GetNumNodes(graph, &n));
  const OrtNode **nodes = dump_room(n), **taken = dump_room(n);
  DUMP(Graph_GetNodes(graph, nodes, n));
  for (size_t i = 0; i < n; i++) {
    size_t n_bodies = 0;
    DUMP(Node_GetNumSubgraphs(nodes[i], &n_bodies));
    if (n_bodies > 1) ask_for_too_much(r, graph, nodes[i]);
    if (takes(r, nodes[i])) taken[n_taken++] = nodes[i];
  }
  OrtStatus *st = NULL;
  if (n_taken > 0) {
    OrtNodeFusionOptions options = {.ort_version_supported = ORT_API_VERSION,
                                    .drop_constant_initializers = !r->constants};
    DUMP(Graph_GetGraphView(graph, taken, n_taken, &view));
    fprintf(r->file, "== view\n");
    dump_graph(d, view);
    api->ReleaseGraph(view);
    st = ep_api->EpGraphSupportInfo_AddNodesToFuse(info, taken, n_taken, &options);
  }
  free(nodes), free(taken);
  return st;
}

/* ---- programs that nobody runs ---- */

static OrtStatus *create_state(OrtNodeComputeInfo *info, OrtNodeComputeContext *context, void **state) {
  (void)info, (void)context;
  *state = NULL;
  return NULL;
}

static OrtStatus *compute(OrtNodeComputeInfo *info, void *state, OrtKernelContext *context) {
  (void)info, (void)state, (void)context;
  return api->CreateStatus(ORT_FAIL, "the provider of the test computes nothing");
}

static void release_state(OrtNodeComputeInfo *info, void *state) { (void)info, (void)state; }

static OrtNodeComputeInfo program = {.ort_version_supported = ORT_API_VERSION,
                                     .CreateState = create_state,
                                     .Compute = compute,
                                     .ReleaseState = release_state};

static OrtStatus *compile(OrtEp *ep, const OrtGraph **graphs, const OrtNode **fused, size_t count,
                          OrtNodeComputeInfo **infos, OrtNode **contexts) {
  reader *r = (reader *)ep;
  const graph_dump dump = {api, r->file, 0, true}, *d = &dump;
  (void)contexts;
  for (size_t i = 0; i < count; i++) {
    fprintf(r->file, "== compiled\n");
    dump_graph(d, graphs[i]);
    fprintf(r->file, "fused");
    dump_owner(d, fused[i]);
    infos[i] = &program;
  }
  return NULL;
}

static void release_infos(OrtEp *ep, OrtNodeComputeInfo **infos, size_t n) { (void)ep, (void)infos, (void)n; }

/* ---- the factory ---- */

static const char *factory_name(const OrtEpFactory *factory) {
  (void)factory;
  return name;
}

static const char *factory_vendor(const OrtEpFactory *factory) {
  (void)factory;
  return "Onyx";
}

static const char *factory_version(const OrtEpFactory *factory) {
  (void)factory;
  return "1.0.0";
}

static uint32_t factory_vendor_id(const OrtEpFactory *factory) {
  (void)factory;
  return 0x1234;
}

static OrtStatus *find_devices(OrtEpFactory *factory, const OrtHardwareDevice *const *devices, size_t n,
                               OrtEpDevice **out, size_t room, size_t *out_n) {
  *out_n = 0;
  for (size_t i = 0; i < n && *out_n < room; i++) {
    if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
    return ep_api->CreateEpDevice(factory, devices[i], NULL, NULL, &out[(*out_n)++]);
  }
  return NULL;
}

/* An option of the provider, as the host passes them on: among the session's entries. */
static void option(const OrtSessionOptions *options, const char *key, char *out, size_t room) {
  char entry[100];
  int there = 0;
  snprintf(entry, sizeof entry, "ep.%s.%s", name, key);
  out[0] = '\0';
  api->ReleaseStatus(api->HasSessionConfigEntry(options, entry, &there));
  if (there) api->ReleaseStatus(api->GetSessionConfigEntry(options, entry, out, &room));
}

static OrtStatus *create_ep(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *metadata, size_t n, const OrtSessionOptions *options,
                            const OrtLogger *logger, OrtEp **out) {
  char path[300], constants[8];
  (void)factory, (void)devices, (void)metadata, (void)n, (void)logger;
  reader *r = calloc(1, sizeof *r);
  if (r == NULL) return api->CreateStatus(ORT_FAIL, "out of memory");
  r->base = (OrtEp){.ort_version_supported = ORT_API_VERSION,
                    .GetName = get_name,
                    .GetCapability = get_capability,
                    .Compile = compile,
                    .ReleaseNodeComputeInfos = release_infos};
  option(options, "file", path, sizeof path);
  option(options, "take", r->take, sizeof r->take);
  option(options, "constants", constants, sizeof constants);
  r->constants = constants[0] == '1';
  r->file = fopen(path, "w");
  if (r->file == NULL) {
    free(r);
    return api->CreateStatus(ORT_FAIL, "the option 'file' is missing or no file that can be written");
  }
  *out = &r->base;
  return NULL;
}

static void release_ep(OrtEpFactory *factory, OrtEp *ep) {
  (void)factory;
  fclose(((reader *)ep)->file);
  free(ep);
}

static OrtStatus *create_transfer(OrtEpFactory *factory, OrtDataTransferImpl **out) {
  (void)factory;
  *out = NULL;
  return NULL;
}

static bool is_stream_aware(const OrtEpFactory *factory) {
  (void)factory;
  return false;
}

static OrtEpFactory factory = {.ort_version_supported = ORT_API_VERSION,
                               .GetName = factory_name,
                               .GetVendor = factory_vendor,
                               .GetVendorId = factory_vendor_id,
                               .GetVersion = factory_version,
                               .GetSupportedDevices = find_devices,
                               .CreateEp = create_ep,
                               .ReleaseEp = release_ep,
                               .CreateDataTransfer = create_transfer,
                               .IsStreamAware = is_stream_aware};

EXPORT OrtStatus *CreateEpFactories(const char *registered, const OrtApiBase *base, const OrtLogger *logger,
                                    OrtEpFactory **factories, size_t room, size_t *out_n) {
  (void)registered, (void)logger;
  api = base->GetApi(ORT_API_VERSION);
  ep_api = api->GetEpApi();
  if (room < 1) return api->CreateStatus(ORT_INVALID_ARGUMENT, "no room for a factory");
  factories[0] = &factory, *out_n = 1;
  return NULL;
}

EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *released) {
  (void)released;
  return NULL;
}
