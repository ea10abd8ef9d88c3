import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { optim, Parameter } from '../../src/index.ts';
import '../support/one-thread.ts';

function isMajor(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { detail: { kind: number } };
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

test('steps that use the same large arrays again collect no garbage', async () => {
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    collections += list.getEntries().filter(isMajor).length;
  });
  observer.observe({ entryTypes: ['gc'] });
  // With gradient and momentum 72 MB, more than V8 lets a process allocate outside of its heap between collections.
  const length = 6e6;
  const parameter = new Parameter(new Float32Array(length), [length]);
  const optimizer = new optim.SGD([parameter], { lr: 0.1, momentum: 0.9 });
  parameter.gradientMemory.array.fill(1);
  parameter.gradientWritten();
  const collectionsAt: number[] = [];
  for (let step = 0; step < 20; step += 1) {
    await optimizer.step();
    // Observers are called in a later turn of the event loop.
    await setImmediate();
    collectionsAt.push(collections);
  }
  observer.disconnect();
  expect(collectionsAt[19] - collectionsAt[4]).toBeLessThan(4);
});
