import { describe, expect, test } from 'vitest';
import { fakeComputeLibraries, fakeGpuLibraries } from '../native/test/fake-gpu/libraries.ts';
import { builtScript } from './support/built-script.ts';
import { launch, node } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { isFull, ways } from './support/extent.ts';
import { freePort } from './support/free-port.ts';
import { Scenarios } from './support/scenarios.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

/** NVIDIA's libraries on a GPU (scripts/gpu-check.sh), otherwise fakes. */
const isReal = process.env['RINGRUN_GPU_CHECK'] === '1';
const libraries = isReal ? named(['RINGRUN_CUDA_LIBRARY', 'RINGRUN_NCCL_LIBRARY']) : fakeGpuLibraries();
const size = isReal ? 1 : 2;

/** Commands of the tests inherit no variables of ringrun. */
function named(variables: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    variables.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

const scenarios = new Scenarios(builtScript('nccl.script'), temporaryFolder());

test('all groups of a process run on its GPU, and collectives accept GPU tensors', async () => {
  const found = await scenarios.run(size, 'groups', { env: libraries });
  expect(found).toEqual(
    Array.from({ length: size }, (_, rank) => ({
      backends: ['nccl', 'nccl', ...(rank === 0 && size > 1 ? [] : ['nccl'])],
      sum: (size * (size + 1)) / 2,
      gradients: [(size + 1) / 2, (size - 1) / 2],
      largest: [size - 1, 10 * (size - 1), 1],
      device: rank,
    })),
  );
});

test.skipIf(isReal)(
  `without a GPU the error names the paths tried, and gloo can be used instead${isReal ? ': skipped, there is one' : ''}`,
  async () => {
    const nowhere = {
      RINGRUN_CUDA_LIBRARY: '/nowhere/libcuda.so.1',
      RINGRUN_NCCL_LIBRARY: '/nowhere/libnccl.so.2',
    };
    for (const { code, message, refused } of await scenarios.run<Record<string, string>>(2, 'without', {
      env: nowhere,
    })) {
      expect({ code, refused }).toEqual({ code: 'ERR_NCCL_UNAVAILABLE', refused: 'ERR_NOT_ON_GPU' });
      expect(message).toMatch(/\/nowhere\/libcuda\.so\.1 .*\/nowhere\/libnccl\.so\.2 .*or use backend gloo/);
    }
  },
);

const script = compiledExample('examples-mnist');

/** The last line of the example: the digest of the parameters on all ranks. */
const digestIn = (stdout: string) => /^parameters identical on \d ranks?: ([0-9a-f]{64})$/m.exec(stdout)?.[1];

/** The number of threads affects the last bits of a step; the launcher divides the processors, and `node` does not. */
const oneThread = { OMP_NUM_THREADS: 1 };

/** Gradients on the host, which NCCL averages. */
const onCpu = { ...oneThread, RINGRUN_DEVICE: 'cpu' };

const endedWell = { code: 0, timedOut: false, left: [] };

/** Trains on this host, each rank on its GPU; resolves with the digest. */
async function trainOnOneHost(backend: string, ranks: number, data: string): Promise<string | undefined> {
  const args = ['--nproc', String(ranks), script, '--data', data, '--backend', backend];
  const ended = await launch(args, { env: { ...libraries, ...onCpu } }).ended;
  const { stderr, ...end } = withoutWaiting(ended);
  expect(end).toMatchObject(endedWell);
  expect(stderr).toBe('');
  return digestIn(ended.stdout);
}

/** Trains on two ranks that share a GPU. NCCL allows this to ranks that declare different hosts; for tests only. */
async function trainOnOneGpu(data: string): Promise<string | undefined> {
  const rendezvous = { WORLD_SIZE: 2, MASTER_ADDR: '127.0.0.1', MASTER_PORT: await freePort() };
  const apart = { NCCL_P2P_DISABLE: 1, NCCL_SHM_DISABLE: 1, CUDA_VISIBLE_DEVICES: 0 };
  const args = [script, '--data', data, '--backend', 'nccl'];
  const ends = await Promise.all(
    [0, 1].map((RANK) => {
      const env = { ...libraries, ...onCpu, ...rendezvous, ...apart, RANK, NCCL_HOSTID: `host ${RANK}` };
      return node(args, { env }).ended;
    }),
  );
  for (const ended of ends) {
    const { stderr, ...end } = withoutWaiting(ended);
    expect(end).toMatchObject(endedWell);
    expect(stderr).toBe('');
  }
  return digestIn(ends[0].stdout);
}

/** A machine with GPUs may have only one. */
const arrangements = isReal
  ? ['one rank', 'two ranks that share a GPU']
  : ways(['two ranks that share a GPU'], ['two ranks', 'one rank']);

// An average over one or two ranks is exact in any order.
test.each(arrangements)('MNIST over nccl is bit-identical to MNIST over gloo: %s', async (on) => {
  const data = syntheticMnist(isFull || isReal ? { train: 600, test: 200 } : { train: 320, test: 100 });
  const ranks = on === 'one rank' ? 1 : 2;
  const sharesGpu = on === 'two ranks that share a GPU';
  const digest = await (sharesGpu ? trainOnOneGpu(data) : trainOnOneHost('nccl', ranks, data));
  expect(digest).toBeDefined();
  expect(digest).toBe(await trainOnOneHost('gloo', ranks, data));
});

describe.skipIf(isReal)('the MNIST example with --backend nccl', () => {
  const data = syntheticMnist({ train: 96, test: 20 });
  const train = async (env: Record<string, string | number>) => {
    const args = ['--nproc', '2', script, '--data', data, '--backend', 'nccl', '--batch-size', '16'];
    const { code, stdout, stderr } = withoutWaiting(
      await launch(args, { env: { ...env, ...oneThread } }).ended,
    );
    return { code, stdout, stderr };
  };

  test('trains on the GPUs if their libraries can be used', async () => {
    const ended = await train(fakeComputeLibraries());
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const digest = digestIn(ended.stdout);
    expect(digest).toBeDefined();
    // In the short form, gpu-ddp.test.ts compares runs.
    if (isFull) expect(digestIn((await train(fakeComputeLibraries())).stdout)).toBe(digest);
  });

  test('trains on the CPU otherwise, and says once which library is missing', async () => {
    const { code, stdout, stderr } = await train({
      ...fakeComputeLibraries(),
      RINGRUN_NVRTC_LIBRARY: '/nowhere/libnvrtc.so',
    });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^[^\n]*ringrun: models compute on the CPU, and gradients are averaged on the GPU \(cuda:0\) with nccl: NVRTC: [^\n]*\n$/,
      ) as string,
    });
    expect(digestIn(stdout)).toBeDefined();
  });
});
