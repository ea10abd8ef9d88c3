import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { launch, node } from './command.ts';
import type { Command } from './command.ts';
import { withoutWaiting } from './without-waiting.ts';

export interface ScenarioOptions {
  /** Default: shm. */
  transport?: string;
  /** Expected stderr of the whole job. Default: empty. */
  stderr?: unknown;
  /** Added to the environment. */
  env?: Readonly<Record<string, string | number>>;
  /** Default: the limit of `launch`. */
  limitMs?: number;
}

/** Scenarios that run one after the other in the same processes, each in its own process group. */
export interface ScenarioJob {
  /** Results of a scenario, by rank. The first call starts the job. */
  of<Result>(scenario: string): Promise<Result[]>;
}

/** Runs the scenarios of a script that ends with `runScenario`, and reads the results of its ranks. */
export class Scenarios {
  protected readonly script: string;
  protected readonly results: string;

  /** @param results a folder */
  constructor(script: string, results: string) {
    this.script = script;
    this.results = results;
  }

  /** Results of a scenario on `size` ranks, by rank. A single rank runs without the launcher. */
  run<Result>(size: number, scenario: string, options: ScenarioOptions = {}): Promise<Result[]> {
    return this.job(size, [scenario], options).of(scenario);
  }

  /** One job for several scenarios: starting processes takes longer than most scenarios. */
  job(size: number, scenarios: readonly string[], options: ScenarioOptions = {}): ScenarioJob {
    let folder: Promise<string> | undefined;
    return {
      of: async <Result>(scenario: string) => {
        folder ??= this.#launch(size, scenarios, options);
        const results = await folder;
        return Array.from(
          { length: size },
          (_, rank) => readResult(results, `${scenario}-${rank}`) as Result,
        );
      },
    };
  }

  /** The result of rank 0, if only rank 0 writes one. */
  async runFirst<Result>(size: number, scenario: string): Promise<Result> {
    return readResult(await this.#launch(size, [scenario], {}), `${scenario}-0`) as Result;
  }

  /** The result of a scenario in one process without a group. */
  async runAlone<Result>(
    scenario: string,
    { stderr = '', env = {} }: Pick<ScenarioOptions, 'stderr' | 'env'> = {},
  ): Promise<Result> {
    const folder = this.newFolder(scenario);
    await endsWell(node([this.script, scenario, folder], { env }), stderr);
    return readResult(folder, scenario) as Result;
  }

  async #launch(
    size: number,
    scenarios: readonly string[],
    { transport = 'shm', stderr = '', env = {}, limitMs }: ScenarioOptions,
  ): Promise<string> {
    const folder = this.newFolder(scenarios[0]);
    const args = [this.script, scenarios.join(), folder];
    const options = {
      env: { RINGRUN_TRANSPORT: transport, ...env },
      ...(limitMs === undefined ? {} : { limitMs }),
    };
    const command = size === 1 ? node(args, options) : launch(['--nproc', String(size), ...args], options);
    await endsWell(command, stderr);
    return folder;
  }

  protected newFolder(name: string): string {
    return mkdtempSync(join(this.results, `${name}-`));
  }
}

async function endsWell(command: Command, stderr: unknown): Promise<void> {
  expect(withoutWaiting(await command.ended)).toMatchObject({ code: 0, stderr, timedOut: false, left: [] });
}

/** The result that a rank has written. */
export function readResult(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
}
