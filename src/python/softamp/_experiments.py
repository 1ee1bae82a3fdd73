"""reproduce: published experiments, repeated."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Union

from . import _softamp

__all__ = ["Experiment", "experiments", "reproduce"]


@dataclass(frozen=True)
class Experiment:
    """What an experiment found.

    tables: name -> {"title", "columns", "rows": a dict each, by column}. figures: a dict each: name, caption, and svg, its
    text, where asked for. checks: a dict each: what, against, ours, theirs, agrees. settings: every choice that made the
    result. seen: what can be seen, and why. deviations: from the publication. skipped: why it could not run here.
    """

    name: str
    summary: str
    source: str
    settings: dict[str, Any]
    tables: dict[str, dict[str, Any]]
    figures: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    seen: str
    deviations: str
    skipped: str

    @property
    def agrees(self) -> bool:
        """Whether every check does."""
        return all(check["agrees"] for check in self.checks)


def experiments() -> dict[str, str]:
    """Name -> what it is, of all that reproduce knows."""
    return _softamp.experiments()


def reproduce(
    name: str,
    *,
    format: Union[str, Sequence[str], None] = None,
    rounding: Union[str, Sequence[str], None] = None,
    fixed_format: Union[str, Sequence[str], None] = None,
    bits: Optional[int] = None,
    seed: int = 0,
    samples: Optional[int] = None,
    data: Optional[str] = None,
    brief: bool = False,
    figures: bool = False,
) -> Experiment:
    """Repeat a published experiment, as `softamp reproduce` does.

    name: one of experiments(), "harmonic-series". What is left out is the experiment's own choice. data: a folder of data
    sets. brief: the short form, below two seconds. figures: draw them, which needs gnuplot.
    """
    all = _softamp.reproduce(name, format, rounding, fixed_format, bits, seed, samples, data, brief, figures)
    outcome = json.loads(all["outcome"])
    tables = {
        table["name"]: {
            "title": table["title"],
            "columns": table["columns"],
            "rows": [dict(zip(table["columns"], row)) for row in table["rows"]],
        }
        for table in outcome.get("tables", [])
    }
    return Experiment(
        all["name"],
        all["summary"],
        all["source"],
        outcome.get("settings", {}),
        tables,
        all["figures"],
        outcome.get("checks", []),
        outcome.get("seen", ""),
        outcome.get("deviations", ""),
        outcome.get("skipped", ""),
    )
