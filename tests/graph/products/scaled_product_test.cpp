// ScaledMatMul: a linear layer with known results; every row against exact numbers (tests/oracle/block_dot.h), its
// blocks made one by one; every instruction set and thread count against the bodies; its errors.
#include <cmath>
#include <vector>

#include "softamp/graph/gradients.h"
#include "softamp/names/block_format_names.h"
#include "softamp/numerics/block/block_format.h"
#include "softamp/tensor/block_bulk.h"
#include "tests/graph/models/model_run.h"
#include "tests/ops/scaled_product_rows.h"
#include "tests/oracle/block_dot.h"
#include "tests/oracle/tensor_order.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

[[maybe_unused]] const ::testing::Environment* const kCoversScaledMatMul = covers({"ScaledMatMul"});

std::string text_attribute(const Attributes& attributes, const char* name, const char* otherwise) {
  const auto at = attributes.find(name);
  return at == attributes.end() ? otherwise : std::get<std::string>(at->second);
}
bool flag_attribute(const Attributes& attributes, const char* name) {
  const auto at = attributes.find(name);
  return at != attributes.end() && std::get<bool>(at->second);
}

/// X, W and g of a linear layer whose results are known.
Tensor layer_tensor(int64_t rows, int64_t columns, double (*value)(int64_t, int64_t)) {
  std::vector<double> all;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) all.push_back(value(i, j));
  return Tensor::from_values(DType::kFloat32, Shape{rows, columns}, all);
}
Tensor layer_x() {
  return layer_tensor(32, 64, [](int64_t i, int64_t j) {
    return std::ldexp(static_cast<double>((7 * i + 3 * j * j) % 31 - 15) / 8, static_cast<int>((i + j) % 5 - 2));
  });
}
Tensor layer_w() {
  return layer_tensor(32, 64, [](int64_t i, int64_t j) {
    return std::ldexp(static_cast<double>((5 * i * i + 11 * j) % 29 - 14) / 16, static_cast<int>(j % 3));
  });
}
Tensor layer_g() {
  return layer_tensor(32, 32, [](int64_t i, int64_t j) {
    return std::ldexp(static_cast<double>((13 * i + i * j) % 23 - 11) / 4, -static_cast<int>(i % 4));
  });
}

/// The layer y = X W^T and its gradients, as a graph makes them of the sum of y g.
std::vector<Tensor> run_layer(const std::string& format, const std::string& of_gradients, const std::string& mode) {
  GraphBuilder b;
  const Tensor x = layer_x(), w = layer_w(), g = layer_g();
  const Port in = b.placeholder("x", DType::kFloat32, x.shape()),
             weight = b.placeholder("w", DType::kFloat32, w.shape()),
             arriving = b.placeholder("g", DType::kFloat32, g.shape());
  const Port y = b.add("ScaledMatMul", {in, weight},
                       {{"transpose_b", true},
                        {"a_format", format},
                        {"b_format", format},
                        {"g_format", of_gradients},
                        {"accumulation", mode}},
                       "y");
  const Port loss = b.add("Sum", {b.add("Mul", {y, arriving})}, {}, "loss");
  const GradientGraph made = gradients(b.build(), loss, {in, weight});
  std::vector<std::string> fetches = {"y:0"};
  for (const auto& p : made.gradients) fetches.push_back(made.graph.port_name(*p));
  ExecutorOptions options;
  options.semantics = Semantics::ieee();
  options.threads = 1;
  return std::move(make_executor(made.graph, options)->run({{"x", &x}, {"w", &w}, {"g", &g}}, fetches).values);
}

// tests: N494
TEST(ScaledMatMul, V58LinearLayer) {
  struct Line {
    const char *format, *gradient;
    uint64_t y[3], dx[3], dw[3];
  };
  const Line lines[] = {{"mxfp8_e4m3",
                         "mxfp8_e5m2",
                         {0xC1C1E800, 0xC1015000, 0x42079400},
                         {0x404C0000, 0x41138000, 0xBF240000},
                         {0xC0376000, 0xC08B6000, 0xC185A000}},
                        {"mxfp4",
                         "mxfp4",
                         {0xC1BF0000, 0xC0BC0000, 0x41CB0000},
                         {0x40100000, 0x40FC0000, 0xBF180000},
                         {0x3F200000, 0xC0AC0000, 0xC1520000}}};
  const int64_t places[3][2] = {{0, 0}, {1, 2}, {5, 31}};
  for (const Line& line : lines) {
    const std::vector<Tensor> all = run_layer(line.format, line.gradient, "exact");
    const uint64_t* const expected[] = {line.y, line.dx, line.dw};
    for (size_t t = 0; t < 3; ++t)
      for (size_t p = 0; p < 3; ++p)
        EXPECT_EQ(all[t].code(places[p][0] * all[t].shape()[1] + places[p][1]), expected[t][p])
            << line.format << ", tensor " << t << ", place " << p;
  }
}

/// An operand as rows of k numbers, quantised block by block with the functions for one block.
struct Quantised {
  block::BlockFormat format;
  uint64_t rows, k, matrix_rows;
  std::vector<uint8_t> codes;
  std::vector<uint32_t> scales;  ///< of (row, block of the row)
  uint32_t amax = 0;
};

Quantised quantised(const Tensor& t, bool transposed, const std::string& format, uint32_t operation, uint64_t seed) {
  const Shape& s = t.shape();
  const auto last = static_cast<uint64_t>(s[s.rank() - 1]), before = static_cast<uint64_t>(s[s.rank() - 2]);
  Quantised q{parse_block_format(format), 0, transposed ? before : last, transposed ? last : before, {}, {}, 0};
  std::vector<uint32_t> x;
  const uint64_t matrix = last * before, matrices = matrix == 0 ? 0 : static_cast<uint64_t>(t.elements()) / matrix;
  q.rows = matrices * q.matrix_rows;
  for (uint64_t row = 0; row < q.rows; ++row)
    for (uint64_t i = 0; i < q.k; ++i) {
      const uint64_t m = row / q.matrix_rows, r = row % q.matrix_rows;
      const auto at = static_cast<int64_t>(m * matrix + (transposed ? i * last + r : r * last + i));
      x.push_back(std::bit_cast<uint32_t>(static_cast<float>(t.value(at))));
    }
  for (const uint32_t code : x) q.amax = std::max(q.amax, code & 0x7FFFFFFF);
  const uint64_t tile = q.format.rows == 0 ? q.rows : static_cast<uint64_t>(q.format.rows),
                 size = q.format.size == 0 ? q.k : static_cast<uint64_t>(q.format.size),
                 across = (q.k + size - 1) / size;
  q.codes.resize(x.size());
  q.scales.resize(q.rows * across);
  const block::Nvfp4Tensor tensor = block::nvfp4_tensor(q.amax, q.format.nvfp4);
  const RandomBits random{seed};
  const RoundingPolicy& p = q.format.rounding();
  for (uint64_t row = 0; row < q.rows; row += tile)
    for (uint64_t column = 0; column < across; ++column) {
      std::vector<uint64_t> places;
      for (uint64_t r = row; r < std::min(row + tile, q.rows); ++r)
        for (uint64_t i = column * size; i < std::min((column + 1) * size, q.k); ++i) places.push_back(r * q.k + i);
      std::vector<uint32_t> in, words;
      for (const uint64_t place : places) {
        in.push_back(x[place]);
        words.push_back(p.stochastic() ? random.bits(0, operation, place, p.random_bits) : 0);
      }
      std::vector<uint8_t> codes(in.size());
      const int n = static_cast<int>(in.size());
      uint32_t scale = 0;
      switch (q.format.family) {
        case block::BlockFamily::kMx:
          scale = block::mx_quantize(q.format.element, in.data(), n, codes.data(), q.format.mx, words.data()).scale;
          break;
        case block::BlockFamily::kNvfp4:
          scale = block::nvfp4_quantize(tensor, in.data(), n, codes.data(), q.format.nvfp4, words.data(),
                                        static_cast<int>(std::min(row + tile, q.rows) - row))
                      .scale;
          break;
        case block::BlockFamily::kFp8:
          scale = block::fp8_quantize(q.format.element.format, in.data(), n, codes.data(), q.format.fp8, words.data())
                      .scale.decode;
          break;
        case block::BlockFamily::kPlain:
          for (size_t i = 0; i < in.size(); ++i)
            codes[i] = static_cast<uint8_t>(
                fp::convert(kFp32, q.format.element.format, in[i], Semantics::ieee(RoundingPolicy::saturating())).code);
          break;
      }
      for (size_t i = 0; i < places.size(); ++i) q.codes[places[i]] = codes[i];
      for (uint64_t r = row; r < std::min(row + tile, q.rows); ++r) q.scales[r * across + column] = scale;
    }
  return q;
}

oracle::DotSide side_of(const Quantised& q, uint64_t row) {
  oracle::DotSide s;
  using block::BlockFamily;
  s.element = {q.format.element.format, q.format.element.integer};
  s.scale = q.format.family == BlockFamily::kMx      ? oracle::DotScale::kE8m0
            : q.format.family == BlockFamily::kNvfp4 ? oracle::DotScale::kE4m3
            : q.format.family == BlockFamily::kFp8   ? oracle::DotScale::kFp32
                                                     : oracle::DotScale::kOne;
  s.size = static_cast<size_t>(q.format.size);
  const uint64_t across = q.scales.size() / std::max<uint64_t>(q.rows, 1);
  s.codes.assign(q.codes.begin() + static_cast<std::ptrdiff_t>(row * q.k),
                 q.codes.begin() + static_cast<std::ptrdiff_t>((row + 1) * q.k));
  s.scales.assign(q.scales.begin() + static_cast<std::ptrdiff_t>(row * across),
                  q.scales.begin() + static_cast<std::ptrdiff_t>((row + 1) * across));
  s.nvfp4 = q.format.family == BlockFamily::kNvfp4;
  s.transformer_engine = q.format.nvfp4.rule == block::Nvfp4Rule::kTransformerEngine;
  s.amax = std::bit_cast<float>(q.amax);
  if (q.format.nvfp4.largest_scale() == 256) s.largest_product = 1536;
  s.torchao_p = q.format.nvfp4.rule == block::Nvfp4Rule::kOneLevel ? 1 : s.amax / 2688;
  s.three_quarters = q.format.family == BlockFamily::kMx && q.format.mx.three_quarters;
  return s;
}

uint32_t expected_code(const ScaledProductRow& row, const oracle::DotSide& a, const oracle::DotSide& b, uint64_t output,
                       int block, const Mode& mode) {
  const std::string accumulation = text_attribute(row.attributes, "accumulation", "fp32_chain");
  oracle::block_dot::Summing sum(a, b, 0);
  if (accumulation == "exact") return sum.exact().code;
  if (accumulation == "fp32_chain") return sum.chain().code;
  if (accumulation == "block") return sum.blocks().code;
  if (accumulation == "blackwell") return sum.blackwell().code;
  if (accumulation == "hopper") {
    const auto every = row.attributes.find("promote_every");
    return sum
        .hopper(text_attribute(row.attributes, "promotion", "scales_first"),
                every == row.attributes.end() ? 128 : static_cast<size_t>(std::get<int64_t>(every->second)))
        .code;
  }
  oracle::order::Chain chain(true, block == 1, mode, {7, operation_id(2, 0)}, output);
  const size_t k = a.codes.size(), length = block == 0 ? k : static_cast<size_t>(block);
  for (size_t i = 0; i < k; ++i) {
    chain.step(oracle::block_dot::Summing::value(a, i), oracle::block_dot::Summing::value(b, i));
    if ((i + 1) % length == 0 || i + 1 == k) chain.end_block(i / length);
  }
  return static_cast<uint32_t>(code_of(DType::kFloat32, chain.value()));
}

int64_t matrix_of_batch(int64_t batch, const Shape& operand, const Shape& out) {
  int64_t matrix = 0, stride = 1;
  for (int axis = out.rank() - 3, own = operand.rank() - 3; own >= 0; --axis, --own) {
    matrix += operand[own] == 1 ? 0 : batch % out[axis] * stride;
    stride *= operand[own];
    batch /= out[axis];
  }
  return matrix;
}

void expect_row(const ScaledProductRow& row, DType type, const Mode& mode, Data data, int block) {
  std::vector<Tensor> in;
  in.push_back(random_tensor(type, row.a, data, 3));
  in.push_back(random_tensor(type, row.b, data, 4));
  ExecutorOptions options = options_of(mode);
  options.amp_block = block;
  const Tensor got = std::move(run_operation("ScaledMatMul", in, row.attributes, options).outputs[0]);
  const Quantised a = quantised(in[0], flag_attribute(row.attributes, "transpose_a"),
                                text_attribute(row.attributes, "a_format", ""), operation_id(2, 1), 7),
                  b = quantised(in[1], !flag_attribute(row.attributes, "transpose_b"),
                                text_attribute(row.attributes, "b_format", ""), operation_id(2, 2), 7);
  const Shape& out = got.shape();
  const int64_t rows = out[out.rank() - 2], columns = out[out.rank() - 1];
  for (int64_t i = 0; i < got.elements(); ++i) {
    const int64_t batch = i / (rows * columns), r = i % (rows * columns) / columns, c = i % columns;
    const auto row_a = static_cast<uint64_t>(matrix_of_batch(batch, in[0].shape(), out) * rows + r),
               row_b = static_cast<uint64_t>(matrix_of_batch(batch, in[1].shape(), out) * columns + c);
    const uint32_t expected =
        expected_code(row, side_of(a, row_a), side_of(b, row_b), static_cast<uint64_t>(i), block, mode);
    ASSERT_EQ(got.code(i), expected) << std::hex << text_of(row) << ", " << name_of(type) << ", " << mode.name
                                     << std::dec << ", element " << i;
  }
}

// tests: N492, N493
TEST(ScaledMatMul, EveryRowAgainstExactNumbers) {
  for (const ScaledProductRow& row : scaled_product_rows()) {
    expect_row(row, DType::kFloat32, kModes[0], Data::kMiddle, 16);
    expect_row(row, DType::kFloat16, kModes[1], Data::kUnit, 4);
    expect_row(row, DType::kBFloat16, kModes[2], Data::kUnit, 1);
    if (HasFailure()) return;
  }
}

/// Every way of every engine's CPU against the bodies: values, flags, places.
// tests: N493
TEST(ScaledMatMul, EveryWayGivesTheBitsOfTheBodies) {
  uint64_t seed = 0;
  for (const ScaledProductRow& row : scaled_product_rows())
    for (const Data data : {Data::kUnit, Data::kWide}) {
      std::vector<Tensor> in;
      const DType type = ++seed % 3 == 0 ? DType::kFloat16 : DType::kFloat32;
      in.push_back(random_tensor(type, row.a, data, seed));
      in.push_back(random_tensor(type, row.b, data, seed + 100));
      if (seed % 4 == 0) set_code(in[0], 3, type == DType::kFloat32 ? 0x7F800000 : 0x7C00);
      if (seed % 8 == 0) set_code(in[1], 5, type == DType::kFloat32 ? 0x7FC00001 : 0x7E01);
      ExecutorOptions options = options_of(kModes[seed % 5]);
      options.status = true;
      options.replica = seed % 3 == 0 ? 5 : 0;
      if (seed % 7 == 0) options.random = RandomEngine::kXoroshiro128aox;
      options.amp_block = seed % 2 ? 16 : 0;
      ExecutorOptions reference = options;
      reference.reference = true;
      const Outcome expected = run_once("ScaledMatMul", in, row.attributes, reference);
      for (const bulk::InstructionSet isa : bulk::instruction_sets())
        for (const int threads : {1, 3}) {
          options.isa = isa;
          options.threads = threads;
          const Outcome got = run_once("ScaledMatMul", in, row.attributes, options);
          ASSERT_TRUE(got.outputs[0].same_bits(expected.outputs[0])) << text_of(row) << " " << bulk::name(isa);
          ASSERT_EQ(got.status, expected.status) << text_of(row) << " " << bulk::name(isa);
        }
    }
}

TEST(ScaledMatMul, Errors) {
  const auto why = [](Attributes attributes, const Shape& b = Shape{64, 3}) {
    return refusal<GraphError>([&] {
      GraphBuilder g;
      const Port x = g.placeholder("x", DType::kFloat32, Shape{2, 64}), y = g.placeholder("y", DType::kFloat32, b);
      g.add("ScaledMatMul", {x, y}, attributes, "z");
    });
  };
  EXPECT_NE(why({{"a_format", std::string("mxfp9")}}).find("a_format: "), std::string::npos);
  EXPECT_NE(why({{"g_format", std::string("mxfp9")}}).find("g_format: "), std::string::npos);
  EXPECT_NE(why({{"accumulation", std::string("hopper")}, {"b_format", std::string("mxint8")}})
                .find("accumulation hopper of mxfp8_e4m3 and mxint8: tensor cores take elements of"),
            std::string::npos);
  EXPECT_NE(why({{"accumulation", std::string("hopper")}, {"promote_every", int64_t{40}}}).find("a multiple of 32"),
            std::string::npos);
  EXPECT_NE(why({{"promote_every", int64_t{-1}}}).find("promote_every is -1"), std::string::npos);
  EXPECT_NE(why({{"accumulation", std::string("tree")}}).find("tree"), std::string::npos);
  EXPECT_NE(why({}, Shape{63, 3}).find("the inner extents are 64 and 63"), std::string::npos);
}

}  // namespace
}  // namespace softamp::test
