// softamp --version: the program's version, and how it was built.
#pragma once

#include <string>

namespace softamp::program {

/// Lines for people, the first "softamp 0.1.0"; or one JSON document.
std::string version_text(bool as_json);

}  // namespace softamp::program
