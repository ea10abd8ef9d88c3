import { describe, expect, test } from 'vitest';
import { KeyValueState } from '../../src/store/key-value-state.ts';
import { storeLimits } from '../../src/store/limits.ts';
import type { StoreLimits } from '../../src/store/limits.ts';
import { numberedKeys } from '../../src/store/numbered-keys.ts';
import { decodeRequest, encodeReply, encodeRequest } from '../../src/store/wire.ts';
import type { Call } from '../../src/store/wire.ts';

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const value = (text: string) => ({ kind: 'value', bytes: bytes(text) });
const timeout = (...missingKeys: string[]) => ({
  kind: 'failure',
  reason: 'TIMEOUT',
  message: '',
  missingKeys,
});

/** A state, and a function that passes it calls at given times and returns the replies as `client/id` and result. */
function begin(limits: Partial<StoreLimits> = {}) {
  const state = new KeyValueState('first run', { ...storeLimits, ...limits });
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

  test.each([NaN, Infinity, -1, 2 ** 40 + 1])('refuses a timeout of %d ms', (timeoutMs) => {
    const { state, give } = begin();
    const refused = { kind: 'failure', reason: 'INVALID' };
    expect(give('a', { op: 'get', key: 'x', timeoutMs })).toMatchObject([['a/1', refused]]);
    expect(give('a', { op: 'wait', keys: ['x', 'y'], timeoutMs })).toMatchObject([['a/2', refused]]);
    expect(state.nextDeadline()).toBe(Infinity);
  });

  test('waiters of equal and overlapping keys are woken in order, and counted through deletions', () => {
    const { state, give } = begin();
    give('a', { op: 'wait', keys: ['x', 'y', 'x'], timeoutMs: 100 });
    give('b', { op: 'wait', keys: ['y', 'z'], timeoutMs: 100 });
    give('c', { op: 'wait', keys: ['x', 'y', 'x'], timeoutMs: 100 });
    give('s', { op: 'set', key: 'x', value: bytes('') });
    give('s', { op: 'deleteKey', key: 'x' });
    give('s', { op: 'set', key: 'z', value: bytes('') });
    expect(state.missingOf('a')).toEqual(['y', 'x']);
    expect(give('s', { op: 'set', key: 'y', value: bytes('') })).toEqual([
      ['s/4', { kind: 'done' }],
      ['b/1', { kind: 'done' }],
    ]);
    expect(give('s', { op: 'set', key: 'x', value: bytes('') })).toEqual([
      ['s/5', { kind: 'done' }],
      ['a/1', { kind: 'done' }],
      ['c/1', { kind: 'done' }],
    ]);
    expect(state.nextDeadline()).toBe(Infinity);
  });

  test('many timeouts expire in their order', () => {
    const { state, give, expire } = begin();
    const timeouts = Array.from({ length: 500 }, (_, i) => ((i * 7919) % 500) + 1);
    for (const [i, timeoutMs] of timeouts.entries()) give(`c${i}`, { op: 'get', key: 'never', timeoutMs });
    for (const i of [3, 77, 499]) state.leave(`c${i}`);
    const left = timeouts.filter((_, i) => ![3, 77, 499].includes(i)).sort((a, b) => a - b);
    expect(state.nextDeadline()).toBe(left[0]);
    const expired: string[] = [];
    for (let now = 1; now <= 500; now += 1) expired.push(...expire(now).map(([who]) => who as string));
    const client = (name: string) => Number(/\d+/.exec(name)![0]);
    expect(expired.map((name) => timeouts[client(name)])).toEqual(left);
  });

  test('a client that leaves waits no longer', () => {
    const { state, give } = begin();
    give('a', { op: 'wait', keys: ['x'], timeoutMs: 100 });
    give('b', { op: 'get', key: 'x', timeoutMs: 200 });
    state.leave('a');
    expect(state.nextDeadline()).toBe(200);
    expect(give('c', { op: 'set', key: 'x', value: bytes('v') })).toEqual([
      ['c/1', { kind: 'done' }],
      ['b/1', value('v')],
    ]);
  });

  test('a ping lists the first 100 missing keys and counts all', () => {
    const { give } = begin();
    const keys = Array.from({ length: 500 }, (_, i) => `k${i}`);
    give('a', { op: 'wait', keys, timeoutMs: 100 });
    const parked = [{ id: 1, missingKeys: keys.slice(0, 100), missing: 500 }];
    expect(give('a', { op: 'ping' })).toMatchObject([['a/2', { parked }]]);
  });

  test('a ping returns the missing keys of the client and the instance of the store', () => {
    const { give } = begin();
    give('a', { op: 'wait', keys: ['x', 'y'], timeoutMs: 100 });
    give('b', { op: 'get', key: 'z', timeoutMs: 100 });
    give('b', { op: 'set', key: 'y', value: bytes('') });
    const pong = { kind: 'pong', instance: 'first run', parked: [{ id: 1, missingKeys: ['x'], missing: 1 }] };
    expect(give('a', { op: 'ping' })).toEqual([['a/2', pong]]);
  });
});

test('stored values are copies: they do not retain the received buffers', () => {
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

describe('limits', () => {
  const set = (key: string, length = 0): Call => ({ op: 'set', key, value: new Uint8Array(length) });
  const get = (key: string): Call => ({ op: 'get', key, timeoutMs: 100 });
  const full: [limits: Partial<StoreLimits>, before: Call[], refused: Call, message: RegExp][] = [
    [{ keyLength: 3 }, [set('abc')], set('abcd'), /set\("abcd"\) .* keys of at most 3 characters, got 4/],
    [{ valueBytes: 10 }, [set('a', 10)], set('a', 11), /values of at most 10 bytes, got 11/],
    [{ keys: 2 }, [set('a'), set('b'), set('b')], set('c'), /at most 2 keys in a store/],
    [{ keys: 1 }, [set('a')], { op: 'add', key: 'n', amount: 1 }, /add\("n"\) .* at most 1 keys in a store/],
    [{ storedBytes: 1000 }, [set('a', 400)], set('b', 100), /at most 1,000 bytes in a store, got 1,016/],
    [{ keysPerCall: 2 }, [], { op: 'check', keys: ['a', 'b', 'c'] }, /at most 2 keys per call, got 3/],
    [{ waits: 1 }, [get('a')], get('b'), /at most 1 waiting calls per client/],
    [
      { waitedBytes: 600 },
      [get('a'), get('a')],
      get('a'),
      /at most 600 bytes of keys that a client waits for/,
    ],
  ];
  test.each(full)('%o', (limits, before, refused, message) => {
    const { give } = begin(limits);
    for (const call of before)
      expect(give('a', call).map(([, result]) => result)).toEqual(
        call.op === 'get' ? [] : [{ kind: 'done' }],
      );
    const keys = give('b', { op: 'numKeys' });
    expect(give('a', refused)).toEqual([
      [
        `a/${before.length + 1}`,
        {
          kind: 'failure',
          reason: 'LIMIT',
          message: expect.stringMatching(message) as string,
          missingKeys: [],
        },
      ],
    ]);
    expect(give('b', { op: 'numKeys' })[0][1]).toEqual(keys[0][1]);
  });

  test('deleting a key frees its share of the limit', () => {
    const { give } = begin({ keys: 1, storedBytes: 300 });
    for (let i = 0; i < 3; i += 1) {
      expect(give('a', set('a', 30))[0][1]).toEqual({ kind: 'done' });
      give('a', { op: 'deleteKey', key: 'a' });
    }
  });
});

describe('joining', () => {
  /**
   * Work of a store for `ranks` ranks that each publish a key, wait for the keys of all and ping occasionally: bytes of
   * their requests and replies, and operations of maps and sets.
   */
  function workOfJoining(ranks: number): number {
    const { state } = begin();
    const { prefix, count } = numberedKeys(Array.from({ length: ranks }, (_, i) => `init/0/member/${i}`))!;
    const wait: Call = { op: 'waitNumbered', prefix, count, timeoutMs: 1e6 };
    let bytes = 0;
    let operations = 0;
    const handle = (client: string, id: number, call: Call, now: number) => {
      const request = encodeRequest({ id, call });
      bytes += request.length;
      for (const { reply } of state.handle(client, decodeRequest(request), now))
        bytes += encodeReply(reply).length;
    };
    const spies = [Map.prototype, Set.prototype].flatMap((prototype) =>
      (['has', 'get', 'set', 'add', 'delete'] as const)
        .filter((name) => name in prototype)
        .map((name) => {
          const original = Reflect.get(prototype, name) as (...args: unknown[]) => unknown;
          Reflect.set(prototype, name, function (this: unknown, ...args: unknown[]) {
            operations += 1;
            return original.apply(this, args);
          });
          return () => Reflect.set(prototype, name, original);
        }),
    );
    try {
      for (let i = 0; i < ranks; i += 1) {
        handle(`c${i}`, 1, { op: 'set', key: `${prefix}${i}`, value: new Uint8Array(1) }, i);
        handle(`c${i}`, 2, wait, i);
        if (i % 8 === 0) handle(`c${i}`, 3, { op: 'ping' }, i);
        state.nextDeadline();
      }
    } finally {
      for (const restore of spies) restore();
    }
    expect(state.nextDeadline()).toBe(Infinity);
    return bytes + operations;
  }

  test('the work of joining grows with the number of ranks', () => {
    const work = [2560, 5120, 10_240].map(workOfJoining);
    // N·log N: 2·log₂ 5120 / log₂ 2560 = 2.18.
    expect(work[1] / work[0], String(work)).toBeLessThan(2.18);
    expect(work[2] / work[1], String(work)).toBeLessThan(2.18);
  });

  test('a wait for numbered keys is counted and limited by all its keys', () => {
    const { state, give } = begin({ keysPerCall: 1000 });
    const wait = { op: 'waitNumbered', prefix: 'm/', count: 3, timeoutMs: 10 } as const;
    give('s', { op: 'set', key: 'm/1', value: bytes('') });
    expect(give('a', wait)).toEqual([]);
    expect(state.missingOf('a')).toEqual(['m/0', 'm/2']);
    give('s', { op: 'set', key: 'm/0', value: bytes('') });
    give('s', { op: 'deleteKey', key: 'm/1' });
    give('s', { op: 'set', key: 'm/2', value: bytes('') });
    expect(give('a', { op: 'ping' })).toMatchObject([
      ['a/2', { parked: [{ id: 1, missingKeys: ['m/1'], missing: 1 }] }],
    ]);
    expect(give('s', { op: 'set', key: 'm/1', value: bytes('') })).toEqual([
      ['s/5', { kind: 'done' }],
      ['a/1', { kind: 'done' }],
    ]);
    expect(give('a', { ...wait, count: 0 })).toEqual([['a/3', { kind: 'done' }]]);
    const refused = { reason: 'LIMIT', message: expect.stringContaining('got 4,000,000,000') as string };
    expect(give('a', { ...wait, count: 4e9 })).toMatchObject([['a/4', refused]]);
  });

  test('only lists of consecutive keys from 0 have a short form', () => {
    expect(numberedKeys(['a/0', 'a/1', 'a/2'])).toEqual({ prefix: 'a/', count: 3 });
    for (const keys of [[], ['a/0'], ['a/1', 'a/2'], ['a/0', 'a/2'], ['a/0', 'b/1'], ['a/0', 'a/01']])
      expect(numberedKeys(keys)).toBeUndefined();
  });
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
