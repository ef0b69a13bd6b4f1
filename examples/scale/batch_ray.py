"""Runs an ONNX model over a data set with Ray Data: actors that hold a session each, blocks that stream through them.

    python batch_ray.py model.onnx data/*.npy --out results --actors 2

On a cluster the same program runs over all its machines (ray.init finds it); actors of one machine map the same weights."""
import argparse
import sys

import numpy as np


class Predictor:
    """An actor: loads once, then maps batches of columns to batches with the outputs added."""

    def __init__(self, model, threads=1, engine="onyx"):
        import importlib
        rt = importlib.import_module(engine)
        options = rt.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = rt.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]

    def __call__(self, batch):
        missing = [name for name in self.inputs if name not in batch]
        if missing:
            raise KeyError(f"the data has no column {missing}, only {sorted(batch)}")
        results = self.session.run(self.outputs, {name: np.ascontiguousarray(batch[name]) for name in self.inputs})
        return {**{k: v for k, v in batch.items() if k not in self.inputs}, **dict(zip(self.outputs, results))}


def predict(dataset, model, actors=2, batch_rows=32, threads=1, engine="onyx"):
    """|dataset| with the model's outputs in place of its inputs; lazy, as all of Ray Data is."""
    return dataset.map_batches(Predictor, fn_constructor_args=(model, threads, engine), batch_size=batch_rows,
                               compute=_actors(actors), num_cpus=threads)


def _actors(n):
    import ray.data
    return ray.data.ActorPoolStrategy(min_size=1, max_size=n)  # the first starts while others wait for a processor


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("files", nargs="+", help=".npy, rows along axis 0; or .parquet with the inputs as columns")
    parser.add_argument("--out", default="results", help="a folder for the outputs, as parquet")
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--batch-rows", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1, help="of each actor")
    parser.add_argument("--engine", default="onyx")
    args = parser.parse_args()
    import importlib
    import ray
    name = importlib.import_module(args.engine).InferenceSession(
        args.model, providers=["CPUExecutionProvider"]).get_inputs()[0].name
    ray.init(ignore_reinit_error=True, log_to_driver=False)
    if args.files[0].endswith(".npy"):
        data = ray.data.from_numpy([np.load(f) for f in args.files]).rename_columns({"data": name})
    else:
        data = ray.data.read_parquet(args.files)
    predict(data, args.model, args.actors, args.batch_rows, args.threads, args.engine).write_parquet(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
