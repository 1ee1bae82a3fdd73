// CLI11's classes by their names. Its header costs four seconds in every source that includes it, so headers include
// this one, and only a source that adds or reads options includes <CLI/CLI.hpp>.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
