// Operations that move elements, against memcpy's byte rate in the same run.
//
// x_memcpy is the ratio of bytes read and written per second to those of a memcpy by as many threads; the outputs have
// 2^28 bytes (or nearly), past the cache. A gather reads rows of 256 bytes at random.
#include <memory>
#include <random>

#include "bench/measure.h"
#include "emu/op_kernel.h"

namespace {

using namespace softamp;
using namespace softamp::bench;
using Ints = std::vector<int64_t>;

/// A kernel with its graph, inputs and outputs.
class Runner {
 public:
  Runner(const std::string& op, std::vector<TensorType> inputs, Attributes attributes, int threads) {
    GraphBuilder b;
    std::vector<Port> ports;
    for (const TensorType& t : inputs) ports.push_back(b.placeholder("x", t.dtype, t.shape));
    const int number = b.add(op, ports, std::move(attributes)).node;
    graph_ = b.build();
    settings_.threads = threads;
    const Node& node = graph_.node(number);
    std::mt19937 random(1);
    for (const TensorType& t : inputs) {
      Tensor& tensor = tensors_.emplace_back(t);
      if (t.dtype == DType::kInt32)
        for (int32_t& i : tensor.as<int32_t>())
          i = static_cast<int32_t>(random() % static_cast<uint32_t>(inputs[0].shape[0]));
      else
        std::memset(tensor.data(), 0x3c, tensor.bytes());
      in_.push_back(tensor.data());
    }
    for (const TensorType& t : node.outputs) {
      out_.push_back(tensors_.emplace_back(t).data());
      std::memset(out_.back(), 1, t.bytes());
      bytes_ += t.bytes();
    }
    kernel_ = emu::find_kernel(op)({node, inputs, settings_, warnings_});
    scratch_ = Tensor(DType::kBool, {static_cast<int64_t>(kernel_->scratch_bytes())});
  }
  void operator()() const {
    kernel_->run({in_.data(), out_.data(), const_cast<void*>(scratch_.data()), settings_.environment, nullptr});
    benchmark::ClobberMemory();
  }
  size_t bytes() const { return bytes_; }

 private:
  Graph graph_;
  emu::EngineSettings settings_;
  std::vector<std::string> warnings_;
  std::vector<Tensor> tensors_;
  Tensor scratch_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  size_t bytes_ = 0;
  std::unique_ptr<emu::OpKernel> kernel_;
};

void add_job(const std::string& what, const std::string& op, std::vector<TensorType> inputs, Attributes attributes,
             double least) {
  for (const int threads : {1, 2}) {
    // Made on first use, so that only one set of arrays exists at a time.
    auto runner = std::make_shared<std::unique_ptr<Runner>>();
    add(std::to_string(threads) + (threads == 1 ? " thread/" : " threads/") + what, kPastCache, threads,
        [=] {
          if (!*runner) *runner = std::make_unique<Runner>(op, inputs, attributes, threads);
          (**runner)();
        },
        {}, {least, false, ""});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const DType half = DType::kFloat16;
  const Ints swap{1, 0};
  add_job("Transpose 16384 x 8192", "Transpose", {{half, {16384, 8192}}}, {{"perm", swap}}, 0.6);
  add_job("Transpose 16383 x 8191", "Transpose", {{half, {16383, 8191}}}, {{"perm", swap}}, 0);
  add_job("Transpose float32 8192 x 8192", "Transpose", {{DType::kFloat32, {8192, 8192}}}, {{"perm", swap}}, 0.6);
  add_job("Transpose bool 16384 x 16384", "Transpose", {{DType::kBool, {16384, 16384}}}, {{"perm", swap}}, 0.6);
  add_job("Transpose NHWC to NCHW", "Transpose", {{half, {128, 128, 128, 64}}}, {{"perm", Ints{0, 3, 1, 2}}}, 0.6);
  add_job("Transpose heads of 64", "Transpose", {{half, {64, 2048, 16, 64}}}, {{"perm", Ints{0, 2, 1, 3}}}, 0.6);
  add_job("ConcatV2 of rows of 64 KiB", "ConcatV2", {{half, {2048, 32768}}, {half, {2048, 32768}}}, {{"axis", 1}}, 0.6);
  add_job("ConcatV2 of rows of 128 bytes", "ConcatV2", {{half, {1 << 20, 64}}, {half, {1 << 20, 64}}}, {{"axis", 1}},
          0.6);
  add_job("Slice of rows of 4 KiB", "Slice", {{half, {65536, 4096}}},
          {{"begin", Ints{0, 17}}, {"size", Ints{-1, 2048}}}, 0.6);
  add_job("Pad of images", "Pad", {{half, {512, 62, 62, 64}}}, {{"paddings", Ints{0, 0, 1, 1, 1, 1, 0, 0}}}, 0.6);
  add_job("GatherV2 of rows of 256 bytes", "GatherV2", {{half, {1 << 20, 128}}, {DType::kInt32, {1 << 20}}}, {}, 0.6);
  return run(argc, argv);
}
