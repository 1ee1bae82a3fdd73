#include "softamp/train/run_log.h"

#include <stdexcept>

#include "src/train/run/log_file.h"

namespace softamp {

struct RunLog::State : train_detail::LogFile {
  using LogFile::LogFile;
};

RunLog::RunLog(const std::filesystem::path& file) : state_(std::make_unique<State>(file)) {}
RunLog::~RunLog() = default;
RunLog::RunLog(RunLog&&) noexcept = default;
RunLog& RunLog::operator=(RunLog&&) noexcept = default;

void RunLog::begin(std::span<const std::string> lines) {
  state_->begin([&](const auto& put) {
    for (const std::string& line : lines) put(line);
  });
}

void RunLog::line(std::string_view text) {
  if (!state_->begun()) throw std::logic_error("'" + state_->file().string() + "': line before begin");
  state_->line(text);
}

void RunLog::synchronise() { state_->synchronise(); }

}  // namespace softamp
