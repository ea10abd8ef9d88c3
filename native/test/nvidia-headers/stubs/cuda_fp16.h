// nccl.h and cublas_api.h include it for users of __half.
#pragma once
struct __half;
