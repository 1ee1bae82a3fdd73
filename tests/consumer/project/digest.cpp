#include "numerics_sweep.h"

int main() { softamp::sweep::print_digests(); }
