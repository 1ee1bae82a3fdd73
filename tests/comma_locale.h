// A locale in which 1234.5 is written 1.234,5, as a program that uses the library may have set.
#pragma once

#include <clocale>
#include <locale>
#include <string>

namespace softamp::test {

/// While it lives, streams of C++ write numbers so, and the functions of C too where the system has such a locale.
class CommaLocale {
 public:
  CommaLocale() : before_(std::locale::global(std::locale(std::locale::classic(), new Comma))) {
    const char* const known = std::setlocale(LC_ALL, nullptr);
    c_before_ = known ? known : "C";
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"})
      if (std::setlocale(LC_ALL, name)) return;
  }
  ~CommaLocale() {
    std::locale::global(before_);
    std::setlocale(LC_ALL, c_before_.c_str());
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

 private:
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale before_;
  std::string c_before_;
};

}  // namespace softamp::test
