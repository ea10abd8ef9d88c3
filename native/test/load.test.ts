import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const original = fileURLToPath(new URL('..', import.meta.url));
const platform = `${process.platform}-${process.arch}`;

/** A copy of this package as npm installs it: built JavaScript, sources, and no binary. */
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ringrun-native-'));
  for (const name of ['package.json', 'build.js', 'dist', 'src']) {
    await cp(join(original, name), join(folder, name), { recursive: true });
  }
  await symlink(join(original, 'node_modules'), join(folder, 'node_modules'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function loadIn(env: NodeJS.ProcessEnv): Promise<{ status: number; stdout: string; stderr: string }> {
  const script = `
    const { loadNative } = await import(process.argv[1]);
    try { console.log(loadNative().usableCpus()); } catch (error) { console.log(error.code + '\\n' + error.message); process.exitCode = 3; }`;
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', script, join(folder, 'dist/index.js')],
    {
      env: { HOME: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number];
  return { status, stdout, stderr };
}

describe('without a compiler and without a binary', () => {
  test('the error lists what was tried and what to install', async () => {
    const { status, stdout, stderr } = await loadIn({ PATH: join(folder, 'nothing') });
    expect(status).toBe(3);
    expect(stdout).toContain('ERR_NATIVE_UNAVAILABLE');
    expect(stdout).toContain(`${folder}/build/ringrun.node: no such file`);
    expect(stdout).toContain(`${folder}/prebuilds/${platform}/ringrun.node: no such file`);
    expect(stdout).toContain('tried g++ (ENOENT), clang++ (ENOENT), c++ (ENOENT)');
    expect(stdout).toMatch(/apt-get install g\+\+/);
    expect(stdout).toMatch(/apk add g\+\+ linux-headers/);
    expect(stdout).toMatch(/xcode-select --install/);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test('a compiler that fails is shown with its own words', async () => {
    const compiler = join(folder, 'broken-compiler');
    await writeFile(compiler, '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "disk on fire" >&2\nexit 1\n');
    await chmod(compiler, 0o755);
    const { status, stdout } = await loadIn({ PATH: '/usr/bin:/bin', CXX: compiler });
    expect(status).toBe(3);
    expect(stdout).toContain('disk on fire');
  });
});

test('a prebuilt binary needs no compiler', async () => {
  await mkdir(join(folder, 'prebuilds', platform), { recursive: true });
  await cp(join(original, 'build/ringrun.node'), join(folder, 'prebuilds', platform, 'ringrun.node'));
  const { status, stdout, stderr } = await loadIn({ PATH: join(folder, 'nothing') });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(Number(stdout)).toBeGreaterThan(0);
});

test('RINGRUN_NATIVE names the binary, and nothing else is tried where it does not load', async () => {
  const binary = join(folder, 'mine.node');
  await cp(join(original, 'build/ringrun.node'), binary);
  expect(await loadIn({ PATH: '', RINGRUN_NATIVE: binary })).toMatchObject({ status: 0, stderr: '' });

  await writeFile(binary, 'not a library');
  const { status, stdout, stderr } = await loadIn({ PATH: process.env['PATH'], RINGRUN_NATIVE: binary });
  expect(status).toBe(3);
  expect(stdout).toContain(`${binary}: `);
  expect(stdout).not.toContain('prebuilds/');
  expect(stderr).toBe('');
});

test('where there is a compiler, the addon is compiled once, with a line that says so', async () => {
  // A compiler that hands out the binary that exists: what is tested is when it is called, and that its result is loaded.
  const compiler = join(folder, 'compiler');
  const log = join(folder, 'calls');
  await writeFile(
    compiler,
    `#!/bin/sh\necho "$@" >> ${log}\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && cp ${join(original, 'build/ringrun.node')} "$2"; shift; done\nexit 0\n`,
  );
  await chmod(compiler, 0o755);
  const env = { PATH: '/usr/bin:/bin', CXX: compiler };
  const first = await loadIn(env);
  expect(first).toMatchObject({ status: 0 });
  expect(first.stderr).toMatch(/^ringrun: no binary of the native addon for \S+: compiling it once\n$/);
  const calls = await readFile(log, 'utf8');
  expect(await loadIn(env)).toMatchObject({ status: 0, stderr: '' });
  expect(await readFile(log, 'utf8')).toBe(calls);
});
