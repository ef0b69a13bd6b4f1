"""Processes that run one model, forked from one that has loaded it.

A nursery process loads the session, then forks the workers, so that mapped weights and packed ones lie in memory once,
however many workers there are. It does nothing else: it has no threads, so that it may fork again whenever a worker dies.
The server talks to each worker over a socket pair and a slab of shared memory that holds the tensors of one batch.

Only an engine whose sessions survive fork can share this way (Onyx). With another one (`shared=False`) each worker loads
the model itself."""
import importlib
import json
import mmap
import os
import signal
import socket
import struct

import numpy as np

ALIGN = 64
HEADER = struct.Struct("<I")


class SlabFull(ValueError):
    """The tensors of a batch do not fit the slab."""


def put(slab, offset, array):
    """Copies |array| into |slab|; returns what describes it and where the next one may begin."""
    array = np.ascontiguousarray(array)
    end = offset + array.nbytes
    if end > len(slab):
        raise SlabFull(f"a batch of more than {len(slab)} bytes: see --slab-mb")
    place(slab, offset, array.dtype, array.shape)[...] = array
    return [array.dtype.str, list(array.shape), offset], -(-end // ALIGN) * ALIGN


def place(slab, offset, dtype, shape):
    """The tensor at |offset|, in place."""
    return np.ndarray(shape, np.dtype(dtype), slab, offset)


def send(sock, message):
    text = json.dumps(message).encode()
    sock.sendall(HEADER.pack(len(text)) + text)


def receive(sock):
    """The next message; None when the other side is gone."""
    head = sock.recv(HEADER.size, socket.MSG_WAITALL)
    if len(head) < HEADER.size:
        return None
    return json.loads(sock.recv(HEADER.unpack(head)[0], socket.MSG_WAITALL))


def load(engine, model, threads, options):
    rt = importlib.import_module(engine)
    so = rt.SessionOptions()
    so.intra_op_num_threads = threads
    for key, value in options.items():
        so.add_session_config_entry(key, value)
    return rt.InferenceSession(model, so, providers=["CPUExecutionProvider"])


def describe(session):
    """Names, types and shapes as the server publishes them; a batch can grow if axis 0 is open everywhere."""
    def rows(infos):
        return [{"name": i.name, "type": i.type, "shape": [d if isinstance(d, int) else -1 for d in i.shape]}
                for i in infos]
    inputs, outputs = rows(session.get_inputs()), rows(session.get_outputs())
    grows = all(r["shape"] and r["shape"][0] == -1 for r in inputs + outputs)
    return {"inputs": inputs, "outputs": outputs, "batch": grows}


def work(session, sock, slab):
    """A worker's life: a batch comes, its outputs go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when to stop
    while (message := receive(sock)) is not None:
        try:
            feeds = {name: place(slab, offset, dtype, shape)
                     for name, (dtype, shape, offset) in message["inputs"].items()}
            results, offset, reply = session.run(message["outputs"], feeds), message["free"], []
            for array in results:
                row, offset = put(slab, offset, array)
                reply.append(row)
            send(sock, {"outputs": reply})
        except Exception as error:  # the request fails, the worker goes on
            send(sock, {"error": f"{type(error).__name__}: {error}"})


def fork_worker(control, session, loader, slab_bytes):
    """Forks a worker and hands the server its socket and slab."""
    ours, theirs = socket.socketpair()
    fd = os.memfd_create("batch")
    os.ftruncate(fd, slab_bytes)
    pid = os.fork()
    if pid == 0:
        control.close()
        ours.close()
        try:
            work(session or loader(), theirs, mmap.mmap(fd, slab_bytes))
        finally:
            os._exit(0)
    socket.send_fds(control, [struct.pack("<i", pid)], [ours.fileno(), fd])
    theirs.close()
    ours.close()
    os.close(fd)


def nursery(control, loader, shared, n_workers, slab_bytes):
    """Loads, tells what the model is, forks workers, and again whenever one dies. Ends when the server does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        session = loader()
        send(control, describe(session))
    except Exception as error:
        send(control, {"error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    if not shared:
        session = None
    for _ in range(n_workers):
        fork_worker(control, session, loader, slab_bytes)
    server = os.getppid()
    while True:
        signal.setitimer(signal.ITIMER_REAL, 1)  # to see whether the server is still there
        try:
            os.wait()
        except InterruptedError:
            pass
        except ChildProcessError:
            os._exit(0)
        else:
            fork_worker(control, session, loader, slab_bytes)
        if os.getppid() != server:
            os._exit(0)


class Workers:
    """Starts the nursery; to be made before the process has threads. |info| is what describe says of the model."""

    def __init__(self, engine, model, n_workers=2, threads=1, slab_bytes=64 << 20, shared=True, options=None):
        self.n_workers, self.slab_bytes = n_workers, slab_bytes
        self.control, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self.control.close()
            signal.signal(signal.SIGALRM, _interrupt)
            nursery(theirs, lambda: load(engine, model, threads, options or {}), shared, n_workers, slab_bytes)
        theirs.close()
        self.info = receive(self.control)
        if self.info is None or "error" in self.info:
            raise RuntimeError(f"{model}: {self.info['error'] if self.info else 'the loader died'}")

    def accept(self):
        """The next worker: (pid, socket, slab). Blocks until there is one; None when the nursery is gone."""
        data, fds, _, _ = socket.recv_fds(self.control, 4, 2)
        if len(fds) < 2:
            return None
        slab = mmap.mmap(fds[1], self.slab_bytes)
        os.close(fds[1])
        return struct.unpack("<i", data)[0], socket.socket(fileno=fds[0]), slab

    def close(self):
        self.control.close()
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def _interrupt(signum, frame):
    raise InterruptedError
