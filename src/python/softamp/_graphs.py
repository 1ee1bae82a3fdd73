"""Graph and Executor: graphs of tensor operations."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Sequence, Union

from . import _softamp
from ._arguments import Array, NDArray

__all__ = ["Executor", "Graph", "Run"]


class Run(dict[str, NDArray]):
    """What a run computed: fetch -> array. step: its number; operations: those that raised flags, a dict each with name,
    op and status; statistics: by tensor, where asked for."""

    step: int
    operations: list[dict[str, Any]]
    statistics: dict[str, Any]

    @classmethod
    def _of(cls, all: dict[str, Any]) -> Run:
        run = cls(all["values"])
        run.step = all["step"]
        run.operations = all["operations"]
        run.statistics = {name: json.loads(text) for name, text in all["statistics"].items()}
        return run


class Executor:
    """Runs a graph step by step and keeps its variables; made by Graph.executor."""

    def __init__(self, executor: _softamp.Executor, outputs: list[str]) -> None:
        self._executor = executor
        self._outputs = outputs

    def run(self, feeds: Mapping[str, Array] = {}, fetches: Optional[Sequence[str]] = None) -> Run:
        """One step. feeds: placeholder -> array of its dtype and shape. fetches: "name" or "name:port" [=the outputs]."""
        wanted = list(self._outputs) if fetches is None else _names(fetches)
        return Run._of(self._executor.run(dict(feeds), wanted))

    @property
    def step(self) -> int:
        """Steps so far: the address of the next step's random bits."""
        return self._executor.step

    @step.setter
    def step(self, step: int) -> None:
        self._executor.set_step(step)

    def variable(self, name: str) -> NDArray:
        """A copy of a variable's value."""
        return self._executor.variable(name)

    def set_variable(self, name: str, value: Array) -> None:
        self._executor.set_variable(name, value)

    def take_outfeed(self, queue: str) -> list[NDArray]:
        """What OutfeedEnqueue put into a queue, oldest first; the queue is empty afterwards."""
        return self._executor.take_outfeed(queue)

    @property
    def warnings(self) -> list[str]:
        """Options that are ignored, and why."""
        return self._executor.warnings


def _names(fetches: Sequence[str]) -> list[str]:
    return [fetches] if isinstance(fetches, str) else list(fetches)


class Graph:
    """A graph of tensor operations: Graph(json), Graph.load(path); docs/GRAPH_JSON.md is the schema.

    json: a text, or what json.loads makes of it. folder: where its "npy" files lie [=none are read]. Raises ValueError
    that names node and field.
    """

    def __init__(self, json_: Union[str, Mapping[str, Any]], *, folder: Optional[str] = None) -> None:
        text = json_ if isinstance(json_, str) else json.dumps(json_)
        self._graph: Optional[_softamp.GraphFile] = _softamp.GraphFile.from_json(text, folder)
        self._path = ""

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Graph:
        """A file: .json, or a GraphDef of TensorFlow's: .pb, .pbtxt, .pb.txt."""
        graph = cls.__new__(cls)
        graph._path = os.fsdecode(path)
        graph_def = graph._path.endswith((".pb", ".pbtxt", ".pb.txt"))
        graph._graph = None if graph_def else _softamp.GraphFile.load(graph._path)
        return graph

    def _own(self) -> _softamp.GraphFile:
        if self._graph is None:
            raise ValueError(f"{self._path}: a GraphDef becomes a graph when it runs, with its feeds' shapes; expected run")
        return self._graph

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """A dict for each operation: name, op, inputs, outputs (dtype and shape)."""
        return self._own().nodes

    @property
    def outputs(self) -> list[str]:
        """The outputs that the file names, else every tensor that nothing reads."""
        return self._own().outputs

    def json(self) -> str:
        return self._own().json()

    def __str__(self) -> str:
        return self._path if self._graph is None else self._graph.text()

    def executor(self, **options: Any) -> Executor:
        """An executor, which keeps variables and counts steps. options: see run."""
        return Executor(self._own().executor(options), self.outputs)

    def run(self, feeds: Mapping[str, Array] = {}, fetches: Optional[Sequence[str]] = None, **options: Any) -> Run:
        """One run, step 0.

        feeds: placeholder -> array of its dtype and shape, of a GraphDef also variables; fetches: "name" or "name:port"
            [=the outputs].
        options: behaviour (behaviour(...)), preset ("ieee", "ipu" [=ipu within or with a behaviour, else the graph's, which
            is ieee of a GraphDef, else ipu]), seed, partials, block, inner, accumulator, tensor_core_operands, bits, variant,
            random, config (IpuConfig as JSON), status, statistics (True), threads, backend ("emu", "cuda"), reference,
            replica, tiles, memory_per_tile, semantics.

        Raises ValueError (an unknown name, another dtype or shape, options out of range), FloatingPointException, and
        KeyboardInterrupt within an operation.
        """
        if self._graph is None:
            wanted = None if fetches is None else _names(fetches)
            return Run._of(_softamp.run_graph_def(self._path, dict(feeds), wanted, options))
        return self.executor(**options).run(feeds, fetches)
