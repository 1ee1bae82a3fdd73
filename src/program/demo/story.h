// A story: pictures and sentences in one HTML file, which needs no other file and can be mailed.
#pragma once

#include <string>
#include <vector>

#include "softamp/pictures/plot.h"

namespace softamp::program {

struct StoryPart {
  std::string title;
  Plot plot;
  std::string text;     ///< sentences, plain
  std::string command;  ///< that gives the same numbers; empty: none
};

struct Story {
  std::string title, lead;
  std::vector<StoryPart> parts;
};

/// The page, each picture within it. Throws as svg_of.
std::string story_html(const Story& story);

/// Ten thousand additions that stop at a quarter, why, and what stochastic rounding makes of them. Computed here, on
/// the emulated arithmetic. seed: of the random bits.
Story swamping_story(uint64_t seed);

}  // namespace softamp::program
