#!/usr/bin/env python3
"""compare.py SOFTAMP [options]: trains softamp's networks in softamp and in PyTorch, from equal weights and batches.

softamp writes its first weights, its batches, its losses and a checkpoint. PyTorch trains the same network by the same
formulas (models.py) in binary64 and in float32. Nothing else is shared: the float64 run is the judge, and PyTorch's own
float32 runs say how far float32 is from it.

The rule. J(t) is the loss of step t in PyTorch's float64. A float32 run L has, for each horizon T of HORIZONS, the
distance D(T) = max over t < T of |L(t) - J(t)|. PyTorch's float32 is run --orders times, each with the samples of every
batch in another order: that changes no sum but the order of its additions, so these runs are samples of what rounding
alone does. softamp passes if D(T) <= BOUND x the largest D(T) of these runs, at every horizon. A distance below half a
step of float32 at the loss counts as that half step, for no float32 loss is known any better. Moving averages, where a
network has them, are judged in the same way after the last step, by the largest distance of any of them.

Where BOUND comes from: `--bound` prints it. Each float32 run of PyTorch is judged by the same rule, against the other
ones: D(T) divided by the largest D(T) of the others, for every network, optimizer, run and horizon. BOUND is the number
that 99 of 100 of these ratios stay below, none left out. Ratios are large where one run has taken another branch, of a
ReLU or of a maximum, before the others: so the largest of all says little. docs/PYTORCH.md has the measurement.

Exit code 1: a run is farther away. 77: no Python with such a PyTorch and NumPy is found; the test is skipped.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

HORIZONS = (1, 2, 5, 10, 20, 50, 100, 200)
BOUND = 1.81
AVERAGES = "/moving_"  # in the names of batch norm's averages
NETWORKS = ("fashion_cnn", "lenet5", "resnet8", "small_resnet", "gpt_tiny")
OPTIMIZERS = ("sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw")

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "judges"))
import packages  # noqa: E402

if __name__ == "__main__":
    # The bound is of a PyTorch that sums in order, as the reference BLAS does: others are nearer to float64 (docs/PYTORCH.md).
    packages.find("torch", "numpy", where="'BLAS_INFO=generic' in torch.__config__.show()", brings="bash tests/setup.sh pytorch")

import models  # noqa: E402: only where they are
import numpy as np  # noqa: E402
import torch  # noqa: E402


def float32(x):
    """Hyperparameters are float32 numbers here: softamp rounds them to that, PyTorch would not."""
    return float(np.float32(x))


def settings_of(optimizer):
    """What both systems are told."""
    settings = {"optimizer": optimizer, "learning_rate": float32(0.001 if "adam" in optimizer else 0.01)}
    if optimizer in ("momentum", "nesterov"):
        settings["momentum"] = float32(0.9)
    if optimizer == "rmsprop":
        # Inside the root in TensorFlow, outside in PyTorch: so small that it is nothing beside any mean square.
        settings.update(learning_rate=float32(0.001), rho=float32(0.9), momentum=0.5, epsilon=float32(1e-30))
    if "adam" in optimizer:
        settings.update(beta1=float32(0.9), beta2=float32(0.999), epsilon=float32(1e-8))
    if optimizer == "adamw":
        settings["weight_decay"] = float32(0.01)
    return settings


def write_text(file, seed):
    """A text to learn: names of digits in a random order."""
    digits = "zero one two three four five six seven eight nine".split()
    choose = random.Random(seed)
    file.write_text(" ".join(choose.choice(digits) for _ in range(40000)), encoding="utf-8")


def write_averaging(softamp, file):
    """small_resnet as a file whose batch norms have moving averages."""
    printed = subprocess.run([softamp, "train", "--print-network", "small_resnet"], capture_output=True, check=True)
    network = json.loads(printed.stdout)
    for layer in network["layers"]:
        if layer["type"] == "batch_norm":
            layer.update(moving_averages=True, momentum=models.SmallResnetAverages.averages)
    file.write_text(json.dumps(network))


def run_softamp(softamp, network, settings, steps, batch_size, seed, folder):
    """Its losses, first weights, inputs, labels and last weights."""
    place = {name: str(folder / name) for name in ("first.npz", "batches", "log.jsonl", "last.npz")}
    words = {"network": network, "generated": True, "batch_size": batch_size, "seed": seed, "evaluate": False,
             "loss_scale": "none", **settings}
    command = [softamp, "train", "--quiet", "--steps", str(steps), "--write-initial", place["first.npz"],
               "--write-batches", place["batches"], "--log", place["log.jsonl"], "--checkpoint", place["last.npz"]]
    inputs = "images"
    if network == "gpt_tiny":
        write_text(folder / "text.txt", seed)
        words.update(generated=False, data=str(folder / "text.txt"))
        inputs = "inputs"
    if network == "small_resnet_averages":
        write_averaging(softamp, folder / "network.json")
        words["network"] = str(folder / "network.json")
    for key, value in words.items():
        command += ["--set", f"{key}={json.dumps(value) if not isinstance(value, str) else value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    losses = [line["loss"] for line in map(json.loads, open(place["log.jsonl"])) if "loss" in line and "step" in line]
    first = dict(np.load(place["first.npz"]))
    images, labels = (np.load(f"{place['batches']}/{name}.npy") for name in (inputs, "labels"))
    last = np.load(place["last.npz"])
    return losses[:steps], first, images, labels, {name: last["variables/" + name] for name in first}


def distances(losses, judge):
    """D(T) for each horizon up to the number of steps."""
    out = []
    for horizon in (h for h in HORIZONS if h <= len(judge)):
        each = [max(abs(a - b), abs(b) * 2.0 ** -24) for a, b in zip(losses[:horizon], judge[:horizon])]
        out.append(max(each) if all(map(np.isfinite, each)) else float("inf"))
    return out


def farthest_weight(weights, judge, part=""):
    """Of all variables whose name has this part."""
    far = (float(np.max(np.abs(weights[name].astype(np.float64) - judge[name]))) for name in weights if part in name)
    return max(far, default=0.0)


def compare(options, network, optimizer):
    settings = settings_of(optimizer)
    with tempfile.TemporaryDirectory() as folder:
        losses, first, images, labels, last = run_softamp(options.softamp, network, settings, options.steps,
                                                          options.batch_size, options.seed, pathlib.Path(folder))
    judge, judged = models.train(network, first, images, labels, settings, torch.float64)
    generator = torch.Generator().manual_seed(options.seed)
    peers, weights, averages = [], [], []
    for number in range(options.orders):
        order = None if number == 0 else [torch.randperm(options.batch_size, generator=generator) for _ in images]
        torch.set_num_threads(1 + number % 2)
        peer, after = models.train(network, first, images, labels, settings, torch.float32, order)
        peers.append(distances(peer, judge))
        weights.append(farthest_weight(after, judged))
        averages.append(farthest_weight(after, judged, AVERAGES))
    mine = distances(losses, judge)
    worst = [max(of_horizon) for of_horizon in zip(*peers)]
    ratios = [m / w for m, w in zip(mine, worst)]
    moved = farthest_weight(last, judged, AVERAGES)
    if max(averages) > 0:  # else nothing moves them
        ratios.append(moved / max(averages))
    among = [peer[h] / max(other[h] for other in peers if other is not peer)
             for peer in peers for h in range(len(mine)) if len(peers) > 1]
    return {"network": network, "optimizer": optimizer, "steps": len(judge), "first": judge[0], "last": judge[-1],
            "torch": worst, "softamp": mine, "ratio": max(ratios), "among": among,
            "torch_averages": max(averages), "softamp_averages": moved, "torch_weights": max(weights),
            "softamp_weights": farthest_weight(last, judged)}


def table(results):
    lines = ["| network | optimizer | steps | loss | PyTorch float32 | softamp float32 | weights: PyTorch | softamp | "
             "ratio |", "|---|---|---|---|---|---|---|---|---|"]
    for r in results:
        lines.append(f"| `{r['network']}` | {r['optimizer']} | {r['steps']} | {r['first']:.3f} to {r['last']:.3f} | "
                     f"{r['torch'][-1]:.1e} | {r['softamp'][-1]:.1e} | {r['torch_weights']:.1e} | "
                     f"{r['softamp_weights']:.1e} | {r['ratio']:.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Compares training in softamp with training in PyTorch.")
    parser.add_argument("softamp", help="the program")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--optimizers", default=",".join(OPTIMIZERS))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--orders", type=int, default=8, help="float32 runs of PyTorch [=8]")
    parser.add_argument("--bound", action="store_true", help="also print the least bound that PyTorch itself keeps")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/PYTORCH.md")
    parser.add_argument("--json", action="store_true", help="print every number")
    options = parser.parse_args()
    results = []
    for network in options.networks.split(","):
        for optimizer in options.optimizers.split(","):
            result = compare(options, network, optimizer)
            results.append(result)
            print(f"{network} {optimizer}: PyTorch's float32 is {result['torch'][-1]:.2e} from its float64 within "
                  f"{result['steps']} steps, softamp {result['softamp'][-1]:.2e}; at most {result['ratio']:.2f} times "
                  f"as far at any horizon", flush=True)
    if options.json:
        print(json.dumps(results))
    if options.markdown:
        print(table(results))
    if options.bound:
        ratios = [ratio for r in results for ratio in r["among"]]
        print(f"PyTorch's float32 runs against each other: {len(ratios)} ratios, median {np.median(ratios):.2f}, 99 of 100 "
              f"below {np.quantile(ratios, 0.99):.2f}, largest {max(ratios):.3g}")
    far = [r for r in results if not r["ratio"] <= BOUND]
    for r in far:
        print(f"FAILED: {r['network']} {r['optimizer']}: {r['ratio']:.2f} times as far; expected at most {BOUND}")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
