import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { builtFile } from '../../../../../test/support/built-script.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const script = fileURLToPath(builtFile(new URL('./nfs.script.ts', import.meta.url)));
const source = fileURLToPath(new URL('./nfs-faults.c', import.meta.url));
const hasCompiler = spawnSync('gcc', ['--version']).status === 0;

function run(action: 'write' | 'read', fault: string) {
  const folder = temporaryFolder();
  const library = join(folder, 'faults.so');
  const { status, stderr } = spawnSync('gcc', ['-shared', '-fPIC', '-o', library, source, '-ldl'], {
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  const data = join(folder, 'nfs-volume');
  mkdirSync(data);
  writeFileSync(join(data, 'model'), 'old');
  const env = { ...process.env, LD_PRELOAD: library, NFS_FAULT: fault };
  const child = spawnSync(process.execPath, [script, action, data], {
    env,
    encoding: 'utf8',
    timeout: 50_000,
  });
  expect(child.stderr).toBe('');
  const outcome = JSON.parse(child.stdout) as { bytes?: string; code?: string; message?: string };
  return { outcome, names: readdirSync(data), content: readFileSync(join(data, 'model'), 'utf8') };
}

const title = hasCompiler ? '' : ': skipped, needs gcc';

test.runIf(hasCompiler)(`a rename that the client repeats after it succeeded is a success${title}`, () => {
  expect(run('write', 'rename twice')).toEqual({ outcome: {}, names: ['model'], content: 'new' });
});

test.runIf(hasCompiler)(`a rename that fails keeps the old file and leaves nothing${title}`, () => {
  const { outcome, names, content } = run('write', 'rename EIO');
  expect(outcome.code).toBe('ERR_STORAGE');
  expect(outcome.message).toContain('EIO');
  expect({ names, content }).toEqual({ names: ['model'], content: 'old' });
});

test.runIf(hasCompiler)(`a stale handle is opened again${title}`, () => {
  expect(run('read', 'stale twice').outcome).toEqual({ bytes: 'old' });
});

test.runIf(hasCompiler)(`a handle that stays stale is an error with a fix${title}`, () => {
  const { outcome } = run('read', 'stale');
  expect(outcome.code).toBe('ERR_STORAGE_INTERRUPTED');
  expect(outcome.message).toContain('ESTALE');
});
