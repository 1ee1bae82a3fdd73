# %% [markdown]
# # Will my network train in fp16?
#
# Four ways to train the same small network on generated images: float32; everything in fp16, rounded to nearest; everything in fp16,
# rounded stochastically; and *mixed*, where activations are fp16 and the weights stay float32. The learning rate is small, as it is
# late in a long run: an update that is less than half of the distance between two fp16 weights is then lost.

# %%
import numpy as np

import softamp

settings = {
    "generated": True, "train_images": 512, "test_images": 256, "batch_size": 32, "epochs": 60,
    "optimizer": "momentum", "learning_rate": 0.0002, "loss_scale": 128,
}
ways = {
    "float32": {"precision": "float32"},
    "fp16, to nearest": {"precision": "float16"},
    "fp16, stochastic": {"precision": "float16", "stochastic_rounding": "on"},
    "mixed": {"precision": "mixed"},
}
found = {}
for name, way in ways.items():
    found[name] = softamp.train(dict(settings, **way))
    last = found[name].evaluations[-1]
    print(f"{name:>17}: loss {found[name].epoch_losses[-1]:.3f}, accuracy {100 * last['accuracy']:.1f} %")

# %% [markdown]
# fp16 to nearest stays behind; with stochastic rounding, or with float32 weights, the loss is that of float32 but for its third digit.

# %%
loss = {name: training.epoch_losses[-1] for name, training in found.items()}
assert loss["fp16, to nearest"] > loss["float32"] + 0.1
assert abs(loss["fp16, stochastic"] - loss["float32"]) < 0.05 and abs(loss["mixed"] - loss["float32"]) < 0.05

# %% [markdown]
# `train` also says what a run came to. Its log has a line for every step: the loss, the scale, elements of gradients that are not
# finite, whether the step was applied.

# %%
print(found["float32"].verdict)
line = found["mixed"].log[1]
print({key: line[key] for key in ("step", "loss", "applied") if key in line})

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for (name, training), style in zip(found.items(), ("-", "-", "--", ":")):
    axes.plot(np.arange(1, len(training.epoch_losses) + 1), training.epoch_losses, style, label=name)
axes.set(xlabel="epoch", ylabel="mean loss")
axes.legend()
figure.savefig("will_it_train.png", dpi=80)
