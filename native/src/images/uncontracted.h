#pragma once

// Included after all other headers by files whose products are rounded before they are added: the compiler does not fuse both into
// one operation, which rounds once.
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
