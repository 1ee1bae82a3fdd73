// The kernels of arithmetic, selections, comparisons, gradients of activations and Select, by their bodies.
#include "cuda/element_kernel.h"
#include "softamp/kernel/elementwise.h"

namespace softamp::cuda {
namespace {

using kernel::Elementwise;

struct ElementwiseBody {
  Elementwise op;
  bool integer, draws;
  FloatFormat format;
  float alpha;
  unsigned bytes, out_bytes;
  const void* in[2];
  void* out;
  OperandMap map[2];
  StepEnvironment environment;

  SOFTAMP_HD uint8_t operator()(uint64_t i) const {
    const uint64_t a = load_element(in[0], bytes, map[0].place(i));
    const uint64_t b = in[1] ? load_element(in[1], bytes, map[1].place(i)) : 0;
    if (integer) {
      store_element(out, out_bytes, i,
                    kernel::elementwise_int32(op, static_cast<uint32_t>(a), static_cast<uint32_t>(b)));
      return 0;
    }
    const kernel::Environment e = environment.now();
    const uint32_t random = draws ? e.draw(e.semantics.rounding(format), 0, i) : 0;
    const Rounded r = kernel::elementwise(op, format, a, b, alpha, e.semantics, random);
    store_element(out, out_bytes, i, r.code);
    return r.flags;
  }
};

class ElementwiseKernel final : public ElementKernel {
 public:
  ElementwiseKernel(const OpContext& context, Elementwise op) : ElementKernel(context, kernel::operand_count(op)) {
    const DType type = context.inputs[0].dtype;
    body_.op = op;
    body_.integer = type == DType::kInt32;
    body_.format = format_of(type);
    body_.draws = draws_ = !body_.integer && kernel::rounds(op) && type != DType::kFloat64 &&
                           context.settings.environment.semantics.draws(body_.format);
    if (op == Elementwise::kLeakyRelu || op == Elementwise::kLeakyReluGrad)
      body_.alpha = fp::to_float(kBinary64, __builtin_bit_cast(uint64_t, attribute<double>(context.node, "alpha")));
    body_.bytes = operands().bytes(0);
    body_.out_bytes = static_cast<unsigned>(size_of(context.node.outputs[0].dtype));
    for (int k = 0; k < operands().count(); ++k) body_.map[k] = operands().map(k);
  }

  void enqueue(const DeviceCall& call) const override {
    ElementwiseBody body = body_;
    for (int k = 0; k < operands().count(); ++k) body.in[k] = call.in[k];
    body.out = call.out[0];
    body.environment = call.environment;
    launch_elements(call, "elementwise", size(), body);
  }

 private:
  ElementwiseBody body_{};
};

template <Elementwise kOp>
std::unique_ptr<OpKernel> make(const OpContext& context, Device&) {
  return std::make_unique<ElementwiseKernel>(context, kOp);
}

}  // namespace

std::span<const KernelEntry> elementwise_kernels() {
  static constexpr KernelEntry entries[] = {
      {"AddV2", make<Elementwise::kAdd>},
      {"Sub", make<Elementwise::kSub>},
      {"Mul", make<Elementwise::kMul>},
      {"RealDiv", make<Elementwise::kDiv>},
      {"BiasAdd", make<Elementwise::kAdd>},
  };
  return entries;
}

}  // namespace softamp::cuda
