#include "src/train/replicas/step_agreement.h"

#include <tuple>

#include "src/train/replicas/exchange_calls.h"

namespace softamp::train_detail {
namespace {

struct OutcomeFacts {
  int64_t elements, above_edge;
  int32_t micro_batch, replica;
  uint8_t status, stopped, sum_excepted, excepted;
};

struct SiteFacts {
  uint64_t index;
  FloatFormat format;
  uint32_t tile, worker;
  uint8_t kinds, status, integers;
};

std::string bytes_of(const FloatingPointError& e) {
  const ExceptionSite& s = e.site();
  Given given;
  given.value(SiteFacts{s.index, s.format, s.tile, s.worker, e.kinds(), e.status(), s.integers}).text(s.operation);
  given.value(uint64_t{s.operands.size()});
  for (const uint64_t operand : s.operands) given.value(operand);
  return given.bytes();
}

FloatingPointError exception_of(std::string_view bytes, DumpFormat layout) {
  Taken taken(bytes);
  const auto facts = taken.value<SiteFacts>();
  ExceptionSite site;
  site.operation = taken.text();
  site.index = facts.index;
  site.format = facts.format;
  site.integers = facts.integers != 0;
  site.tile = facts.tile;
  site.worker = facts.worker;
  for (uint64_t left = taken.value<uint64_t>(); left > 0; --left) site.operands.push_back(taken.value<uint64_t>());
  return FloatingPointError(facts.kinds, facts.status, std::move(site), layout);
}

}  // namespace

// implements: N284
StepOutcome agree(Exchange& exchange, const StepOutcome& mine, DumpFormat layout) {
  Given given;
  given.value(OutcomeFacts{mine.elements, mine.above_edge, mine.micro_batch, mine.replica, mine.status, mine.stopped,
                           mine.sum_excepted, mine.exception.has_value()});
  for (const double loss : mine.losses) given.value(loss);
  // Of one length on all ranks: one call a step where nothing happens.
  const std::vector<std::string> all = gather_equal_texts(exchange, given.bytes());

  StepOutcome of_all;
  std::optional<std::tuple<int, int, size_t>> first;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    Taken taken(all[rank]);
    const auto facts = taken.value<OutcomeFacts>();
    of_all.status |= facts.status;
    of_all.stopped = of_all.stopped || facts.stopped;
    of_all.sum_excepted = of_all.sum_excepted || facts.sum_excepted;
    of_all.elements += facts.elements;
    of_all.above_edge += facts.above_edge;
    for (size_t i = 0; i < mine.losses.size(); ++i) of_all.losses.push_back(taken.value<double>());
    const std::tuple<int, int, size_t> place{facts.micro_batch, facts.replica, rank};
    if (facts.excepted && (!first || place < *first)) first = place;
  }
  if (!first) return of_all;
  const auto [micro_batch, replica, rank] = *first;
  const std::vector<std::string> reports =
      gather_texts(exchange, mine.exception ? bytes_of(*mine.exception) : std::string());
  of_all.exception = exception_of(reports[rank], layout);
  of_all.micro_batch = micro_batch;
  of_all.replica = replica;
  return of_all;
}

}  // namespace softamp::train_detail
