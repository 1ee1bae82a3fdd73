// Prints the digest of each family of the numerics sweep; the consumer test compares what other compilers print.
#include "numerics_sweep.h"

int main() { softamp::sweep::print_digests(); }
