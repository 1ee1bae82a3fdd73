"""train and study: training runs, with their logs as lists of dicts."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import tempfile
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import _softamp

__all__ = ["Study", "Training", "study", "train"]

Path = Union[str, "os.PathLike[str]"]
Settings = Union[Path, Mapping[str, Any]]


@dataclass(frozen=True)
class Training:
    """What a run came to.

    finished: False where it was stopped. steps, skipped: optimizer steps done, and not applied. losses: of each step,
    unscaled. epoch_losses: means. evaluations: a dict each: step, images, correct, accuracy (of 1), loss, text.
    weight_hashes: of the weights at the end, by replica. outcome: "trains", "at chance", "worse than guessing",
    "no update", "diverged", "unclear" or None;
    verdict: the same with its figures. log: the log of `softamp train --log`, a dict a line: the settings first, then
    steps, epochs and evaluations. report: the lines that the command prints.
    """

    finished: bool
    steps: int
    skipped: int
    losses: list[float]
    epoch_losses: list[float]
    evaluations: list[dict[str, Any]]
    weight_hashes: list[str]
    outcome: Optional[str]
    verdict: Optional[str]
    log: list[dict[str, Any]]
    report: str


def _text_of(settings: Settings) -> str:
    if isinstance(settings, Mapping):
        return json.dumps(dict(settings))
    path = os.fsdecode(settings)
    if path.lstrip().startswith("{"):
        return path
    with open(path, encoding="utf-8") as file:
        return file.read()


def train(
    settings: Settings = {},
    *,
    on_step: Optional[Callable[[dict[str, Any]], Any]] = None,
    log: Optional[Path] = None,
    checkpoint: Optional[Path] = None,
    resume: Optional[Path] = None,
    plot: Optional[Path] = None,
    write_initial: Optional[Path] = None,
    histograms: Optional[Path] = None,
) -> Training:
    """Train a network: the run of `softamp train`.

    settings: a dict of settings, their JSON, or the name of a file of it (docs/TRAINING.md); what is left out has its
        default.
    on_step: called after each step with its line of the log as a dict. An exception that it raises ends the run after
        that step, and is raised here; so does Ctrl-C.
    log, checkpoint, resume, plot, write_initial, histograms: names of files, as of the command [=none].

    Raises ValueError for settings, FloatingPointException where an enabled exception stops the run, RuntimeError for
    files.
    """
    text = _text_of(settings)
    _softamp.refuse_idle_settings([text])
    named = dict(checkpoint=checkpoint, resume=resume, plot=plot, write_initial=write_initial, histograms=histograms)
    return _trained(text, on_step, log, named)


def _trained(
    text: str, on_step: Optional[Callable[[dict[str, Any]], Any]], log: Optional[Path], named: dict[str, Optional[Path]]
) -> Training:
    call = None if on_step is None else lambda line: on_step(json.loads(line))
    files = {option: None if path is None else os.fsdecode(path) for option, path in named.items()}
    # Where the interpreter ends during a run of another thread, that writes into the folder while it is removed.
    with tempfile.TemporaryDirectory(prefix="softamp-", ignore_cleanup_errors=True) as folder:
        name = os.path.join(folder, "log.jsonl") if log is None else os.fsdecode(log)
        summary = _softamp.train(text, call, dict(files, log=name))
        with open(name, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    return Training(log=lines, **summary)


@dataclass(frozen=True)
class Study:
    """What a study found. runs: a dict each: the settings that differ, seed, and training, a Training. rows: a dict for
    each combination of settings: these, runs (how many), final_loss (of a run the mean of its
    last tenth of steps) and accuracy (of 1), each the mean over the seeds, with its standard deviation, .._sd."""

    runs: list[dict[str, Any]]
    rows: list[dict[str, Any]]


def study(
    settings: Settings = {},
    *,
    grid: Mapping[str, Sequence[Any]] = {},
    seeds: Union[int, Sequence[int]] = 1,
    on_step: Optional[Callable[[dict[str, Any], dict[str, Any]], Any]] = None,
) -> Study:
    """Train under every combination of settings and seeds.

    grid: setting -> its values. A setting that some combinations do not use is fine where others do. seeds: so many, from
        the settings' seed on; or a list of them.
    on_step: called after each step with the run's own settings (those of the grid, and seed) and the step's line.
    """
    base = json.loads(_softamp.train_settings(_text_of(settings)))
    first = base["seed"]
    all_seeds = list(range(first, first + seeds)) if isinstance(seeds, int) else list(seeds)
    given = json.loads(_text_of(settings))
    runs: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    cases = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    _softamp.refuse_idle_settings([json.dumps(dict(given, **chosen)) for chosen in cases])
    for chosen in cases:
        trainings: list[Training] = []
        for seed in all_seeds:
            own = dict(chosen, seed=seed)
            step = None if on_step is None else _with_settings(on_step, own)
            trainings.append(_trained(json.dumps(dict(given, **own)), step, None, {}))
            runs.append(dict(own, training=trainings[-1]))
        rows.append(dict(chosen, **_row(trainings)))
    return Study(runs, rows)


def _with_settings(
    on_step: Callable[[dict[str, Any], dict[str, Any]], Any], own: dict[str, Any]
) -> Callable[[dict[str, Any]], Any]:
    return lambda line: on_step(own, line)


def _final_loss(training: Training) -> float:
    """The mean of the last tenth of the steps."""
    tail = training.losses[-max(1, len(training.losses) // 10) :]
    return sum(tail) / len(tail)


def _row(trainings: list[Training]) -> dict[str, Any]:
    row: dict[str, Any] = {"runs": len(trainings)}
    figures = {
        "final_loss": [_final_loss(t) for t in trainings if t.losses],
        "accuracy": [t.evaluations[-1]["accuracy"] for t in trainings if t.evaluations],
    }
    for name, values in figures.items():
        row[name] = statistics.fmean(values) if values else None
        row[name + "_sd"] = statistics.stdev(values) if len(values) > 1 else None
    return row
