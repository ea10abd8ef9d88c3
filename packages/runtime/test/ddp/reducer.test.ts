import type { ProcessGroup } from '@ringrun/collectives';
import { expect, test, vi } from 'vitest';
import type { DistributedParameter, GradientSink } from '@ringrun/core';
import { Reducer, type AveragedStep } from '../../src/ddp/reducer.ts';

/** A parameter of `length` elements. */
class PlainParameter implements DistributedParameter {
  readonly data: Float32Array;
  readonly shape: readonly number[];
  gradientSink: GradientSink | undefined;
  grad: Float32Array | undefined;

  constructor(length: number) {
    this.data = new Float32Array(length);
    this.shape = [length];
  }

  gradientWritten(): void {
    this.grad = this.gradientSink!.arrayOf(this);
    this.gradientSink!.gradientReady(this);
  }
}

/**
 * Four parameters of 2, 3, 4 and 5 elements, two per bucket, and the all-reduces that were started. An asynchronous
 * all-reduce ends when the test ends it, a synchronous one at once.
 */
function fourParameters(
  afterAverage?: (step: AveragedStep) => Promise<void> | void,
  { synchronous = false } = {},
) {
  const started: { length: number; tail: number[]; end: () => void }[] = [];
  const group = {
    allocateSync: (_: string, length: number) => new Float32Array(length),
    allReduce: (data: Float32Array) =>
      new Promise<void>((end) => {
        started.push({ length: data.length, tail: [...data.slice(-3)], end });
      }),
    allReduceSync: (data: Float32Array) => {
      started.push({ length: data.length, tail: [...data.slice(-3)], end: () => undefined });
    },
  } as unknown as ProcessGroup;
  const parameters = [2, 3, 4, 5].map((length) => new PlainParameter(length));
  const reducer = new Reducer(group, parameters, {
    firstCap: 4 * (5 + 4),
    cap: 4 * (3 + 2),
    synchronous,
    ...(afterAverage && { afterAverage }),
  });
  for (const parameter of parameters) parameter.gradientSink = reducer;
  return {
    reducer,
    parameters,
    lengths: () => started.map(({ length }) => length),
    uses: () => started.map(({ tail }) => tail),
    endAll: () => {
      for (const { end } of started) end();
    },
  };
}

// The gradients of a bucket are followed by one number per parameter and the rank's weight.
const first = 5 + 4 + 2 + 1;
const second = 3 + 2 + 2 + 1;

test('reduces a bucket once it is complete and all earlier buckets have started', () => {
  const { parameters, lengths } = fourParameters();
  const [a, b, c, d] = parameters;
  a.gradientWritten();
  b.gradientWritten();
  d.gradientWritten();
  expect(lengths()).toEqual([]);
  c.gradientWritten();
  expect(lengths()).toEqual([first, second]);
});

test('gradients of a bucket are contiguous, the last parameter first', () => {
  const { reducer, parameters } = fourParameters();
  const arrays = parameters.map((parameter) => reducer.arrayOf(parameter));
  expect(arrays.map(({ length }) => length)).toEqual([2, 3, 4, 5]);
  expect(arrays.map(({ byteOffset }) => byteOffset / 4)).toEqual([3, 0, 5, 0]);
  expect(arrays[3].buffer).toBe(arrays[2].buffer);
  expect(arrays[1].buffer).toBe(arrays[0].buffer);
  expect(arrays[1].buffer).not.toBe(arrays[2].buffer);
});

test('the end of a pass also reduces unused gradients, waits, and resets for the next pass', async () => {
  const { reducer, parameters, lengths, endAll } = fourParameters();
  for (const pass of [1, 2]) {
    parameters[0].gradientWritten();
    const done = reducer.backwardDone();
    expect(lengths()).toHaveLength(2 * pass);
    endAll();
    await done;
    await reducer.backwardDone();
  }
  expect(lengths()).toEqual([first, second, first, second]);
});

test('throws if a pass starts while the previous gradients are being averaged', async () => {
  const { reducer, parameters, endAll } = fourParameters();
  for (const parameter of parameters) parameter.gradientWritten();
  const done = reducer.backwardDone();
  expect(() => {
    parameters[0].gradientWritten();
  }).toThrow(expect.objectContaining({ code: 'ERR_BACKWARD_UNDER_WAY' }));
  endAll();
  await done;
  parameters[0].gradientWritten();
});

test('accumulating passes reduce nothing; their parameters count as used in the next average', async () => {
  const { reducer, parameters, lengths, endAll, uses } = fourParameters();
  const [a, b] = parameters;
  await reducer.accumulating(async () => {
    await reducer.accumulating(async () => {
      a.gradientWritten();
      await reducer.backwardDone();
    });
    b.gradientWritten();
    await reducer.backwardDone();
  });
  expect(lengths()).toEqual([]);
  b.grad = undefined;
  parameters[3].gradientWritten();
  const done = reducer.backwardDone();
  // d and c, then b, whose gradient was cleared, and a.
  expect(uses()).toEqual([
    [1, 0, 1],
    [0, 1, 1],
  ]);
  endAll();
  await done;
  for (const parameter of parameters) parameter.gradientWritten();
  expect(lengths()).toEqual([first, second, first, second]);
});

test('a pass awaits afterAverage; if that fails, the next pass averages again', async () => {
  const numbers: number[] = [];
  let fail: (reason: Error) => void = () => undefined;
  const { reducer, parameters, lengths, endAll } = fourParameters(({ step }) => {
    numbers.push(step);
    return new Promise((_, reject) => {
      fail = reject;
    });
  });
  for (const pass of [1, 2]) {
    for (const parameter of parameters) parameter.gradientWritten();
    expect(lengths()).toHaveLength(2 * pass);
    const done = reducer.backwardDone();
    endAll();
    await vi.waitFor(() => {
      expect(numbers).toHaveLength(pass);
    });
    expect(() => {
      parameters[0].gradientWritten();
    }).toThrow(expect.objectContaining({ code: 'ERR_BACKWARD_UNDER_WAY' }));
    fail(new Error('after the average'));
    await expect(done).rejects.toThrow('after the average');
  }
});

test('a synchronous pass reduces all buckets at its end, in order, even without gradients', () => {
  const steps: number[] = [];
  const record = ({ step }: AveragedStep) => {
    steps.push(step);
  };
  const { reducer, parameters, lengths, uses } = fourParameters(record, { synchronous: true });
  for (const parameter of parameters) parameter.gradientWritten();
  expect(lengths()).toEqual([]);
  reducer.backwardDoneSync();
  for (const parameter of parameters) parameter.grad = undefined;
  reducer.backwardDoneSync();
  expect(lengths()).toEqual([first, second, first, second]);
  expect(uses().slice(2)).toEqual([
    [0, 0, 1],
    [0, 0, 1],
  ]);
  expect(steps).toEqual([1, 2]);
});

test('a synchronous reducer rejects hooks without a sync method', () => {
  const { reducer } = fourParameters(undefined, { synchronous: true });
  expect(() => {
    reducer.registerCommHook(() => Promise.resolve());
  }).toThrow(expect.objectContaining({ code: 'ERR_COMM_HOOK' }));
});
