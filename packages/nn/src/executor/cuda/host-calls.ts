import type { GpuGroup } from '@ringrun/core';
import type { GpuAddress, NativeGpuDevice } from '@ringrun/native';
import type { GraphCall, PerformedCall } from '../executor.ts';
import { cudaBuckets, type CudaCollectives, type Exchange } from './collectives.ts';
import type { Boundary } from './lowered-program.ts';
import type { Place } from './own-places.ts';

/** The collective of a boundary. */
export function exchangeOf(
  { name, send, receive, length }: Boundary & { readonly kind: 'collective' },
  placeOf: (address: GpuAddress) => Place,
): Exchange {
  const [from, to] = [placeOf(send), placeOf(receive)];
  return {
    kind: name === 'allReduce' ? 'sum' : 'gather',
    count: length,
    send: from.memory,
    sendOffset: from.byteOffset,
    receive: to.memory,
    receiveOffset: to.byteOffset,
  };
}

/** The calls of a run that the host makes while the GPU waits: their arrays are copied from the GPU and back. */
export class HostCalls {
  /** Milliseconds for which the run has waited for calls. */
  waitedMs = 0;
  readonly #device: NativeGpuDevice;
  readonly #collectives: CudaCollectives;
  readonly #calls: readonly GraphCall[];
  readonly #firstPart: number;
  #made = 0;
  #failure: { readonly error: unknown } | undefined;

  /** @param firstPart the call of the first part */
  constructor(
    device: NativeGpuDevice,
    collectives: CudaCollectives,
    calls: readonly GraphCall[],
    firstPart: number,
  ) {
    this.#device = device;
    this.#collectives = collectives;
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
    if (boundary.kind === 'part') await this.#makePart(this.#calls.at(this.#firstPart + boundary.index));
    if (boundary.kind !== 'collective') return;
    const call = this.#calls[this.#made % this.#firstPart];
    this.#made += 1;
    const startedAt = performance.now();
    if ('group' in call) await this.#recorded(this.#exchange(call.group, [exchangeOf(boundary, placeOf)]));
    else if ('perform' in call) await this.#perform(call, boundary, placeOf);
    else throw new Error('A GPU awaits calls of JavaScript only.');
    this.waitedMs += performance.now() - startedAt;
  }

  async #perform(
    call: PerformedCall,
    boundary: Boundary & { readonly kind: 'collective' },
    placeOf: (address: GpuAddress) => Place,
  ): Promise<void> {
    const { send, receive, length } = boundary;
    const [[sent], [received]] = [call.sends, call.receives];
    if (length > 0) {
      const from = placeOf(send);
      await this.#device.download(from.memory, sent, from.byteOffset);
    }
    await this.#recorded(call.perform());
    const to = placeOf(receive);
    if (received.length > 0) this.#device.upload(received, to.memory, to.byteOffset).catch(() => undefined);
  }

  async #makePart(call: GraphCall | undefined): Promise<void> {
    if (call && 'group' in call) {
      const buckets = cudaBuckets(call.buckets);
      for (const bucket of buckets) bucket.prepare();
      await this.#recorded(
        this.#exchange(
          call.group,
          buckets.map(({ exchange }) => exchange),
        ),
      );
      return;
    }
    if (call === undefined || !('notify' in call)) return;
    try {
      call.notify();
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  async #exchange(group: GpuGroup | undefined, exchanges: readonly Exchange[]): Promise<void> {
    if (group)
      await this.#collectives.run(
        group,
        exchanges.filter(({ count }) => count > 0),
      );
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
