// A fault for isa_symbols.sh to find: a weak function outside of a namespace avx2, in an object named *_avx2.
__attribute__((noinline)) inline int planted_weak_function(int x) { return x + 1; }
int planted_caller(int x) { return planted_weak_function(x); }
