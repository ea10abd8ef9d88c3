// What nccl.h and cudnn.h need of CUDA's headers: opaque handles, as in driver_types.h.
#pragma once
#include <stddef.h>
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
