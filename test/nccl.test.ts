import { expect, test } from 'vitest';
import { standIn } from '../packages/collectives/test/nccl/stand-in.ts';
import { launch } from './support/command.ts';
import { drawnMnist } from './support/drawn-mnist.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

/** NVIDIA's libraries where there is a GPU (scripts/gpu-check.sh), stand-ins elsewhere. */
const isReal = process.env['RINGRUN_GPU_CHECK'] === '1';
const libraries = isReal ? {} : standIn();
const size = isReal ? 1 : 2;

const scenarios = new Scenarios('test/fixtures/nccl.js', temporaryFolder());

test('all groups of a process run on its GPU, and the functions of the package take tensors that lie there', async () => {
  const found = await scenarios.run(size, 'groups', { env: libraries });
  expect(found).toEqual(
    Array.from({ length: size }, (_, rank) => ({
      backends: ['nccl', 'nccl', ...(rank === 0 && size > 1 ? [] : ['nccl'])],
      sum: (size * (size + 1)) / 2,
      largest: [size - 1, 10 * (size - 1), 1],
      device: rank,
    })),
  );
});

test.skipIf(isReal)(
  'without a GPU the error says what was looked for, and gloo can be used instead',
  async () => {
    const nowhere = {
      RINGRUN_CUDA_LIBRARY: '/nowhere/libcuda.so.1',
      RINGRUN_NCCL_LIBRARY: '/nowhere/libnccl.so.2',
    };
    for (const { code, message, refused } of await scenarios.run<Record<string, string>>(2, 'without', {
      env: nowhere,
    })) {
      expect({ code, refused }).toEqual({ code: 'ERR_NCCL_UNAVAILABLE', refused: 'ERR_NOT_ON_GPU' });
      expect(message).toMatch(
        /\/nowhere\/libcuda\.so\.1 .*\/nowhere\/libnccl\.so\.2 .*choose the backend gloo/,
      );
    }
  },
);

/** What the example prints last: the digest of the parameters that all ranks have. */
async function digestOver(backend: string, data: string): Promise<string> {
  const script = 'packages/examples-mnist/train.ts';
  const args = ['--nproc', String(size), script, '--data', data, '--backend', backend];
  const ended = await launch(args, { env: libraries }).ended;
  expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
  const digest = /^parameters identical on \d ranks?: ([0-9a-f]{64})$/m.exec(ended.stdout);
  return digest![1];
}

// An average over one rank or two is exact, however it is made.
test('training MNIST over nccl ends with the bits of training over gloo', async () => {
  const data = drawnMnist({ train: 600, test: 200 });
  expect(await digestOver('nccl', data)).toBe(await digestOver('gloo', data));
});
