import { expect, test } from 'vitest';

import { Turns } from '../../src/native-group/turns.ts';

/** Records each operation that starts, and ends it when the test does. */
function recorder() {
  const begun: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const operation = (name: string) => () => {
    begun.push(name);
    return new Promise<void>((resolve, reject) => ends.set(name, { resolve, reject }));
  };
  return { begun, operation, end: (name: string) => ends.get(name)! };
}

test('operations of one step start immediately', () => {
  const { begun, operation } = recorder();
  const turns = new Turns();
  void turns.inOrder(operation('a'));
  void turns.inOrder(operation('b'));
  expect(begun).toEqual(['a', 'b']);
});

test('operations called during a multi-step operation start after it, in call order', async () => {
  const { begun, operation, end } = recorder();
  const turns = new Turns();
  const first = turns.severalSteps(operation('first'));
  const single = turns.inOrder(operation('single'));
  const second = turns.severalSteps(operation('second'));
  const last = turns.inOrder(operation('last'));
  expect(begun).toEqual(['first']);

  end('first').resolve();
  await first;
  await Promise.resolve();
  expect(begun).toEqual(['first', 'single', 'second']);

  end('single').resolve();
  end('second').resolve();
  await Promise.all([single, second]);
  await Promise.resolve();
  expect(begun).toEqual(['first', 'single', 'second', 'last']);
  end('last').resolve();
  await last;
  void turns.inOrder(operation('afterwards'));
  expect(begun.at(-1)).toBe('afterwards');
});

test('a failed step does not block later operations', async () => {
  const { operation, end } = recorder();
  const turns = new Turns();
  const failing = turns.severalSteps(operation('failing'));
  const next = turns.inOrder(() => Promise.resolve(5));
  end('failing').reject(new Error('no'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe(5);
});

test('a synchronous operation is refused until all steps have ended', async () => {
  const turns = new Turns();
  turns.refuseWhileUnderWay();
  const steps = turns.severalSteps(() => Promise.resolve());
  expect(() => {
    turns.refuseWhileUnderWay();
  }).toThrow(/await the promise of broadcastObject/);
  await steps;
  await turns.inOrder(() => Promise.resolve());
  turns.refuseWhileUnderWay();
});
