import type { DistributedParameter } from './distributed-module.ts';

/**
 * Keeps the names of the parameters that no rank used in the last step, and says each name once: often it is a layer that `forward` forgets, and it is
 * left out for good reason as often, so that it is no error (torch: find_unused_parameters, which must be asked for, or gradients are waited for in vain).
 */
export class UnusedParameters {
  readonly #names: ReadonlyMap<DistributedParameter, string>;
  readonly #warn: (line: string) => void;
  readonly #told = new Set<string>();
  #last: readonly string[] = [];

  /** @param warn takes lines, without their end; none on ranks that keep silent */
  constructor(
    parameters: Iterable<readonly [name: string, parameter: DistributedParameter]>,
    warn: (line: string) => void,
  ) {
    this.#names = new Map(Array.from(parameters, ([name, parameter]) => [parameter, name]));
    this.#warn = warn;
  }

  /** Of the last step, in the order of definition. */
  get last(): readonly string[] {
    return this.#last;
  }

  /** @param step the first one is 1 */
  record(step: number, unused: ReadonlySet<DistributedParameter>): void {
    this.#last = [...this.#names].filter(([parameter]) => unused.has(parameter)).map(([, name]) => name);
    const news = this.#last.filter((name) => !this.#told.has(name));
    if (news.length === 0) return;
    for (const name of news) this.#told.add(name);
    this.#warn(
      `ringrun: ${news.join(', ')} took no part in the loss of any rank in step ${step}, and got no gradient. ` +
        'Is something missing in forward? (said once per parameter)',
    );
  }
}
