import { spawnSync } from 'node:child_process';
import { getPriority, release } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { builtFile } from '../../../../test/support/built-script.ts';

const script = fileURLToPath(builtFile(new URL('../fixtures/scheduling-of-threads.ts', import.meta.url)));
const usual = getPriority();

function runWith(variables: NodeJS.ProcessEnv) {
  const env = { ...process.env, OMP_NUM_THREADS: '2', ...variables };
  return spawnSync(process.execPath, [script], { env, encoding: 'utf8', timeout: 60_000 });
}

function threadsWith(variables: NodeJS.ProcessEnv) {
  const { stdout } = runWith(variables);
  const threads = (JSON.parse(stdout) as [boolean, number, number | null][]).map(([isMain, nice, slice]) => ({
    isMain,
    nice,
    slice,
  }));
  return { main: threads.find(({ isMain }) => isMain)!, others: threads.filter(({ isMain }) => !isMain) };
}

describe.runIf(process.platform === 'linux' && usual >= 0 && usual < 15)('scheduling of threads', () => {
  test('computing threads run at nice 5, the event loop at nice 0', () => {
    const { main, others } = threadsWith({ RINGRUN_COMPUTE_NICE: undefined });
    expect(main.nice).toBe(usual);
    // The compute thread, and the one that onnxruntime creates.
    expect(others.filter(({ nice }) => nice === usual + 5)).toHaveLength(2);
    expect(others.filter(({ nice }) => nice !== usual + 5 && nice !== usual)).toEqual([]);
  });

  test('RINGRUN_COMPUTE_NICE changes the steps', () => {
    const more = threadsWith({ RINGRUN_COMPUTE_NICE: '4' });
    expect(more.others.filter(({ nice }) => nice === usual + 4)).toHaveLength(2);
    const none = threadsWith({ RINGRUN_COMPUTE_NICE: '0' });
    expect(none.others.every(({ nice }) => nice === usual)).toBe(true);
  });

  test('only the event loop has slices of 0.1 ms, where Linux supports them', ({ skip }) => {
    const { main, others } = threadsWith({});
    // Linux publishes the slice from 6.6 on and accepts others from 6.12 on.
    skip(main.slice === null || !acceptsSlices(), 'this kernel has no slices of its threads');
    expect(main.slice).toBe(100_000);
    expect(others.filter(({ slice }) => slice === main.slice)).toEqual([]);
  });
});

test.each(['x', '-1', '20', '1.5', ''])('RINGRUN_COMPUTE_NICE=%j is an error', (given) => {
  const { status, stderr } = runWith({ RINGRUN_COMPUTE_NICE: given });
  expect(status).toBe(1);
  expect(stderr).toContain(
    `RINGRUN_COMPUTE_NICE: expected an integer from 0 to 19, got ${JSON.stringify(given)}. Unset it for the default, 5.`,
  );
});

function acceptsSlices(): boolean {
  const [major, minor] = release().split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 12);
}
