// Prints the digest of each family of the sweep of kernel_sweep.h.
#include "kernel_sweep.h"

int main() { softamp::kernel_sweep::print_digests(); }
