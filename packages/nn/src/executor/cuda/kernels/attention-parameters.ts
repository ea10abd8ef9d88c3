/** Threads of a block: 16 rows of 16. */
export const attentionThreads = 256;

/** Parameters of kernels that make the struct Weights. */
export const weightParameters =
  'const float* scale, const float* added, const unsigned char* allowed, const int64* dropout, const float* factor, int isCausal';
