// matrix_core_sums UNIT K: sums of AMD's matrix units for a judge. Reads pairs of fp16 codes from standard input, K
// pairs for a sum, and writes its fp32 code; all in hexadecimal. UNIT: CDNA1, CDNA2.
#include <bit>
#include <iostream>
#include <string>

#include "src/reproduce/tensor_cores/tensor_core_sums.h"

int main(int argc, char** argv) {
  using namespace softamp::reproduce::matrix_units;
  const std::string name = argc == 3 ? argv[1] : "";
  if (name != "CDNA1" && name != "CDNA2") {
    std::cerr << "matrix_core_sums: expected CDNA1 or CDNA2, and the number of products of a sum\n";
    return 2;
  }
  const Unit unit = name == "CDNA1" ? Unit::kCdna1 : Unit::kCdna2;
  const int k = std::stoi(argv[2]);
  std::cin >> std::hex;
  std::cout << std::hex;
  unsigned a = 0, b = 0;
  while (std::cin >> a >> b) {
    Sum sum(unit);
    for (int i = 0; i < k; ++i) {
      if (i > 0 && !(std::cin >> a >> b)) return 1;
      sum.add(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
    }
    std::cout << std::bit_cast<uint32_t>(sum.value()) << '\n';
  }
}
