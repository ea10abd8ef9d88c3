import { expect, test } from 'vitest';

import { Turns } from '../../src/gloo/turns.ts';

/** Writes down what begins, and ends it when the test says so. */
function recorder() {
  const begun: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const operation = (name: string) => () => {
    begun.push(name);
    return new Promise<void>((resolve, reject) => ends.set(name, { resolve, reject }));
  };
  return { begun, operation, end: (name: string) => ends.get(name)! };
}

test('single steps begin at once', () => {
  const { begun, operation } = recorder();
  const turns = new Turns();
  void turns.inOrder(operation('a'));
  void turns.inOrder(operation('b'));
  expect(begun).toEqual(['a', 'b']);
});

test('what is called during several steps begins after them, in the order of the calls', async () => {
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

test('steps that fail hold up nobody', async () => {
  const { operation, end } = recorder();
  const turns = new Turns();
  const failing = turns.severalSteps(operation('failing'));
  const next = turns.inOrder(() => Promise.resolve(5));
  end('failing').reject(new Error('no'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe(5);
});

test('a synchronous operation is refused until they are over', async () => {
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
