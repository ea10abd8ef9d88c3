import type { NativeProcessGroup } from '@ringrun/native';

import type { RankIdentity, RingrunError } from '../errors.ts';
import { InvalidArgumentError } from '../errors.ts';
import { isNativeFailure, translateFailure } from './failure.ts';

/**
 * Calls of the addon, whose failures become ringrun's errors. The addon repeats its first failure for whatever follows; so do these, with
 * one and the same error.
 */
export class NativeCalls {
  readonly #native: NativeProcessGroup;
  readonly #own: RankIdentity;
  readonly #identities: readonly RankIdentity[];
  #firstFailure: RingrunError | undefined;

  /** `identities`: who is who, by rank. */
  constructor(native: NativeProcessGroup, rank: number, identities: readonly RankIdentity[]) {
    this.#native = native;
    this.#own = identities[rank];
    this.#identities = identities;
  }

  refuseAfterFailure(): void {
    if (this.#firstFailure) throw this.#firstFailure;
  }

  now<Result>(operate: (native: NativeProcessGroup) => Result): Result {
    try {
      return operate(this.#native);
    } catch (error) {
      throw this.#translated(error);
    }
  }

  async later<Result>(operate: (native: NativeProcessGroup) => Promise<Result>): Promise<Result> {
    try {
      return await operate(this.#native);
    } catch (error) {
      throw this.#translated(error);
    }
  }

  #translated(error: unknown): unknown {
    // A tensor that lies where this operation cannot reach it; everything else about arguments has been checked before.
    if (error instanceof TypeError) return new InvalidArgumentError(error.message, { cause: error });
    if (!isNativeFailure(error)) return error;
    this.#firstFailure ??= translateFailure(error, this.#own, this.#identities);
    return this.#firstFailure;
  }
}
