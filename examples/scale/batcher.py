"""Requests on their way to the workers: a queue that has an end, and batches made while a worker is busy.

A worker that gets free takes what waits, up to |max_batch| rows of the same names, types and shapes; nothing waits for a
batch to fill while a worker is idle. A queue that is full refuses at once. If a worker dies, the requests in it fail, and
the next worker goes on with the queue."""
import asyncio
import collections
import json
import struct

import numpy as np

from workers import HEADER, SlabFull, place, put


class Overloaded(Exception):
    """The queue is full."""


class WorkerDied(Exception):
    """The process that ran the request ended."""


class RunFailed(Exception):
    """The model refused the request."""


class Request:
    __slots__ = ("feeds", "outputs", "rows", "kind", "result")

    def __init__(self, feeds, outputs, grows):
        self.feeds, self.outputs = feeds, outputs
        self.rows = len(next(iter(feeds.values()))) if grows else 1
        # what has to be equal for requests to go together
        skip = 1 if grows else 0
        self.kind = (tuple(outputs), tuple((n, a.dtype, a.shape[skip:]) for n, a in sorted(feeds.items())))
        self.result = asyncio.get_running_loop().create_future()


class Batcher:
    """|observe| is told (rows, requests) of each batch and, with 0 rows, of each worker that died."""

    def __init__(self, workers, max_batch=8, max_queue=256, observe=lambda rows, requests: None):
        self.workers, self.observe, self.max_queue = workers, observe, max_queue
        self.grows = workers.info["batch"]
        self.max_batch = max_batch if self.grows else 1
        self.waiting = collections.deque()
        self.alive = 0
        self.news = asyncio.Condition()
        self.tasks = set()

    def start(self):
        self._keep(asyncio.create_task(self._welcome()))

    async def run(self, feeds, outputs):
        """The outputs called |outputs| for |feeds|, in that order."""
        if len(self.waiting) >= self.max_queue:
            raise Overloaded(f"{self.max_queue} requests are waiting")
        request = Request(feeds, outputs, self.grows)
        self.waiting.append(request)
        async with self.news:
            self.news.notify()
        return await request.result

    async def close(self):
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for request in self.waiting:
            request.result.set_exception(WorkerDied("the server stops"))
        self.waiting.clear()

    def _keep(self, task):
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _welcome(self):
        """Starts serving with each worker as it comes."""
        loop = asyncio.get_running_loop()
        while (worker := await loop.run_in_executor(None, self.workers.accept)) is not None:
            self._keep(asyncio.create_task(self._serve(*worker)))

    async def _serve(self, pid, sock, slab):
        reader, writer = await asyncio.open_unix_connection(sock=sock)
        self.alive += 1
        try:
            while True:
                batch = await self._take()
                try:
                    await self._play(batch, reader, writer, slab)
                except (ConnectionError, asyncio.IncompleteReadError):
                    self._fail(batch, WorkerDied(f"worker {pid} died with this request"))
                    return
                except BaseException:
                    self._fail(batch, WorkerDied("the server stops"))
                    raise
        finally:
            self.alive -= 1
            self.observe(0, 0)
            writer.close()

    async def _take(self):
        """The oldest request and those behind it that may go along."""
        async with self.news:
            await self.news.wait_for(lambda: self.waiting)
            batch = [self.waiting.popleft()]
            rows = batch[0].rows
            while self.waiting and self.waiting[0].kind == batch[0].kind and \
                    rows + self.waiting[0].rows <= self.max_batch:
                rows += self.waiting[0].rows
                batch.append(self.waiting.popleft())
            if self.waiting:
                self.news.notify()
        self.observe(rows, len(batch))
        return batch

    async def _play(self, batch, reader, writer, slab):
        try:
            message = self._lay_out(batch, slab)
        except SlabFull as error:
            self._fail(batch, RunFailed(str(error)))
            return
        text = json.dumps(message).encode()
        writer.write(HEADER.pack(len(text)) + text)
        await writer.drain()
        (n,) = HEADER.unpack(await reader.readexactly(HEADER.size))
        reply = json.loads(await reader.readexactly(n))
        if "error" in reply:
            self._fail(batch, RunFailed(reply["error"]))
            return
        results = [place(slab, offset, dtype, shape) for dtype, shape, offset in reply["outputs"]]
        first = 0
        for request in batch:
            last = first + request.rows
            if not request.result.done():  # its client may be gone
                request.result.set_result([(r[first:last] if self.grows else r).copy() for r in results])
            first = last

    def _lay_out(self, batch, slab):
        """Writes the inputs of |batch|, one behind the other along axis 0, and tells where they are."""
        offset, inputs = 0, {}
        for name, array in batch[0].feeds.items():
            if len(batch) == 1:
                inputs[name], offset = put(slab, offset, array)
                continue
            shape = (sum(r.rows for r in batch),) + array.shape[1:]
            end = offset + array.dtype.itemsize * int(np.prod(shape))
            if end > len(slab):
                raise SlabFull(f"a batch of more than {len(slab)} bytes: see --slab-mb")
            np.concatenate([r.feeds[name] for r in batch], out=place(slab, offset, array.dtype, shape))
            inputs[name] = [array.dtype.str, list(shape), offset]
            offset = -(-end // 64) * 64
        return {"inputs": inputs, "outputs": batch[0].outputs, "free": offset}

    @staticmethod
    def _fail(batch, error):
        for request in batch:
            if not request.result.done():
                request.result.set_exception(error)
