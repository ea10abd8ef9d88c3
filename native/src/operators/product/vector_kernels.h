#pragma once

#include "operators/product/panels.h"

// Kernels of panel products with the vectors of an instruction set, and those with instructions for bfloat16.

namespace ringrun {

void multiplyPlain(const PanelProduct& product);
void multiplyPlain(const HalfPanelProduct& product);

#if defined(__x86_64__)
void multiplyAvx2(const PanelProduct& product);
void multiplyAvx2(const HalfPanelProduct& product);
void multiplyAvx512(const PanelProduct& product);
void multiplyAvx512(const HalfPanelProduct& product);

bool hasAvx512BFloat16();
void multiplyAvx512BFloat16(const HalfPanelProduct& product);

// Asks the operating system for the tiles, once.
bool hasAmx();
void multiplyAmx(const HalfPanelProduct& product);
#endif

// The blocks of AMX in plain C++.
void multiplyAmxTwin(const HalfPanelProduct& product);

}  // namespace ringrun
