import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from '@ringrun/collectives';
import type { Store } from '@ringrun/collectives';
import { parseEndpoint } from '../store/endpoint.ts';
import type { HostPort } from '../store/endpoint.ts';
import { readEnvironment } from './environment.ts';
import type { EnvironmentSettings, GivenSettings } from './environment.ts';

/** How ranks find each other: what the environment says, an address at which rank 0 hosts the store, or a file that all of them see. */
export type InitMethod = 'env://' | `env://?${string}` | `tcp://${string}` | `file://${string}`;

/** Where the store is that the ranks meet in. */
export type MeetingPlace =
  | { kind: 'launcher' | 'rank 0'; at: HostPort }
  | { kind: 'file'; path: string }
  | { kind: 'given'; store: Store };

/** Who this process is in its job, and where it meets the others. */
export interface InitSettings extends Omit<EnvironmentSettings, 'store' | 'masterAddress' | 'masterPort'> {
  place: MeetingPlace;
  /** Towards which ranks look for their own address; undefined where it is rank 0's, which it then has to say. */
  masterAddress: string | undefined;
}

export interface InitChoices extends GivenSettings {
  initMethod?: InitMethod | undefined;
  store?: Store | undefined;
}

const expected =
  "expected 'env://' (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the environment), 'tcp://host:port' (where rank 0 hosts the store) or " +
  "'file:///path' (a file that all processes see)";

/**
 * What initProcessGroup was asked for, by torch.distributed's rules: `initMethod` and `store` exclude each other; rank and world size are given, or are in the
 * URL (`?rank=0&world_size=2`), not both, and only `env://` finds them in the environment.
 *
 * @throws InvalidArgumentError that names what is missing, contradicts, or cannot work.
 */
export function settleInitMethod(choices: InitChoices, env: NodeJS.ProcessEnv): InitSettings {
  const { store, initMethod = 'env://' } = choices;
  if (store) return meetInGivenStore(store, choices, env);
  const url = parseUrl(initMethod);
  const given = { ...choices, ...rankInUrl(url, choices) };
  switch (url.protocol) {
    case 'env:':
      return meetByEnvironment(url, given, env);
    case 'tcp:':
      return meetAtAddress(url, given, env);
    case 'file:':
      return meetInFile(url, given, env);
    default:
      throw refused(initMethod, expected);
  }
}

function meetInGivenStore(store: Store, choices: InitChoices, env: NodeJS.ProcessEnv): InitSettings {
  if (choices.initMethod !== undefined) {
    throw new InvalidArgumentError(
      `initProcessGroup was given a store and the initMethod "${choices.initMethod}": expected one of them, since each says where the ranks meet.`,
    );
  }
  const identity = requireRank('initProcessGroup was given a store, so', choices, env);
  return { ...identity, masterAddress: masterIn(env), place: { kind: 'given', store } };
}

function meetByEnvironment(url: URL, given: GivenSettings, env: NodeJS.ProcessEnv): InitSettings {
  if (url.host !== '' || (url.pathname !== '' && url.pathname !== '/')) throw refused(url.href, expected);
  const { store, masterPort, ...settings } = readEnvironment(env, given);
  const place: MeetingPlace = store
    ? { kind: 'launcher', at: store }
    : { kind: 'rank 0', at: { host: settings.masterAddress, port: masterPort } };
  return { ...settings, place };
}

function meetAtAddress(url: URL, given: GivenSettings, env: NodeJS.ProcessEnv): InitSettings {
  const at = parseEndpoint(url.href.replace(/\/?(\?.*)?$/, ''), "initProcessGroup's initMethod");
  const identity = requireRank(`initMethod is "${url.href}", so`, given, env);
  return { ...identity, masterAddress: at.host, place: { kind: 'rank 0', at } };
}

function meetInFile(url: URL, given: GivenSettings, env: NodeJS.ProcessEnv): InitSettings {
  if (url.host !== '' || url.pathname.endsWith('/')) {
    throw refused(url.href, "expected 'file:///path', with three slashes before a path from the root");
  }
  const identity = requireRank(`initMethod is "${url.href}", so`, given, env);
  const place: MeetingPlace = { kind: 'file', path: fileURLToPath(`file://${url.pathname}`) };
  return { ...identity, masterAddress: masterIn(env), place };
}

/** RANK and WORLD_SIZE do not count here: what else the environment says of this process does. */
function requireRank(why: string, given: GivenSettings, env: NodeJS.ProcessEnv) {
  const missing = (['rank', 'worldSize'] as const).filter((name) => given[name] === undefined);
  if (missing.length > 0) {
    throw new InvalidArgumentError(
      `${why} expected rank and worldSize beside it: ${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing. ` +
        `RANK and WORLD_SIZE in the environment are for 'env://'.`,
    );
  }
  const { rank, worldSize, localRank, runId, restartCount } = readEnvironment(env, given);
  return { rank, worldSize, localRank, runId, restartCount };
}

/** `?rank=0&world_size=2`, as torch's URLs. */
function rankInUrl(url: URL, given: GivenSettings): GivenSettings {
  const names = [...url.searchParams.keys()];
  const unknown = names.find((name) => name !== 'rank' && name !== 'world_size');
  if (unknown !== undefined) throw refused(url.href, `expected ?rank=…&world_size=…, got "${unknown}"`);
  if (names.length > 0 && (given.rank !== undefined || given.worldSize !== undefined)) {
    throw refused(url.href, 'expected rank and world size once: in it, or as the options rank and worldSize');
  }
  const numberOf = (name: string) => {
    const text = url.searchParams.get(name);
    return text === null ? undefined : /^\d+$/.test(text) ? Number(text) : NaN;
  };
  return names.length > 0 ? { rank: numberOf('rank'), worldSize: numberOf('world_size') } : {};
}

function masterIn(env: NodeJS.ProcessEnv): string | undefined {
  const master = env['MASTER_ADDR']?.trim();
  return master === '' ? undefined : master;
}

function parseUrl(initMethod: string): URL {
  try {
    return new URL(initMethod);
  } catch {
    throw refused(initMethod, expected);
  }
}

function refused(initMethod: string, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`initMethod is "${initMethod}", ${what}.`);
}
