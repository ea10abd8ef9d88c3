import { afterAll, expect } from 'vitest';
import { ScenarioRanks } from './scenario-ranks.ts';
import { readResult, Scenarios } from './scenarios.ts';
import type { ScenarioOptions } from './scenarios.ts';
import { withoutWaiting } from './without-waiting.ts';

/**
 * Scenarios whose processes run further ones of the file: starting processes takes longer than most scenarios. For
 * scripts whose scenarios leave no state in a process. Construct it at the top level of a file.
 */
export class SharedScenarios extends Scenarios {
  readonly #ranks = new Map<number, ScenarioRanks>();

  constructor(script: string, results: string) {
    super(script, results);
    afterAll(async () => {
      for (const ranks of this.#ranks.values()) {
        const isGood = ranks.canGoOn;
        const { code, timedOut, left } = await ranks.close();
        if (isGood) expect({ code, timedOut, left }).toEqual({ code: 0, timedOut: false, left: [] });
      }
    });
  }

  override async run<Result>(
    size: number,
    scenario: string,
    { transport = 'shm', stderr = '', env = {} }: ScenarioOptions = {},
  ): Promise<Result[]> {
    let ranks = this.#ranks.get(size);
    if (!ranks?.canGoOn) {
      await ranks?.close();
      ranks = new ScenarioRanks(this.script, size, this.results);
      this.#ranks.set(size, ranks);
    }
    const folder = this.newFolder(scenario);
    const ended = await ranks.run({ scenario, folder, env: { RINGRUN_TRANSPORT: transport, ...env } });
    expect(withoutWaiting(ended).stderr).toEqual(stderr);
    return Array.from({ length: size }, (_, rank) => readResult(folder, `${scenario}-${rank}`) as Result);
  }
}
