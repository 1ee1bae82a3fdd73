// Exponents that a study's runs counted, as JSON and as a part of its page.
#pragma once

#include "src/program/study/study_page.h"

#include "softamp/train/exponent_totals.h"

namespace softamp::program {

/// {"steps":11,"least_scale":256,"greatest_scale":1024,"layers":[{"layer","kind","dtype","counts","unscaled"}]}.
Json exponents_json(const ExponentTotals& totals);
/// Throws what Json throws, and std::invalid_argument for a kind or dtype that is none.
ExponentTotals exponents_from(const Json& json);

/// A picture of the gradients for each row that has them, all over the same exponents, and a folded table by layer; ""
/// where no row has any. first_picture: their numbers in the page (html::picture).
std::string exponents_on_page(const StudyReport& report, const StudyPageOptions& options, int first_picture);

inline constexpr size_t kExponentPictures = 24;  ///< of the first rows, at most

}  // namespace softamp::program
