import { highestWorldSize, InvalidArgumentError, slurmTask } from '@ringrun/core';
import { isHostName, parseEndpoint } from '@ringrun/rendezvous';
import type { HostPort } from '@ringrun/rendezvous';
import { refuseEnvironmentOfNode } from './node-environment.ts';

/** Settings of a process, read from the variables that torchrun, Kubeflow's operators, Slurm's srun and ringrun's launcher set. */
export interface EnvironmentSettings {
  /** RANK: rank of this process, from 0. */
  rank: number;
  /** WORLD_SIZE: number of processes. */
  worldSize: number;
  /** LOCAL_RANK: rank among the processes of this host. Default: 0. */
  localRank: number;
  /**
   * MASTER_ADDR: address of rank 0's store. Each rank publishes the address from which it reaches this one.
   * Default: 127.0.0.1.
   */
  masterAddress: string;
  /** MASTER_PORT. Default: 29500. An invalid port is ignored with a launcher's store or a single process. */
  masterPort: number;
  /** RINGRUN_STORE: the launcher's store. Undefined: rank 0 serves the store. */
  store: HostPort | undefined;
  /** RINGRUN_RUN_ID: the launcher's id of this run. Default: empty. */
  runId: string;
  /** RINGRUN_RESTART_COUNT: how many times the workers were restarted. Default: 0. */
  restartCount: number;
}

/** Values set by the program. They override the environment. */
export interface GivenSettings {
  rank?: number | undefined;
  worldSize?: number | undefined;
}

const highestPort = 65535;

/**
 * Reads the environment of a process (init method `env://`). If neither RANK nor WORLD_SIZE is set, the world is that of Slurm's step,
 * else this process alone, so that a training script runs without a launcher. An empty variable counts as not set.
 *
 * @throws InvalidArgumentError with the variable, its value and the expected values.
 */
export function readEnvironment(own: NodeJS.ProcessEnv, given: GivenSettings = {}): EnvironmentSettings {
  const env = withSlurm(own, given);
  const identity = readRank(env, given);
  const store = readStore(env);
  return {
    ...identity,
    localRank: readInteger(env, 'LOCAL_RANK', 0) ?? 0,
    masterAddress: readHost(env, 'MASTER_ADDR') ?? '127.0.0.1',
    masterPort: readMasterPort(env, store === undefined && identity.worldSize > 1),
    store,
    // Not trimmed: other processes compare it.
    runId: env['RINGRUN_RUN_ID'] ?? '',
    restartCount: readInteger(env, 'RINGRUN_RESTART_COUNT', 0) ?? 0,
  };
}

/** The environment with the variables that Slurm's step implies. Those that are set override them. */
function withSlurm(own: NodeJS.ProcessEnv, given: GivenSettings): NodeJS.ProcessEnv {
  const isGiven = given.rank !== undefined || given.worldSize !== undefined;
  const task = isGiven ? undefined : slurmTask(own);
  if (task === undefined) return own;
  const set = Object.entries(own).filter(([, text]) => text?.trim() !== '');
  return { ...task, ...Object.fromEntries(set) };
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
      `${set} is ${rank ?? worldSize}, but ${missing} is not set. Set both, or set neither to run as a single process.`,
    );
  }
  if (rank >= worldSize) {
    throw new InvalidArgumentError(
      `RANK is ${rank} and WORLD_SIZE is ${worldSize}, expected a RANK from 0 to ${worldSize - 1}.`,
    );
  }
  return { rank, worldSize };
}

/** Kubernetes sets MASTER_PORT to `tcp://address:port` in the pods of a namespace that has a service named `master`. */
function readMasterPort(env: NodeJS.ProcessEnv, isNeeded: boolean): number {
  const text = read(env, 'MASTER_PORT');
  if (!isNeeded && !isPort(text)) return 29500;
  if (text?.startsWith('tcp://') !== true) return readInteger(env, 'MASTER_PORT', 1, highestPort) ?? 29500;
  throw new InvalidArgumentError(
    `MASTER_PORT is ${JSON.stringify(text)}, which Kubernetes sets for a service named master, expected an integer from 1 to ${highestPort}. ` +
      'Set MASTER_PORT in the pod, or enableServiceLinks: false.',
  );
}

function isPort(text: string | undefined): boolean {
  return /^\d+$/.test(text ?? '') && Number(text) >= 1 && Number(text) <= highestPort;
}

function readHost(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const text = read(env, name);
  if (text === undefined || isHostName(text)) return text;
  throw new InvalidArgumentError(
    `${name} is ${JSON.stringify(text)}, expected a host name or an IP address.`,
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

function readInteger(env: NodeJS.ProcessEnv, name: string, min: number, max = Number.MAX_SAFE_INTEGER) {
  const text = read(env, name);
  if (text === undefined) return undefined;
  const number = /^-?\d+$/.test(text) ? Number(text) : NaN;
  return checkInteger(name, number, text, min, max);
}

function checkGiven(name: string, value: number | undefined, min: number, max?: number): number | undefined {
  return value === undefined
    ? undefined
    : checkInteger(`initProcessGroup's ${name}`, value, `${value}`, min, max);
}

function checkInteger(
  name: string,
  number: number,
  text: string,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isSafeInteger(number) && number >= min && number <= max) return number;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new InvalidArgumentError(`${name} is ${JSON.stringify(text)}, expected an integer ${range}.`);
}
