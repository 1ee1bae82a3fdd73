#include "parity.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "softamp/graph/trace.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/ulp.h"

namespace softamp::parity {
namespace {

uint64_t code_at(const Tensor& t, size_t i) {
  uint64_t code = 0;
  const size_t bytes = size_of(t.type().dtype);
  std::memcpy(&code, static_cast<const char*>(t.data()) + i * bytes, bytes);
  return code;
}

/// Count, first index, both bit patterns and a histogram of distances (N429); empty where equal.
// tests: N61, N429
std::string difference(const Tensor& expected, const Tensor& found) {
  if (expected.same_bits(found)) return {};
  const size_t n = static_cast<size_t>(expected.type().shape.elements());
  const bool floating = is_floating(expected.type().dtype);
  size_t count = 0, first = n;
  std::map<uint64_t, size_t> histogram;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t a = code_at(expected, i), b = code_at(found, i);
    if (a == b) continue;
    if (count++ == 0) first = i;
    if (floating) ++histogram[ulp_distance(format_of(expected.type().dtype), a, b)];
  }
  char text[160];
  std::snprintf(text, sizeof text, "%zu of %zu elements differ, first %zu: expected %llx, found %llx", count, n, first,
                static_cast<unsigned long long>(code_at(expected, first)),
                static_cast<unsigned long long>(code_at(found, first)));
  std::string all = text;
  int shown = 0;
  for (const auto& [ulps, times] : histogram) {
    if (shown++ == 8) {
      all += ", ...";
      break;
    }
    all += (shown == 1 ? "; ulps: " : ", ") + std::to_string(ulps) + " x " + std::to_string(times);
  }
  return all;
}

std::string text_of(const FpStatus& s) {
  std::string text = "flags " + std::to_string(s.flags) + " at";
  for (const uint64_t index : s.first_index)
    text += " " + (index == FpStatus::kNever ? std::string("-") : std::to_string(index));
  return text;
}

std::string difference(const RunResult& expected, const RunResult& found) {
  if (expected.flags != found.flags)
    return "flags of the step: expected " + std::to_string(expected.flags) + ", found " + std::to_string(found.flags);
  for (size_t i = 0; i < std::max(expected.operations.size(), found.operations.size()); ++i) {
    const OperationStatus none{"(none)", "", {}};
    const OperationStatus& a = i < expected.operations.size() ? expected.operations[i] : none;
    const OperationStatus& b = i < found.operations.size() ? found.operations[i] : none;
    if (a.name == b.name && a.status == b.status) continue;
    return "status: expected " + a.op + " '" + a.name + "' " + text_of(a.status) + ", found " + b.op + " '" + b.name +
           "' " + text_of(b.status);
  }
  return {};
}

/// FNV-1a, begun or gone on with.
uint64_t digest_of(const std::string& text, uint64_t digest = 0xCBF29CE484222325u) {
  for (const char letter : text) digest = (digest ^ static_cast<unsigned char>(letter)) * 0x100000001B3u;
  return digest;
}

}  // namespace

bool Suite::wants(const std::string& name) const {
  const bool wanted = name.find(filter_) != std::string::npos && digest_of(name) % parts_ == part_;
  if (wanted && names_) names_->push_back(name);
  return wanted && !names_;
}

void Suite::run(const Case& c) {
  if (!wants(c.name)) return;
  ++report_.cases;
  std::vector<std::string> fetches = c.fetches;
  if (fetches.empty())
    for (int n = 0; n < c.graph.size(); ++n)
      for (int port = 0; port < static_cast<int>(c.graph.node(n).outputs.size()); ++port)
        fetches.push_back(c.graph.port_name({n, port}));
  std::vector<Feed> feeds;
  for (const auto& [name, tensor] : c.feeds) feeds.push_back({name, &tensor});

  std::string what;
  try {
    ExecutorOptions options = c.options;
    options.status = true;
    options.backend = "emu";
    const auto expected = make_executor(c.graph, options);
    options.backend = backend_;
    const auto found = make_executor(c.graph, options);
    for (int step = 0; step < c.steps && what.empty(); ++step) {
      std::string errors[2];
      RunResult results[2];
      Executor* const both[2] = {expected.get(), found.get()};
      for (int k = 0; k < 2; ++k) try {
          results[k] = both[k]->run(feeds, fetches);
        } catch (const std::exception& error) {
          errors[k] = error.what();
        }
      const std::string where = "step " + std::to_string(step) + ": ";
      if (errors[0] != errors[1]) {
        what = where + "expected error '" + errors[0] + "', found '" + errors[1] + "'";
        break;
      }
      if (!errors[0].empty()) continue;
      for (size_t f = 0; f < fetches.size() && what.empty(); ++f) {
        report_.elements += static_cast<uint64_t>(results[0].values[f].type().shape.elements());
        const Tensor& value = results[1].values[f];
        digest(hash_text(value.data(), value.bytes()));
        const std::string d = difference(results[0].values[f], results[1].values[f]);
        if (d.empty()) continue;
        const Node& node = c.graph.node(c.graph.port(fetches[f]).node);
        what = where + node.op + " '" + fetches[f] + "': " + d;
      }
      if (what.empty() && !(what = difference(results[0], results[1])).empty()) what = where + what;
    }
    for (const Node& node : c.graph.nodes())
      if (what.empty() && node.op == "VariableV2" &&
          !(what = difference(expected->variable(node.name), found->variable(node.name))).empty())
        what = "variable '" + node.name + "': " + what;
  } catch (const std::exception& error) {
    what = error.what();
  }
  if (what.empty()) return;
  differs(c.name + ": " + what);
}

void Suite::digest(const std::string& text) { report_.digest = digest_of(text, report_.digest); }

void Suite::note(const std::string& name, const std::string& difference, uint64_t elements,
                 const std::string& results) {
  digest(results);
  ++report_.cases;
  report_.elements += elements;
  if (difference.empty()) return;
  differs(name + ": " + difference);
}

void Suite::differs(std::string text) {
  std::printf("DIFFERS %s\n", text.c_str());
  std::fflush(stdout);  // a later case may end the program
  ++report_.failed;
  report_.differences.push_back(std::move(text));
}

std::string difference_of(const Tensor& expected, const Tensor& found) { return difference(expected, found); }

Tensor floats(DType type, const Shape& shape, uint64_t seed, bool plain) {
  Tensor t(TensorType{type, shape});
  const FloatFormat f = format_of(type);
  std::mt19937_64 random(seed);
  const uint64_t one = fp::from_double(f, 1.0), mask = f.sign_mask() | (f.sign_mask() - 1);
  const std::vector<uint64_t> specials = {0,
                                          f.sign_mask(),
                                          1,
                                          f.sign_mask() | 1,
                                          f.mantissa_mask(),
                                          f.mantissa_mask() + 1,
                                          f.infinity_code() - 1,
                                          f.infinity_code(),
                                          f.sign_mask() | f.infinity_code(),
                                          f.infinity_code() | 1,
                                          nan_code(f, NanPattern::kQuiet),
                                          one,
                                          f.sign_mask() | one,
                                          one + 1,
                                          one - 1};
  const size_t n = static_cast<size_t>(shape.elements()), bytes = size_of(type);
  for (size_t i = 0; i < n; ++i) {
    uint64_t code;
    const uint64_t word = random();
    if (plain)
      code = fp::from_double(f, (static_cast<double>(word >> 11) * 0x1p-53 - 0.5) * 4);
    else if (word % 16 < 2)
      code = specials[(word >> 8) % specials.size()];
    else if (word % 16 < 12)
      code = fp::from_double(f, (static_cast<double>(word >> 11) * 0x1p-53 - 0.5) * 8);
    else
      code = random() & mask;
    std::memcpy(static_cast<char*>(t.data()) + i * bytes, &code, bytes);
  }
  return t;
}

Tensor integers(const Shape& shape, uint64_t seed, int32_t low, int32_t high) {
  Tensor t(TensorType{DType::kInt32, shape});
  std::mt19937_64 random(seed);
  auto* const data = static_cast<int32_t*>(t.data());
  const uint64_t span = static_cast<uint64_t>(int64_t{high} - low + 1);
  for (int64_t i = 0; i < shape.elements(); ++i)
    data[i] = static_cast<int32_t>(low + static_cast<int64_t>(random() % span));
  return t;
}

Tensor truths(const Shape& shape, uint64_t seed) {
  Tensor t(TensorType{DType::kBool, shape});
  std::mt19937_64 random(seed);
  auto* const data = static_cast<uint8_t*>(t.data());
  for (int64_t i = 0; i < shape.elements(); ++i) data[i] = random() & 1;
  return t;
}

Tensor any_tensor(const TensorType& type, uint64_t seed, bool plain) {
  if (type.dtype == DType::kInt32) return integers(type.shape, seed, -1000000, 1000000);
  return type.dtype == DType::kBool ? truths(type.shape, seed) : floats(type.dtype, type.shape, seed, plain);
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> list;
    const auto add = [&](const char* name, bool esr, bool nanoo) -> ExecutorOptions& {
      ExecutorOptions o;
      o.config.set("floating_point_behaviour.esr", esr);
      o.config.set("floating_point_behaviour.nanoo", nanoo);
      o.seed = 0x0123456789ABCDEFu;
      list.push_back({name, o});
      return list.back().options;
    };
    add("nearest", false, false);
    add("nearest nanoo", false, true);
    add("stochastic", true, false);
    add("stochastic nanoo", true, true).replica = 5;
    ExecutorOptions& wide = add("stochastic 24 bits", true, true);
    wide.switches.sr_bits = 24;
    add("philox7", true, false).random = RandomEngine::kPhilox7;
    add("ieee", false, false).semantics = Semantics::ieee();
    // What no vector knows of a policy, together: exact values that move, zeros and NaNs that are none.
    RoundingPolicy unusual = RoundingPolicy::stochastic_carry(11);
    unusual.variant = StochasticVariant::kAtLeast;
    unusual.nan = NanPattern::kInfinity;
    unusual.signed_zeros = false;
    add("unusual", false, false).semantics = Semantics::ieee(unusual);
    RoundingPolicy elsewhere = RoundingPolicy::stochastic_carry(13);
    elsewhere.alignment = RandomAlignment::kAsIfNormal;
    add("bits elsewhere", false, false).semantics = Semantics::ieee(elsewhere);
    return list;
  }();
  return all;
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"rows", rows},  // launches every kernel
      {"elementwise", elementwise},
      {"casts", casts},
      {"functions", functions},
      {"random", random_values},
      {"products", products},
      {"convolutions", convolutions},
      {"pooling", pooling},
      {"reductions", reductions},
      {"softmax", softmax},
      {"norms", norms},
      {"structure", structure},
      {"optimizers", optimizers},
      {"graphs", graphs},
      {"training", training},
      {"transformer", transformer},
  };
  return all;
}

}  // namespace softamp::parity
