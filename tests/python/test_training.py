"""train, study and reproduce against the command."""

import json
import signal

import pytest
import softamp

SETTINGS = {
    "generated": True,
    "precision": "float16",
    "stochastic_rounding": "on",
    "train_images": 256,
    "test_images": 64,
    "epochs": 1,
    "seed": 3,
}


def test_the_log_is_that_of_the_command(program):
    (program.folder / "settings.json").write_text(json.dumps(SETTINGS))
    program("train", "settings.json", "--log", "log.jsonl")
    theirs = [json.loads(line) for line in (program.folder / "log.jsonl").read_text().splitlines()]
    seen = []
    training = softamp.train(SETTINGS, on_step=seen.append)
    assert training.log == theirs
    assert training.finished and training.steps == 8 == len(training.losses)
    assert [line["loss"] for line in seen] == training.losses
    assert training.evaluations[-1]["images"] == 64
    assert training.outcome in ("trains", "at chance", "unclear")


def test_settings_as_dict_text_and_file(tmp_path):
    settings = dict(SETTINGS, steps=2, evaluate=False)
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    runs = [softamp.train(s) for s in (settings, json.dumps(settings), tmp_path / "settings.json")]
    assert runs[0].weight_hashes == runs[1].weight_hashes == runs[2].weight_hashes
    with pytest.raises(FileNotFoundError):
        softamp.train(tmp_path / "none.json")


def test_files_by_path(tmp_path):
    tiny = {"generated": True, "train_images": 32, "test_images": 8, "batch_size": 8, "epochs": 1}
    softamp.train(tiny, log=tmp_path / "a.jsonl", checkpoint=bytes(tmp_path / "a.npz"))
    assert (tmp_path / "a.jsonl").exists() and (tmp_path / "a.npz").exists()
    with pytest.raises(TypeError, match="expected str, bytes or os.PathLike"):
        softamp.train(tiny, log=3)


def test_an_exception_of_the_callback_ends_the_run():
    class Enough(Exception):
        pass

    seen = []

    def stop(line):
        seen.append(line)
        if len(seen) == 3:
            raise Enough("three")

    with pytest.raises(Enough, match="three"):
        softamp.train(SETTINGS, on_step=stop)
    assert len(seen) == 3


def test_ctrl_c_stops_after_the_step(ctrl_c, tmp_path):
    """The step that was under way is whole: a run that goes on from the checkpoint ends as one that was never stopped."""
    checkpoint, seen = str(tmp_path / "checkpoint"), []

    def interrupt(line):
        seen.append(line)
        if len(seen) == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        softamp.train(SETTINGS, on_step=interrupt, checkpoint=checkpoint)
    resumed = softamp.train(SETTINGS, resume=checkpoint)
    assert resumed.weight_hashes == softamp.train(SETTINGS).weight_hashes


def test_a_floating_point_exception_stops_training():
    with pytest.raises(softamp.FloatingPointException):
        softamp.train(dict(SETTINGS, learning_rate=1e4, behaviour="all", steps=8))


def test_a_study_is_that_of_the_command(program):
    settings = dict(SETTINGS, steps=4, epochs=1)
    (program.folder / "study.json").write_text(json.dumps({"settings": settings}))
    document = program.json(
        "study", "study.json", "--grid", "precision=float16,float32", "--seeds", 2, "--jobs", 1, "--quiet"
    )
    steps = []
    study = softamp.study(
        settings, grid={"precision": ["float16", "float32"]}, seeds=2, on_step=lambda own, line: steps.append((own, line))
    )
    assert len(study.runs) == 4 and len(steps) == 16
    assert steps[0][0] == {"precision": "float16", "seed": 3}
    for row, their in zip(study.rows, document["rows"]):
        assert row["precision"] == their["settings"]["precision"] and row["runs"] == their["runs"] == 2
        # The mean of two numbers has one rounding; the deviation takes differences from it, which it moves by half a unit.
        assert row["final_loss"] == their["final_loss"]
        assert abs(row["final_loss_sd"] - their["loss_sd"]) <= 4 * 2.0**-53 * row["final_loss"]
        assert 100 * row["accuracy"] == their["accuracy_percent"]
        losses = [run["training"].losses for run in study.runs if run["precision"] == row["precision"]]
        assert [sum(step) / 2 for step in zip(*losses)] == their["mean_losses"]


def test_an_experiment_is_that_of_the_command(program):
    document = program.json("reproduce", "harmonic-series", "--brief")
    experiment = softamp.reproduce("harmonic-series", brief=True)
    assert experiment.agrees and not experiment.skipped
    assert experiment.settings == document["settings"]
    for table in document["tables"]:
        ours = experiment.tables[table["name"]]
        assert ours["columns"] == table["columns"]
        assert [list(row.values()) for row in ours["rows"]] == table["rows"]
    assert experiment.checks == document["checks"]


def test_figures_are_drawn_where_gnuplot_is():
    try:
        experiment = softamp.reproduce("harmonic-series", brief=True, figures=True)
    except RuntimeError as e:
        pytest.skip(str(e))
    assert all("<svg" in figure["svg"] for figure in experiment.figures) and experiment.figures


def test_experiments():
    assert "harmonic-series" in softamp.experiments()
