// What driver_types.h and vector_types.h need of it: attributes without a meaning for this compiler.
#pragma once
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __align__(bytes)
#define __host__
#define __device__
#define __location__(place)
#define CUDARTAPI
