import { loadNative } from '@ringrun/native';

/** NaN in every floating-point type, and −1 in every type of integers. */
const undefinedByte = 0xff;

let isFilled = false;

/**
 * Fills memory that GPUs of this process allocate from now on. Memory of earlier programs is used again, and its plausible
 * elements would hide that a program reads what it has not written.
 */
export function fillAllocatedMemory(): void {
  if (isFilled) return;
  isFilled = true;
  const native = loadNative();
  native.GpuDevice = class extends native.GpuDevice {
    override allocate(bytes: number) {
      const memory = super.allocate(bytes);
      // Uploads happen in the order of the calls. The next call throws the error too.
      this.upload(new Uint8Array(bytes).fill(undefinedByte), memory).catch(() => undefined);
      return memory;
    }
  };
}
