#include "src/program/behaviour_option.h"

#include "src/names/name_rows.h"
#include "src/program/description/words.h"
#include "src/program/usage.h"
#include "src/text/comma_list.h"

namespace softamp::program {
namespace {

using name_rows::kBehaviours;

/// The word as kBehaviours spells it.
std::string behaviour_of(const std::string& place, const std::string& word) {
  const std::string ours = name_rows::our_name(kBehaviours, word);
  std::vector<std::string> known;
  for (const name_rows::Names& names : kBehaviours) {
    if (names.front() == ours) return ours;
    known.push_back(name_rows::described(names));
  }
  throw UsageError(place + ": " + unknown_name_message("flag", word, known));
}

}  // namespace

FloatingPointBehaviour behaviour_from_words(const std::string& place, const std::vector<std::string>& words) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  const struct {
    const char* name;
    bool* field;
  } fields[] = {{"inv", &b.inv}, {"div0", &b.div0}, {"oflo", &b.oflo}, {"esr", &b.esr}, {"nanoo", &b.nanoo}};
  for (const std::string& given : words) {
    const std::string word = behaviour_of(place, given);
    for (const auto& f : fields)
      if (word == "all" || word == "off" || word == f.name) *f.field = word != "off";
  }
  return b;
}

void set_behaviour(IpuConfig& config, const std::string& words) {
  auto& f = config.floating_point_behaviour;
  for (const std::string& given : words_of_list(words)) {
    const std::string word = behaviour_of("--behaviour", given);
    if (word == "off") f = {};
    if (word == "all") f.set_all = true;
    if (word == "inv") f.inv = true;
    if (word == "div0") f.div0 = true;
    if (word == "oflo") f.oflo = true;
    if (word == "esr") f.esr = StochasticRoundingBehaviour::kOn;
    if (word == "nanoo") f.nanoo = true;
  }
}

void offer_behaviours(const cli::App& app) { offer(app, "--behaviour", name_rows::first_names(kBehaviours)); }

}  // namespace softamp::program
