import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { compilePreload, preloadProblem } from '../../../../../test/faults/support/preload.ts';
import { builtFile } from '../../../../../test/support/built-script.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const script = fileURLToPath(builtFile(new URL('./nfs.script.ts', import.meta.url)));
const problem = preloadProblem();
const library = problem === undefined ? compilePreload('nfs') : '';

interface Outcome {
  found?: string;
  code?: string;
  message?: string;
}

/** @param onLine called with all of stderr so far, and a function that makes late files visible */
async function run(
  action: 'write' | 'read' | 'save',
  fault: string,
  onLine: (stderr: string, show: () => void) => void = () => undefined,
) {
  const folder = temporaryFolder();
  const data = join(folder, 'nfs-volume');
  const visible = join(folder, 'visible');
  mkdirSync(data);
  if (action !== 'save') writeFileSync(join(data, 'model'), 'old');
  const env = { ...process.env, LD_PRELOAD: library, NFS_FAULT: fault, NFS_VISIBLE: visible };
  const child = spawn(process.execPath, [script, action, data], { env, timeout: 50_000 });
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => {
    stderr += String(bytes);
    onLine(stderr, () => {
      writeFileSync(visible, '');
    });
  });
  const outcome = JSON.parse(await text(child.stdout)) as Outcome;
  const names = readdirSync(data).sort();
  return { outcome, names, data, stderr };
}

const contentOf = (data: string) => readFileSync(join(data, 'model'), 'utf8');

describe.skipIf(problem)(`a network file system${problem ? `: skipped, ${problem}` : ''}`, () => {
  test.each(['rename twice', 'created twice', 'fsync EINVAL', 'fsync ENOTSUP'])(
    'a write succeeds in spite of: %s',
    async (fault) => {
      const { outcome, names, data, stderr } = await run('write', fault);
      expect({ outcome, names, stderr }).toEqual({ outcome: {}, names: ['model'], stderr: '' });
      expect(contentOf(data)).toBe('new');
    },
  );

  test.each([
    ['rename EIO', 'ERR_STORAGE', 'EIO'],
    ['created always', 'ERR_STORAGE_NOT_FOUND', 'EEXIST'],
    ['quota', 'ERR_STORAGE_FULL', 'EDQUOT'],
  ])('a write that fails with %s keeps the old file and leaves nothing', async (fault, code, name) => {
    const { outcome, names, data } = await run('write', fault);
    expect(outcome.code).toBe(code);
    expect(outcome.message).toContain(name);
    expect({ names, content: contentOf(data) }).toEqual({ names: ['model'], content: 'old' });
  });

  test('a stale handle is opened again', async () => {
    expect((await run('read', 'stale twice')).outcome).toEqual({ found: 'old' });
  });

  test('a handle that stays stale is an error with a fix', async () => {
    const { outcome } = await run('read', 'stale');
    expect(outcome.code).toBe('ERR_STORAGE_INTERRUPTED');
    expect(outcome.message).toContain('ESTALE');
  });

  test('checkpoints are saved without locks, and a line reports the risk', async () => {
    const { outcome, stderr } = await run('save', 'no locks');
    expect(outcome).toEqual({ found: '4' });
    expect(stderr).toMatch(/^ringrun: .* cannot be locked \(.*\): another job .* would not be detected\.\n$/);
  });

  test('a file that becomes visible late is waited for, with a line', async () => {
    const { outcome, stderr } = await run('save', 'file late', (line, show) => {
      if (line.includes('model.safetensors is not visible on this host')) show();
    });
    expect(outcome).toEqual({ found: '4' });
    expect(stderr.match(/is not visible on this host/g)).toHaveLength(1);
  });

  test('a new file that its folder does not list yet is not a deleted one', async () => {
    const { outcome, stderr } = await run('save', 'file unlisted');
    expect({ outcome, stderr }).toEqual({ outcome: { found: '4' }, stderr: '' });
  });

  test('a checkpoint with a file that is open elsewhere does not keep the others', async () => {
    const { outcome, names, stderr } = await run('save', 'open file');
    expect(outcome).toEqual({ found: '4' });
    const folders = names.filter((name) => name !== 'writer.lock');
    expect(folders).toEqual(['checkpoint-000001-step-1', 'checkpoint-000004-step-4']);
    expect(stderr).toContain('older checkpoints could not be deleted');
  });
});
