import type { NativeProcessGroup } from '@ringrun/native';

import { CollectiveTimeoutError, InvalidArgumentError, registry } from '@ringrun/core';
import type { RankIdentity, RingrunError } from '@ringrun/core';
import { isNativeFailure, translateFailure } from './failure.ts';

/**
 * Calls the addon and converts its failures to ringrun's errors. The addon repeats its first failure for all later
 * operations; this class then throws the same error object.
 */
export class NativeCalls {
  readonly #native: NativeProcessGroup;
  readonly #own: RankIdentity;
  readonly #identities: readonly RankIdentity[];
  #firstFailure: RingrunError | undefined;

  /** @param identities The ranks' identities, by rank. */
  constructor(native: NativeProcessGroup, rank: number, identities: readonly RankIdentity[]) {
    this.#native = native;
    this.#own = identities[rank];
    this.#identities = identities;
  }

  get hasFailed(): boolean {
    return this.#firstFailure !== undefined;
  }

  refuseAfterFailure(): void {
    if (this.#firstFailure) throw this.#firstFailure;
  }

  /** Calls `operate` with the last two arguments: another function around it would take 8 ns of every operation. */
  now<Result>(
    operate: (native: NativeProcessGroup, timeoutMs: number, blocking: true) => Result,
    timeoutMs = Infinity,
  ): Result {
    try {
      return operate(this.#native, timeoutMs, true);
    } catch (error) {
      throw this.#translated(error);
    }
  }

  async later<Result>(operate: (native: NativeProcessGroup) => Promise<Result> | Result): Promise<Result> {
    try {
      return await operate(this.#native);
    } catch (error) {
      throw this.#translated(error);
    }
  }

  #translated(error: unknown): unknown {
    // The tensor's memory is not usable for this operation; the other arguments were checked before.
    if (error instanceof TypeError) return new InvalidArgumentError(error.message, { cause: error });
    if (!isNativeFailure(error)) return error;
    if (this.#firstFailure) return this.#firstFailure;
    this.#firstFailure = translateFailure(error, this.#own, this.#identities);
    registry.groupFailure = this.#firstFailure;
    if (this.#firstFailure instanceof CollectiveTimeoutError)
      this.#firstFailure.report = registry.reportTimeout?.(this.#firstFailure);
    return this.#firstFailure;
  }
}
