import { isIPv6 } from 'node:net';
import { constants } from 'node:os';
import { isHostName } from '@ringrun/rendezvous';
import { InvalidArgumentError } from 'commander';
import { defaultPlace } from './dashboard-place.ts';
import type { DashboardPlace } from './dashboard-place.ts';
import { maxNameCharacters, numaBindings } from './launch-options.ts';
import type { NodeRange, NumaBinding, ProcessesPerNode } from './launch-options.ts';
import { suggestion } from './nearest.ts';
import type { RendezvousOptions } from './rendezvous-options.ts';
import { parseStreamsByRank } from './streams-by-rank.ts';
import type { StreamsByRank } from './streams-by-rank.ts';

/* Parsers of option values. They throw commander's InvalidArgumentError with the expected form; commander adds the option. */

const longestSeconds = 24 * 60 * 60;
const highestPort = 65535;

export function parseProcessCount(text: string): ProcessesPerNode {
  if (text === 'auto' || text === 'cpu' || text === 'gpu') return text;
  return integerIn(text, 1, Number.MAX_SAFE_INTEGER, 'a number of processes of at least 1, auto, cpu or gpu');
}

export function parseNodes(text: string): NodeRange {
  const expected = 'a number of nodes of at least 1, or MIN:MAX, such as 1:3';
  const parts = text.split(':');
  const [min, max = min] = parts.map((part) => integerIn(part, 1, Number.MAX_SAFE_INTEGER, expected));
  if (parts.length <= 2 && min <= max) return { min, max };
  throw new InvalidArgumentError(`Expected ${expected}.`);
}

export function parseBackend(text: string): RendezvousOptions['backend'] {
  if (text === 'static' || text === 'c10d') return text;
  if (text.startsWith('etcd')) {
    throw new InvalidArgumentError(
      'Expected static or c10d: ringrun does not use etcd. Use c10d, and set --rdzv-endpoint to a node of the job instead of the etcd server.',
    );
  }
  throw new InvalidArgumentError(`Expected static or c10d.${suggestion(text, ['static', 'c10d'])}`);
}

/** Parses `host`, `host:port` or an IPv6 address, in brackets if a port follows. */
export function parseHostPort(text: string): { host: string; port: number | undefined } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(text);
  const bracketed = match?.[1];
  const port = match?.[3] === undefined ? undefined : Number(match[3]);
  const host = bracketed ?? match?.[2] ?? text;
  // Brackets are for IPv6 addresses only.
  const isKnown = bracketed === undefined ? isHostName(host) : isIPv6(bracketed);
  if (isKnown && (port === undefined || (port >= 1 && port <= highestPort))) return { host, port };
  throw new InvalidArgumentError(`Expected host or host:port, with a port from 1 to ${highestPort}.`);
}

/** Parses `host:port`, or whether to serve at the default place. commander reads undefined as true. */
export function parseDashboard(text: string): DashboardPlace | false {
  if (/^\d+$|^[a-z]+$/i.test(text) && text !== 'localhost') return parseTruth(text) && defaultPlace;
  const { host, port } = parseHostPort(text);
  return port === undefined ? { ...defaultPlace, host } : { host, port, isChosen: true };
}

export function parseHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1');
  if (host === text ? isHostName(host) : isIPv6(host)) return host;
  throw new InvalidArgumentError('Expected the name or address of a host.');
}

export function parsePort(text: string): number {
  return integerIn(
    text,
    1,
    highestPort,
    `a port from 1 to ${highestPort}. For one node, omit the option to use a free port`,
  );
}

export function parseRank(text: string): number {
  return integerIn(text, 0, Number.MAX_SAFE_INTEGER, 'the rank of a node, at least 0');
}

export function parseRestarts(text: string): number {
  return integerIn(text, 0, Number.MAX_SAFE_INTEGER, 'a number of restarts of at least 0');
}

/** Parses whole seconds; returns milliseconds. */
export function parseGracePeriod(text: string): number {
  return 1000 * integerIn(text, 0, longestSeconds, `whole seconds from 0 to ${longestSeconds}`);
}

/** Parses seconds, including fractions; returns milliseconds. */
export function parseInterval(text: string): number {
  const seconds = /^(?:\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : NaN;
  if (seconds > 0 && seconds <= longestSeconds) return seconds * 1000;
  throw new InvalidArgumentError(`Expected seconds above 0 and at most ${longestSeconds}.`);
}

export function parseStreams(text: string): StreamsByRank {
  const streams = parseStreamsByRank(text);
  if (streams !== undefined) return streams;
  throw new InvalidArgumentError(
    'Expected 0 (none), 1 (stdout), 2 (stderr) or 3 (both), or one of them per local rank, such as 0:1,1:2.',
  );
}

export function parseRanks(text: string): number[] {
  return text
    .split(',')
    .map((rank) => integerIn(rank, 0, Number.MAX_SAFE_INTEGER, 'local ranks, such as 0,2'));
}

/** Parses names with or without SIG. As in torch, a process must be able to catch the signal. */
export function parseSignals(text: string): NodeJS.Signals[] {
  return text.split(',').map((one) => {
    const name = one.trim().toUpperCase();
    const signal = name.startsWith('SIG') ? name : `SIG${name}`;
    if (signal in constants.signals && !uncatchable.includes(signal)) return signal as NodeJS.Signals;
    const why = uncatchable.includes(signal) ? `${signal} cannot be caught` : `Unknown signal ${one}`;
    throw new InvalidArgumentError(
      `${why}. Expected names of signals, such as SIGUSR1,SIGUSR2.${suggestion(signal, Object.keys(constants.signals))}`,
    );
  });
}

const uncatchable = ['SIGKILL', 'SIGSTOP'];

export function parseNumaBinding(text: string): NumaBinding {
  const name = numaBindings.find((binding) => binding === text.replaceAll('_', '-'));
  if (name) return name;
  throw new InvalidArgumentError(`Expected ${numaBindings.join(', ')}.${suggestion(text, numaBindings)}`);
}

/** torch accepts 0 and 1 only; manifests also contain YAML's booleans. */
export function parseTruth(text: string): boolean {
  if (/^(?:1|true|yes|on)$/i.test(text)) return true;
  if (/^(?:0|false|no|off)$/i.test(text)) return false;
  throw new InvalidArgumentError('Expected 1 or 0.');
}

export function parseText(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('Expected a text that is not empty.');
}

export function parseName(text: string): string {
  if (parseText(text).length <= maxNameCharacters) return text;
  throw new InvalidArgumentError(
    `Expected at most ${maxNameCharacters} characters, got ${text.length}. Choose a shorter name.`,
  );
}

/** Every rank publishes the id, and workers inherit it: reports of a node hold at most 64 KiB. */
const mostRunIdBytes = 4096;

export function parseRunId(text: string): string {
  const bytes = Buffer.byteLength(parseText(text));
  if (bytes <= mostRunIdBytes) return text;
  throw new InvalidArgumentError(
    `Expected at most ${mostRunIdBytes} bytes, got ${bytes}. Choose a shorter id.`,
  );
}

export function integerIn(text: string, min: number, max: number, expected: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Expected ${expected}.`);
}
