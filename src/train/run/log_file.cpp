#include "src/train/run/log_file.h"

#include <string>
#include <utility>

#include "src/files/output_file.h"
#include "src/files/place.h"

namespace softamp::train_detail {
namespace {

constexpr const char* kLog = "the log";

}  // namespace

LogFile::LogFile(std::filesystem::path file)
    : file_(std::move(file)), lock_(file_, kLog), special_(files::Place(file_).is_special()) {
  if (!special_) files::OutputFile(file_, lock_, kLog);
}

void LogFile::begin(const std::function<void(const Put&)>& write) {
  out_.reset();
  if (!special_) {
    files::OutputFile whole(file_, lock_, kLog);
    write([&](std::string_view text) { whole.write(std::string(text) + '\n'); });
    whole.commit();
  }
  out_.emplace(file_, kLog);
  if (special_) write([&](std::string_view text) { line(text); });
}

void LogFile::line(std::string_view text) { out_->append(std::string(text) + '\n'); }

void LogFile::synchronise() {
  if (out_) out_->synchronise();
}

}  // namespace softamp::train_detail
