/** What goes wrong between a store and its client, in words. `where` is the store's `host:port`. */
import { RingrunError, StoreTimeoutError } from '@ringrun/collectives';
import { formatDuration } from './waiting-lines.ts';
import { protocolName } from './wire.ts';
import type { Call } from './wire.ts';

/** The store itself says that keys did not appear in time; `store` is which one, `missing` what a person calls the keys. */
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
      `The store answers, but no process has set ${missingKeys.length === 1 ? 'this key' : 'these keys'}.`,
  );
}

/** The store has said nothing in time; `reason` is what a look at its port tells. */
export function unansweredError(
  where: string,
  call: Call,
  timeoutMs: number,
  reason: string,
): StoreTimeoutError {
  return new StoreTimeoutError(
    keysOf(call),
    `${describeCall(call)} had no answer from the store at ${where} within ${formatDuration(timeoutMs)}: ${reason}. ` +
      `Check that the process that hosts the store runs, and that MASTER_ADDR and MASTER_PORT name it on every rank.`,
  );
}

/** This process has ended the connection itself. */
export function closedError(where: string): RingrunError {
  return new RingrunError(
    'ERR_STORE_CLOSED',
    `This process has closed its connection to the store at ${where}.`,
  );
}

/** A call that changes something was under way when the connection broke. */
export function interruptedError(where: string, call: Call): RingrunError {
  return new RingrunError(
    'ERR_STORE_INTERRUPTED',
    `The connection to the store at ${where} broke during ${describeCall(call)}, which may or may not have taken effect.`,
  );
}

/** The store that this client knew is gone, with its keys. */
export function lostError(where: string, how: string): RingrunError {
  return new RingrunError('ERR_STORE_LOST', `The store at ${where} was lost: ${how}. Start the job again.`);
}

/** Something answers that is no store, or one of another version. */
export function protocolError(where: string, what: string): RingrunError {
  return new RingrunError(
    'ERR_STORE_PROTOCOL',
    `What listens at ${where} is no store for this version of ringrun, which speaks "${protocolName}": ${what}. ` +
      `Install the same version of ringrun on every host, and check MASTER_ADDR and MASTER_PORT.`,
  );
}

/** `key "a"`, or `keys "a", "b"`. */
export function nameKeys(keys: readonly string[]): string {
  return `${keys.length === 1 ? 'key' : 'keys'} ${keys.map((key) => JSON.stringify(key)).join(', ')}`;
}

/** The keys that a call names. */
export function keysOf(call: Call): readonly string[] {
  if ('keys' in call) return call.keys;
  return 'key' in call ? [call.key] : [];
}

/** `get("a")`. */
export function describeCall(call: Call): string {
  if (call.op === 'ping') return 'The connection';
  const keys = keysOf(call).map((key) => JSON.stringify(key));
  return `${call.op}(${keys.length > 8 ? `${keys.slice(0, 8).join(', ')}, … ${keys.length} keys` : keys.join(', ')})`;
}
