#include "records.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <stdexcept>

namespace tutorial {

using softamp::Checkpoint;
using softamp::StepResult;
using softamp::Tensor;
using softamp::Trainer;
using softamp::TrainSettings;

namespace {

/// The text under `key` of a JSON object that Records wrote; "" where it has none.
std::string text_of(const std::string& object, const std::string& key) {
  const std::string mark = '"' + key + "\":\"";
  const size_t at = object.find(mark);
  if (at == std::string::npos) return {};
  const size_t begin = at + mark.size();
  return object.substr(begin, object.find('"', begin) - begin);
}

}  // namespace

Records::Records(const Arguments& arguments, int64_t total, const softamp::ImageSets& data)
    : arguments_(arguments),
      total_(total),
      data_(softamp::contents_hash(data.train)),
      test_data_(softamp::contents_hash(data.test)),
      terminal_(arguments.output.progress && isatty(STDERR_FILENO) == 1),
      drawn_(std::chrono::steady_clock::now()) {}

Records::~Records() {
  if (terminal_) std::fprintf(stderr, "\r\033[K");
}

void Records::line(const std::string& object) {
  if (!log_.is_open()) return;
  log_ << object << '\n' << std::flush;
  if (!log_) throw std::runtime_error("the log '" + arguments_.output.log + "' cannot be written");
}

void Records::start(Trainer& trainer) {
  if (!arguments_.output.resume.empty()) resume(trainer);
  open_log(trainer.state().step);
}

/// Lines that an earlier run wrote after the checkpoint, and its evaluation, go. What is no log of these steps stays.
void Records::open_log(int64_t step) {
  const std::string& file = arguments_.output.log;
  if (file.empty()) return;
  std::vector<std::string> lines;
  if (step > 0) {
    std::ifstream before(file);
    const std::string mark = "{\"step\":";
    for (std::string line; std::getline(before, line); lines.push_back(line)) {
      if (lines.empty() && !line.starts_with("{\"softamp_log\":1,"))
        throw std::runtime_error(file + ": line 1: expected the start of a log; it is not overwritten");
      if (!lines.empty() && (!line.starts_with(mark) || std::stoll(line.substr(mark.size())) >= step)) break;
    }
  }
  log_.open(file, std::ios::trunc);
  if (!log_) throw std::runtime_error("the log '" + file + "' cannot be written");
  if (lines.empty()) lines.push_back("{\"softamp_log\":1,\"settings\":" + arguments_.settings.to_json() + "}");
  for (const std::string& text : lines) line(text);
}

void Records::resume(Trainer& trainer) const {
  const std::string& file = arguments_.output.resume;
  const Checkpoint checkpoint = softamp::load_checkpoint(file);
  // How long the run is and what it evaluates changes no step.
  TrainSettings written = TrainSettings::from_json(checkpoint.settings, file);
  const TrainSettings& asked = arguments_.settings;
  written.epochs = asked.epochs;
  written.steps = asked.steps;
  written.evaluate = asked.evaluate;
  written.evaluate_every = asked.evaluate_every;
  written.test_images = asked.test_images;
  const std::string data = text_of(checkpoint.progress, "data"), tested = text_of(checkpoint.progress, "test_data");
  if (!data.empty()) {  // else it was written by an earlier program, which went by the folder's name
    written.data = asked.data;
    written.generated = asked.generated;
  }
  if (written.to_json(false) != asked.to_json(false))
    throw std::invalid_argument(file + ": written under the settings " + written.to_json(false) +
                                "; expected those of this run, " + asked.to_json(false));
  if (!data.empty() && data != data_)
    throw std::invalid_argument(file + ": its training images have the hash " + data + ", and those of this run have " +
                                data_ + "; expected the same images");
  if (asked.evaluate && !tested.empty() && tested != test_data_ && !arguments_.output.quiet)
    std::cerr << arguments_.name << ": warning: the test images are not those of the run in " << file << '\n';
  trainer.set_state(checkpoint.state);
}

bool Records::step(const StepResult& result, const Trainer& trainer) {
  const int64_t done = result.step + 1;
  steps_.push_back(static_cast<double>(done));
  losses_.push_back(result.loss);
  line(result.json());
  const int64_t every = arguments_.output.checkpoint_every;
  if (every > 0 && done % every == 0) save(trainer);
  const auto now = std::chrono::steady_clock::now();
  if (terminal_ && now - drawn_ > std::chrono::milliseconds(100)) {
    drawn_ = now;
    std::fprintf(stderr, "\r\033[Kstep %lld of %lld, loss %.4f", static_cast<long long>(done),
                 static_cast<long long>(total_), result.loss);
  }
  return !arguments_.output.stop || !arguments_.output.stop();
}

void Records::save(const Trainer& trainer) const {
  if (arguments_.output.checkpoint.empty()) return;
  Checkpoint checkpoint{arguments_.settings.to_json(), {}, trainer.state()};
  checkpoint.progress = "{\"step\":" + std::to_string(checkpoint.state.step) + ",\"data\":\"" + data_ +
                        "\",\"test_data\":\"" + test_data_ + "\"}";
  softamp::save_checkpoint(checkpoint, arguments_.output.checkpoint);
}

void Records::keep(const Trainer& trainer) const noexcept {
  try {
    save(trainer);
  } catch (const std::exception& e) {
    std::cerr << arguments_.name << ": the last state is not kept: " << e.what() << '\n';
  }
}

void Records::finish(const Trainer& trainer) {
  save(trainer);
  if (arguments_.output.plot.empty()) return;
  softamp::Plot plot;
  plot.title = arguments_.name;
  plot.subtitle = arguments_.settings.network + ", " + arguments_.settings.precision;
  plot.x_label = "steps";
  plot.y_label = "loss";
  plot.curves = {{"", softamp::CurveStyle::kBold, steps_, losses_}};
  softamp::write_plot(plot, arguments_.output.plot);
}

}  // namespace tutorial
