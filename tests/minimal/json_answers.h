// What two libraries of JSON answer to the same questions, as one text: the package, and what stands for it.
#pragma once

#include <string>

namespace softamp::test {

std::string answers_of_the_package();
std::string answers_of_the_stand_in();

}  // namespace softamp::test
