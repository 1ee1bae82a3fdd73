// Matrix products: shapes x partials x blocks x dtypes x settings, with every special value, transposes,
// batches that stretch, sums over a batch.
#include <random>

#include "parity.h"
#include "softamp/graph/operation.h"
#include "softamp/numerics/products/tensor_core.h"
#include "tests/ops/scaled_product_rows.h"

namespace softamp::parity {
namespace {

/// What the options of products come to.
struct Options {
  const char* partials = "float";
  bool between = false;  ///< half between independent partials
  int block = 16;
  AmpInner inner = AmpInner::kFmaChain;
  bool flush_inner = false, stochastic_off = false;
  Accumulator accumulator = Accumulator::kIpuModelA;
  TensorCoreOperands operands = TensorCoreOperands::kOwn;
};

struct Problem {
  DType type = DType::kFloat16;
  int64_t m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false, batch_sum = false, plain = false;
  std::vector<int64_t> batch_a, batch_b;  ///< BatchMatMulV2 where one is there
  Options options;
  uint64_t seed = 0;
  int begins = 0;  ///< chains, with C: 1 for each column, 2 for each output; not under batch_sum

  int start() const { return batch_sum ? 0 : begins; }
};

Shape matrix(std::vector<int64_t> batch, int64_t rows, int64_t columns, bool transposed) {
  batch.push_back(transposed ? columns : rows);
  batch.push_back(transposed ? rows : columns);
  return Shape(batch);
}

std::string text_of(const Problem& p) {
  std::string s = std::string(p.batch_a.empty() && p.batch_b.empty() ? "MatMul " : "BatchMatMulV2 ") + name_of(p.type) +
                  " " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k);
  if (p.transpose_a) s += " a^T";
  if (p.transpose_b) s += " b^T";
  if (p.batch_sum) s += " batch_sum";
  if (p.plain) s += " plain";
  s += std::string(" partials ") + p.options.partials + (p.options.between ? " between" : "") + " block " +
       std::to_string(p.options.block);
  if (p.options.inner != AmpInner::kFmaChain) s += " inner " + std::to_string(static_cast<int>(p.options.inner));
  if (p.options.flush_inner) s += " flush";
  if (p.options.stochastic_off) s += " sr off";
  if (p.options.accumulator != Accumulator::kIpuModelA) s += std::string(" ") + name_of(p.options.accumulator);
  if (p.options.operands != TensorCoreOperands::kOwn) s += std::string(" fed ") + name_of(p.options.operands);
  return s + " #" + std::to_string(p.seed);
}

/// The end of a case's name; start: as Problem::begins says.
const char* from_text(int start) { return start == 0 ? "" : start == 1 ? " from a row" : " from c"; }

/// Adds the product of x and y; start: as Problem::begins says.
void add_product(GraphBuilder& g, Case& c, const char* op, Port x, Port y, const Attributes& attributes, int start,
                 uint64_t seed, bool plain) {
  if (start == 0) {
    g.add(op, {x, y}, attributes);
    return;
  }
  GraphBuilder apart;  // says the shape of the result
  const Port product = apart.add(op,
                                 {apart.placeholder("x", g.type(x).dtype, g.type(x).shape),
                                  apart.placeholder("y", g.type(y).dtype, g.type(y).shape)},
                                 attributes);
  Shape shape = apart.type(product).shape;
  if (start == 1) shape = Shape{shape[shape.rank() - 1]};
  const Port from = g.placeholder("c", DType::kFloat32, shape);
  c.feeds.emplace("c", floats(DType::kFloat32, shape, 2 * seed + 3, plain));
  g.add(op, {x, y, from}, attributes);
}

void run(Suite& suite, const Problem& p, const Setting& setting) {
  Case c;
  c.name = text_of(p) + " " + setting.name + from_text(p.start());
  if (!suite.wants(c.name)) return;
  const bool batched = !p.batch_a.empty() || !p.batch_b.empty();
  const Shape a = matrix(p.batch_a, p.m, p.k, p.transpose_a), b = matrix(p.batch_b, p.k, p.n, p.transpose_b);
  GraphBuilder g;
  const Port x = g.placeholder("x", p.type, a), y = g.placeholder("y", p.type, b);
  add_product(g, c, batched ? "BatchMatMulV2" : "MatMul", x, y,
              {{batched ? "adj_x" : "transpose_a", p.transpose_a},
               {batched ? "adj_y" : "transpose_b", p.transpose_b},
               {"batch_sum", p.batch_sum}},
              p.start(), p.seed, p.plain);
  c.graph = g.build();
  c.feeds.emplace("x", floats(p.type, a, 2 * p.seed + 1, p.plain));
  c.feeds.emplace("y", floats(p.type, b, 2 * p.seed + 2, p.plain));
  c.fetches = {c.graph.port_name({c.graph.size() - 1, 0})};
  c.options = setting.options;
  c.options.config.matmuls.poplar_options = {{"partialsType", p.options.partials}};
  if (p.options.between) c.options.config.matmuls.poplar_options["partialsType.interTile"] = "half";
  if (p.options.stochastic_off) c.options.config.matmuls.poplar_options["disableSRForAMPVertices"] = "true";
  c.options.amp_block = p.options.block;
  c.options.amp_inner = p.options.inner;
  c.options.f32_flush_inner = p.options.flush_inner;
  c.options.accumulator = p.options.accumulator;
  c.options.tensor_core_operands = p.options.operands;
  suite.run(c);
}

void run_scaled(Suite& suite, const test::ScaledProductRow& row, const Setting& setting, DType type, bool plain,
                uint64_t seed) {
  Case c;
  const int start = seed % 4 == 3 ? 0 : static_cast<int>(seed % 4);
  c.name = test::text_of(row) + " " + name_of(type) + (plain ? " plain" : "") + " #" + std::to_string(seed) + " " +
           setting.name + from_text(start);
  if (!suite.wants(c.name)) return;
  GraphBuilder g;
  const Port x = g.placeholder("x", type, Shape(row.a)), y = g.placeholder("y", type, Shape(row.b));
  add_product(g, c, "ScaledMatMul", x, y, row.attributes, start, seed, plain);
  c.graph = g.build();
  c.feeds.emplace("x", floats(type, Shape(row.a), 2 * seed + 1, plain));
  c.feeds.emplace("y", floats(type, Shape(row.b), 2 * seed + 2, plain));
  c.fetches = {c.graph.port_name({c.graph.size() - 1, 0})};
  c.options = setting.options;
  c.options.amp_block = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 16 : 1;
  suite.run(c);
}

/// ScaledMatMul: every row, plain numbers and special ones; a larger one of each accumulation.
void scaled_products(Suite& suite) {
  uint64_t seed = 2000;
  for (const test::ScaledProductRow& row : test::scaled_product_rows())
    for (const bool plain : {true, false}) {
      const DType types[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
      ++seed;
      run_scaled(suite, row, settings()[seed % settings().size()], types[seed % 3], plain, seed);
    }
  int64_t side = 16;
  while (side * side < suite.elements() / 64 && side < 512) side *= 2;
  for (const char* accumulation : {"exact", "fp32_chain", "half_partials", "block", "hopper", "blackwell"})
    for (const char* format : {"mxfp8_e4m3", "nvfp4"}) {
      const test::ScaledProductRow row{{side + 3, 300},
                                       {300, side + 5},
                                       {{"a_format", std::string(format)},
                                        {"b_format", std::string(format)},
                                        {"accumulation", std::string(accumulation)}}};
      ++seed;
      run_scaled(suite, row, settings()[seed % settings().size()], DType::kFloat32, true, seed);
    }
}

constexpr int kBlocks[] = {16, 1, 4, 0};

/// Makes the accumulator `a` the problem's; options that it excludes go back to what they usually are, and operands
/// that it does not have become fp16.
void accumulate_by(Problem& p, Accumulator a) {
  p.options.accumulator = a;
  if (a == Accumulator::kIpuModelA) return;
  p.options.partials = "float";
  p.options.between = p.options.flush_inner = false;
  p.options.inner = AmpInner::kFmaChain;
  if (is_tensor_core(a) && !tensor_core(a, format_of(p.type)).exists()) p.type = DType::kFloat16;
}

Problem random_problem(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  Problem p;
  p.seed = seed;
  p.begins = static_cast<int>(seed % 3);
  p.m = below(40), p.n = below(40), p.k = below(50);
  if (seed % 5 == 0) p.m = 1 + below(300), p.n = 1 + below(16), p.k = 1 + below(40);      // narrow tiles
  if (seed % 10 == 1) p.m = 100 + below(60), p.n = 100 + below(60), p.k = 1 + below(20);  // large ones
  if (seed % 10 == 2) p.m = 1 + below(9), p.n = 1 + below(9), p.k = 1000 + below(1100);
  const DType types[] = {DType::kFloat16, DType::kFloat16, DType::kFloat32, DType::kBFloat16};
  p.type = types[below(4)];
  p.transpose_a = below(2), p.transpose_b = below(2);
  p.batch_sum = below(4) == 0;
  // Special values meet most outputs: with many of them chains are NaNs, and nothing else is seen.
  p.plain = seed % 2 == 0;
  p.options.partials = below(3) ? "half" : "float";
  p.options.between = p.batch_sum && below(2);
  p.options.block = kBlocks[below(4)];
  if (below(8) == 0) p.options.inner = below(2) ? AmpInner::kExactDot4 : AmpInner::kRn32Each;
  p.options.flush_inner = below(16) == 0;
  p.options.stochastic_off = below(8) == 0;
  if (below(4) == 0) accumulate_by(p, static_cast<Accumulator>(1 + below(kAccumulators - 1)));
  return p;
}

}  // namespace

void products(Suite& suite) {
  const bool large = suite.elements() > 100000;
  // Every partials type, block and setting, on an odd shape: plain numbers, then special ones.
  for (const Setting& setting : settings())
    for (const char* partials : {"half", "float"})
      for (const int block : kBlocks)
        for (const bool plain : {true, false})
          for (const int begins : {0, 1, 2}) {
            Problem p;
            p.m = 9, p.n = 21, p.k = 35;
            p.seed = static_cast<uint64_t>(block);
            p.begins = begins;
            p.plain = plain;
            p.options.partials = partials;
            p.options.block = block;
            run(suite, p, setting);
          }
  // Every accumulator, on operands of each dtype, plain numbers and special ones, independent partials.
  for (int a = 1; a < kAccumulators; ++a)
    for (const DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32})
      for (const bool plain : {true, false}) {
        Problem p;
        p.type = type;
        p.m = 7, p.n = 19, p.k = plain ? 45 : 1100;
        p.seed = static_cast<uint64_t>(a);
        p.begins = a % 3;
        p.plain = plain;
        p.batch_sum = !plain;
        accumulate_by(p, static_cast<Accumulator>(a));
        run(suite, p, settings()[static_cast<size_t>(a) % settings().size()]);
      }
  // Tensor cores with an fp16 accumulator, and fed other formats than the operands'.
  for (int a = 1; a < kAccumulators; ++a)
    for (const TensorCoreOperands operands : {TensorCoreOperands::kOwn, TensorCoreOperands::kAsBf16,
                                              TensorCoreOperands::kAsE4m3, TensorCoreOperands::kAsE5m2})
      for (const bool halves : {false, true}) {
        const auto accumulator = static_cast<Accumulator>(a);
        const bool own = operands == TensorCoreOperands::kOwn;
        const FloatFormat fed = own                                       ? kFp16
                                : operands == TensorCoreOperands::kAsBf16 ? kBf16
                                : operands == TensorCoreOperands::kAsE4m3 ? kE4m3
                                                                          : kE5m2;
        if ((own && !halves) || !tensor_core(accumulator, fed, halves).exists()) continue;
        Problem p;
        p.type = own || halves ? DType::kFloat16 : DType::kFloat32;
        p.m = 7, p.n = 19, p.k = 75;
        p.seed = static_cast<uint64_t>(a);
        p.begins = a % 3;
        p.plain = a % 2 == 0;
        p.options.accumulator = accumulator;
        p.options.operands = operands;
        p.options.partials = halves ? "half" : "float";
        run(suite, p, settings()[static_cast<size_t>(a) % settings().size()]);
      }
  // Random shapes and options.
  for (uint64_t seed = 0; seed < 100; ++seed) run(suite, random_problem(seed), settings()[seed % settings().size()]);
  for (uint64_t seed = 100; large && seed < 400; ++seed)
    for (const Setting& setting : settings()) run(suite, random_problem(seed), setting);
  // Batches, stretched.
  uint64_t seed = 1000;
  for (const Setting& setting : settings())
    for (const auto& [a, b] : std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
             {{3}, {3}}, {{2, 1, 2}, {3, 1}}, {{1}, {4}}, {{}, {2, 2}}, {{0}, {0}}}) {
      Problem p = random_problem(++seed);
      p.m = 5, p.n = 11, p.k = 17;
      p.batch_sum = false;
      p.options.between = false;
      p.batch_a = a, p.batch_b = b;
      run(suite, p, setting);
    }
  // A large one of each kind.
  for (const Setting& setting : settings())
    for (const char* partials : {"half", "float"})
      for (const int block : {16, 1}) {
        Problem p;
        p.seed = ++seed;
        p.begins = static_cast<int>(seed % 3);
        int64_t side = 16;
        while (side * side < suite.elements() && side < 2048) side *= 2;
        p.m = side + 3, p.n = side + (seed % 2 ? 8 : 5), p.k = large ? 523 : 37;
        p.plain = true;
        p.options.partials = partials;
        p.options.block = block;
        if (!large && &setting != &settings()[seed % settings().size()]) continue;
        run(suite, p, setting);
      }
  scaled_products(suite);
}

}  // namespace softamp::parity
