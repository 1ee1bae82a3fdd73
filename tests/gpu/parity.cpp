// The parity suite on a GPU:
//   gpu_parity [--full | --small] [--budget SECONDS] [--json FILE] [FAMILY...]
// Exit code 0: no difference; 1: a difference, or an error; 2: usage; 77: no GPU to run on. Each family's cases are
// dealt into parts, and the families take turns, so that each has its share of the budget; the JSON is written anew
// after every part. What had no turn is named as cut. --full: large cases have 10^7 elements, --small: 3000 [=10^6].
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "tests/backend/parity.h"
#include "tests/gpu/install.h"
#include "tests/gpu/json_file.h"

namespace {

using namespace softamp;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Arguments {
  int64_t elements = 1000000;
  double budget = 1e9;
  std::string json;
  std::vector<std::string> families;
};

/// False: not understood.
bool read(int argc, char** argv, Arguments& a) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--full") {
      a.elements = 10000000;
    } else if (word == "--small") {
      a.elements = 3000;
    } else if ((word == "--budget" || word == "--json") && i + 1 < argc) {
      ++i;
      if (word == "--json")
        a.json = argv[i];
      else {
        char* end = nullptr;
        a.budget = std::strtod(argv[i], &end);
        if (end == argv[i] || *end || !(a.budget > 0)) return false;
      }
    } else if (word[0] == '-') {
      return false;
    } else {
      bool known = false;
      for (const parity::Family& f : parity::families()) known = known || word == f.name;
      if (!known) return false;
      a.families.push_back(word);
    }
  }
  return true;
}

constexpr uint64_t kParts = 8;

void add(parity::Report& to, const parity::Report& r) {
  to.cases += r.cases;
  to.elements += r.elements;
  to.failed += r.failed;
  to.digest = (to.digest ^ r.digest) * 0x100000001B3u;
  to.differences.insert(to.differences.end(), r.differences.begin(), r.differences.end());
}

/// A family on its way.
struct Course {
  const parity::Family* family;
  parity::Report report;
  uint64_t parts;  ///< that have run
  double seconds;

  void run(uint64_t part, int64_t elements) {
    const Clock::time_point began = Clock::now();
    parity::Suite suite("cuda", elements, {}, part, kParts);
    try {
      family->run(suite);
    } catch (const std::exception& error) {
      std::printf("ERROR %s: %s\n", family->name, error.what());
      ++report.failed;
      report.differences.push_back(std::string(family->name) + ": " + error.what());
    }
    add(report, suite.report());
    ++parts;
    seconds += seconds_since(began);
    std::fflush(stdout);
  }
};

parity::Report total_of(const std::vector<Course>& courses) {
  parity::Report total;
  for (const Course& c : courses) add(total, c.report);
  return total;
}

/// "products 5/8 graphs 0/8": what had no turn for all its parts.
std::string cut_of(const std::vector<Course>& courses) {
  std::string cut;
  for (const Course& c : courses)
    if (c.parts < kParts)
      cut += (cut.empty() ? "" : " ") + std::string(c.family->name) + " " + std::to_string(c.parts) + "/" +
             std::to_string(kParts);
  return cut;
}

std::string digits(uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

/// Why the device cannot be used, or no longer; empty: it can, and `name` is its name.
std::string why_no_device(std::string& name) {
  try {
    ExecutorOptions options;
    options.backend = "cuda";
    name = choose_backend(options).about;
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// False: the file cannot be written, which is said.
bool write(const std::vector<Course>& courses, const std::string& device, const Arguments& arguments) {
  gpu::Object families;
  for (const Course& c : courses)
    families.add(c.family->name, gpu::Object()
                                     .add("cases", gpu::number(c.report.cases))
                                     .add("elements", gpu::number(c.report.elements))
                                     .add("differ", gpu::number(c.report.failed))
                                     .add("digest", gpu::quoted(digits(c.report.digest)))
                                     .add("parts", gpu::quoted(std::to_string(c.parts) + "/" + std::to_string(kParts)))
                                     .add("seconds", gpu::number(c.seconds))
                                     .text());
  const parity::Report total = total_of(courses);
  gpu::Object all;
  all.add("device", gpu::quoted(device))
      .add("size", gpu::number(static_cast<uint64_t>(arguments.elements)))
      .add("cases", gpu::number(total.cases))
      .add("elements", gpu::number(total.elements))
      .add("differ", gpu::number(total.failed))
      .add("digest", gpu::quoted(digits(total.digest)))
      .add("cut", gpu::quoted(cut_of(courses)))
      .add("first_difference", total.differences.empty() ? "null" : gpu::quoted(total.differences.front()))
      .add("families", families.text());
  if (all.write(arguments.json)) return true;
  std::fprintf(stderr, "ERROR %s: cannot be written\n", arguments.json.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!read(argc, argv, arguments)) {
    std::fprintf(stderr,
                 "usage: gpu_parity [--full | --small] [--budget SECONDS] [--json FILE] [FAMILY...]; families:");
    for (const parity::Family& f : parity::families()) std::fprintf(stderr, " %s", f.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  const gpu::Installed installed;
  std::string device;
  if (const std::string why = why_no_device(device); !why.empty()) {
    std::printf("no GPU: %s\n", why.c_str());
    return 77;
  }
  std::printf("%s\n", device.c_str());

  std::vector<Course> courses;
  for (const parity::Family& family : parity::families()) {
    bool wanted = arguments.families.empty();
    for (const std::string& name : arguments.families) wanted = wanted || name == family.name;
    if (wanted) courses.push_back({&family, {}, 0, 0});
  }
  const Clock::time_point start = Clock::now();
  for (uint64_t part = 0; part < kParts; ++part)
    for (Course& course : courses) {
      if (seconds_since(start) > arguments.budget) continue;
      course.run(part, arguments.elements);
      if (!write(courses, device, arguments)) return 1;
      if (const std::string why = why_no_device(device); !why.empty()) {
        std::printf("ERROR after %s: %s\n", course.family->name, why.c_str());
        return 1;
      }
    }
  const parity::Report total = total_of(courses);
  const std::string cut = cut_of(courses);
  for (const Course& c : courses)
    std::printf("%-14s %6llu cases, %12llu elements, %4llu differ, digest %s  (%.1f s)\n", c.family->name,
                static_cast<unsigned long long>(c.report.cases), static_cast<unsigned long long>(c.report.elements),
                static_cast<unsigned long long>(c.report.failed), digits(c.report.digest).c_str(), c.seconds);
  if (!cut.empty()) std::printf("cut: %s\n", cut.c_str());
  std::printf("all: %llu cases, %llu elements, %llu differ, digest %s\n", static_cast<unsigned long long>(total.cases),
              static_cast<unsigned long long>(total.elements), static_cast<unsigned long long>(total.failed),
              digits(total.digest).c_str());
  if (!write(courses, device, arguments)) return 1;
  if (total.cases == 0 && cut.empty()) std::fprintf(stderr, "ERROR no case has run\n");
  return total.failed || (total.cases == 0 && cut.empty()) ? 1 : 0;
}
