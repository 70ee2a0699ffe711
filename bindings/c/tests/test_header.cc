// The header compiles as C++, and its functions can be called.
#include <fulgurite.h>

int main() { return fulgurite_abi_version() == FULGURITE_ABI_VERSION ? 0 : 1; }
