import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { launch } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();

function secretFile(name: string): string[] {
  const path = join(folder, name);
  writeFileSync(path, `the ${name} secret of a job`);
  return ['--secret-file', path];
}

test('a job refuses nodes with another secret or none, logs their number, and continues', async () => {
  const master = ['--master-addr', '127.0.0.1', '--master-port', String(await freePort())];
  const node = (rank: number, secret: string[]) =>
    launch(['--nnodes', '2', '--node-rank', `${rank}`, ...master, ...secret, builtScript('fixtures/join')]);
  const first = node(0, secretFile('right'));
  await first.sees(/waiting for/);
  const strangers = [
    { secret: secretFile('wrong'), problem: 'this process has another one' },
    { secret: [], problem: 'this process has none' },
  ];
  for (const { secret, problem } of strangers) {
    const { code, stdout, stderr, left } = await node(1, secret).ended;
    expect({ code, stdout, left }).toEqual({ code: 1, stdout: '', left: [] });
    expect(stderr).toContain(problem);
  }
  await first.sees(/^ringrun: the store at \S+ has refused 1 connection because of the secret\./m);
  await first.sees(/^ringrun: the store at \S+ has refused 10 connections because of the secret\./m);
  const ends = await Promise.all([first, node(1, secretFile('right'))].map(({ ended }) => ended));
  for (const [rank, { code, stdout, stderr, left }] of ends.entries()) {
    expect({ code, left }, stderr).toEqual({ code: 0, left: [] });
    expect(stdout).toContain(`rank ${rank} of 2: sum 3`);
    expect(stderr).not.toContain('secret of a job');
  }
});
