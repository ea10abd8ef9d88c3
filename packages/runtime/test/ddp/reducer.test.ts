import type { DistributedParameter, GradientBucket, GradientSink, ProcessGroup } from '@ringrun/core';
import { expect, test, vi } from 'vitest';
import type { AveragedStep } from '../../src/ddp/reducer-settings.ts';
import { Reducer } from '../../src/ddp/reducer.ts';

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
  }
}

/**
 * Four parameters of 2, 3, 4 and 5 elements, two per bucket, and the all-reduces that were started. An asynchronous
 * all-reduce ends when the test ends it, a synchronous one at once.
 */
function fourParameters(
  afterAverage?: (step: AveragedStep) => Promise<void> | void,
  { synchronous = false, overlaps = false } = {},
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
    overlaps,
    ...(afterAverage && { afterAverage }),
  });
  for (const parameter of parameters) parameter.gradientSink = reducer;
  /** Begins a pass that writes the gradients of these parameters. */
  const begin = (...written: PlainParameter[]) => {
    const pass = reducer.beginPass(written);
    for (const parameter of written) parameter.gradientWritten();
    return pass;
  };
  return {
    reducer,
    parameters,
    begin,
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
/** With a hook, without the gradients. */
const marks = 2 * (2 + 1);

test('with overlap, reduces each bucket when it is ready, unwritten ones with the last', () => {
  const { parameters, begin, lengths } = fourParameters(undefined, { overlaps: true });
  const [a, b, c, d] = parameters;
  const pass = begin(a, b, c, d);
  expect(lengths()).toEqual([]);
  pass.bucketReady(0);
  expect(lengths()).toEqual([first]);
  pass.bucketReady(1);
  expect(lengths()).toEqual([first, second]);
  pass.abandon(new Error());
  begin(c).bucketReady(0);
  expect(lengths()).toEqual([first, second, first, second]);
});

test('a bucket that is ready starts the buckets before it that nothing writes', () => {
  const { parameters, begin, lengths, uses } = fourParameters(undefined, { overlaps: true });
  begin(parameters[0]).bucketReady(1);
  expect(lengths()).toEqual([first, second]);
  expect(uses()).toEqual([
    [0, 0, 1],
    [0, 1, 1],
  ]);
});

test('without overlap, all buckets are ready at once', () => {
  const { reducer, parameters, begin, lengths } = fourParameters();
  expect(parameters.map((parameter) => reducer.bucketIndexOf(parameter))).toEqual([0, 0, 0, 0]);
  begin(...parameters).bucketReady(0);
  expect(lengths()).toEqual([first, second]);
});

test('a pass that is abandoned leaves no marks of used parameters', async () => {
  const { parameters, begin, uses, endAll } = fourParameters();
  const [a, b, c, d] = parameters;
  begin(a, d).abandon(new Error());
  a.grad = undefined;
  d.grad = undefined;
  const done = begin(b, c).done();
  expect(uses()).toEqual([
    [0, 1, 1],
    [1, 0, 1],
  ]);
  endAll();
  await done;
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
  const { parameters, begin, lengths, endAll } = fourParameters();
  for (const pass of [1, 2]) {
    const done = begin(parameters[0]).done();
    expect(lengths()).toHaveLength(2 * pass);
    endAll();
    await done;
  }
  expect(lengths()).toEqual([first, second, first, second]);
});

test('throws if a pass starts while the previous gradients are being averaged', async () => {
  const { reducer, parameters, begin, endAll } = fourParameters();
  const done = begin(...parameters).done();
  expect(() => reducer.beginPass(parameters)).toThrow(
    expect.objectContaining({ code: 'ERR_BACKWARD_UNDER_WAY' }),
  );
  endAll();
  await done;
  reducer.beginPass(parameters);
});

test('accumulating passes reduce nothing; their parameters count as used in the next average', async () => {
  const { reducer, parameters, begin, lengths, endAll, uses } = fourParameters();
  const [a, b, , d] = parameters;
  await reducer.accumulating(async () => {
    await reducer.accumulating(async () => {
      await begin(a).done();
    });
    const pass = begin(b);
    pass.bucketReady(0);
    await pass.done();
  });
  expect(lengths()).toEqual([]);
  b.grad = undefined;
  const done = begin(d).done();
  // d and c, then b, whose gradient was cleared, and a.
  expect(uses()).toEqual([
    [1, 0, 1],
    [0, 1, 1],
  ]);
  endAll();
  await done;
  begin(...parameters).bucketReady(0);
  expect(lengths()).toEqual([first, second, first, second]);
});

test('a pass awaits afterAverage; if that fails, the next pass averages again', async () => {
  const numbers: number[] = [];
  let fail: (reason: Error) => void = () => undefined;
  const { reducer, parameters, begin, lengths, endAll } = fourParameters(({ step }) => {
    numbers.push(step);
    return new Promise((_, reject) => {
      fail = reject;
    });
  });
  for (const pass of [1, 2]) {
    const done = begin(...parameters).done();
    expect(lengths()).toHaveLength(2 * pass);
    endAll();
    await vi.waitFor(() => {
      expect(numbers).toHaveLength(pass);
    });
    expect(() => reducer.beginPass(parameters)).toThrow(
      expect.objectContaining({ code: 'ERR_BACKWARD_UNDER_WAY' }),
    );
    fail(new Error('after the average'));
    await expect(done).rejects.toThrow('after the average');
  }
});

test('a synchronous pass reduces all buckets, in order, even without gradients', () => {
  const steps: number[] = [];
  const record = ({ step }: AveragedStep) => {
    steps.push(step);
  };
  const { reducer, parameters, lengths, uses } = fourParameters(record, { synchronous: true });
  for (const parameter of parameters) parameter.gradientWritten();
  reducer.averageSync(parameters);
  for (const parameter of parameters) parameter.grad = undefined;
  reducer.averageSync([]);
  expect(lengths()).toEqual([first, second, first, second]);
  expect(uses().slice(2)).toEqual([
    [0, 0, 1],
    [0, 0, 1],
  ]);
  expect(steps).toEqual([1, 2]);
});

test('with a hook, one all-reduce of the marks and weights of all buckets precedes them', async () => {
  const { parameters, begin, lengths, uses, endAll, reducer } = fourParameters(undefined, { overlaps: true });
  const hooked: number[] = [];
  reducer.registerCommHook(({ index }) => {
    hooked.push(index);
    return Promise.resolve();
  });
  const [, b, c, d] = parameters;
  const pass = begin(b, c, d);
  pass.bucketReady(0);
  pass.bucketReady(1);
  expect(lengths()).toEqual([marks]);
  // The first parameter is the last one of the second bucket.
  expect(uses()).toEqual([[1, 0, 1]]);
  endAll();
  await pass.done();
  expect(hooked).toEqual([0, 1]);
});

test('with a synchronous hook too', () => {
  const { parameters, lengths, reducer } = fourParameters(undefined, { synchronous: true });
  const hooked: number[] = [];
  const sync = ({ index }: GradientBucket) => void hooked.push(index);
  reducer.registerCommHook(Object.assign(() => Promise.resolve(), { sync }));
  reducer.averageSync(parameters);
  expect(lengths()).toEqual([marks]);
  expect(hooked).toEqual([0, 1]);
});

test('a synchronous reducer rejects hooks without a sync method', () => {
  const { reducer } = fourParameters(undefined, { synchronous: true });
  expect(() => {
    reducer.registerCommHook(() => Promise.resolve());
  }).toThrow(expect.objectContaining({ code: 'ERR_COMM_HOOK' }));
});
