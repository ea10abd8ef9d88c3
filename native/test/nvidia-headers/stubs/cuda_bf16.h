// cublas_api.h includes it for users of __nv_bfloat16.
#pragma once
struct __nv_bfloat16;
