// A node's rounding site as options of the functions on arrays (tensor/bulk.h).
#pragma once

#include "softamp/kernel/environment.h"
#include "softamp/tensor/bulk.h"

namespace softamp::emu {

/// Whether those functions draw a site's random words: they know no tables of words.
inline bool bulk_draws(const RoundingPolicy& rounding, const kernel::Environment& e, uint32_t site) {
  return !rounding.stochastic() || !e.table[site].words;
}

inline bulk::BulkOptions bulk_options(const kernel::Environment& e, uint32_t site, int threads,
                                      bulk::InstructionSet isa) {
  bulk::BulkOptions o;
  o.threads = threads;
  o.isa = isa;
  o.random.engine = e.random.rounds == 7 ? RandomEngine::kPhilox7 : RandomEngine::kPhilox;
  o.random.seed = e.random.seed;
  o.random.replica = e.random.replica;
  o.random.step = e.step;
  o.random.operation = e.operation + site;
  return o;
}

}  // namespace softamp::emu
