/** Errors between a store and its client. `where` is the store's `host:port`. */
import {
  formatDuration,
  InvalidArgumentError,
  printable,
  quoted,
  RingrunError,
  StoreTimeoutError,
} from '@ringrun/core';
import { frameBytes } from './limits.ts';
import { listedKeys } from './numbered-keys.ts';
import type { SecretDisagreement } from './handshake.ts';
import { protocolName } from './wire.ts';
import type { Call, Failure } from './wire.ts';

/** The store reports that keys were not set in time. `store` and `missing` describe the store and the keys. */
export function missingKeysError(
  store: string,
  call: Call,
  timeoutMs: number,
  missingKeys: readonly string[],
  missing: string,
): StoreTimeoutError {
  return new StoreTimeoutError(
    missingKeys,
    `${describeCall(call)} timed out after ${formatDuration(timeoutMs)} at ${store}: waited for ${missing}. ` +
      `The store is reachable, but no process has set ${missingKeys.length === 1 ? 'this key' : 'these keys'}.`,
  );
}

/** The store did not answer in time. `reason` describes the state of its port. */
export function unansweredError(
  where: string,
  call: Call,
  timeoutMs: number,
  reason: string,
): StoreTimeoutError {
  return new StoreTimeoutError(
    [],
    `${describeCall(call)} got no answer from the store at ${where} within ${formatDuration(timeoutMs)}: ${reason}. ` +
      `Check that the process that serves the store is running, and that MASTER_ADDR and MASTER_PORT are its address on every rank.`,
  );
}

/** The store refuses a call. `where` describes the store, such as `The store at host:port`. */
export function refusedError(where: string, { reason, message }: Failure): RingrunError {
  const text = `${where}: ${printable(message)}`;
  return reason === 'LIMIT' ? new RingrunError('ERR_STORE_LIMIT', text) : new InvalidArgumentError(text);
}

/** A request is longer than a store accepts. */
export function tooLongError(where: string, call: Call, bytes: number): RingrunError {
  return new RingrunError(
    'ERR_STORE_LIMIT',
    `${describeCall(call)} exceeds a limit of the store at ${where}: expected a request of at most ${frameBytes.toLocaleString('en-US')} bytes, ` +
      `got ${bytes.toLocaleString('en-US')}. Exchange large data with collectives.`,
  );
}

/** This process closed the connection. */
export function closedError(where: string): RingrunError {
  return new RingrunError(
    'ERR_STORE_CLOSED',
    `This process has closed its connection to the store at ${where}.`,
  );
}

/** The connection broke during a writing call. */
export function interruptedError(where: string, call: Call): RingrunError {
  return new RingrunError(
    'ERR_STORE_INTERRUPTED',
    `The connection to the store at ${where} broke during ${describeCall(call)}, which may or may not have taken effect. Restart the job.`,
  );
}

/** The store has ended or was restarted, so its keys are lost. */
export function lostError(where: string, how: string): RingrunError {
  return new RingrunError('ERR_STORE_LOST', `The store at ${where} was lost: ${how}. Restart the job.`);
}

/** The server is not a ringrun store, or has another version. */
export function protocolError(where: string, what: string): RingrunError {
  return new RingrunError(
    'ERR_STORE_PROTOCOL',
    `The server at ${where} is not a store of this ringrun version: expected the protocol "${protocolName}", but ${what}. ` +
      `Install the same version of ringrun on every host, and check MASTER_ADDR and MASTER_PORT.`,
  );
}

const disagreements: Record<SecretDisagreement, string> = {
  'secrets differ': 'expected the secret of the job that serves it, but this process has another one',
  'only the store has a secret':
    'expected the secret of the job that serves it, but this process has none (RINGRUN_SECRET)',
  'only this process has a secret':
    'expected a store with the secret of this process (RINGRUN_SECRET), but the store has none',
};

/** This process and the store have different secrets. */
export function secretError(where: string, disagreement: SecretDisagreement): RingrunError {
  return new RingrunError(
    'ERR_SECRET_MISMATCH',
    `Connecting to the store at ${where} failed: ${disagreements[disagreement]}. ` +
      `Set RINGRUN_SECRET, or --secret-file, to the same secret on every node, and check MASTER_ADDR and MASTER_PORT.`,
  );
}

/** `key "a"`, or `keys "a", "b"`. */
export function nameKeys(keys: readonly string[]): string {
  return `${keys.length === 1 ? 'key' : 'keys'} ${keys.map((key) => quoted(key)).join(', ')}`;
}

/** The keys that a call names. */
export function keysOf(call: Call): readonly string[] {
  if ('keys' in call) return call.keys;
  if (call.op === 'waitNumbered') return listedKeys(call);
  return 'key' in call ? [call.key] : [];
}

const maxNamed = 8;

/** `get("a")`. */
export function describeCall(call: Call): string {
  if (call.op === 'ping') return 'The connection';
  const isNumbered = call.op === 'waitNumbered';
  // The count of a call from the network may be any number.
  const keys = isNumbered ? listedKeys(call, maxNamed) : keysOf(call).slice(0, maxNamed);
  const count = isNumbered ? call.count : keysOf(call).length;
  const names = keys.map((key) => quoted(key)).join(', ');
  return `${isNumbered ? 'wait' : call.op}(${names}${count > maxNamed ? `, … ${count} keys` : ''})`;
}
