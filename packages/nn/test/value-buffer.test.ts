import { afterEach, expect, test, vi } from 'vitest';
import type { TensorData } from '../src/dtype.ts';
import { onnxruntimeExecutor } from '../src/executor/onnxruntime.ts';
import { allOnHost, hostArrays, onHost, type ValueBuffer } from '../src/executor/value-buffer.ts';
import { compileStep, F, manualSeed, nn, noGrad, optim, programCache, tensor } from '../src/index.ts';
import { fill } from './fill.ts';

const memory = new Map<ValueBuffer, TensorData>();

/** Values lie in `memory`, apart from the arrays of the host that a run reads or writes in place. */
function placeValuesElsewhere(): { uploads: number; downloads: number } {
  const moved = { uploads: 0, downloads: 0 };
  const onHostExecutor = { ...onnxruntimeExecutor };
  const place = (array: TensorData) => {
    const buffer = Object.freeze({}) as ValueBuffer;
    memory.set(buffer, array);
    return buffer;
  };
  const arraysOf = (buffers: readonly ValueBuffer[]) =>
    allOnHost(buffers.map((buffer) => memory.get(buffer) ?? hostArrays([buffer])[0]));
  vi.spyOn(onnxruntimeExecutor, 'allocate').mockImplementation((type) =>
    place(hostArrays([onHostExecutor.allocate(type)])[0]),
  );
  vi.spyOn(onnxruntimeExecutor, 'upload').mockImplementation((array) => {
    moved.uploads += 1;
    return place(array.slice());
  });
  vi.spyOn(onnxruntimeExecutor, 'download').mockImplementation((buffer) => {
    moved.downloads += 1;
    return Promise.resolve(memory.get(buffer)!.slice());
  });
  vi.spyOn(onnxruntimeExecutor, 'compile').mockImplementation(async (definition) => {
    const program = await onHostExecutor.compile(definition);
    return {
      run: (inputs, outputs, calls) => program.run(arraysOf(inputs), arraysOf(outputs), calls),
      release: () => program.release(),
    };
  });
  return moved;
}

afterEach(() => {
  vi.restoreAllMocks();
  memory.clear();
  programCache.clear();
});

/** A forward pass with running statistics, a detached part, an accumulated gradient, and a checked step. */
async function losses(): Promise<number[]> {
  manualSeed(3);
  const model = new nn.Sequential(new nn.Linear(4, 6), new nn.BatchNorm1d(6), new nn.Linear(6, 3));
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.1 });
  const x = tensor(fill([8, 4], 1), [8, 4]);
  const labels = tensor(BigInt64Array.from({ length: 8 }, (_, index) => BigInt(index % 3)));
  const lossOf = () => F.crossEntropy(model.forward(x), labels);
  const computed: number[] = [];
  for (const detectAnomaly of [false, true]) {
    optimizer.zeroGrad();
    await lossOf().backward();
    const loss = lossOf();
    await loss.backward({ detectAnomaly });
    await optimizer.step();
    computed.push(await loss.item());
  }
  computed.push(await (await compileStep(optimizer, lossOf)()).item());
  model.eval();
  return [...computed, ...(await noGrad(() => model.forward(x)).array())].map(Number);
}

test('values may lie in memory that only the executor reads and writes', async () => {
  const expected = await losses();
  programCache.clear();
  const moved = placeValuesElsewhere();
  expect(await losses()).toEqual(expected);
  expect(moved.uploads).toBeGreaterThan(20);
  expect(moved.downloads).toBeGreaterThan(5);
});

test('a buffer on the host is its array', async () => {
  const array = Float32Array.of(1, 2);
  expect(hostArrays([onHost(array)])[0]).toBe(array);
  expect(await onnxruntimeExecutor.download(onnxruntimeExecutor.upload(array))).toBe(array);
  const allocated = onnxruntimeExecutor.allocate({ dtype: 'int64', shape: [2, 3] });
  expect(await onnxruntimeExecutor.download(allocated)).toEqual(new BigInt64Array(6));
});
