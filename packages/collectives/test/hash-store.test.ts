import { describe, expect, test } from 'vitest';

import { HashStore } from '@ringrun/collectives';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe('HashStore', () => {
  test('returns copies of the values that were set', async () => {
    const store = new HashStore();
    const value = new Uint8Array([1, 2]);
    await store.set('a', value);
    value[0] = 9;
    (await store.get('a'))[1] = 9;
    expect(await store.get('a')).toEqual(new Uint8Array([1, 2]));
  });

  test('get and wait block until the last key is set', async () => {
    const store = new HashStore();
    const order: string[] = [];
    const got = store.get('a').then((value) => order.push(`got ${text(value)}`));
    const waited = store.wait(['a', 'b']).then(() => order.push('waited'));
    await store.set('a', 'x');
    await got;
    await store.set('b', 'y');
    await waited;
    expect(order).toEqual(['got x', 'waited']);
  });

  test('names the keys that were not set in time', async () => {
    const store = new HashStore({ timeoutMs: 10_000 });
    await store.set('a', '1');
    await expect(store.wait(['a', 'b', 'c'], { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'ERR_STORE_TIMEOUT',
      missingKeys: ['b', 'c'],
    });
  });

  test('counts from 0, and refuses to add to a value that is not a number', async () => {
    const store = new HashStore();
    expect(await store.add('n', 5)).toBe(5);
    expect(await store.add('n', -7)).toBe(-2);
    expect(text(await store.get('n'))).toBe('-2');
    await store.set('word', 'x');
    await expect(store.add('word', 1)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  });

  test('compareSet sets a key with the expected value, or a missing key if none is expected', async () => {
    const store = new HashStore();
    expect(text(await store.compareSet('k', 'old', 'new'))).toBe('');
    expect(await store.check(['k'])).toBe(false);
    expect(text(await store.compareSet('k', '', 'one'))).toBe('one');
    expect(text(await store.compareSet('k', '', 'two'))).toBe('one');
    expect(text(await store.compareSet('k', 'one', 'two'))).toBe('two');
  });

  test('checks, counts and deletes keys', async () => {
    const store = new HashStore();
    await store.set('a', '');
    await store.set('b', '');
    expect(await store.check(['a', 'b'])).toBe(true);
    expect(await store.check(['a', 'z'])).toBe(false);
    expect(await store.numKeys()).toBe(2);
    expect(await store.deleteKey('a')).toBe(true);
    expect(await store.deleteKey('a')).toBe(false);
    expect(await store.numKeys()).toBe(1);
  });

  test('close rejects pending and later calls', async () => {
    const store = new HashStore();
    const waiting = store.get('never');
    const settled = expect(waiting).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' });
    await store.close();
    await settled;
    await expect(store.set('a', '1')).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' });
  });
});
