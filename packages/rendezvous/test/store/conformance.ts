import { InvalidArgumentError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { peekAll } from '../../src/store/peek.ts';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');

/**
 * The contract of `Store`, for every implementation of it.
 *
 * @param name The implementation under test.
 * @param open Opens the requested number of clients of one empty store; `close` ends clients and store.
 */
export function describeStore(
  name: string,
  open: (clients: number) => Promise<{ stores: Store[]; close: () => Promise<void> }>,
): void {
  async function opened(clients: number): Promise<Store[]> {
    const { stores, close } = await open(clients);
    onTestFinished(close);
    return stores;
  }

  describe(name, () => {
    test('returns the bytes that another client has set', async () => {
      const [a, b] = await opened(2);
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
      await a.set('bytes', bytes);
      await a.set('text', 'größer als 0');
      await a.set('empty', '');
      expect([...(await b.get('bytes'))]).toEqual([...bytes]);
      expect(text(await b.get('text'))).toBe('größer als 0');
      expect((await b.get('empty')).length).toBe(0);
    });

    test('copies the value before set resolves', async () => {
      const [a] = await opened(1);
      const bytes = Uint8Array.of(1, 2, 3);
      await a.set('k', bytes);
      bytes[0] = 9;
      const first = await a.get('k');
      first[1] = 9;
      expect([...(await a.get('k'))]).toEqual([1, 2, 3]);
    });

    test('set replaces the old value', async () => {
      const [a] = await opened(1);
      await a.set('k', 'one');
      await a.set('k', 'two');
      expect(text(await a.get('k'))).toBe('two');
    });

    test('get waits for a missing key', async () => {
      const [a, b] = await opened(2);
      let answered = false;
      const value = a.get('late').finally(() => (answered = true));
      // Operations of one client take effect in order, so this answer arrives after `get` could have been answered.
      expect(await a.check(['late'])).toBe(false);
      expect(answered).toBe(false);
      await b.set('late', 'now');
      expect(text(await value)).toBe('now');
    });

    test('get of a key that is never set times out with the key', async () => {
      const [a] = await opened(1);
      const startedAt = performance.now();
      const error = await a.get('never', { timeoutMs: 120 }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(StoreTimeoutError);
      expect(error).toMatchObject({ code: 'ERR_STORE_TIMEOUT', missingKeys: ['never'] });
      expect((error as Error).message).toContain('never');
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(115);
    });

    test('timeout 0 does not wait', async () => {
      const [a] = await opened(1);
      await a.set('there', 'x');
      expect(text(await a.get('there', { timeoutMs: 0 }))).toBe('x');
      await expect(a.get('missing', { timeoutMs: 0 })).rejects.toBeInstanceOf(StoreTimeoutError);
      await expect(a.wait(['missing'], { timeoutMs: 0 })).rejects.toBeInstanceOf(StoreTimeoutError);
    });

    test('multiGet returns the values in the order of the keys, after waiting for all of them', async () => {
      const [a, b] = await opened(2);
      await b.set('two', '2');
      let answered = false;
      const values = a.multiGet(['one', 'two', 'one', '']).finally(() => (answered = true));
      expect(await a.check(['two'])).toBe(true);
      await b.set('', '');
      expect(await a.check([''])).toBe(true);
      expect(answered).toBe(false);
      await b.set('one', '1');
      expect((await values).map(text)).toEqual(['1', '2', '1', '']);
      expect(await a.multiGet([])).toEqual([]);
    });

    test('multiGet times out with exactly the missing keys', async () => {
      const [a] = await opened(1);
      await a.set('here', '');
      for (const timeoutMs of [0, 60]) {
        const error = await a.multiGet(['here', 'gone', 'lost'], { timeoutMs }).catch((e: unknown) => e);
        expect(error).toBeInstanceOf(StoreTimeoutError);
        expect([...(error as StoreTimeoutError).missingKeys].sort()).toEqual(['gone', 'lost']);
      }
      await expect(a.multiGet(['k'], { timeoutMs: -1 })).rejects.toBeInstanceOf(InvalidArgumentError);
    });

    test('multiGet returns copies, and the values of the moment at which all keys existed', async () => {
      const [a, b] = await opened(2);
      await a.set('ready', 'x');
      const waiting = a.multiGet(['ready', 'k']);
      expect(await a.check(['ready'])).toBe(true);
      await Promise.all([b.set('k', 'short'), b.deleteKey('k')]);
      const values = await waiting;
      expect(values.map(text)).toEqual(['x', 'short']);
      values[0][0] = 0;
      expect(text(await a.get('ready'))).toBe('x');
    });

    test('multiSet sets all keys and wakes their waiters', async () => {
      const [a, b] = await opened(2);
      const waiting = a.wait(['x', 'y']);
      const bytes = Uint8Array.of(1, 2);
      const set = b.multiSet(['x', 'y', 'x'], ['old', bytes, 'new']);
      bytes[0] = 9;
      await Promise.all([set, waiting]);
      expect(text(await a.get('x'))).toBe('new');
      expect([...(await a.get('y'))]).toEqual([1, 2]);
      await a.multiSet([], []);
    });

    test('multiSet refuses another number of values than keys, and sets none', async () => {
      const [a] = await opened(1);
      await expect(a.multiSet(['x', 'y'], ['1'])).rejects.toBeInstanceOf(InvalidArgumentError);
      expect(await a.check(['x'])).toBe(false);
    });

    test('peekAll returns the values of the keys that exist, without a wait', async () => {
      const [a] = await opened(1);
      await a.multiSet(['x', 'empty'], ['1', '']);
      expect(await peekAll(a, ['none', 'x', 'empty', 'lost'])).toEqual([undefined, '1', '', undefined]);
      expect(await peekAll(a, [])).toEqual([]);
    });

    test('wait resolves after the last of its keys was set', async () => {
      const [a, b] = await opened(2);
      let resolved = false;
      await b.set('one', '1');
      const waiting = a.wait(['one', 'two', 'three']).finally(() => (resolved = true));
      await b.set('three', '3');
      expect(await a.check(['one', 'two', 'three'])).toBe(false);
      expect(resolved).toBe(false);
      await b.set('two', '2');
      await waiting;
    });

    test('wait times out with exactly the missing keys', async () => {
      const [a] = await opened(1);
      await a.set('here', '');
      const error = await a.wait(['here', 'gone', 'lost'], { timeoutMs: 60 }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(StoreTimeoutError);
      expect([...(error as StoreTimeoutError).missingKeys].sort()).toEqual(['gone', 'lost']);
    });

    test('wait waits again for a key that was deleted meanwhile', async () => {
      const [a, b] = await opened(2);
      await b.set('first', '1');
      let resolved = false;
      const waiting = a.wait(['first', 'second']).finally(() => (resolved = true));
      expect(await a.check(['second'])).toBe(false);
      await b.deleteKey('first');
      await b.set('second', '2');
      expect(await a.check(['first'])).toBe(false);
      expect(resolved).toBe(false);
      await b.set('first', '1');
      await waiting;
    });

    test('wait without keys resolves at once', async () => {
      const [a] = await opened(1);
      await a.wait([]);
      expect(await a.check([])).toBe(true);
    });

    test('add counts from 0, in both directions, and get reads the count', async () => {
      const [a, b] = await opened(2);
      expect(await a.add('n', 5)).toBe(5);
      expect(await b.add('n', -7)).toBe(-2);
      expect(await b.add('n', 0)).toBe(-2);
      expect(text(await a.get('n'))).toBe('-2');
      await a.set('n', '40');
      expect(await b.add('n', 2)).toBe(42);
    });

    test('add wakes clients that wait for the counter', async () => {
      const [a, b] = await opened(2);
      const waiting = a.get('n');
      await b.add('n', 1);
      expect(text(await waiting)).toBe('1');
    });

    test('add refuses a value that is not a counter, and keeps it', async () => {
      const [a] = await opened(1);
      await a.set('word', 'seven');
      await expect(a.add('word', 1)).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(a.add('n', 0.5)).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(a.add('n', NaN)).rejects.toBeInstanceOf(InvalidArgumentError);
      expect(text(await a.get('word'))).toBe('seven');
      expect(await a.check(['n'])).toBe(false);
    });

    test('add returns different counts to concurrent clients', async () => {
      const stores = await opened(4);
      const counts = await Promise.all(
        stores.flatMap((store) => Array.from({ length: 25 }, () => store.add('n', 1))),
      );
      expect(counts.sort((x, y) => x - y)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    });

    test('compareSet sets a missing key if expected is empty', async () => {
      const [a] = await opened(1);
      expect(text(await a.compareSet('k', '', 'mine'))).toBe('mine');
      expect(text(await a.get('k'))).toBe('mine');
    });

    test('compareSet does not set a missing key if expected is not empty', async () => {
      const [a] = await opened(1);
      expect(text(await a.compareSet('k', 'old', 'mine'))).toBe('');
      expect(await a.check(['k'])).toBe(false);
    });

    test('compareSet replaces only the expected value', async () => {
      const [a] = await opened(1);
      await a.set('k', 'old');
      expect(text(await a.compareSet('k', 'other', 'mine'))).toBe('old');
      expect(text(await a.compareSet('k', '', 'mine'))).toBe('old');
      expect(text(await a.compareSet('k', 'old', 'mine'))).toBe('mine');
      expect(text(await a.get('k'))).toBe('mine');
    });

    test('one of many concurrent compareSet calls wins, and all return its value', async () => {
      const stores = await opened(4);
      const seen = await Promise.all(stores.map((store, i) => store.compareSet('leader', '', `client ${i}`)));
      expect(new Set(seen.map(text)).size).toBe(1);
      expect(text(seen[0])).toMatch(/^client [0-3]$/);
    });

    test('deleteKey returns true if the key existed', async () => {
      const [a, b] = await opened(2);
      await a.set('k', 'x');
      expect(await b.deleteKey('k')).toBe(true);
      expect(await b.deleteKey('k')).toBe(false);
      expect(await a.check(['k'])).toBe(false);
    });

    test('numKeys counts the keys of all clients', async () => {
      const [a, b] = await opened(2);
      const before = await a.numKeys();
      await a.set('x', '1');
      await b.add('y', 1);
      await b.set('x', '2');
      expect((await b.numKeys()) - before).toBe(2);
    });

    test('keys can be any strings, values can have any size', async () => {
      const [a, b] = await opened(2);
      const keys = ['', ' ', 'größer/als 0', 'line\nbreak', '../..', '__proto__', 'k'.repeat(100_000)];
      for (const key of keys) await a.set(key, `value of ${key}`);
      for (const key of keys) expect(text(await b.get(key))).toBe(`value of ${key}`);
      const large = new Uint8Array(3_000_001);
      for (let i = 0; i < large.length; i += 1) large[i] = (i * 7) % 251;
      await b.set('large', large);
      expect(Buffer.compare(await a.get('large'), large)).toBe(0);
    });

    test('a key with an empty value exists, and compareSet treats it as missing', async () => {
      const [a] = await opened(1);
      await a.set('k', '');
      expect(await a.check(['k'])).toBe(true);
      await a.wait(['k'], { timeoutMs: 0 });
      expect(text(await a.compareSet('k', '', 'mine'))).toBe('mine');
      expect(text(await a.compareSet('k', 'mine', ''))).toBe('');
      expect(await a.check(['k'])).toBe(true);
      await expect(a.add('k', 1)).rejects.toBeInstanceOf(InvalidArgumentError);
    });

    test('calls that are not awaited take effect in order', async () => {
      const [a] = await opened(1);
      const calls = [
        a.set('k', '1'),
        a.add('k', 1),
        a.get('k'),
        a.deleteKey('k'),
        a.check(['k']),
        a.set('k', '7'),
        a.compareSet('k', '7', '8'),
        a.get('k'),
      ];
      const results = (await Promise.all(calls)).map((result) =>
        result instanceof Uint8Array ? text(result) : result,
      );
      expect(results).toEqual([undefined, 2, '2', true, false, undefined, '8', '8']);
    });

    test('a waiting get returns the value even if the key is deleted at once', async () => {
      const [a, b] = await opened(2);
      await a.set('ready', '');
      const waiting = a.get('k');
      expect(await a.check(['ready'])).toBe(true);
      await Promise.all([b.set('k', 'short'), b.deleteKey('k')]);
      expect(text(await waiting)).toBe('short');
      expect(await a.check(['k'])).toBe(false);
    });

    test('accepts an infinite timeout, and one longer than a timer can be', async () => {
      const [a, b] = await opened(2);
      let answered = false;
      const waiting = Promise.all([
        a.get('k', { timeoutMs: Infinity }),
        a.wait(['k'], { timeoutMs: 2 ** 40 }),
      ]).finally(() => (answered = true));
      await expect(b.get('other', { timeoutMs: 60 })).rejects.toBeInstanceOf(StoreTimeoutError);
      expect(answered).toBe(false);
      await b.set('k', 'v');
      expect(text((await waiting)[0])).toBe('v');
    });

    test('refuses an invalid timeout', async () => {
      const [a] = await opened(1);
      await expect(a.get('k', { timeoutMs: -1 })).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(a.wait(['k'], { timeoutMs: NaN })).rejects.toBeInstanceOf(InvalidArgumentError);
    });

    test('a counter is limited to safe integers', async () => {
      const [a] = await opened(1);
      const most = Number.MAX_SAFE_INTEGER;
      expect(await a.add('n', most)).toBe(most);
      await expect(a.add('n', 1)).rejects.toBeInstanceOf(InvalidArgumentError);
      expect(await a.add('n', -most)).toBe(0);
      expect(await a.add('n', -most)).toBe(-most);
    });

    test('close rejects pending and later calls, and can be called twice', async () => {
      const [a] = await opened(1);
      const waiting = a.get('never').catch((e: unknown) => e);
      await a.close();
      expect(await waiting).toMatchObject({ code: 'ERR_STORE_CLOSED' });
      await expect(a.set('k', 'x')).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' });
      await a.close();
    });
  });
}
