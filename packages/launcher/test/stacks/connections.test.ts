import { expect, test } from 'vitest';
import { Connections } from '../../src/stacks/connections.ts';

test('counts connections from before they open until they are closed, and closes them on demand', async () => {
  const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const count = () => Atomics.load(new Int32Array(shared), 0);
  const connections = new Connections(shared);
  const counts: number[] = [];
  let close!: () => void;
  const closed = new Promise<void>((resolve) => (close = resolve));
  const connection = {
    close: () => {
      counts.push(count());
      close();
      return Promise.resolve();
    },
  };
  const used = connections.use(
    () => {
      counts.push(count());
      return Promise.resolve(connection);
    },
    async () => {
      await connections.closeAll();
      await closed;
      return 'closed';
    },
  );
  await expect(used).resolves.toBe('closed');
  // Before it opens, when all are closed, and when it has been used.
  expect(counts).toEqual([1, 1, 1]);
  expect(count()).toBe(0);
});

test('a connection that fails to open does not count', async () => {
  const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const connections = new Connections(shared);
  const failing = connections.use(
    () => Promise.reject(new Error('no store')),
    () => Promise.resolve(),
  );
  await expect(failing).rejects.toThrow('no store');
  expect(Atomics.load(new Int32Array(shared), 0)).toBe(0);
});
