import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findOnnxruntime } from '../native/lib/onnxruntime.ts';
import { fakeComputeLibraries } from '../native/test/fake-gpu/libraries.ts';
import { node } from './support/command.ts';
import { repository } from './support/environment.ts';
import { isFull } from './support/extent.ts';
import { start } from './support/start.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

interface Row {
  what: string;
  ok?: boolean;
  detail?: string;
  isSame?: boolean;
  ringrunMs?: number;
  ms?: number;
}

const rowsOf = <T = Row>(folder: string, name: string) =>
  readFileSync(join(folder, name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);

const limitMs = 240_000;

describe('scripts/gpu-compute-check.sh', () => {
  const folder = temporaryFolder();

  test(
    'passes over fakes, and writes a row for each step, test and contender',
    { timeout: limitMs },
    async () => {
      const out = join(folder, 'out');
      // Compiled before the limits of the steps begin.
      const env = fakeComputeLibraries();
      const command = start(join(repository, 'scripts/gpu-compute-check.sh'), ['--fake', out], {
        env,
        limitMs,
      });
      const { code, stdout, stderr } = await command.ended;
      expect(code, stdout + stderr).toBe(0);
      const steps = rowsOf(out, 'check.jsonl');
      // Tests run side by side.
      const names = steps.map(({ what }) => what);
      expect([...names.slice(0, 3), ...names.slice(3, 6).sort(), ...names.slice(6)]).toEqual([
        'doctor',
        'driver contract',
        'cost of replays',
        ...['native-products', 'nn-arena', 'nn-softmax'].map((name) => `tests of ${name}`),
        'graphs have the bits of launches',
        'losses of the MNIST CNN',
        'compute-sanitizer',
      ]);
      expect(steps.filter(({ ok }) => ok !== true).map(({ what }) => what)).toEqual(['compute-sanitizer']);
      expect(stdout).toContain(
        "model.to('cuda') works: a kernel, a product and a convolution as on the host",
      );
      const tests = rowsOf<{ test: string; ok: boolean }>(out, 'tests.jsonl');
      expect(tests.length).toBeGreaterThan(20);
      expect(tests).toContainEqual(
        expect.objectContaining({ test: 'softmax of [1,8] along axis 0 > agrees with the CPU', ok: true }),
      );
      const compared = rowsOf(out, 'compare.jsonl');
      expect(compared.find(({ what }) => what === 'mnist float32, ringrun')?.ms).toBeGreaterThan(0);
      expect(compared.map(({ what }) => what)).toContain('mnist float32, PyTorch eager');
      for (const ranks of ['1 rank', '2 ranks']) {
        const row = compared.find(
          ({ what }) => what === `mnist float32, DDP with NCCL on ${ranks} of one GPU`,
        );
        expect(row, ranks).toMatchObject({ ok: true });
      }
    },
  );

  test.runIf(isFull)(
    'keeps the rows that it has when its time ends, and fails if a step fails',
    { timeout: limitMs },
    async () => {
      const [packed, out] = [join(folder, 'packed'), join(folder, 'broken')];
      mkdirSync(out);
      const pack = ['--import', 'tsx', join(repository, 'scripts/gpu-check/pack.js'), packed, '--here'];
      const short = { RINGRUN_CHECK_FORM: 'short' };
      expect(await node(pack, { env: short, limitMs }).ended).toMatchObject({ code: 0 });
      const env = {
        ...fakeComputeLibraries(),
        ...short,
        RINGRUN_NATIVE: join(repository, 'native/build/ringrun.node'),
        RINGRUN_ONNXRUNTIME_LIBRARY: (findOnnxruntime(import.meta.url) as { path: string }).path,
        RINGRUN_FAKE_GPU_FAULT: 'cuLaunchKernel:1:719',
      };
      const { code, stdout } = await node([join(packed, 'check.js'), out, '20'], { env, limitMs }).ended;
      expect(code, stdout).toBe(1);
      const rows = rowsOf(out, 'check.jsonl');
      const detailOf = (name: string) => rows.find(({ what }) => what === name)?.detail;
      expect(detailOf('cost of replays')).toMatch(/exit code 1; .*cuLaunchKernel.*\(719\)/);
      expect(rows.find(({ what }) => what === 'losses of the MNIST CNN')).toMatchObject({ ok: false });
      expect(stdout).toMatch(/\d+ steps failed/);
    },
  );
});
