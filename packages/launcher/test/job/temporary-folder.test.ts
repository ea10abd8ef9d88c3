import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ways } from '../../../../test/support/extent.ts';
import { command, launch, temporaryFolder, temporaryScript } from '../support/launched.ts';

/** A folder whose path has `length` characters. */
function folderOf(length: number): string {
  const start = temporaryFolder();
  const folder = join(start, 'd'.repeat(length - start.length - 1));
  mkdirSync(folder);
  return folder;
}

/** Two ranks that print when they run, and end when a file exists. */
const waiting = `
import { watch } from 'node:fs';
import { dirname } from 'node:path';
const folder = watch(dirname(process.argv[2]), () => folder.close());
console.log('ready ' + process.env.RANK);`;

test.each(ways([69, 250], [55, 82, 100, 140]))(
  'a job runs with a TMPDIR of %i characters, and its stacks are read',
  async (length) => {
    const TMPDIR = folderOf(length);
    const stop = join(temporaryFolder(), 'stop');
    const job = launch(['--nproc', '2', temporaryScript('wait.mjs', waiting), stop], { env: { TMPDIR } });
    await job.marked('ready', 2);
    const args = [command, 'stacks', String(job.pid)];
    const found = spawnSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, TMPDIR } });
    writeFileSync(stop, '');
    expect(found.stdout).toMatch(/^ {2}rank 0 \(pid \d+\) is idle.*\n {2}rank 1 \(pid \d+\) is idle/m);
    expect(await job.ended).toMatchObject({ code: 0, stderr: '' });
  },
);

test('a job continues when its temporary folder is removed while it runs', async () => {
  const TMPDIR = temporaryFolder();
  const script = temporaryScript(
    'remove.mjs',
    `
    import { readdirSync, rmSync } from 'node:fs';
    import { join } from 'node:path';
    import { allReduce, barrier, destroyProcessGroup, initProcessGroup } from 'ringrun';
    await initProcessGroup();
    const tmp = process.env.TMPDIR;
    if (process.env.RANK === '0') for (const name of readdirSync(tmp)) rmSync(join(tmp, name), { recursive: true });
    await barrier();
    const values = new Float32Array([1]);
    await allReduce(values);
    console.log(values[0]);
    await destroyProcessGroup();`,
  );
  const { code, stdout, stderr } = await launch(['--nproc', '2', script], { env: { TMPDIR } }).ended;
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '2\n2\n', stderr: '' });
  const none = spawnSync(process.execPath, [command, 'stacks', '1'], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: join(TMPDIR, 'missing') },
  });
  expect(none.status).toBe(1);
  expect(none.stderr).toMatch(/^ringrun stacks failed: expected a process or a run id of a job/);
});
