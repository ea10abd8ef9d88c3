import { describe, expect, test } from 'vitest';
import { KeyValueState } from '../../src/store/key-value-state.ts';
import type { Call } from '../../src/store/wire.ts';

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const value = (text: string) => ({ kind: 'value', bytes: bytes(text) });
const timeout = (...missingKeys: string[]) => ({
  kind: 'failure',
  reason: 'TIMEOUT',
  message: '',
  missingKeys,
});

/** A state, and a hand that gives it calls at stated times and shows the replies as `client/id` and result. */
function begin() {
  const state = new KeyValueState('first run');
  const ids = new Map<string, number>();
  const show = (outgoing: ReturnType<KeyValueState['expire']>) =>
    outgoing.map(({ client, reply }) => [`${client}/${reply.id}`, reply.result]);
  const give = (client: string, call: Call, now = 0) => {
    const id = (ids.get(client) ?? 0) + 1;
    ids.set(client, id);
    return show(state.handle(client, { id, call }, now));
  };
  return { state, give, expire: (now: number) => show(state.expire(now)) };
}

describe('waiting', () => {
  test('set replies to its caller first, then to the waiters in their order', () => {
    const { give } = begin();
    expect(give('b', { op: 'get', key: 'k', timeoutMs: 100 })).toEqual([]);
    expect(give('a', { op: 'wait', keys: ['k'], timeoutMs: 100 })).toEqual([]);
    expect(give('c', { op: 'set', key: 'k', value: bytes('v') })).toEqual([
      ['c/1', { kind: 'done' }],
      ['b/1', value('v')],
      ['a/1', { kind: 'done' }],
    ]);
    expect(give('c', { op: 'set', key: 'k', value: bytes('w') })).toEqual([['c/2', { kind: 'done' }]]);
  });

  test('expire replies only to waiters whose timeout is over', () => {
    const { state, give, expire } = begin();
    const hour = 3_600_000;
    give('a', { op: 'get', key: 'x', timeoutMs: hour }, 1000);
    give('b', { op: 'wait', keys: ['x', 'y'], timeoutMs: 2 * hour }, 1000);
    expect(state.nextDeadline()).toBe(1000 + hour);
    expect(expire(999 + hour)).toEqual([]);
    expect(expire(1000 + hour)).toEqual([['a/1', timeout('x')]]);
    expect(state.nextDeadline()).toBe(1000 + 2 * hour);
    give('c', { op: 'set', key: 'x', value: bytes('') });
    expect(expire(1000 + 2 * hour)).toEqual([['b/1', timeout('y')]]);
    expect(state.nextDeadline()).toBe(Infinity);
    expect(give('c', { op: 'set', key: 'y', value: bytes('') })).toEqual([['c/2', { kind: 'done' }]]);
  });

  test('an infinite timeout never expires', () => {
    const { state, give, expire } = begin();
    give('a', { op: 'get', key: 'x', timeoutMs: Infinity });
    expect(state.nextDeadline()).toBe(Infinity);
    expect(expire(Number.MAX_SAFE_INTEGER)).toEqual([]);
  });

  test('a ping returns the missing keys of the client and the instance of the store', () => {
    const { give } = begin();
    give('a', { op: 'wait', keys: ['x', 'y'], timeoutMs: 100 });
    give('b', { op: 'get', key: 'z', timeoutMs: 100 });
    give('b', { op: 'set', key: 'y', value: bytes('') });
    const pong = { kind: 'pong', instance: 'first run', parked: [{ id: 1, missingKeys: ['x'] }] };
    expect(give('a', { op: 'ping' })).toEqual([['a/2', pong]]);
  });
});

test('stored values are copies: they do not keep the buffers alive in which they arrived', () => {
  const { state } = begin();
  const received = Buffer.alloc(8192);
  const view = received.subarray(100, 300);
  state.handle('a', { id: 1, call: { op: 'set', key: 'set', value: view } }, 0);
  const expected = new Uint8Array();
  state.handle('a', { id: 2, call: { op: 'compareSet', key: 'swapped', expected, desired: view } }, 0);
  state.handle('a', { id: 3, call: { op: 'add', key: 'counted', amount: 1 } }, 0);
  for (const [key, length] of [
    ['set', 200],
    ['swapped', 200],
    ['counted', 1],
  ] as const) {
    const [{ reply }] = state.handle('a', { id: 4, call: { op: 'get', key, timeoutMs: 0 } }, 0);
    expect((reply.result as { bytes: Uint8Array }).bytes.buffer.byteLength).toBe(length);
  }
});

describe('counting', () => {
  test('a counter is limited to safe integers', () => {
    const { give } = begin();
    give('a', { op: 'add', key: 'n', amount: Number.MAX_SAFE_INTEGER });
    expect(give('a', { op: 'add', key: 'n', amount: 1 })).toMatchObject([['a/2', { reason: 'INVALID' }]]);
    expect(give('a', { op: 'add', key: 'n', amount: -1 })).toEqual([
      ['a/3', { kind: 'count', number: Number.MAX_SAFE_INTEGER - 1 }],
    ]);
  });
});
