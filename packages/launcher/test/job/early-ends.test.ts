import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ways } from '../../../../test/support/extent.ts';
import { command, launch, temporaryFolder, temporaryScript } from '../support/launched.ts';

const sum = `
import { allReduce, destroyProcessGroup, initProcessGroup } from 'ringrun';
await initProcessGroup();
await allReduce(new Float32Array(1));
if (process.env.RANK === process.env.LEAVES) process.exit(0);
await allReduce(new Float32Array(1));
await destroyProcessGroup();
console.log('done');`;

test.each(ways(['1'], ['0', '2']))(
  'rank %s that exits with 0 before the others have finished is the root cause',
  async (rank) => {
    const script = temporaryScript('leave.mjs', sum);
    const { code, stderr } = await launch(['--nproc', '3', script], { env: { LEAVES: rank } }).ended;
    expect(code).toBe(1);
    const lines = stderr.trim().split('\n');
    expect(lines.at(-1)).toMatch(
      new RegExp(
        `^ringrun: root cause: rank ${rank} on host .*: exit code 0 while other ranks needed it \\(process\\.exit\\(0\\) at file://${script}:5:\\d+\\)(: rank \\d was in allReduce #2 \\(.*\\))?\\. Await destroyProcessGroup\\(\\) on every rank`,
      ),
    );
  },
);

describe('a module in a package of "type": "commonjs", as npm 11 writes it', () => {
  test.each([
    ['train.ts', sum],
    ['train.js', sum],
  ])('%s prints the command that fixes it', async (name, source) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'package.json'), '{"name":"job","type":"commonjs"}');
    writeFileSync(join(folder, name), source);
    const run = () => launch(['--nproc', '1', join(folder, name)], { cwd: folder }).ended;
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toMatch(/package\.json has "type": "commonjs"\. Run: npm pkg set type=module\n$/);
    expect(spawnSync('npm', ['pkg', 'set', 'type=module'], { cwd: folder }).status).toBe(0);
    expect(await run()).toMatchObject({ code: 0, stdout: 'done\n', stderr: '' });
  });
});

test('suggests a name for a misspelt command, but not for a missing script', () => {
  const run = (...args: string[]) => spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
  for (const [given, meant] of [
    ['doctr', 'doctor'],
    ['stack', 'stacks'],
    ['deplyo', 'deploy'],
    ['build-nativ', 'build-native'],
  ]) {
    const { status, stderr } = run(given);
    expect(status).toBe(2);
    expect(stderr).toContain(`The script ${given} does not exist`);
    expect(stderr).toMatch(new RegExp(` Did you mean ${meant}\\?\n$`));
  }
  expect(run('doctor.ts').stderr).not.toContain('Did you mean');
  expect(run('training').stderr).not.toContain('Did you mean');
});

test("the workers' stdin is empty even if the launcher's is not", () => {
  const script = temporaryScript(
    'read.mjs',
    "import { readFileSync } from 'node:fs'; console.log(readFileSync(0).length);",
  );
  const { stdout, status } = spawnSync(process.execPath, [command, '--nproc', '1', script], {
    input: 'text',
    encoding: 'utf8',
  });
  expect({ stdout, status }).toEqual({ stdout: '0\n', status: 0 });
});

test('OMP_NUM_THREADS of 1e9 trains', async () => {
  const source = `
    import { nn, tensor } from '@ringrun/nn';
    console.log((await new nn.Linear(2, 1).forward(tensor(Float32Array.of(1, 2), [1, 2])).array()).length);`;
  const script = temporaryScript('threads.mjs', source);
  const ended = await launch(['--nproc', '1', script], { env: { OMP_NUM_THREADS: '1000000000' } }).ended;
  expect(ended).toMatchObject({ code: 0, stdout: '1\n', stderr: '' });
});
