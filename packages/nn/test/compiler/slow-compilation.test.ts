import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { describeCompilation, warnIfSlow } from '../../src/compiler/slow-compilation.ts';
import { onnxModelOf } from '../../src/executor/cpu/lower.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { Parameter, programCache } from '../../src/index.ts';
import '../support/one-thread.ts';

const shape = { operators: 2, inputs: [] };

test('prints the line during a slow compilation, and none for a fast one', async () => {
  const line = new EventTarget();
  const write = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation(() => line.dispatchEvent(new Event('line')));
  // The compilation ends after the line is printed; otherwise, the test would hang.
  await warnIfSlow('a loss', shape, () => once(line, 'line'), 1);
  await warnIfSlow('a loss', shape, () => Promise.resolve(), 60_000);
  const lines = write.mock.calls.map(([text]) => text);
  write.mockRestore();
  expect(lines).toEqual([`ringrun: compiling ${describeCompilation('a loss', shape)}\n`]);
});

test('the line names the pass, its number of operators and its input shapes', () => {
  const step = { dtype: 'float32', shape: [8, 16] } as const;
  const labels = { dtype: 'int64', shape: [8] } as const;
  expect(describeCompilation('a loss', { operators: 2050, inputs: [step, step, step, labels] })).toBe(
    'a loss, 2,050 operators, from 3 × float32[8,16], int64[8]. This happens once for each set of shapes.',
  );
  const lengths = [1, 2, 3, 4, 5, 6].map((length) => ({ dtype: 'int64', shape: [length] }) as const);
  expect(describeCompilation('a loss', { operators: 7, inputs: lengths })).toContain(
    'from int64[1], int64[2], int64[3], int64[4] and 2 more shapes.',
  );
  expect(describeCompilation('a loss', { operators: 7, inputs: [] })).toContain('from parameters alone.');
});

test('compiles a long graph of small arrays without passes of quadratic cost', async () => {
  programCache.clear();
  const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
  const parameter = new Parameter(Float32Array.of(0.5, -0.25), [2]);
  let value = parameter.mul(1);
  for (let step = 0; step < 700; step += 1) value = value.mul(0.999).add(parameter);
  await value.sum().backward();
  const [[definition]] = compile.mock.calls;
  compile.mockRestore();
  expect(onnxModelOf(definition).isLong).toBe(true);
  let expected = 1;
  for (let step = 0; step < 700; step += 1) expected = expected * 0.999 + 1;
  for (const gradient of parameter.grad!) expect(gradient / expected).toBeCloseTo(1, 4);
});
