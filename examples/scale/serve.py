"""Serves an ONNX model over the Open Inference Protocol (HTTP and gRPC) with KServe's server.

    python serve.py model.onnx --name resnet --workers 2 --http_port 8080 --grpc_port 8081

Requests are batched while workers are busy, a queue that is full answers 503 (gRPC: RESOURCE_EXHAUSTED) at once, workers
share the weights (workers.py), and one that dies is replaced. Health: /v2/health/ready; metrics: /metrics."""
import asyncio
import sys

sys.path.insert(0, __file__.rpartition("/")[0] or ".")
from workers import Workers  # noqa: E402  forks before anything below starts a thread


def arguments(parser):
    parser.add_argument("model")
    parser.add_argument("--name", default="model", help="the model's name in requests")
    parser.add_argument("--engine", default="onyx", help="the Python package that runs it: onyx or onnxruntime")
    parser.add_argument("--processes", type=int, default=2, help="workers, each of one model copy-on-write")
    parser.add_argument("--threads", type=int, default=1, help="threads in each worker")
    parser.add_argument("--max-batch", type=int, default=8, help="most rows that run together")
    parser.add_argument("--max-queue", type=int, default=256, help="requests that may wait; more are refused")
    parser.add_argument("--slab-mb", type=int, default=64, help="MiB for the tensors of one batch")
    return parser


OIP_TYPES = {"float": "FP32", "double": "FP64", "float16": "FP16", "int64": "INT64", "int32": "INT32", "int16": "INT16",
             "int8": "INT8", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
             "bool": "BOOL", "string": "BYTES"}


def oip_rows(rows):
    return [{"name": r["name"], "datatype": OIP_TYPES.get(r["type"][7:-1], r["type"]), "shape": r["shape"]}
            for r in rows]


def keep_binary_inputs():
    """KServe (0.21) makes lists of Python numbers of the binary inputs of HTTP requests, 40 ms for an image. The bytes that
    it read serve as_numpy as well, so they stay."""
    from kserve.protocol import infer_type

    class BinaryInput(infer_type.InferInput):
        def set_data_from_numpy(self, input_tensor, binary_data=True):
            if binary_data or self._raw_data is None:
                super().set_data_from_numpy(input_tensor, binary_data)

    infer_type.InferInput = BinaryInput


def make_model(args, workers):
    import fastapi
    import kserve
    import prometheus_client
    from batcher import Batcher, Overloaded, RunFailed, WorkerDied
    from grpc_interceptor.exceptions import ResourceExhausted, Unavailable
    from kserve.utils.numpy_codec import from_np_dtype

    rows_of = prometheus_client.Histogram("onyx_batch_rows", "rows that ran together", buckets=(1, 2, 4, 8, 16, 32, 64))
    died = prometheus_client.Counter("onyx_workers_died", "workers that ended and were replaced")
    refused = prometheus_client.Counter("onyx_requests_refused", "requests refused because the queue was full")
    waiting = prometheus_client.Gauge("onyx_requests_waiting", "requests in the queue")
    alive = prometheus_client.Gauge("onyx_workers", "workers that are alive")

    def observe(rows, requests):
        if rows:
            rows_of.observe(rows)
        else:
            died.inc()

    class OnnxModel(kserve.Model):
        """Answers with what the workers compute; KServe does the protocol."""

        def __init__(self):
            super().__init__(args.name)
            self.batcher = None
            self.ready = self.engine = True  # KServe calls start_engine

        async def start_engine(self):
            self.batcher = Batcher(workers, args.max_batch, args.max_queue, observe)
            waiting.set_function(lambda: len(self.batcher.waiting))
            alive.set_function(lambda: self.batcher.alive)
            self.batcher.start()

        async def healthy(self):
            return self.batcher is not None and self.batcher.alive > 0

        def get_input_types(self):
            return oip_rows(workers.info["inputs"])

        def get_output_types(self):
            return oip_rows(workers.info["outputs"])

        async def predict(self, payload, headers=None, response_headers=None):
            if not isinstance(payload, kserve.InferRequest):
                raise kserve.errors.InvalidInput("send a request of the Open Inference Protocol (version 2)")
            feeds = self.feeds_of(payload)
            names = [o.name for o in payload.request_outputs or []] or [r["name"] for r in workers.info["outputs"]]
            try:
                results = await self.batcher.run(feeds, names)
            except Overloaded as error:
                refused.inc()
                raise (ResourceExhausted(str(error)) if payload.from_grpc else
                       fastapi.HTTPException(503, str(error), {"Retry-After": "1"})) from None
            except WorkerDied as error:
                raise (Unavailable(str(error)) if payload.from_grpc else
                       fastapi.HTTPException(502, str(error))) from None
            except RunFailed as error:
                raise kserve.errors.InvalidInput(str(error)) from None
            return self.response_of(payload, names, results)

        @staticmethod
        def feeds_of(payload):
            feeds = {i.name: i.as_numpy() for i in payload.inputs}
            for row in workers.info["inputs"]:
                if row["name"] not in feeds:
                    raise kserve.errors.InvalidInput(f"input '{row['name']}' is missing")
                got, want = feeds[row["name"]].shape, row["shape"]
                if len(got) != len(want) or any(w not in (-1, g) for g, w in zip(got, want)):
                    raise kserve.errors.InvalidInput(f"input '{row['name']}': shape {list(got)}, wanted {want}")
            if workers.info["batch"] and len({len(a) for a in feeds.values()}) != 1:
                raise kserve.errors.InvalidInput("the inputs have different numbers of rows")
            return feeds

        @staticmethod
        def response_of(payload, names, results):
            outputs = []
            for name, array in zip(names, results):
                out = kserve.InferOutput(name, list(array.shape), from_np_dtype(array.dtype))
                out.set_data_from_numpy(array, binary_data=payload.use_binary_outputs)
                outputs.append(out)
            return kserve.InferResponse(payload.id or "", args.name, outputs, use_binary_outputs=payload.use_binary_outputs,
                                        requested_outputs=payload.request_outputs)

    return OnnxModel()


def main():
    import argparse
    args, rest = arguments(argparse.ArgumentParser(description=__doc__.splitlines()[0])).parse_known_args()
    workers = Workers(args.engine, args.model, args.processes, args.threads, args.slab_mb << 20, args.engine == "onyx")
    sys.argv = [sys.argv[0], *rest]  # the rest is KServe's: ports, logging
    import kserve
    keep_binary_inputs()
    try:
        kserve.ModelServer(enable_latency_logging=False).start([make_model(args, workers)])
    finally:
        workers.close()


if __name__ == "__main__":
    main()
