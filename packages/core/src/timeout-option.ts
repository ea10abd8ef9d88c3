import type { OptionNames } from './require-options.ts';

/** Options of every operation of a {@link ProcessGroup}. */
export interface CollectiveOptions {
  /** Milliseconds until this operation fails with a `CollectiveTimeoutError`. Default: the group's `timeoutMs`. */
  timeoutMs?: number;
}

/**
 * For functions whose only option is `timeoutMs`.
 *
 * @internal
 */
export const timeoutOption: OptionNames<CollectiveOptions> = { timeoutMs: true };
