import { InvalidArgumentError } from '@ringrun/collectives';
import { isHost } from '../store/host-name.ts';
import { refuseEnvironmentOfNode } from './node-environment.ts';
import { parseEndpoint } from '../store/endpoint.ts';
import type { HostPort } from '../store/endpoint.ts';
import { highestWorldSize } from './world-size.ts';

/** Where a process stands in its job, as torchrun, Kubeflow's operators and ringrun's launcher say it in the environment. */
export interface EnvironmentSettings {
  /** RANK: this process among all, from 0. */
  rank: number;
  /** WORLD_SIZE: number of processes. */
  worldSize: number;
  /** LOCAL_RANK: this process among those of its host; 0 unless set. */
  localRank: number;
  /** MASTER_ADDR: where rank 0 hosts the store, and the address towards which ranks look for their own; 127.0.0.1 unless set. */
  masterAddress: string;
  /** MASTER_PORT; 29500 unless set. */
  masterPort: number;
  /** RINGRUN_STORE: the launcher's store. Undefined: rank 0 hosts one. */
  store: HostPort | undefined;
  /** RINGRUN_RUN_ID: the launcher's name for this run; empty unless set. */
  runId: string;
  /** RINGRUN_RESTART_COUNT: how many times the workers were started again; 0 unless set. */
  restartCount: number;
}

/** Values that the program gives itself; they come before the environment's. */
export interface GivenSettings {
  rank?: number | undefined;
  worldSize?: number | undefined;
}

const highestPort = 65535;

/**
 * Reads the environment of a process (init method `env://`). With neither RANK nor WORLD_SIZE set it is a world of one, so that a
 * training script runs by itself. A variable that is set to nothing counts as not set.
 *
 * @throws InvalidArgumentError that names the variable, its value, and what was expected.
 */
export function readEnvironment(env: NodeJS.ProcessEnv, given: GivenSettings = {}): EnvironmentSettings {
  return {
    ...readRank(env, given),
    localRank: readInteger(env, 'LOCAL_RANK', 0) ?? 0,
    masterAddress: readHost(env, 'MASTER_ADDR') ?? '127.0.0.1',
    masterPort: readInteger(env, 'MASTER_PORT', 1, highestPort) ?? 29500,
    store: readStore(env),
    runId: read(env, 'RINGRUN_RUN_ID') ?? '',
    restartCount: readInteger(env, 'RINGRUN_RESTART_COUNT', 0) ?? 0,
  };
}

function readRank(env: NodeJS.ProcessEnv, given: GivenSettings): { rank: number; worldSize: number } {
  const rank = checkGiven('rank', given.rank, 0) ?? readInteger(env, 'RANK', 0);
  const worldSize =
    checkGiven('worldSize', given.worldSize, 1, highestWorldSize) ??
    readInteger(env, 'WORLD_SIZE', 1, highestWorldSize);
  if (given.rank === undefined && given.worldSize === undefined) refuseEnvironmentOfNode(env);
  if (rank === undefined && worldSize === undefined) return { rank: 0, worldSize: 1 };
  if (rank === undefined || worldSize === undefined) {
    const [set, missing] = rank === undefined ? ['WORLD_SIZE', 'RANK'] : ['RANK', 'WORLD_SIZE'];
    throw new InvalidArgumentError(
      `${set} is ${rank ?? worldSize}, but ${missing} is not set. Set both, or neither to run as a world of one process.`,
    );
  }
  if (rank >= worldSize) {
    throw new InvalidArgumentError(
      `RANK is ${rank} and WORLD_SIZE is ${worldSize}: ranks count from 0, so expected a RANK from 0 to ${worldSize - 1}.`,
    );
  }
  return { rank, worldSize };
}

function readHost(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const text = read(env, name);
  if (text === undefined || isHost(text)) return text;
  throw new InvalidArgumentError(
    `${name} is ${JSON.stringify(text)}, expected the name or address of a host.`,
  );
}

function readStore(env: NodeJS.ProcessEnv): HostPort | undefined {
  const text = read(env, 'RINGRUN_STORE');
  return text === undefined ? undefined : parseEndpoint(text, 'RINGRUN_STORE');
}

function read(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const text = env[name]?.trim();
  return text === '' ? undefined : text;
}

function readInteger(env: NodeJS.ProcessEnv, name: string, least: number, most = Number.MAX_SAFE_INTEGER) {
  const text = read(env, name);
  if (text === undefined) return undefined;
  const number = /^-?\d+$/.test(text) ? Number(text) : NaN;
  return checkInteger(name, number, text, least, most);
}

function checkGiven(
  name: string,
  value: number | undefined,
  least: number,
  most?: number,
): number | undefined {
  return value === undefined
    ? undefined
    : checkInteger(`initProcessGroup's ${name}`, value, `${value}`, least, most);
}

function checkInteger(
  name: string,
  number: number,
  text: string,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isSafeInteger(number) && number >= least && number <= most) return number;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new InvalidArgumentError(`${name} is ${JSON.stringify(text)}, expected an integer ${range}.`);
}
