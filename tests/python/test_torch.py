"""softamp.torch: the bits of softamp.round, straight-through gradients, addresses by name and step."""

import numpy as np
import pytest
import softamp

torch = pytest.importorskip("torch", reason="PyTorch is not installed: bash tests/venv.sh torch brings it")
import softamp.torch as st  # noqa: E402
from conftest import special_floats  # noqa: E402


def same_bits(a, b):
    return torch.equal(a.detach().contiguous().view(torch.int32), b.detach().contiguous().view(torch.int32))


@pytest.fixture
def x():
    return torch.from_numpy(special_floats(np.float32)[15:975].reshape(30, 32))


@pytest.mark.parametrize("format", ["fp16", "bf16", "e4m3", "e5p9"])
@pytest.mark.parametrize("rounding", ["nearest", "stochastic", "zero"])
def test_the_bits_of_round(x, format, rounding):
    where = dict(seed=3, step=2, operation=5) if rounding == "stochastic" else {}
    expected = softamp.round(x.numpy(), format, rounding=rounding, **where, result="values")
    y = st.quantize(x, format, rounding=rounding, **where)
    assert same_bits(y, torch.from_numpy(expected))
    assert same_bits(st.quantize(x.T, format), st.quantize(x, format).T)
    z = x.clone()
    assert st.quantize_(z, format, rounding=rounding, **where) is z and same_bits(z, y)


def test_the_bits_of_blocks(x):
    text = "mxfp4:rounding=stochastic"
    assert same_bits(st.quantize(x, text, seed=1), torch.from_numpy(softamp.fake_quantize(x.numpy(), text, seed=1)))


def test_a_tensor_is_rounded_in_place_by_dlpack(x):
    expected = softamp.round(x.numpy(), "bf16", result="values")
    y = x.clone()
    assert softamp.round(y, "bf16", out=y) is y
    assert same_bits(y, torch.from_numpy(expected))
    halves = softamp.round(x, "fp16")
    assert same_bits(torch.from_dlpack(halves).float(), st.quantize(x, "fp16"))
    low = torch.empty(x.shape, dtype=torch.bfloat16)
    softamp.round(x, "bf16", out=low)
    assert same_bits(low.float(), torch.from_numpy(expected))
    assert np.array_equal(softamp.round(low, "fp32"), expected)


def test_gradients_go_straight_through(x):
    x = x.clone().requires_grad_()
    weight = torch.randn(x.shape)
    (st.quantize(x, "e4m3", rounding="stochastic") * weight).sum().backward()
    assert torch.equal(x.grad, weight)


def test_the_operation_is_a_good_one(x):
    arguments = (x.clone().requires_grad_(), "fp16", "stochastic", None, None, None, None, 1, 2, 3, 4)
    torch.library.opcheck(torch.ops.softamp.quantize, arguments)


def test_dtypes(x):
    wide = x.double() * (1 + 2.0**-40)
    expected = softamp.round(wide.numpy(), "fp16", rounding="up", result="values")
    y = st.quantize(wide, "fp16", rounding="up")
    assert y.dtype == torch.float64 and np.array_equal(y.numpy(), expected.astype(np.float64))
    assert st.quantize(x.half(), "e5m2").dtype == torch.float16
    for dtype, format in ((torch.float16, "bf16"), (torch.bfloat16, "fp16"), (torch.float16, "mxfp4"), (torch.int32, "fp16")):
        with pytest.raises(TypeError, match="expected float"):
            st.quantize(x.to(dtype), format)
    with pytest.raises(ValueError, match="unknown format"):
        st.quantize(x, "fp61")


def test_gradients_are_rounded(x):
    y = x.clone().requires_grad_()
    weight = torch.randn(x.shape)
    rounding = st.Rounding("e5m2", "stochastic", bits=8)
    (st.round_gradient(y, rounding, seed=1, step=2, operation=3) * weight).sum().backward()
    assert same_bits(y.grad, st.quantize(weight, rounding, seed=1, step=2, operation=3))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(32, 16)
        self.rest = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(16, 4))

    def forward(self, x):
        return self.rest(self.first(x))


def wrapped(**how):
    torch.manual_seed(0)
    net = Net()
    return net, st.wrap(net, seed=9, **how)


def test_a_wrapped_layer_by_hand(x):
    x = torch.nan_to_num(x.clamp(-3, 3))
    how = dict(
        weights=st.Rounding("e4m3", "stochastic"), inputs="bf16", outputs=st.Rounding("fp16", "up"),
        gradients=st.Rounding("e5m2", "stochastic"),
    )  # fmt: skip
    net, clock = wrapped(**how)
    clock.step = 4
    layer = net.first.layer

    def at(role):
        return dict(seed=9, step=4, operation=st.operation_of("first", role))

    y = net.first(x)
    weight = st.quantize(layer.weight, how["weights"], **at("weight/weight"))
    bias = st.quantize(layer.bias, how["weights"], **at("weight/bias"))
    inputs = st.quantize(x, "bf16")
    expected = st.quantize(torch.nn.functional.linear(inputs, weight, bias), "fp16", rounding="up")
    assert same_bits(y, expected)
    arriving = torch.randn(y.shape)
    y.backward(arriving)
    gradient = st.quantize(arriving, how["gradients"], **at("gradient"))
    assert same_bits(layer.weight.grad, gradient.T @ inputs)


def test_the_same_bits_for_any_number_of_threads(x):
    x = torch.nan_to_num(x.clamp(-3, 3))
    results = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        net, clock = wrapped(weights=st.Rounding("e4m3", "stochastic"), gradients=st.Rounding("e5m2", "stochastic"))
        for _ in range(3):
            net(x).square().sum().backward()
            clock.advance()
        results.append([p.grad.clone() for p in net.parameters()])
        torch.set_num_threads(before)
    assert all(same_bits(a, b) for a, b in zip(*results))


def test_steps_calls_and_names_have_bits_of_their_own():
    x = torch.full((4, 32), 0.1)
    net, clock = wrapped(inputs=st.Rounding("fp16", "stochastic"))
    seen = []
    net.first.layer.forward = lambda x: seen.append(x.clone()) or x[:, :16]
    net(x), net(x)
    clock.advance()
    net(x)
    clock.step = 0
    net.first._last_step = {True: -1, False: -1}
    net(x)
    assert not same_bits(seen[0], seen[1]) and not same_bits(seen[0], seen[2]) and same_bits(seen[0], seen[3])
    assert st.operation_of("first", "input0") != st.operation_of("rest.1", "input0")


def test_rounded_updates_move_on_average():
    """An update of a hundredth of a unit: to nearest nothing moves, stochastically one weight in a hundred does."""
    count = 20000
    moved = {}
    for rounding, bits in (("nearest", None), ("stochastic", 16)):
        p = torch.nn.Parameter(torch.ones(count))
        optimizer = st.RoundedUpdates(torch.optim.SGD([p], lr=2.0**-7 / 100), [("p", p)], st.Rounding("bf16", rounding, bits))
        p.grad = -torch.ones(count)
        optimizer.step()
        moved[rounding] = int((p != 1).sum())
    assert moved["nearest"] == 0
    # A binomial with p = 1/100: six standard deviations to either side.
    assert abs(moved["stochastic"] - count / 100) < 6 * (count / 100 * 0.99) ** 0.5


def test_rounded_updates_go_on_from_a_state():
    def begin():
        torch.manual_seed(1)
        net = torch.nn.Linear(4, 3)
        return net, st.RoundedUpdates(torch.optim.Adam(net.parameters(), lr=0.01), net.named_parameters(), "bf16", seed=5)

    def steps(net, optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).square().sum().backward()
            optimizer.step()

    net, optimizer = begin()
    steps(net, optimizer, 4)
    other, resumed = begin()
    steps(other, resumed, 2)
    third, last = begin()
    third.load_state_dict(other.state_dict())
    last.load_state_dict(resumed.state_dict())
    steps(third, last, 2)
    assert all(same_bits(a, b) for a, b in zip(net.parameters(), third.parameters()))
    assert all(same_bits(p, st.quantize(p, "bf16")) for p in net.parameters())


def test_refusals():
    p = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(ValueError, match="parameter without a name"):
        st.RoundedUpdates(torch.optim.SGD([p], lr=1), [])
    half = torch.nn.Parameter(torch.ones(3).half())
    with pytest.raises(TypeError, match="'p' is torch.float16; expected float32"):
        st.RoundedUpdates(torch.optim.SGD([half], lr=1), [("p", half)])
    with pytest.raises(ValueError, match="the model itself"):
        st.wrap(torch.nn.Linear(2, 2), weights="e4m3")
    with pytest.raises(ValueError, match="layers: the model has none of Linear, Conv1d"):
        st.wrap(torch.nn.ReLU(), weights="e4m3")
    with pytest.raises(ValueError, match="nothing is rounded"):
        st.wrap(Net())
    with pytest.raises(ValueError, match="unknown format 'float8'"):
        st.wrap(Net(), weights="float8")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: st.quantize(x, "e4m3", seed=1),
        lambda x: st.quantize(x, "mxfp4", seed=1),
        lambda x: st.quantize_(x.clone(), "e4m3", seed=1),
        lambda x: st.quantize_(x.clone(), "mxfp4", seed=1),
        lambda x: st.round_gradient(x, "e4m3", seed=1),
        lambda x: st.wrap(Net(), weights="e4m3", inputs="mxfp4", seed=1),
        lambda x: st.RoundedUpdates(torch.optim.SGD([p := torch.nn.Parameter(x)]), [("p", p)], st.Rounding("bf16"), seed=1),
    ],
)
def test_an_address_at_which_nothing_is_drawn_is_refused(x, call):
    with pytest.raises(ValueError, match="seed: no rounding is stochastic; expected "):
        call(x)


def test_settings_without_effect_are_refused(x):
    for how in (dict(bits=3), dict(variant="rne")):
        with pytest.raises(ValueError, match=f"{next(iter(how))}: no rounding is stochastic; expected rounding='stochastic'"):
            st.Rounding("e4m3", **how)
        with pytest.raises(ValueError, match="stochastic rounding|no rounding is stochastic"):
            st.Rounding("mxfp4", **how)
    with pytest.raises(ValueError, match="axis: e4m3_tensor has no blocks along an axis"):
        st.Rounding("e4m3_tensor", axis=0)


def test_a_rounding_beside_a_format_of_blocks(x):
    for how, text in (
        (dict(rounding="stochastic"), "mxfp4:rounding=stochastic"),
        (dict(rounding="stochastic", bits=4), "mxfp4:rounding=stochastic,bits=4"),
        (dict(rounding="zero"), "mxfp4:rounding=zero"),
    ):
        where = dict(seed=1) if how["rounding"] == "stochastic" else {}
        expected = torch.from_numpy(softamp.fake_quantize(x.numpy(), text, **where))
        assert same_bits(st.quantize(x, "mxfp4", **where, **how), expected)
        assert same_bits(st.quantize(x, st.Rounding("mxfp4", **how), **where), expected)
        given = (how["rounding"], how.get("bits"), None, None, None, where.get("seed", 0), 0, 0, 0)
        assert same_bits(torch.ops.softamp.quantize(x, "mxfp4", *given), expected)
    for how in (dict(overflow="nan"), dict(chip="b200")):
        with pytest.raises(ValueError, match="expected none beside mxfp4"):
            st.quantize(x, "mxfp4", **how)
    with pytest.raises(ValueError, match="given twice"):
        st.quantize(x, "mxfp4:rounding=nearest", rounding="stochastic")
    with pytest.raises(ValueError, match="chip: expected no rounding"):
        st.quantize(x, "e4m3", rounding="up", chip="b200")
    with pytest.raises(ValueError, match="a Rounding says how"):
        st.quantize(x, st.Rounding("mxfp4"), rounding="stochastic")


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_blocks_of_a_convolution_lie_along_its_channels(dimensions, transposed):
    torch.manual_seed(2)
    layer = getattr(torch.nn, f"Conv{'Transpose' if transposed else ''}{dimensions}d")(32, 48, 3)
    rounded = st.QuantizedLayer(layer, "c", st.Clock(), weights="nvfp4", inputs="mxfp4", outputs="mxfp8_e4m3")
    seen = []
    layer.register_forward_pre_hook(lambda _, inputs: seen.append((layer.weight.clone(), inputs[0])))
    x = torch.randn(2, 32, *[5] * dimensions)
    y = rounded(x)
    axis = 0 if transposed else 1
    assert same_bits(seen[0][0], torch.from_numpy(softamp.fake_quantize(layer.weight.detach().numpy(), "nvfp4", axis=axis)))
    assert same_bits(seen[0][1], torch.from_numpy(softamp.fake_quantize(x.numpy(), "mxfp4", axis=1)))
    again = torch.from_numpy(softamp.fake_quantize(y.detach().numpy(), "mxfp8_e4m3", axis=1))
    assert same_bits(y, again)


def weights_in(layer, format, x):
    seen = []
    layer.register_forward_pre_hook(lambda *_: seen.append(layer.weight.clone()))
    st.QuantizedLayer(layer, "c", st.Clock(), weights=format, inputs=format, outputs=format, gradients=format)(x).sum().backward()
    return seen[0]


def test_blocks_of_what_a_convolution_sums_over():
    torch.manual_seed(3)
    # A block does not fit into the channels of a group: the places of the kernel come one after the other.
    for layer, x in ((torch.nn.Conv2d(64, 64, 3, groups=64), torch.randn(1, 64, 5, 5)), (torch.nn.Conv1d(3, 8, 5), torch.randn(2, 3, 9))):
        summed = layer.weight.detach().movedim(1, -1)
        flat = torch.from_numpy(softamp.fake_quantize(summed.flatten(1).numpy(), "nvfp4"))
        assert same_bits(weights_in(layer, "nvfp4", x), flat.reshape(summed.shape).movedim(-1, 1))
    layer = torch.nn.ConvTranspose2d(64, 8, 3, groups=2)
    groups = layer.weight.detach().unflatten(0, (2, 32))
    expected = torch.from_numpy(softamp.fake_quantize(groups.numpy(), "mxfp4", axis=1)).reshape(layer.weight.shape)
    assert same_bits(weights_in(layer, "mxfp4", torch.randn(1, 64, 4, 4)), expected)
    for format in ("nvfp4_16x16", "e4m3_128x128", "e4m3_row", "e4m3_tensor"):
        layer = torch.nn.Conv2d(32, 48, 3)
        summed = layer.weight.detach().movedim(1, -1)
        flat = torch.from_numpy(softamp.fake_quantize(summed.flatten(1).numpy(), format))
        assert same_bits(weights_in(layer, format, torch.randn(1, 32, 6, 6)), flat.reshape(summed.shape).movedim(-1, 1))


def test_updates_of_convolutions_need_the_axis_of_their_blocks():
    layer = torch.nn.Conv2d(64, 32, 3)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
    with pytest.raises(ValueError, match="'weight' has 4 axes; expected Rounding"):
        st.RoundedUpdates(optimizer, layer.named_parameters(), "nvfp4")
    before = layer.weight.detach().clone()
    updates = st.RoundedUpdates(optimizer, layer.named_parameters(), st.Rounding("nvfp4", axis=1))
    layer(torch.randn(1, 64, 5, 5)).sum().backward()
    updates.step()
    assert same_bits(layer.weight, st.quantize(before, "nvfp4", axis=1))
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
    with pytest.raises(ValueError, match="parameter without a name"):
        updates.step()


def test_in_place_as_quantize_does_and_seen_by_gradients(x):
    w = torch.randn(8, requires_grad=True)
    y = w * 1.0
    z = (y * y).sum()
    st.quantize_(y, "e4m3")
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    with softamp.behaviour(esr=True):
        assert same_bits(st.quantize_(x.clone(), "fp16"), st.quantize(x, "fp16"))
    for tensor in (x.clone(), x.clone().T):
        with pytest.raises(TypeError, match="unexpected keyword argument 'flags'"):
            st.quantize_(tensor, "fp16", flags=True)


def test_a_layer_in_two_places_and_attention():
    shared = torch.nn.Linear(4, 4)
    model = torch.nn.ModuleDict({"a": shared, "b": shared})
    st.wrap(model, weights="e2m1")
    assert model["a"] is model["b"] and isinstance(model["a"], st.QuantizedLayer)
    torch.manual_seed(5)
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True), 2)
    x = torch.randn(1, 3, 32)
    plain = encoder(x)
    st.wrap(encoder, weights="e2m1")
    assert isinstance(encoder.layers[0].self_attn, st.QuantizedLayer)
    trained = encoder(x)
    with torch.no_grad():
        assert same_bits(encoder.eval()(x), trained) and not same_bits(plain, trained)


def test_every_tensor_that_enters_or_leaves_is_rounded():
    q = st.QuantizedLayer(torch.nn.Linear(64, 8), "l", st.Clock(), inputs="e2m1")
    x = torch.randn(2, 64)
    assert same_bits(q(input=x), q(x))
    drawn = [st.QuantizedLayer(torch.nn.Linear(64, 8), "l", st.Clock(), inputs=st.Rounding("e2m1", "stochastic")) for _ in range(2)]
    drawn[1].load_state_dict(drawn[0].state_dict())
    assert same_bits(drawn[0](input=x), drawn[1](x))
    lstm = torch.nn.LSTM(64, 8)
    out, (hidden, cell) = st.QuantizedLayer(lstm, "l", st.Clock(), outputs="e2m1")(x[:, None])
    for value in (out, hidden, cell):
        assert same_bits(value, st.quantize(value, "e2m1")) and value.any()


def test_computing_again_with_other_random_bits_is_refused():
    from torch.utils.checkpoint import checkpoint

    x = torch.randn(2, 4, requires_grad=True)
    stochastic = st.QuantizedLayer(torch.nn.Linear(4, 4), "l", st.Clock(), outputs=st.Rounding("e2m1", "stochastic"))
    with pytest.raises(RuntimeError, match="'l': is computed again within a backward pass"):
        checkpoint(stochastic, x, use_reentrant=False).sum().backward()
    checkpoint(st.QuantizedLayer(torch.nn.Linear(4, 4), "l", st.Clock(), outputs="e2m1"), x, use_reentrant=False).sum().backward()


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda x: st.quantize(x.double(), "mxfp4"), TypeError, "has elements of torch.float64; expected float32"),
        (lambda x: st.quantize(x.double(), "e4m3", chip="b200"), TypeError, "expected float32, which chips round"),
        (lambda x: st.quantize(x, "e4m3", bits="x"), TypeError, "bits: 'x': expected a whole number"),
        (lambda x: st.quantize(x, "e4m3", seed=2**63), ValueError, "seed: 9223372036854775808: expected 0 to"),
        (lambda x: st.quantize([1.0], "e4m3"), TypeError, "x: expected a tensor of PyTorch, not list"),
        (lambda x: st.quantize(x, 3), TypeError, "format: expected a name"),
        (lambda x: st.quantize(x[0, 0], "mxfp4"), ValueError, "x: has no axes"),
        (lambda x: st.quantize(x, "e4m3", axis=7), ValueError, "axis: 7: expected none beside e4m3"),
        (lambda x: st.wrap(torch.nn.Sequential(torch.nn.Linear(2, 2)), weights="nonsense"), ValueError, "unknown format 'nonsense'"),
        (lambda x: st.wrap(torch.nn.Sequential(torch.nn.Linear(2, 2)), weights=3), TypeError, "format: expected a name"),
    ],
)
def test_bad_input(x, call, error, words):
    with pytest.raises(error, match=words):
        call(x)


def test_rounding_no_longer_means_a_format():
    with pytest.warns(DeprecationWarning, match="rounding is called format"):
        st.round_gradient(torch.zeros(2, requires_grad=True), rounding="e4m3")
    p = torch.nn.Parameter(torch.zeros(2))
    with pytest.warns(DeprecationWarning, match="rounding is called format"):
        assert st.RoundedUpdates(torch.optim.SGD([p], lr=1), [("p", p)], rounding="bf16").rounding.format == "bf16"
    with pytest.raises(TypeError, match="expected a format, or a Rounding"):
        st.round_gradient(torch.zeros(2))
