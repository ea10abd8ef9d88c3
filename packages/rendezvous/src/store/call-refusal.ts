import { describeCall, keysOf } from './errors.ts';
import { keyOverheadBytes, longestTimeoutMs } from './limits.ts';
import type { StoreLimits } from './limits.ts';
import type { NumberedKeys } from './numbered-keys.ts';
import type { Call, Failure } from './wire.ts';

/** The contents of a store when a call arrives. */
export interface StoreLoad {
  readonly valueOf: (key: string) => Uint8Array | undefined;
  readonly keys: number;
  readonly storedBytes: number;
  /** Number of waiting calls of this client. */
  readonly waits: { readonly waiters: ReadonlySet<unknown>; readonly bytes: number };
}

/** Decimal digits of the longest counter, with its sign. */
const longestCounter = new Uint8Array(17);

/** Why a call would exceed a limit of the store. Undefined if it can be executed. */
export function callRefusal(call: Call, limits: StoreLimits, load: StoreLoad): Failure | undefined {
  const isNumbered = call.op === 'waitNumbered';
  const number = isNumbered ? call.count : keysOf(call).length;
  if (number > limits.keysPerCall)
    return beyond(call, `at most ${count(limits.keysPerCall)} keys per call`, count(number));
  for (const key of isNumbered ? [longestOf(call)] : keysOf(call)) {
    if (key.length > limits.keyLength)
      return beyond(call, `keys of at most ${count(limits.keyLength)} characters`, count(key.length));
  }
  switch (call.op) {
    case 'get':
    case 'multiGet':
    case 'wait':
    case 'waitNumbered':
      return timeoutRefusal(call) ?? waitRefusal(call, limits, load);
    case 'set':
      return valueRefusal(call, call.key, call.value, limits, load);
    case 'compareSet':
      return valueRefusal(call, call.key, call.desired, limits, load);
    case 'add':
      return valueRefusal(call, call.key, longestCounter, limits, load);
    case 'multiSet':
      return valuesRefusal(call, limits, load);
    case 'ping':
    case 'check':
    case 'multiPeek':
    case 'deleteKey':
    case 'deletePrefix':
    case 'numKeys':
      return undefined;
  }
}

/** Memory of a key and its value. */
export function storedBytes(key: string, value: Uint8Array): number {
  return keyOverheadBytes + 2 * key.length + value.length;
}

/** Memory of a call that waits for keys. */
export function waitedBytes(call: Call): number {
  if (call.op === 'waitNumbered') return call.count * (keyOverheadBytes + 2 * longestOf(call).length);
  return keysOf(call).reduce((bytes, key) => bytes + keyOverheadBytes + 2 * key.length, 0);
}

export function failure(
  reason: Failure['reason'],
  message: string,
  missingKeys: readonly string[] = [],
): Failure {
  return { kind: 'failure', reason, message, missingKeys };
}

function longestOf({ prefix, count }: NumberedKeys): string {
  return `${prefix}${Math.max(count - 1, 0)}`;
}

function timeoutRefusal(call: Extract<Call, { timeoutMs: number }>): Failure | undefined {
  const { timeoutMs } = call;
  if (timeoutMs >= 0 && timeoutMs <= longestTimeoutMs) return undefined;
  return failure(
    'INVALID',
    `${describeCall(call)} failed: expected a timeout from 0 to ${longestTimeoutMs} ms, got ${timeoutMs}.`,
  );
}

function waitRefusal(call: Call, limits: StoreLimits, { waits }: StoreLoad): Failure | undefined {
  if (waits.waiters.size >= limits.waits)
    return beyond(call, `at most ${count(limits.waits)} waiting calls per client`, 'one more');
  const bytes = waits.bytes + waitedBytes(call);
  if (bytes > limits.waitedBytes)
    return beyond(
      call,
      `at most ${count(limits.waitedBytes)} bytes of keys that a client waits for`,
      count(bytes),
    );
  return undefined;
}

function valueRefusal(
  call: Call,
  key: string,
  value: Uint8Array,
  limits: StoreLimits,
  load: StoreLoad,
): Failure | undefined {
  if (value.length > limits.valueBytes)
    return beyond(call, `values of at most ${count(limits.valueBytes)} bytes`, count(value.length));
  const former = load.valueOf(key);
  if (!former && load.keys >= limits.keys)
    return beyond(call, `at most ${count(limits.keys)} keys in a store`, 'one more');
  const bytes = load.storedBytes + storedBytes(key, value) - (former ? storedBytes(key, former) : 0);
  if (bytes > limits.storedBytes && (!former || value.length > former.length))
    return beyond(call, `at most ${count(limits.storedBytes)} bytes in a store`, count(bytes));
  return undefined;
}

function valuesRefusal(
  call: Extract<Call, { op: 'multiSet' }>,
  limits: StoreLimits,
  load: StoreLoad,
): Failure | undefined {
  const { keys, values } = call;
  if (keys.length !== values.length)
    return failure(
      'INVALID',
      `${describeCall(call)} failed: expected a value for each of ${count(keys.length)} keys, got ${count(values.length)} values.`,
    );
  const earlier = new Map<string, Uint8Array>();
  let bytes = load.storedBytes;
  let newKeys = 0;
  const valueOf = (key: string) => earlier.get(key) ?? load.valueOf(key);
  for (const [i, key] of keys.entries()) {
    const sofar = { ...load, valueOf, keys: load.keys + newKeys, storedBytes: bytes };
    const refusal = valueRefusal(call, key, values[i], limits, sofar);
    if (refusal) return refusal;
    const former = valueOf(key);
    if (!former) newKeys += 1;
    bytes += storedBytes(key, values[i]) - (former ? storedBytes(key, former) : 0);
    earlier.set(key, values[i]);
  }
  return undefined;
}

/** Why a reply with these values would exceed a limit of the store. Undefined if it can be sent. */
export function replyRefusal(
  call: Call,
  values: readonly Uint8Array[],
  { unreadBytes }: StoreLimits,
): Failure | undefined {
  const bytes = values.reduce((sum, { length }) => sum + length, 0);
  if (bytes <= unreadBytes) return undefined;
  return beyond(call, `values of at most ${count(unreadBytes)} bytes in one reply`, count(bytes));
}

function beyond(call: Call, limit: string, got: string): Failure {
  return failure(
    'LIMIT',
    `${describeCall(call)} exceeds a limit of the store: expected ${limit}, got ${got}. ` +
      `Delete keys that are no longer needed, and exchange large data with collectives.`,
  );
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}
