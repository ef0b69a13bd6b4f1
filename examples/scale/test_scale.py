"""The serving and the batch example on one machine. Needs onnx, and kserve with tritonclient, or ray; what is missing is
skipped. SCALE_ENGINE: the package that runs the models (onyx)."""
import importlib.util
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
here = pathlib.Path(__file__).parent
ENGINE = os.environ.get("SCALE_ENGINE", "onyx")
if importlib.util.find_spec(ENGINE) is None:
    pytest.skip(f"there is no package {ENGINE}", allow_module_level=True)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """y = relu(x W) of any number of rows, slow enough that requests meet in the queue."""
    w = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32) / 23
    x = onnx.helper.make_tensor_value_info("x", 1, ["n", 512])
    y = onnx.helper.make_tensor_value_info("y", 1, ["n", 512])
    nodes, last = [], "x"
    for i in range(40):
        nodes += [onnx.helper.make_node("MatMul", [last, "w"], [f"m{i}"]),
                  onnx.helper.make_node("Relu", [f"m{i}"], ["y" if i == 39 else f"r{i}"])]
        last = f"r{i}"
    graph = onnx.helper.make_graph(nodes, "mlp", [x], [y], [onnx.numpy_helper.from_array(w, "w")])
    path = tmp_path_factory.mktemp("model") / "mlp.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


def needs_server():
    """Not by importing: KServe's and the client's protobuf files do not get along in one process."""
    for name in ("kserve", "tritonclient"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"there is no package {name}")


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, model, *flags):
        self.http, self.grpc = free_port(), free_port()
        self.url = f"localhost:{self.http}"
        self.process = subprocess.Popen(
            [sys.executable, str(here / "serve.py"), model, "--name", "mlp", "--engine", ENGINE, "--http_port",
             str(self.http), "--grpc_port", str(self.grpc), *flags], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def __enter__(self):
        import tritonclient.http as http
        deadline = time.time() + 60
        while time.time() < deadline:
            try:
                if http.InferenceServerClient(self.url).is_model_ready("mlp"):
                    return self
            except Exception:
                pass
            assert self.process.poll() is None, "the server ended"
            time.sleep(0.2)
        raise AssertionError("the server is not ready")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def workers(self):
        """Process ids of the workers: the children of the nursery, the server's only child."""
        def children(pid):
            return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [w for nursery in children(self.process.pid) for w in children(nursery)]


@pytest.fixture(scope="module")
def server(model):
    needs_server()
    with Server(model, "--max-batch", "4") as s:
        yield s


def ask(server, x, kind="http"):
    module = importlib.import_module(f"tritonclient.{kind}")
    client = module.InferenceServerClient(server.url if kind == "http" else f"localhost:{server.grpc}")
    given = module.InferInput("x", list(x.shape), "FP32")
    given.set_data_from_numpy(x)
    return client.infer("mlp", [given]).as_numpy("y")


def want(model, x):
    return importlib.import_module(ENGINE).InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


@pytest.mark.parametrize("kind", ["http", "grpc"])
@pytest.mark.parametrize("rows", [1, 3, 9])
def test_answers_are_those_of_the_model(server, model, kind, rows):
    x = np.random.default_rng(rows).standard_normal((rows, 512)).astype(np.float32)
    np.testing.assert_allclose(ask(server, x, kind), want(model, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_a_wrong_shape_is_the_clients_error(server, kind):
    with pytest.raises(Exception, match=r"\[2, 7\]"):
        ask(server, np.zeros((2, 7), np.float32), kind)


def test_metrics_and_health(server):
    import tritonclient.http as http
    import urllib.request
    assert http.InferenceServerClient(server.url).is_server_ready()
    text = urllib.request.urlopen(f"http://{server.url}/metrics").read().decode()
    assert "onyx_workers 2.0" in text and "onyx_batch_rows_count" in text


def test_many_clients_get_right_answers_in_batches(server, model):
    out = subprocess.run([sys.executable, str(here / "load_test.py"), model, "--engine", ENGINE, "--url", server.url,
                          "--name", "mlp", "--clients", "32", "--seconds", "4"], capture_output=True, text=True)
    tally = json.loads(out.stdout)
    assert tally["answered"] > 0 and tally["refused"] == tally["failed"] == tally["wrong"] == 0, tally


def test_a_full_queue_refuses_at_once(model):
    needs_server()
    with Server(model, "--max-queue", "2", "--processes", "1", "--max-batch", "1") as s:
        out = subprocess.run([sys.executable, str(here / "load_test.py"), model, "--engine", ENGINE, "--url", s.url,
                              "--name", "mlp", "--clients", "24", "--seconds", "3"], capture_output=True, text=True)
    tally = json.loads(out.stdout)
    assert tally["answered"] > 0 and tally["refused"] > 0 and tally["failed"] == tally["wrong"] == 0, tally


def test_a_killed_worker_takes_only_its_requests_along(model):
    needs_server()
    with Server(model, "--max-batch", "4") as s:
        before = s.workers()
        assert len(before) == 2
        killer = threading.Timer(2.5, lambda: os.kill(before[0], signal.SIGKILL))
        killer.start()
        out = subprocess.run([sys.executable, str(here / "load_test.py"), model, "--engine", ENGINE, "--url", s.url,
                              "--name", "mlp", "--clients", "16", "--seconds", "5"], capture_output=True, text=True)
        tally = json.loads(out.stdout)
        assert tally["answered"] > 0 and tally["wrong"] == tally["refused"] == 0, tally
        assert tally["failed"] <= 4, tally  # one batch
        assert all("worker" in e for e in tally["errors"]), tally
        after = s.workers()
        assert len(after) == 2 and before[0] not in after


def test_batch_inference_over_a_data_set(model):
    ray = pytest.importorskip("ray")
    import ray.data  # noqa: F811
    sys.path.insert(0, str(here))
    import batch_ray
    x = np.random.default_rng(1).standard_normal((200, 512)).astype(np.float32)
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False,
             runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])}})
    try:
        data = ray.data.from_items([{"id": i, "x": row} for i, row in enumerate(x)])
        rows = batch_ray.predict(data, model, actors=2, batch_rows=16, engine=ENGINE).take_all()
    finally:
        ray.shutdown()
    got = np.stack([r["y"] for r in sorted(rows, key=lambda r: r["id"])])
    np.testing.assert_allclose(got, want(model, x), rtol=1e-4, atol=1e-5)
