import type { DistributedParameter } from '@ringrun/core';

/**
 * Records the parameters that no rank used in the last step, and warns once about each. It is not an error: a
 * layer may be left out of `forward` on purpose (torch waits for such gradients forever unless
 * find_unused_parameters is set).
 */
export class UnusedParameters {
  readonly #names: ReadonlyMap<DistributedParameter, string>;
  readonly #warn: (line: string) => void;
  readonly #warned = new Set<string>();
  #last: readonly string[] = [];

  /** @param warn prints a line, passed without its newline */
  constructor(
    parameters: Iterable<readonly [name: string, parameter: DistributedParameter]>,
    warn: (line: string) => void,
  ) {
    this.#names = new Map(Array.from(parameters, ([name, parameter]) => [parameter, name]));
    this.#warn = warn;
  }

  /** Names of the unused parameters of the last step, in order of definition. */
  get last(): readonly string[] {
    return this.#last;
  }

  /** @param step from 1 */
  record(step: number, unused: ReadonlySet<DistributedParameter>): void {
    if (unused.size === 0) {
      this.#last = [];
      return;
    }
    const last = [...this.#names].filter(([parameter]) => unused.has(parameter));
    this.#last = last.map(([, name]) => name);
    const unwarned = last
      .filter(([{ requiresGrad }, name]) => requiresGrad !== false && !this.#warned.has(name))
      .map(([, name]) => name);
    if (unwarned.length === 0) return;
    for (const name of unwarned) this.#warned.add(name);
    this.#warn(
      `ringrun: ${unwarned.join(', ')} did not contribute to the loss of any rank in step ${step} and received no gradient. ` +
        'Is a layer missing in forward? (Printed once per parameter.)',
    );
  }
}
