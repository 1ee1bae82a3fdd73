// Sums that are rounded at every addition: of arrays, of products of two, and of one number again and again.
#include <array>
#include <limits>

#include "softamp/numerics/convert.h"
#include "softamp/sums/running_sum.h"
#include "src/python/arrays.h"
#include "src/python/bindings.h"
#include "src/python/errors.h"
#include "src/python/flags.h"
#include "src/python/gil.h"
#include "src/python/interrupt.h"
#include "src/python/rounding.h"
#include "src/sums/array_sums.h"

namespace softamp::python {
namespace {

constexpr uint64_t kAdditions = uint64_t{1} << 23;  ///< of all sums between two looks at Ctrl-C

/// A number's text as a code of the format, rounded to nearest once. Throws ValueError where it is not finite there.
uint64_t operand(nb::handle value, const FloatFormat& f, const char* name) {
  const uint64_t code = to_code(f, number_from(value, name)).code;
  if (!f.is_finite(code))
    throw nb::value_error((std::string(name) + ": expected a finite number of " + format_name(f)).c_str());
  return code;
}

RunningSumSetup setup_from(nb::handle format, const Rounding& how, nb::handle start, nb::handle replicas,
                           nb::handle seed, nb::handle operation) {
  if (how.chip)
    throw nb::value_error("chip: expected none; chips are known by their conversions, not their arithmetic");
  RunningSumSetup s;
  s.format = compute_format_from(format);
  s.semantics = how.semantics(s.format);
  const bool draws = how.draws(s.format);
  s.start = operand(start, s.format, "start");
  s.engine = how.engine;
  s.seed = whole(seed, "seed", 0, std::numeric_limits<uint64_t>::max());
  s.operation = static_cast<uint32_t>(whole(operation, "operation", 0, (1u << 24) - 1));
  s.replicas = replicas.is_none() ? 1 : whole(replicas, "replicas", 1, uint64_t{1} << 20);
  std::vector<std::string_view> asked = how.asked;
  if (s.replicas > 1) asked.emplace_back("replicas");
  if (s.seed != 0) asked.emplace_back("seed");
  if (s.operation != 0) asked.emplace_back("operation");
  refuse_idle(asked, {.stochastic = draws});
  return s;
}

nb::object numbers(const std::vector<uint64_t>& values) {
  const nb::object array = new_array({static_cast<int64_t>(values.size())}, "uint64");
  Array out(array, "out", Access::kWrite);
  std::copy(values.begin(), values.end(), out.to_write<uint64_t>().begin());
  return array;
}

nb::object sums_of(const std::vector<uint64_t>& codes, const FloatFormat& f) {
  const nb::object array = new_array({static_cast<int64_t>(codes.size())}, "float64");
  Array out(array, "out", Access::kWrite);
  const auto values = out.to_write<double>();
  for (size_t i = 0; i < codes.size(); ++i) values[i] = fp::to_double(f, codes[i]);
  return array;
}

std::vector<double> elements_of(const Array& a, nb::handle codes) {
  if (codes.is_none()) return a.doubles();
  const FloatFormat f = compute_format_from(codes, "codes");
  std::vector<double> values(a.size());
  const auto fill = [&](auto elements) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (elements[i] > f.code_mask())
        throw nb::value_error((std::string(a.name()) + ": element " + std::to_string(i) + " is " +
                               std::to_string(elements[i]) + "; expected a code of " + format_name(f))
                                  .c_str());
      values[i] = fp::to_double(f, elements[i]);
    }
  };
  switch (a.elements()) {
    case Elements::kUint8: fill(a.as<uint8_t>()); break;
    case Elements::kUint16: fill(a.as<uint16_t>()); break;
    case Elements::kUint32: fill(a.as<uint32_t>()); break;
    default: a.refuse_type("unsigned integers beside codes");
  }
  return values;
}

nb::dict sum_array(nb::handle a, nb::handle b, bool rounded_products, nb::handle format, nb::handle codes,
                   nb::tuple how_values, nb::handle start, nb::handle replicas, nb::handle seed, nb::handle operation) {
  const Rounding how = Rounding::from(how_values);
  Rounding entry = how;
  entry.mode = RoundingMode::kNearestEven;
  const RunningSumSetup setup = setup_from(format, how, start, replicas, seed, operation);
  const Array first(a, "a");
  const std::vector<double> left = elements_of(first, codes);
  std::vector<double> right;
  if (!b.is_none()) {
    const Array second(b, "b");
    if (second.size() != first.size())
      throw nb::value_error(("b: has " + std::to_string(second.size()) + " elements; expected " +
                             std::to_string(first.size()) + ", as many as a has")
                                .c_str());
    right = elements_of(second, codes);
  }
  const detail::Products products = b.is_none()        ? detail::Products::kNone
                                    : rounded_products ? detail::Products::kRounded
                                                       : detail::Products::kExact;
  detail::ArraySums sums({{setup, entry.semantics(setup.format)}}, products, {});
  const size_t piece = std::max<size_t>(16, std::min<size_t>(65536, kAdditions / setup.replicas));
  for (size_t done = 0; done < left.size(); done += piece) {
    const size_t count = std::min(piece, left.size() - done);
    {
      const Released released;
      sums.add(std::span(left).subspan(done, count),
               right.empty() ? std::span<const double>{} : std::span<const double>(right).subspan(done, count));
    }
    check_signals();
  }
  const detail::ArraySum sum = sums.results().front();
  nb::dict all;
  all["codes"] = numbers(sum.codes);
  all["values"] = sums_of(sum.codes, setup.format);
  all["last_change"] = numbers(sum.last_change);
  all["lost"] = numbers(sum.lost);
  all["first_addition_with_flag"] = first_of_flags(sum.flags, sum.first_addition);
  all["exact"] = sum.exact;
  all["exact_given"] = sum.exact_given;
  all["magnitude"] = sum.magnitude;
  return all;
}

nb::dict running(nb::handle value, nb::handle count, nb::handle format, nb::tuple how_values, nb::handle start,
                 nb::handle replicas, nb::handle seed, nb::handle operation, nb::handle trace_points) {
  RunningSumSetup setup = setup_from(format, Rounding::from(how_values), start, replicas, seed, operation);
  setup.addend = operand(value, setup.format, "value");
  setup.count = whole(count, "count", 1, std::numeric_limits<uint32_t>::max());
  setup.trace_points = whole(trace_points, "trace_points", 0, 1u << 20);
  RunningSum sum;
  {
    const Released released;
    sum = running_sum(setup, [](uint64_t) {
      const Held held;
      check_signals();
    });
  }
  nb::dict all;
  all["codes"] = numbers(sum.codes);
  all["values"] = sums_of(sum.codes, setup.format);
  all["last_change"] = numbers(sum.last_change);
  all["first_addition_with_flag"] = first_of_flags(sum.flags, sum.first_addition);
  all["exact"] = sum.exact;
  all["exact_text"] = nb::str(sum.exact_text.c_str());
  all["trace_additions"] = numbers(sum.trace_additions);
  nb::list traces;
  for (const std::vector<double>& trace : sum.traces) {
    const nb::object array = new_array({static_cast<int64_t>(trace.size())}, "float64");
    Array out(array, "out", Access::kWrite);
    std::copy(trace.begin(), trace.end(), out.to_write<double>().begin());
    traces.append(array);
  }
  all["traces"] = traces;
  return all;
}

}  // namespace

void bind_sums(nb::module_& m) {
  m.def("sum_array", sum_array, nb::arg("a").none(), nb::arg("b").none(), nb::arg("rounded_products"),
        nb::arg("format").none(), nb::arg("codes").none(), nb::arg("how"), nb::arg("start").none(),
        nb::arg("replicas").none(), nb::arg("seed").none(), nb::arg("operation").none());
  m.def("running_sum", running, nb::arg("value").none(), nb::arg("count").none(), nb::arg("format").none(),
        nb::arg("how"), nb::arg("start").none(), nb::arg("replicas").none(), nb::arg("seed").none(),
        nb::arg("operation").none(), nb::arg("trace_points").none());
}

}  // namespace softamp::python
