/** A library that is opened at run time. */
export interface NativeLibraryDescription {
  /** Path of the loaded library; empty if it was not loaded. */
  path: string;
  /**
   * Newest CUDA version that the driver supports, such as `12.4`, or NCCL's version, such as `2.21.5`. Empty if
   * unknown.
   */
  version: string;
  /** Reason why it cannot be used; empty if it can. */
  problem: string;
  /** Places tried, in order, with the reason why loading failed; the reason is empty for the loaded one. */
  attempts: { place: string; reason: string }[];
}

/** The driver, NCCL and GPUs that a group with backend nccl finds on this machine. */
export interface NcclDescription {
  cuda: NativeLibraryDescription;
  nccl: NativeLibraryDescription;
  /** GPUs visible to this process (CUDA_VISIBLE_DEVICES), by index. */
  devices: { index: number; name: string; uuid: string; pciBusId: string; memoryBytes: number }[];
}
