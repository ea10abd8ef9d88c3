import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { parseEndpoint } from '@ringrun/rendezvous';
import type { HostPort } from '@ringrun/rendezvous';
import { readEnvironment } from './environment.ts';
import type { EnvironmentSettings, GivenSettings } from './environment.ts';

/** How ranks find each other: by environment variables, by the address of rank 0's store, or by a shared file. */
export type InitMethod = 'env://' | `env://?${string}` | `tcp://${string}` | `file://${string}`;

/** Location of the rendezvous store. */
export type MeetingPlace =
  | { kind: 'launcher' | 'rank 0'; at: HostPort }
  | { kind: 'file'; path: string }
  | { kind: 'given'; store: Store };

/** Identity of this process in its job, and its rendezvous. */
export interface InitSettings extends Omit<EnvironmentSettings, 'store' | 'masterAddress' | 'masterPort'> {
  place: MeetingPlace;
  /**
   * Each rank publishes the address from which it reaches this one. Undefined: rank 0 publishes its address in the
   * store.
   */
  masterAddress: string | undefined;
}

export interface InitChoices extends GivenSettings {
  initMethod?: InitMethod | undefined;
  store?: Store | undefined;
}

const expected =
  "expected 'env://' (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the environment), 'tcp://host:port' (address of rank 0's store) or " +
  "'file:///path' (a file that all processes can open)";

/**
 * Resolves the options of initProcessGroup by torch.distributed's rules: `initMethod` and `store` exclude each other;
 * rank and world size are options or in the URL (`?rank=0&world_size=2`), not both; only `env://` reads them from the
 * environment.
 *
 * @throws InvalidArgumentError for missing, contradictory or invalid settings.
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
      `initProcessGroup failed: expected either store or initMethod, got a store and the initMethod "${choices.initMethod}".`,
    );
  }
  const identity = requireRank('a store', choices, env);
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
  const identity = requireRank(`initMethod "${url.href}"`, given, env);
  return { ...identity, masterAddress: at.host, place: { kind: 'rank 0', at } };
}

function meetInFile(url: URL, given: GivenSettings, env: NodeJS.ProcessEnv): InitSettings {
  if (url.host !== '' || url.pathname.endsWith('/')) {
    throw refused(url.href, "expected 'file:///path', with three slashes before an absolute path");
  }
  const identity = requireRank(`initMethod "${url.href}"`, given, env);
  const place: MeetingPlace = { kind: 'file', path: fileURLToPath(`file://${url.pathname}`) };
  return { ...identity, masterAddress: masterIn(env), place };
}

/** RANK and WORLD_SIZE are ignored here, the other variables are not. */
function requireRank(rendezvous: string, given: GivenSettings, env: NodeJS.ProcessEnv) {
  const missing = (['rank', 'worldSize'] as const).filter((name) => given[name] === undefined);
  if (missing.length > 0) {
    throw new InvalidArgumentError(
      `initProcessGroup failed: with ${rendezvous}, expected the options rank and worldSize, but ${missing.join(' and ')} ` +
        `${missing.length > 1 ? 'are' : 'is'} missing. Only 'env://' reads RANK and WORLD_SIZE from the environment.`,
    );
  }
  const { rank, worldSize, localRank, runId, restartCount } = readEnvironment(env, given);
  return { rank, worldSize, localRank, runId, restartCount };
}

/** `?rank=0&world_size=2`, as in torch. */
function rankInUrl(url: URL, given: GivenSettings): GivenSettings {
  const names = [...url.searchParams.keys()];
  const unknown = names.find((name) => name !== 'rank' && name !== 'world_size');
  if (unknown !== undefined) throw refused(url.href, `expected ?rank=…&world_size=…, got "${unknown}"`);
  if (names.length > 0 && (given.rank !== undefined || given.worldSize !== undefined)) {
    throw refused(
      url.href,
      'expected rank and world size either in it or as the options rank and worldSize, got both',
    );
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
