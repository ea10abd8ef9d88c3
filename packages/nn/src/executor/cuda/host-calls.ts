import type { GpuAddress, NativeGpuDevice } from '@ringrun/native';
import type { GraphCall } from '../executor.ts';
import type { Boundary } from './lowered-program.ts';
import type { Place } from './small-buffers.ts';

/** The calls of a run that the host makes while the GPU waits: their arrays are copied from the GPU and back. */
export class HostCalls {
  /** Milliseconds for which the run has waited for calls. */
  waitedMs = 0;
  readonly #device: NativeGpuDevice;
  readonly #calls: readonly GraphCall[];
  readonly #firstPart: number;
  #made = 0;
  #failure: { readonly error: unknown } | undefined;

  /** @param firstPart the call of the first part */
  constructor(device: NativeGpuDevice, calls: readonly GraphCall[], firstPart: number) {
    this.#device = device;
    this.#calls = calls;
    this.#firstPart = firstPart;
  }

  /** True for the error of a call, which the run throws as it is. */
  isFailure(error: unknown): boolean {
    return this.#failure !== undefined && this.#failure.error === error;
  }

  /** Throws the error of the first call that failed. */
  throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Makes the call of a boundary, when all work before it has ended. */
  async make(boundary: Boundary, placeOf: (address: GpuAddress) => Place): Promise<void> {
    if (boundary.kind === 'part') this.#notify(this.#calls.at(this.#firstPart + boundary.index));
    if (boundary.kind !== 'collective') return;
    const call = this.#calls[this.#made % this.#firstPart];
    this.#made += 1;
    if (!('perform' in call)) throw new Error('A GPU awaits calls of JavaScript only.');
    const startedAt = performance.now();
    const { send, receive, length } = boundary;
    const [[sent], [received]] = [call.sends, call.receives];
    if (length > 0) {
      const from = placeOf(send);
      await this.#device.download(from.memory, sent, from.byteOffset);
    }
    await this.#recorded(call.perform());
    const to = placeOf(receive);
    if (received.length > 0) this.#device.upload(received, to.memory, to.byteOffset).catch(() => undefined);
    this.waitedMs += performance.now() - startedAt;
  }

  #notify(call: GraphCall | undefined): void {
    if (call === undefined || !('notify' in call)) return;
    try {
      call.notify();
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  async #recorded(performed: Promise<void>): Promise<void> {
    try {
      await performed;
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }
}
