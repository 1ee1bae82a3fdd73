#include "softamp/train/run_log.h"

#include <optional>
#include <stdexcept>
#include <utility>

#include "src/files/appended_file.h"
#include "src/files/file_lock.h"
#include "src/files/output_file.h"
#include "src/files/place.h"

namespace softamp {
namespace {

constexpr const char* kRunLog = "the log";

}  // namespace

struct RunLog::State {
  explicit State(const std::filesystem::path& name)
      : file(name), lock(name, kRunLog), special(files::Place(name).is_special()) {
    if (!special) files::OutputFile(file, lock, kRunLog);
  }

  std::filesystem::path file;
  files::FileLock lock;
  bool special;
  std::optional<files::AppendedFile> out;
};

RunLog::RunLog(const std::filesystem::path& file) : state_(std::make_unique<State>(file)) {}
RunLog::~RunLog() = default;
RunLog::RunLog(RunLog&&) noexcept = default;
RunLog& RunLog::operator=(RunLog&&) noexcept = default;

void RunLog::begin(std::span<const std::string> lines) {
  State& s = *state_;
  s.out.reset();
  if (!s.special) {
    files::OutputFile whole(s.file, s.lock, kRunLog);
    for (const std::string& line : lines) whole.write(line + '\n');
    whole.commit();
  }
  s.out.emplace(s.file, kRunLog);
  if (s.special)
    for (const std::string& text : lines) line(text);
}

void RunLog::line(std::string_view text) {
  if (!state_->out) throw std::logic_error("'" + state_->file.string() + "': line before begin");
  state_->out->append(std::string(text) + '\n');
}

void RunLog::synchronise() {
  if (state_->out) state_->out->synchronise();
}

}  // namespace softamp
