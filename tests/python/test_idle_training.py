"""No setting of training without effect: in several modes of a tiny run, each changes the log or a tensor of the checkpoint, is
refused, or has its reason below. The walk knows no rule of what belongs together."""

import fnmatch
import json

import numpy as np
import pytest
import softamp

NETWORK = {
    "softamp_network": 1,
    "input": {"kind": "image", "shape": [8, 8, 1]},
    "output": {"kind": "classes", "count": 10},
    "layers": [
        {"type": "conv2d", "filters": 8},
        {"type": "batch_norm"},
        {"type": "activation", "function": "relu"},
        {"type": "flatten"},
        {"type": "dense", "units": 10},
    ],
}
RUN = {"generated": True, "train_images": 8, "test_images": 4, "batch_size": 2, "epochs": 2, "learning_rate": 0.1}
MODES = [
    {},
    {"precision": "float16"},
    {"precision": "bfloat16", "optimizer": "adamw", "learning_rate_schedule": "cosine"},
    {"precision": "float16", "stochastic_rounding": "on", "replicas": 2},
    {"precision": "mixed", "partials": "half", "optimizer": "rmsprop"},
    {"precision": "float16", "accumulator": "tensorcore_ada", "accumulation": 2},
    {"precision": "float64", "optimizer": "sgd"},
    {"weight_update": "stochastic", "evaluate": False},
    {"mechanism": "level=O2", "loss_scale": "64"},
]
DTYPES = ["float32", "float16", "bfloat16"]
SETTINGS = dict(
    precision=["float16", "mixed"], mechanism=["level=O2"], validation_split=[0.3], batch_size=[4], epochs=[3], warmup_epochs=[1],
    steps=[3], shuffle=[True], seed=[3], train_images=[6], test_images=[2], optimizer=["sgd", "adam"], learning_rate=[0.05],
    learning_rate_schedule=["linear"], warmup_steps=[3], decay_steps=[4], min_learning_rate=[0.001], momentum=[0.5], rho=[0.5],
    beta1=[0.5], beta2=[0.5], epsilon=[0.1], weight_decay=[0.2], decay_matrices_only=[True], optimizer_state=DTYPES,
    hyperparameters=DTYPES, weight_update=["nearest", "stochastic", "kahan"], separate_roundings=[True], loss_scale=["1"],
    fold_scale_into_rate=[True], loss_in_float32=[False], stochastic_rounding=["on", "replica_identical_only"], random_bits=[3],
    rounding_variant=["at-least"], chip=["nvidia_sm100"], partials=["half"], matmul_partials=["half", "float"],
    convolution_partials=["half", "float"], amp_block=[1, 4, 0], accumulator=["fp32_chain", "tensorcore_volta", "tensorcore_ampere"],
    tensor_core_operands=["bf16", "e4m3"], bias_in_accumulator=[True], use_stable_statistics=[True], preset=["ieee", "ipu"],
    behaviour=["nanoo", "inv"], clip_value=[0.01], clip_norm=[0.01], clip_global_norm=[0.01], accumulation=[2],
    accumulation_dtype=DTYPES, accumulation_reduction=["mean"], replicas=[2], replica_reduction=["sum"], replica_drift=[True],
    replica_invariant=[4], strict=[True], evaluate_every=[1], evaluate=[False], threads=[1], backend=["auto"],
)  # fmt: skip
NAMES_WHAT_IS_TRAINED = {"program", "network", "data", "generated", "initial"}

# (key=value, mode): why the run may stay as it is. "*" is any text.
REASONS = [
    ("threads=*", "*", "results do not depend on threads"),
    ("backend=*", "*", "all backends give the same bits"),
    ("strict=*", "*", "it refuses what the run would warn of, and this warns of nothing"),
    ("preset=*", "*", "no number overflows here, and none is subnormal"),
    ("behaviour=*", "*", "no exception is raised here"),
    ("test_images=*", "*evaluate=False*", "how many are read"),
    ("*_partials=float", "*", "what partials says, too"),
    ("accumulator=*", "*precision=*float16*", "sums that differ in their last bits are one number of 16 bits"),
    ("chip=nvidia_sm100", "*", "13 random bits and the variant carry, as without it"),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("idle")
    (folder / "net.json").write_text(json.dumps(NETWORK))
    checkpoint = folder / "state.npz"
    known = {}

    def trained(settings):
        """The log and the tensors of a run, None where it is refused."""
        key = json.dumps(settings, sort_keys=True)
        if key not in known:
            try:
                run = softamp.train({"network": str(folder / "net.json"), **RUN, **settings}, checkpoint=checkpoint)
                with np.load(checkpoint) as file:
                    tensors = [(name, file[name].tobytes()) for name in file.files if isinstance(file[name], np.ndarray)]
                known[key] = run.log[1:], tensors
            except (ValueError, softamp.FloatingPointException):
                known[key] = None
        return known[key]

    return trained


def text(settings):
    return " ".join(f"{key}={value}" for key, value in settings.items())


def has_reason(setting, mode):
    return any(fnmatch.fnmatchcase(setting, key) and fnmatch.fnmatchcase(mode, where) for key, where, _ in REASONS)


@pytest.mark.parametrize("mode", MODES, ids=text)
def test_no_setting_is_without_effect(trained, mode):
    without = trained(mode)
    assert without is not None
    idle = []
    for key, values in SETTINGS.items():
        taken = [(value, run) for value in values if key not in mode and (run := trained({**mode, key: value}))]
        if taken and all(run == without and not has_reason(text({key: value}), text(mode)) for value, run in taken):
            idle.append(key)
    assert idle == []


def test_every_setting_is_walked():
    assert set(json.loads(softamp._softamp.train_settings("{}"))) == set(SETTINGS) | NAMES_WHAT_IS_TRAINED


def test_a_study_needs_one_combination_that_uses_a_setting():
    study = softamp.study(
        {**RUN, "random_bits": 3, "steps": 1, "precision": "float16", "evaluate": False}, grid={"stochastic_rounding": ["off", "on"]}
    )
    assert len(study.rows) == 2
    with pytest.raises(ValueError, match="'random_bits' has no effect: no rounding is stochastic; expected 'stochastic_rounding' on"):
        softamp.study({**RUN, "steps": 1}, grid={"random_bits": [3, 4]})
