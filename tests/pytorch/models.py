"""softamp's built-in networks and optimizers in PyTorch: the same functions of the same arrays.

Parameters are kept in softamp's layouts (convolutions [height, width, in, out], dense kernels [in, out]), so that their
arrays can be compared as they are; each layer turns them as PyTorch wants them. Images are [batch, channels, height,
width] within.
"""
import math

import torch
import torch.nn.functional as F


def same_padding(extent, kernel, stride):
    """TensorFlow's SAME: the output has ceil(extent / stride); the smaller half of the zeros is before."""
    total = max((-(-extent // stride) - 1) * stride + kernel - extent, 0)
    return total // 2, total - total // 2


class Network:
    """A network's layers, in the order in which softamp's store names them."""

    def __init__(self, arrays, dtype):
        self.parameters = {}
        for name, array in arrays.items():
            value = torch.tensor(array, dtype=dtype)
            if "/moving_" not in name:
                value.requires_grad_(True)
            self.parameters[name] = value
        self.counts = {}

    def trained(self):
        return [p for p in self.parameters.values() if p.requires_grad]

    def layer(self, kind, scope=""):
        """The path of the next layer of this kind: conv2d, conv2d_1, ..."""
        n = self.counts.get(scope + kind, 0)
        self.counts[scope + kind] = n + 1
        return f"{scope}{kind}_{n}" if n else scope + kind

    def conv(self, x, relu=False, stride=1, padding="SAME", scope=""):
        path = self.layer("conv2d", scope)
        kernel = self.parameters[path + "/kernel"].permute(3, 2, 0, 1)
        if padding == "SAME":
            top, bottom = same_padding(x.shape[2], kernel.shape[2], stride)
            left, right = same_padding(x.shape[3], kernel.shape[3], stride)
            x = F.pad(x, (left, right, top, bottom))
        y = F.conv2d(x, kernel, self.parameters.get(path + "/bias"), stride)
        return F.relu(y) if relu else y

    def dense(self, x, relu=False):
        path = self.layer("dense")
        y = x @ self.parameters[path + "/kernel"] + self.parameters[path + "/bias"]
        return F.relu(y) if relu else y

    def dense_column(self, x):
        path = self.layer("dense")
        return x @ self.parameters[path + "/weights"].T + self.parameters[path + "/biases"].reshape(-1)

    averages = None  # the momentum of moving averages, as softamp has it: the share of the old

    def batch_norm(self, x):
        """Statistics of the batch: x is normalised by the biased variance, in both systems. Averages
        take the unbiased one."""
        path = self.layer("batch_normalization")
        moved = [None, None]
        if self.averages is not None:
            moved = [self.parameters[f"{path}/moving_{name}"] for name in ("mean", "variance")]
        return F.batch_norm(x, *moved, self.parameters[path + "/gamma"], self.parameters[path + "/beta"], True,
                            1 - (self.averages or 0), 1e-3)

    def residual(self, x, name):
        y = self.conv(self.conv(x, relu=True, scope=name + "/"), scope=name + "/")
        return F.relu(y + x)

    def downsample(self, x, name):
        y = self.conv(self.conv(x, relu=True, stride=2, scope=name + "/"), scope=name + "/")
        return F.relu(y + self.conv(x, stride=2, scope=name + "/"))

    def __call__(self, images):
        """Logits, [samples, classes]."""
        self.counts = {}
        return self.build(images.permute(0, 3, 1, 2))


def flatten(x):
    """In softamp's order: height, width, channels."""
    return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)


class FashionCnn(Network):
    def build(self, x):
        return self.dense_column(flatten(self.conv(self.conv(x, relu=True))))


class LeNet5(Network):
    def build(self, x):
        for _ in range(2):
            x = F.max_pool2d(self.conv(x, relu=True, padding="VALID"), 2, 2)
        return self.dense(self.dense(self.dense(flatten(x), relu=True), relu=True))


class SmallCnn(Network):
    def build(self, x):
        for _ in range(2):
            x = F.max_pool2d(self.conv(x, relu=True), 2, 2)
        return self.dense(flatten(x))


class SmallResnet(Network):
    def build(self, x):
        x = F.max_pool2d(self.conv(x, relu=True), 2, 2)
        x = F.max_pool2d(self.residual(self.batch_norm(x), "block1"), 2, 2)
        return self.dense(flatten(self.downsample(self.batch_norm(x), "block2")))


class SmallResnetAverages(SmallResnet):
    averages = 0.875


class Resnet8(Network):
    def build(self, x):
        x = self.residual(self.batch_norm(self.conv(x, relu=True)), "block1")
        x = self.downsample(self.batch_norm(x), "block2")
        x = self.downsample(self.batch_norm(x), "block3")
        return self.dense(x.mean((2, 3)))


class GptTiny(Network):
    """Tokens [batch, time] to logits [batch x time, vocabulary]."""
    heads, blocks = 4, 4

    def __call__(self, tokens):
        table = self.parameters["embedding/embeddings"]
        x = table[tokens.long()] + self.parameters["position_embedding/positions"]
        for block in range(1, self.blocks + 1):
            scope = f"block{block}/"
            x = x + self.attention(self.layer_norm(x, scope + "layer_norm"), scope + "attention/")
            y = self.linear(self.layer_norm(x, scope + "layer_norm_1"), scope + "mlp/hidden")
            x = x + self.linear(F.gelu(y, approximate="tanh"), scope + "mlp/projection")
        return (self.layer_norm(x, "layer_norm") @ table.T).reshape(-1, table.shape[0])

    def linear(self, x, path):
        return x @ self.parameters[path + "/kernel"] + self.parameters[path + "/bias"]

    def layer_norm(self, x, path):
        return F.layer_norm(x, x.shape[-1:], self.parameters[path + "/gamma"], self.parameters[path + "/beta"], 1e-5)

    def attention(self, x, scope):
        batch, time, units = x.shape
        qkv = self.linear(x, scope + "qkv").reshape(batch, time, 3, self.heads, units // self.heads)
        queries, keys, values = qkv.permute(2, 0, 3, 1, 4)
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(units // self.heads)
        later = torch.ones(time, time, dtype=torch.bool).triu(1)
        seen = torch.softmax(scores.masked_fill(later, -math.inf), -1) @ values
        return self.linear(seen.permute(0, 2, 1, 3).reshape(batch, time, units), scope + "projection")


NETWORKS = {"gpt_tiny": GptTiny, "fashion_cnn": FashionCnn, "lenet5": LeNet5, "small_cnn": SmallCnn,
            "small_resnet": SmallResnet, "small_resnet_averages": SmallResnetAverages, "resnet8": Resnet8}


class Optimizer:
    """PyTorch's optimizer of softamp's name, set so that it means the same; docs/PYTORCH.md says why each line."""

    def __init__(self, settings, parameters):
        name, rate = settings["optimizer"], settings["learning_rate"]
        self.adam = None
        if name == "sgd":
            self.torch = torch.optim.SGD(parameters, rate)
        elif name in ("momentum", "nesterov"):
            self.torch = torch.optim.SGD(parameters, rate, settings["momentum"], nesterov=name == "nesterov")
        elif name == "rmsprop":
            self.torch = torch.optim.RMSprop(parameters, rate, settings["rho"], settings["epsilon"],
                                             momentum=settings["momentum"])
            for p in parameters:  # TensorFlow's mean square begins at 1
                state = self.torch.state[p]
                state.update(step=torch.zeros(()), square_avg=torch.ones_like(p))
                if settings["momentum"] > 0:
                    state["momentum_buffer"] = torch.zeros_like(p)
        else:
            kind = torch.optim.AdamW if name == "adamw" else torch.optim.Adam
            betas = settings["beta1"], settings["beta2"]
            more = {"weight_decay": settings["weight_decay"]} if name == "adamw" else {}
            self.torch = kind(parameters, rate, betas, settings["epsilon"], **more)
            self.adam = betas[1], settings["epsilon"]
        self.steps = 0

    def step(self):
        self.steps += 1
        if self.adam:  # TensorFlow's epsilon stands beside the root of v as it is, PyTorch's beside the corrected one
            beta2, epsilon = self.adam
            for group in self.torch.param_groups:
                group["eps"] = epsilon / math.sqrt(1 - beta2 ** self.steps)
        self.torch.step()


def train(network, arrays, images, labels, settings, dtype, order=None):
    """The losses of the micro-batches, one to a step, and the parameters afterwards. order: of a batch's samples, a
    permutation for each step, which changes roundings alone."""
    model = NETWORKS[network](arrays, dtype)
    optimizer = Optimizer(settings, model.trained())
    losses = []
    for step in range(len(images)):
        x, y = torch.tensor(images[step], dtype=dtype), torch.tensor(labels[step], dtype=torch.long)
        if order is not None:
            x, y = x[order[step]], y[order[step]]
        loss = F.cross_entropy(model(x), y.reshape(-1))
        for p in model.trained():
            p.grad = None
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: p.detach().numpy() for name, p in model.parameters.items()}
