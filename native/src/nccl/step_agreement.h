#pragma once

#include <cstdint>
#include <vector>

#include "collectives/lengths.h"
#include "gpu/exchanges.h"
#include "gpu/program.h"

namespace ringrun {

// What a rank sends to all others before a step on GPUs: its offer, then kind and length of each collective.
Row rowOf(const GpuProgram::Offer& offer, const std::vector<GpuExchange>& exchanges);

// Throws Mismatch unless all ranks have the same collectives. `rows`: by rank, equally long.
void checkStep(const Fingerprint& fingerprint, const std::vector<Row>& rows);

// How all ranks carry out a step, from the rows of all, so that they choose equally. NCCL requires that a collective is part of a
// graph on all ranks or on none, and that all of them repeat the graphs which they recorded together (NCCL's user guide, "Using NCCL
// with CUDA Graphs").
GpuProgram::Way wayOf(const std::vector<Row>& rows);

}  // namespace ringrun
