import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readSecretFile } from '../../src/secret/job-secret.ts';
import { temporaryFolder } from '../../../runtime/test/support/temporary-folder.ts';

const secret = 'correct horse battery staple';
const isRoot = process.getuid?.() === 0;
const canMount = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0;
let printed: string[] = [];

beforeEach(() => {
  printed = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    // Programs that a test starts write here, too.
    if (String(text).startsWith('ringrun: ')) printed.push(String(text));
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());

/** A file in a new folder. */
function file(content: string | Uint8Array = secret, mode = 0o600): string {
  const path = join(temporaryFolder(), 'ringrun.secret');
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

const read = (path: string, env: NodeJS.ProcessEnv = {}) => readSecretFile(path, '--secret-file', env);

describe('other users', () => {
  test('a file for its owner gives no warning', () => {
    for (const mode of [0o600, 0o400, 0o700]) expect(read(file(secret, mode))).toBe(secret);
    expect(printed).toEqual([]);
  });

  test.each([0o644, 0o640, 0o604, 0o620, 0o777])('mode %o: one warning with the command', (mode) => {
    const path = file(secret, mode);
    for (let i = 0; i < 3; i += 1) expect(read(path)).toBe(secret);
    expect(printed).toEqual([
      `ringrun: --secret-file: other users can read ${path} (mode 0${mode.toString(8)}), and a process with the secret can join the job. Run: chmod 600 ${path}\n`,
    ]);
  });

  test('RINGRUN_REQUIRE_SECRET=1 refuses the file', () => {
    const path = file(secret, 0o644);
    expect(() => read(path, { RINGRUN_REQUIRE_SECRET: '1' })).toThrow(
      expect.objectContaining({
        code: 'ERR_SECRET_EXPOSED',
        message: expect.stringContaining(`Run: chmod 600 ${path}`) as string,
      }),
    );
    expect(printed).toEqual([]);
  });

  test('a link is as safe as the file that it names', () => {
    const link = join(temporaryFolder(), 'link');
    symlinkSync(file(secret, 0o644), link);
    expect(read(link)).toBe(secret);
    expect(printed.join()).toContain('(mode 0644)');
  });

  test('a folder in which other users can replace the file', () => {
    const folder = join(temporaryFolder(), 'open');
    mkdirSync(folder);
    const path = join(folder, 's');
    writeFileSync(path, secret, { mode: 0o600 });
    chmodSync(folder, 0o1777);
    read(path);
    expect(printed).toEqual([]);
    chmodSync(folder, 0o777);
    read(path);
    expect(printed.join()).toMatch(/other users can replace .* \(mode 0777\)\. Run: chmod o-w /);
  });

  test.skipIf(!isRoot)('a file of another user, unless it belongs to root', () => {
    const path = file(secret, 0o644);
    const other = file(secret, 0o644);
    chownSync(other, 4711, 4711);
    vi.spyOn(process, 'geteuid').mockReturnValue(1234);
    expect(read(path)).toBe(secret);
    expect(printed).toEqual([]);
    read(other);
    expect(printed.join()).toContain(`${other} belongs to another user (uid 4711)`);
  });

  test.skipIf(!canMount)(
    'a Secret of Kubernetes, which is readable for all on a read-only mount, gives no warning',
    () => {
      const folder = join(temporaryFolder(), 'volume');
      mkdirSync(join(folder), { recursive: true });
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]);
      onTestFinished(() => void execFileSync('umount', [folder]));
      mkdirSync(join(folder, '..2026'));
      writeFileSync(join(folder, '..2026/secret'), secret, { mode: 0o644 });
      symlinkSync('..2026', join(folder, '..data'));
      symlinkSync('..data/secret', join(folder, 'secret'));
      chmodSync(folder, 0o777);
      execFileSync('mount', ['-o', 'remount,ro', folder]);
      expect(read(join(folder, 'secret'), { RINGRUN_REQUIRE_SECRET: '1' })).toBe(secret);
      expect(printed).toEqual([]);
    },
  );
});

describe('contents', () => {
  test.each([
    ['a line end', `${secret}\n`],
    ["Windows's line end", `${secret}\r\n`],
    ['a byte order mark', `\uFEFF${secret}\n`],
  ])('%s is not part of the secret', (_, content) => {
    expect(read(file(content))).toBe(secret);
  });

  test.each<[string, string | Uint8Array, RegExp]>([
    ['an empty file', '', /expected a secret of at least 16 characters, got 0\./],
    ['white space', ' \r\n'.repeat(20), /expected a secret of at least 16 characters, got 0\./],
    ['a long file', 'x'.repeat(5000), /expected a secret of at most 4096 characters, got more\./],
    ['random bytes', Buffer.alloc(32, 0xff), /expected a file with the secret of the job as text \(UTF-8\)/],
    ['UTF-16', Buffer.from(`\uFEFF${secret}`, 'utf16le'), /as text \(UTF-8\), got other bytes/],
    ['NUL characters', `${secret}\0`, /as text \(UTF-8\), got other bytes/],
  ])('%s is refused', (_, content, message) => {
    expect(() => read(file(content))).toThrow(message);
  });

  test('a folder, a device without an end and a missing file are refused', () => {
    const folder = temporaryFolder();
    expect(() => read(folder)).toThrow(
      /\(EISDIR\), which is a folder\. Create one with: openssl .* > ringrun\.secret/,
    );
    expect(() => read('/dev/zero')).toThrow(/got other bytes in \/dev\/zero/);
    expect(() => read(join(folder, 'none'))).toThrow(/\(ENOENT\), which does not exist\. .*chmod 600 /);
  });
});

describe('a pipe', () => {
  function pipe(): string {
    const path = join(temporaryFolder(), 'pipe');
    execFileSync('mkfifo', ['-m', '600', path]);
    return path;
  }

  test('is read until its writer closes it', () => {
    const path = pipe();
    const writer = spawn('sh', [
      '-c',
      `(sleep 0.3; printf 'correct horse '; sleep 0.3; echo 'battery staple') > ${path}`,
    ]);
    onTestFinished(() => void writer.kill());
    expect(read(path)).toBe(secret);
    expect(printed).toEqual([]);
  });

  test('without a writer is an error after 10 s', { timeout: 20_000 }, () => {
    expect(() => read(pipe())).toThrow(/got .*pipe \(no end of the text within 10 s\)\. Create one with/);
  });
});
