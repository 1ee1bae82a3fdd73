// What does a dot product lose with half partials? Nearest and stochastic, with a rounding every 1, 4 or 16 products.
//
// The matrix unit multiplies halves exactly and adds them up in fp32; with partialsType half the running sum is rounded
// to fp16 after every block of products. 2000 dot products of uniform numbers in [0, 1), summed by MatMul under each
// setting, are compared with their exact values (TUTORIAL G42).
//
//   example_05_half_partials            prints the table
//   example_05_half_partials FILE.svg   draws the error over the length, too (.svg or .png)
// tests: G42
#include "softamp/softamp.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace softamp;

namespace {

constexpr int64_t kProducts = 2000;

struct Setting {
  std::string title;
  bool half, stochastic;
  int block;
};

const std::vector<Setting> kSettings = {
    {"float partials", false, false, 16},           {"half, nearest, block 16", true, false, 16},
    {"half, nearest, block 4", true, false, 4},     {"half, nearest, block 1", true, false, 1},
    {"half, stochastic, block 16", true, true, 16}, {"half, stochastic, block 4", true, true, 4},
    {"half, stochastic, block 1", true, true, 1},
};

/// x and w: kProducts vectors of `length` numbers each, addressed random bits in [0, 1) to 11 of them.
std::vector<double> uniform(uint32_t operation, int64_t length) {
  std::vector<double> values;
  const RandomBits random{2024};
  for (int64_t i = 0; i < kProducts * length; ++i)
    values.push_back(random.bits(0, operation, static_cast<uint64_t>(i), 11) / 2048.0);
  return values;
}

struct Errors {
  double bias, rms, worst;  ///< relative to the exact dot product
};

Errors measure(const Setting& setting, int64_t length) {
  const std::vector<double> x = uniform(1, length), w = uniform(2, length);
  GraphBuilder builder;
  const Port a = builder.constant(Tensor::from_values(DType::kFloat16, {kProducts, 1, length}, x), "x");
  const Port b = builder.constant(Tensor::from_values(DType::kFloat16, {kProducts, length, 1}, w), "w");
  builder.add("BatchMatMulV2", {a, b}, {}, "dot");

  ExecutorOptions options;
  options.config.set("matmuls.poplar_options", PoplarOptions{{"partialsType", setting.half ? "half" : "float"}});
  options.config.set("floating_point_behaviour.esr", setting.stochastic);
  options.amp_block = setting.block;
  const auto executor = make_executor(builder.build(), options);
  const std::vector<std::string> fetches = {"dot"};
  const Tensor result = std::move(executor->run({}, fetches).values[0]);

  Errors errors{0, 0, 0};
  for (int64_t i = 0; i < kProducts; ++i) {
    double exact = 0;  // products of 11-bit numbers: exact in binary64
    for (int64_t k = i * length; k < (i + 1) * length; ++k)
      exact += x[static_cast<size_t>(k)] * w[static_cast<size_t>(k)];
    const double error = result.value(i) / exact - 1;
    errors.bias += error / kProducts;
    errors.rms += error * error / kProducts;
    errors.worst = std::max(errors.worst, std::abs(error));
  }
  errors.rms = std::sqrt(errors.rms);
  return errors;
}

void draw(const std::string& file) {
  Plot plot;
  plot.title = "What a dot product loses with half partials";
  plot.subtitle = "relative error, root mean square over 2000 products of uniform numbers in fp16";
  plot.x_label = "length";
  plot.y_label = "error";
  plot.x_log = plot.y_log = 2;
  for (const Setting& setting : kSettings) {
    Curve curve{setting.title, setting.half ? CurveStyle::kBold : CurveStyle::kReference, {}, {}};
    for (int64_t length = 16; length <= 1024; length *= 2) {
      curve.x.push_back(static_cast<double>(length));
      curve.y.push_back(measure(setting, length).rms);
    }
    plot.curves.push_back(curve);
  }
  write_plot(plot, file);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("dot products of length 512, fp16, error relative to the exact value\n");
  std::printf("%-28s %12s %12s %12s\n", "", "mean", "rms", "worst");
  for (const Setting& setting : kSettings) {
    const Errors e = measure(setting, 512);
    std::printf("%-28s %12.2e %12.2e %12.2e\n", setting.title.c_str(), e.bias, e.rms, e.worst);
  }
  if (argc > 1) draw(argv[1]);
}
