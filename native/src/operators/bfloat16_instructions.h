#pragma once

namespace ringrun {

// True if the processor and the operating system offer instructions that multiply bfloat16: AVX512_BF16 or AMX_BF16 on
// x86-64, FEAT_BF16 on arm64. Whether a kernel uses them is decided by the kernel.
bool hasBfloat16Instructions();

}  // namespace ringrun
