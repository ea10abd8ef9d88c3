import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { fakeDevice } from '../../../../../native/test/gpu/fake-device.ts';
import {
  backends,
  compileStep,
  F,
  getFloat32MatmulPrecision,
  nn,
  optim,
  setDefaultDevice,
  setFloat32MatmulPrecision,
  tensor,
  type Tensor,
} from '../../../src/index.ts';
import { executorOn } from '../../../src/executor/cuda/cuda.ts';
import { setGpuExecutor } from '../../../src/executor/select.ts';
import '../../support/one-thread.ts';

const gpu = executorOn(fakeDevice());
setGpuExecutor(() => gpu);
setDefaultDevice('cuda');
vi.stubEnv('NVIDIA_TF32_OVERRIDE', undefined);

afterAll(() => {
  setDefaultDevice(undefined);
  vi.unstubAllEnvs();
});
afterEach(() => {
  setFloat32MatmulPrecision('highest');
  backends.cudnn.allowTf32 = true;
});

/** TF32 rounds it to 1. */
const inexact = 1 + 2 ** -12;
/** Libraries use TF32 where tensor cores have a tile. */
const size = 64;
const filled = (number: number, ...shape: number[]) =>
  tensor(new Float32Array(shape.reduce((product, one) => product * one)).fill(number), shape);

/** The first element, divided by `size`. */
const firstOf = async (result: Tensor) => Number((await result.array())[0]) / size;
const product = () => firstOf(filled(inexact, size, size).matmul(filled(1, size, size)));
const convolution = () => firstOf(F.conv2d(filled(inexact, 8, size, 8, 8), filled(1, size, size, 1, 1)));

test('by default, convolutions use TF32 and products do not', async () => {
  expect(getFloat32MatmulPrecision()).toBe('highest');
  expect(backends.cuda.matmul.allowTf32).toBe(false);
  expect(backends.cudnn.allowTf32).toBe(true);
  expect(await product()).toBe(inexact);
  expect(await convolution()).toBe(1);
});

test('a changed precision compiles a program again', async () => {
  expect(await product()).toBe(inexact);
  for (const precision of ['high', 'medium'] as const) {
    setFloat32MatmulPrecision(precision);
    expect(backends.cuda.matmul.allowTf32).toBe(true);
    expect(await product()).toBe(1);
  }
  backends.cuda.matmul.allowTf32 = false;
  expect(getFloat32MatmulPrecision()).toBe('highest');
  expect(await product()).toBe(inexact);
  backends.cuda.matmul.allowTf32 = true;
  expect(getFloat32MatmulPrecision()).toBe('high');
  backends.cudnn.allowTf32 = false;
  expect(await convolution()).toBe(inexact);
});

test.each([false, true])('a compiled step follows, traceOnce %s', async (traceOnce) => {
  const model = new nn.Linear(size, size, { bias: false });
  const optimizer = new optim.SGD(model.parameters(), { lr: 0 });
  model.weight.data.fill(1);
  const step = compileStep(optimizer, (x: Tensor) => model.forward(x).mean(), { traceOnce });
  const loss = async () => (await (await step(filled(inexact, size, size))).item()) / size;
  expect(await loss()).toBe(inexact);
  setFloat32MatmulPrecision('high');
  expect(await loss()).toBe(1);
  setFloat32MatmulPrecision('highest');
  expect(await loss()).toBe(inexact);
});

test('algorithms are tried if benchmark is set, which is not the default', async () => {
  expect(backends.cudnn.benchmark).toBe(false);
  backends.cudnn.allowTf32 = false;
  backends.cudnn.benchmark = true;
  expect(await convolution()).toBe(inexact);
  backends.cudnn.benchmark = false;
  expect(() => {
    backends.cudnn.benchmark = 1 as unknown as boolean;
  }).toThrow(/^backends.cudnn.benchmark: expected true or false, got/);
});

test('other precisions are refused', () => {
  expect(() => {
    setFloat32MatmulPrecision('low' as 'high');
  }).toThrow(/^setFloat32MatmulPrecision: precision must be 'highest', 'high' or 'medium', got 'low'/);
  expect(() => {
    backends.cudnn.allowTf32 = 1 as unknown as boolean;
  }).toThrow(/^backends.cudnn.allowTf32: expected true or false, got/);
});
