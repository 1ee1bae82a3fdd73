#include "src/train/run/shared_run.h"

#include <sched.h>

#include <algorithm>
#include <sstream>
#include <thread>

#include "softamp/findings/exception.h"
#include "softamp/numerics/version.h"
#include "src/data/archive.h"
#include "src/text/reason.h"
#include "src/train/checkpoint_entries.h"
#include "src/train/replicas/exchange_calls.h"
#include "src/train/settings/settings_fields.h"

namespace softamp::train_detail {
namespace {

constexpr int kBadInput = 2;  ///< the exit code

/// One line each, "name value", in the same order on all ranks.
std::string facts_of(TrainSettings s, const RunInputs& inputs, const RunOutput& asked) {
  std::ostringstream text;
  text << "version of the arithmetic " << kArithmeticVersion << '\n';
  s.data.clear();  // contents are compared instead; each machine has its own places, cores and devices
  s.initial.clear();
  s.threads = 0;
  s.backend.clear();
  for_each_setting(s, [&](const char* key, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    text << '\'' << key << "' ";
    if constexpr (requires { value.has_value(); }) {
      if (value)
        text << *value;
      else
        text << "not set";
    } else if constexpr (std::is_same_v<Value, double>) {
      text << std::hexfloat << value << std::defaultfloat;
    } else {
      text << value;
    }
    text << '\n';
  });
  const auto kept = [](const std::string& file) { return file.empty() ? "none" : "one"; };
  text << "training images " << inputs.images << "\ntest images " << inputs.test_images << "\nfile of first weights "
       << inputs.initial << "\nrecipe " << inputs.recipe << "\nfile of the network " << inputs.network << "\nlog "
       << kept(asked.log) << "\ncheckpoint " << kept(asked.checkpoint) << "\ncheckpoint every "
       << asked.checkpoint_every << "\ncheckpoint to resume from " << kept(asked.resume) << "\nweights compared every "
       << asked.compare_weights_every << "\nlost updates counted " << asked.lost_updates << "\ngradient norms "
       << asked.gradient_norms << '\n';
  return text.str();
}

}  // namespace

RunOutput output_here(const RunOutput& asked) {
  RunOutput here = asked;
  if (!asked.exchange) return here;
  const auto refuse = [&](const char* what) {
    throw std::invalid_argument(std::string(what) + " asked for in a run of " +
                                std::to_string(asked.exchange->ranks()) +
                                " processes, each of which has a part of the replicas; expected one process");
  };
  if (!asked.print.empty()) refuse("tensors to print are");
  if (!asked.outfeed.empty() || !asked.enqueue.empty()) refuse("an outfeed is");
  if (!asked.histograms.empty() || asked.count_exponents) refuse("histograms are");
  if (asked.on_memory) refuse("a wait for memory is");
  if (asked.exchange->rank() == 0) return here;
  here.log = here.checkpoint = here.write_initial = here.write_batches = here.plot = std::string();
  here.sample = {};
  here.quiet = true;
  here.progress = false;
  here.on_inputs = nullptr;
  here.on_step = nullptr;
  return here;
}

void compare_ranks(Exchange& exchange, const TrainSettings& settings, const RunInputs& inputs, const RunOutput& asked) {
  const std::vector<std::string> all = gather_texts(exchange, facts_of(settings, inputs, asked));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    std::istringstream first(all[0]), other(all[rank]);
    std::string a, b;
    while (std::getline(first, a) && std::getline(other, b) && a == b) {
    }
    throw RanksDiffer("rank " + std::to_string(rank) + " has " + b + ", and rank 0 has " + a +
                      "; expected the same run on all ranks");
  }
}

Checkpoint checkpoint_for_all(Exchange& exchange, const std::string& file, const std::function<Checkpoint()>& load) {
  Given given;
  if (exchange.rank() == 0)
    for (const archive::Entry& e : entries_of(load(), file))
      given.text(e.name).text({reinterpret_cast<const char*>(e.bytes.data()), e.bytes.size()});
  const std::string text = gather_texts(exchange, given.bytes())[0];
  std::vector<archive::Entry> entries;
  for (Taken taken(text); !taken.at_end();) {
    archive::Entry& e = entries.emplace_back();
    e.name = taken.text();
    const auto bytes = std::as_bytes(std::span(taken.text()));
    e.bytes.assign(bytes.begin(), bytes.end());
  }
  return checkpoint_of(entries, file);
}

bool all_have(const std::exception& error) {
  return dynamic_cast<const FloatingPointError*>(&error) || dynamic_cast<const ContinuousOverflow*>(&error) ||
         dynamic_cast<const RanksDiffer*>(&error);
}

void leave_with(Exchange& exchange, const std::exception& error) {
  if (all_have(error) || dynamic_cast<const ExchangeError*>(&error)) return;
  exchange.leave(kBadInput, "rank " + std::to_string(exchange.rank()) + ": " + reason_of(error));
}

int threads_of_rank(const Exchange& exchange) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  cpu_set_t mine;
  const int bound = sched_getaffinity(0, sizeof mine, &mine) == 0 ? std::max(1, CPU_COUNT(&mine)) : cores;
  return std::clamp(cores / exchange.local_ranks(), 1, bound);
}

}  // namespace softamp::train_detail
