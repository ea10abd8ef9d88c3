import { InvalidArgumentError } from 'commander';
import { suggestion } from './nearest.ts';
import type { RendezvousConfig } from './rendezvous-options.ts';
import { parseInterval, parseTruth } from './values.ts';

/** torch's defaults (dynamic_rendezvous.py, c10d_rendezvous_backend.py). */
export const defaultRendezvousConfig: RendezvousConfig = {
  joinTimeoutMs: 600_000,
  lastCallMs: 30_000,
  closeTimeoutMs: 30_000,
  keepAliveIntervalMs: 5000,
  keepAliveMaxAttempts: 3,
  readTimeoutMs: 60_000,
  isHost: undefined,
};

type Read = (value: string) => Partial<RendezvousConfig>;

const keys: Readonly<Record<string, Read>> = {
  join_timeout: (value) => ({ joinTimeoutMs: parseInterval(value) }),
  timeout: (value) => ({ joinTimeoutMs: parseInterval(value) }),
  last_call_timeout: (value) => ({ lastCallMs: parseIntervalOrNone(value) }),
  close_timeout: (value) => ({ closeTimeoutMs: parseInterval(value) }),
  keep_alive_interval: (value) => ({ keepAliveIntervalMs: parseInterval(value) }),
  keep_alive_max_attempt: (value) => ({ keepAliveMaxAttempts: parseAttempts(value) }),
  read_timeout: (value) => ({ readTimeoutMs: parseInterval(value) }),
  is_host: (value) => ({ isHost: parseTruth(value) }),
  // Accepted and ignored: settings of torch's TCPStore.
  store_type: () => ({}),
  use_libuv: () => ({}),
  use_agent_store: () => ({}),
  heartbeat_timeout: () => ({}),
  // Accepted and ignored: torchrun sets it from --node-rank.
  rank: () => ({}),
};

/** Parses `key=value,key=value` with torch's keys. Seconds may have fractions. */
export function parseRendezvousConfig(text: string): RendezvousConfig {
  const entries = text.split(',').map((entry) => entry.trim());
  return Object.assign(
    { ...defaultRendezvousConfig },
    ...entries.filter(Boolean).map(readEntry),
  ) as RendezvousConfig;
}

function readEntry(entry: string): Partial<RendezvousConfig> {
  const [, key, value] = /^([^=]+)=(.+)$/.exec(entry) ?? ['', '', ''];
  if (key === '') throw new InvalidArgumentError(`Expected key=value, got ${entry}.`);
  if (!Object.hasOwn(keys, key)) {
    const known = Object.keys(keys);
    throw new InvalidArgumentError(
      `Unknown key ${key}: expected ${known.join(', ')}.${suggestion(key, known)}`,
    );
  }
  try {
    return keys[key](value);
  } catch (error) {
    throw new InvalidArgumentError(`${key} is ${value}. ${(error as Error).message}`);
  }
}

function parseIntervalOrNone(value: string): number {
  return Number(value) === 0 ? 0 : parseInterval(value);
}

function parseAttempts(value: string): number {
  if (/^[1-9]\d*$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Expected an integer of at least 1.');
}
