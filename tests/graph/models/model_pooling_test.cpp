// Pooling and its gradients against the model library.
#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_reductions.h"

namespace softamp::test {
namespace {

using namespace oracle::model;

[[maybe_unused]] const ::testing::Environment* const kCoversPooling =
    covers({"MaxPool", "MaxPoolGrad", "AvgPool", "AvgPoolGrad"});

struct PoolingCase {
  Ints x, y, ksize;
  Window window;
};

PoolingCase random_pooling(Mixer& mix) {
  PoolingCase c;
  c.ksize = {1, mix.between(1, 4), mix.between(1, 3), 1};
  c.window.same = mix() & 1;
  c.window.strides = {1, mix.between(1, 3), mix.between(1, 3), 1};
  c.x = {mix.between(1, 3), c.ksize[1] + mix.below(6), c.ksize[2] + mix.below(6), mix.between(1, 19)};
  c.y = {c.x[0], c.window.outputs(1, c.x[1], c.ksize[1]), c.window.outputs(2, c.x[2], c.ksize[2]), c.x[3]};
  return c;
}

Attributes attributes_of(const PoolingCase& c) {
  return {
      {"ksize", c.ksize}, {"strides", c.window.strides}, {"padding", std::string(c.window.same ? "SAME" : "VALID")}};
}

// tests: N127, N128
TEST(ModelPooling, Averages) {
  Mixer mix(1);
  for (const DType t : kFloats)
    for (const Mode& mode : kModes) {
      RoundedUp statistics;
      for (int i = 0; i < 8; ++i) {
        const PoolingCase c = random_pooling(mix);
        const Data data = i % 2 ? Data::kBroad : Data::kMiddle;
        std::vector<Tensor> in;
        in.push_back(random_tensor(t, c.x, data, mix()));
        expect_admitted(run_operation("AvgPool", in, attributes_of(c), mode)[0],
                        average_pool(load(in[0], mode), c.ksize, c.window), mode, "AvgPool", &statistics);
        in.clear();
        in.push_back(random_tensor(t, c.y, data, mix()));
        Attributes a = attributes_of(c);
        a["orig_input_shape"] = c.x;
        expect_admitted(run_operation("AvgPoolGrad", in, a, mode)[0],
                        average_pool_gradient(c.x, load(in[0], mode), c.ksize, c.window), mode, "AvgPoolGrad",
                        &statistics);
      }
      expect_probabilities(statistics, t, mode);
    }
}

/// Maxima are operands, their places the first ones: ties, NaNs and zeros of both signs are among the data.
// tests: N126
TEST(ModelPooling, Maxima) {
  Mixer mix(2);
  for (const DType t : kFloats)
    for (const Mode& mode : kModes)
      for (int i = 0; i < 9; ++i) {
        const PoolingCase c = random_pooling(mix);
        const Data data = i % 3 == 0 ? Data::kIntegers : i % 3 == 1 ? Data::kUnit : Data::kWide;
        std::vector<Tensor> in;
        in.push_back(random_tensor(t, c.x, data, mix()));
        for (int64_t k = 0; k < in[0].elements(); k += 7)
          if (i >= 6) set_code(in[0], k, k % 2 ? uint64_t{1} << (8 * size_of(t) - 1) : 0);  // -0, 0
        if (i == 5)
          for (int64_t k = 0; k < in[0].elements(); k += 31) set_code(in[0], k, code_of(t, NAN));
        const Array x = load(in[0], mode), y = max_pool(x, c.ksize, c.window);
        const Tensor out = std::move(run_operation("MaxPool", in, attributes_of(c), mode)[0]);
        std::vector<uint64_t> codes;
        for (const Range& r : y.at) codes.push_back(code_of(t, r.nan ? NAN : r.low));
        expect_codes(out, codes, std::string("MaxPool ") + name_of(t) + " (" + mode.name + ")");
        in.push_back(out.clone());
        in.push_back(random_tensor(t, c.y, Data::kMiddle, mix()));
        expect_admitted(run_operation("MaxPoolGrad", in, attributes_of(c), mode)[0],
                        max_pool_gradient(x, load(in[2], mode), c.ksize, c.window), mode, "MaxPoolGrad");
      }
}

}  // namespace
}  // namespace softamp::test
