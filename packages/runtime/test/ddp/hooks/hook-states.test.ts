import { expect, test } from 'vitest';
import type { CommHook } from '@ringrun/core';
import { HookStates } from '../../../src/ddp/hooks/hook-states.ts';

/** A hook whose states return and keep their own arrays. */
function hookWithStates() {
  const own = { steps: 0, error: Float32Array.of(0, 0), counts: new Map([['a', 1n]]) };
  const hook: CommHook = Object.assign(() => Promise.resolve(), {
    state: {
      stateDict: () => ({ steps: own.steps, counts: own.counts }),
      loadStateDict: (state: Pick<typeof own, 'steps' | 'counts'>) => {
        Object.assign(own, state);
      },
    },
    rankState: {
      stateDict: () => ({ error: own.error }),
      loadStateDict: ({ error }: Pick<typeof own, 'error'>) => {
        own.error = error;
      },
    },
  });
  const step = () => {
    own.steps += 1;
    own.error[0] += own.steps;
    own.counts.set('a', own.counts.get('a')! * 2n);
  };
  return { own, hook, step };
}

test('an undone step leaves no trace, however often it is undone', async () => {
  const { own, hook, step } = hookWithStates();
  const states = new HookStates(hook);
  states.beginStep();
  step();
  states.commitStep();
  for (let attempt = 0; attempt < 3; attempt += 1) {
    states.beginStep();
    step();
    expect(own.error[0]).toBe(3);
    await states.undoStep();
    expect(own).toEqual({ steps: 1, error: Float32Array.of(1, 0), counts: new Map([['a', 2n]]) });
  }
  states.beginStep();
  step();
  states.commitStep();
  await states.undoStep();
  expect(own).toEqual({ steps: 2, error: Float32Array.of(3, 0), counts: new Map([['a', 4n]]) });
});

test('the copies of a step are reused, but not an array that the hook has loaded', async () => {
  const { own, hook, step } = hookWithStates();
  const states = new HookStates(hook);
  for (let i = 0; i < 6; i += 1) {
    const before = { ...own, error: own.error.slice(), counts: new Map(own.counts) };
    states.beginStep();
    step();
    if (i % 3 === 0) {
      states.commitStep();
      continue;
    }
    await states.undoStep();
    expect(own).toEqual(before);
  }
});

test('only the state that is equal on all ranks is shared', async () => {
  const from = hookWithStates();
  const to = hookWithStates();
  from.step();
  const { shared } = new HookStates(from.hook);
  expect(shared?.tree).toMatchObject({ steps: 1 });
  expect(shared?.tensors.size).toBe(0);
  await new HookStates(to.hook).loadShared({ steps: 1, counts: new Map([['a', 2n]]) });
  expect(to.own).toEqual({ steps: 1, error: Float32Array.of(0, 0), counts: new Map([['a', 2n]]) });
  expect(new HookStates(() => Promise.resolve()).shared).toBeUndefined();
});

test('a state without its methods, and a state that is a promise, are errors that name it', () => {
  const half = Object.assign(() => Promise.resolve(), { rankState: { stateDict: () => ({}) } });
  expect(() => new HookStates(half as unknown as CommHook)).toThrow(
    'registerCommHook: expected a hook whose rankState has the methods stateDict and loadStateDict, got one without loadStateDict.',
  );
  const late = Object.assign(() => Promise.resolve(), {
    state: { stateDict: () => Promise.resolve({}), loadStateDict: () => undefined },
  });
  expect(() => {
    new HookStates(late).beginStep();
  }).toThrow('registerCommHook: state is an object of class Promise');
});
