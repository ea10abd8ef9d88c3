import { registry, type ProcessGroup } from '@ringrun/core';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { nn, ones, setDefaultDevice, type Device } from '../../src/index.ts';
import { chooseDevice } from '../../src/executor/device.ts';
import { setGpuExecutor } from '../../src/executor/select.ts';
import '../support/one-thread.ts';

const before = setGpuExecutor(() => ({ problem: 'this machine has no GPU' }));
afterAll(() => {
  setGpuExecutor(before);
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  registry.defaultGroup = undefined;
});

const unset = { set: undefined, variable: undefined, group: undefined };
const nccl = { backend: 'nccl', device: 3 };

test.each([
  [unset, 'cpu', undefined],
  [{ ...unset, variable: '' }, 'cpu', undefined],
  [{ ...unset, group: { backend: 'gloo' } }, 'cpu', undefined],
  [{ ...unset, group: nccl }, 'cuda:3', undefined],
  [{ ...unset, group: { backend: 'nccl' } }, 'cuda', undefined],
  [{ ...unset, variable: 'cpu', group: nccl }, 'cpu', 'RINGRUN_DEVICE'],
  [{ ...unset, variable: 'cuda' }, 'cuda', 'RINGRUN_DEVICE'],
  [{ ...unset, variable: 'cuda:12', group: nccl }, 'cuda:12', 'RINGRUN_DEVICE'],
  [{ set: 'cpu' as const, variable: 'cuda', group: nccl }, 'cpu', 'setDefaultDevice'],
])('%#: %o choose %s, required by %s', (settings, device, requiredBy) => {
  expect(chooseDevice(settings)).toEqual({ device, requiredBy });
});

/** Trains for one step. */
const train = () =>
  new nn.Linear(2, 1)
    .forward(ones([3, 2]))
    .sum()
    .backward();

describe('a device that cannot be used', () => {
  test.each(['cuda', 'cuda:1'])('RINGRUN_DEVICE=%s is an error with the reason', async (device) => {
    vi.stubEnv('RINGRUN_DEVICE', device);
    const message = `RINGRUN_DEVICE: expected a device that can be used, got ${device}: this machine has no GPU. Unset it or set it to cpu to compute on the CPU.`;
    await expect(train()).rejects.toMatchObject({ code: 'ERR_EXECUTOR', message });
    expect(() => ones([1]).add(1).arraySync()).toThrow(message);
  });

  test.each(['gpu', 'cuda:', 'cuda:01', 'CUDA', '0'])('RINGRUN_DEVICE=%s is an error', async (device) => {
    vi.stubEnv('RINGRUN_DEVICE', device);
    await expect(train()).rejects.toMatchObject({
      code: 'ERR_EXECUTOR',
      message: `RINGRUN_DEVICE: expected cpu, cuda or cuda:N, got "${device}". Unset it for the default: the CPU.`,
    });
  });

  test('is rejected by module.to and setDefaultDevice, which change nothing', async () => {
    const model = new nn.Linear(2, 1);
    const reason = 'this machine has no GPU';
    expect(() => model.to('cuda:2')).toThrow(
      `Linear.to: expected a device that can be used, got cuda:2: ${reason}. Use 'cpu' to compute on the CPU.`,
    );
    expect(() => {
      setDefaultDevice('cuda');
    }).toThrow(`setDefaultDevice: expected a device that can be used, got cuda: ${reason}.`);
    expect(() => model.to('gpu' as Device)).toThrow(
      "Linear.to: expected 'cpu', 'cuda' or 'cuda:N', got \"gpu\".",
    );
    await model
      .forward(ones([3, 2]))
      .sum()
      .backward();
  });

  test('RINGRUN_DEVICE=cuda has no effect on a module that was moved to the CPU', async () => {
    vi.stubEnv('RINGRUN_DEVICE', 'cuda');
    const model = new nn.Linear(2, 1).to('cpu');
    await model
      .forward(ones([3, 2]))
      .sum()
      .backward();
    expect(model.weight.grad).toEqual(Float32Array.of(3, 3));
  });

  test('of another rank of a group with backend nccl is named', async () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const gpuProblem = 'on rank 1 (b), NVRTC is missing';
    registry.defaultGroup = {
      ...{ backend: 'nccl', device: 0, rank: 0, size: 1, gpuProblem },
    } as unknown as ProcessGroup;
    await train();
    expect(written.mock.calls.map(([line]) => line)).toEqual([expect.stringContaining(gpuProblem)]);
  });

  test('of a group with backend nccl is replaced by the CPU, with one line that says why', async () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    registry.defaultGroup = { backend: 'nccl', device: 1, rank: 0, size: 1 } as unknown as ProcessGroup;
    await train();
    await train();
    expect(written.mock.calls.map(([line]) => line)).toEqual([
      'ringrun: models compute on the CPU, and gradients are averaged on the GPU (cuda:1) with nccl: this machine has no GPU. RINGRUN_DEVICE=cpu hides this line. (printed once)\n',
    ]);
  });
});
