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

/** A number that TF32 rounds to 1. */
const inexact = Math.fround(1 + 2 ** -12);
const one = (shape: readonly number[], number: number) => tensor(Float32Array.of(number), shape);

const product = async () =>
  await one([1, 1], inexact)
    .matmul(one([1, 1], 1))
    .item();
const convolution = async () => await F.conv2d(one([1, 1, 1, 1], inexact), one([1, 1, 1, 1], 1)).item();

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
  const model = new nn.Linear(1, 1, { bias: false });
  const optimizer = new optim.SGD(model.parameters(), { lr: 0 });
  model.weight.data.set([1]);
  const step = compileStep(optimizer, (x: Tensor) => model.forward(x).sum(), { traceOnce });
  const loss = async () => await (await step(one([1, 1], inexact))).item();
  expect(await loss()).toBe(inexact);
  setFloat32MatmulPrecision('high');
  expect(await loss()).toBe(1);
  setFloat32MatmulPrecision('highest');
  expect(await loss()).toBe(inexact);
});

test('other precisions are refused', () => {
  expect(() => {
    setFloat32MatmulPrecision('low' as 'high');
  }).toThrow(/^setFloat32MatmulPrecision: precision must be 'highest', 'high' or 'medium', got 'low'/);
  expect(() => {
    backends.cudnn.allowTf32 = 1 as unknown as boolean;
  }).toThrow(/^backends.cudnn.allowTf32: expected true or false, got/);
});
