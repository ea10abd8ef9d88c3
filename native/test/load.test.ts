import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const original = fileURLToPath(new URL('..', import.meta.url));
const platform = `${process.platform}-${process.arch}`;
const platformPackage = `@ringrun/native-${platform}`;

/** A copy of this package as npm installs it: built JavaScript, sources, and no binary. */
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ringrun-native-'));
  for (const name of ['package.json', 'build.js', 'compile', 'once.js', 'user-cache.js', 'dist', 'src']) {
    await cp(join(original, name), join(folder, name), { recursive: true });
  }
  await mkdir(join(folder, 'node_modules'));
  for (const name of await readdir(join(original, 'node_modules'))) {
    if (name !== '@ringrun')
      await symlink(join(original, 'node_modules', name), join(folder, 'node_modules', name));
  }
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const load = `
  const { loadNative } = await import(process.argv[1]);
  try { console.log(loadNative().usableCpus()); } catch (error) { console.log(error.code + '\\n' + error.message); process.exitCode = 3; }`;

async function loadIn(
  env: NodeJS.ProcessEnv,
  script = load,
  module = join(folder, 'dist/index.js'),
): Promise<{ status: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, module], {
    env: { HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number];
  return { status, stdout, stderr };
}

describe('without a compiler and without a binary', () => {
  test('the error lists all attempts and what to install', async () => {
    const { status, stdout, stderr } = await loadIn({ PATH: join(folder, 'nothing') });
    expect(status).toBe(3);
    expect(stdout).toContain('ERR_NATIVE_UNAVAILABLE');
    expect(stdout).toContain(`${folder}/build/ringrun.node: no such file`);
    expect(stdout).toContain(`${folder}/.cache/ringrun/native-0.1.0-${platform}/ringrun.node: no such file`);
    expect(stdout).toContain(`${platformPackage}: not installed`);
    expect(stdout).toContain(`npm install ${platformPackage}`);
    expect(stdout).toContain('npx ringrun build-native');
    expect(stdout).toContain('tried g++ (ENOENT), clang++ (ENOENT), c++ (ENOENT)');
    expect(stdout).toMatch(/apt-get install g\+\+/);
    expect(stdout).toMatch(/apk add g\+\+ linux-headers/);
    expect(stdout).toMatch(/xcode-select --install/);
    expect(stderr).toBe('');
  });

  test("shows a failing compiler's own error", async () => {
    const compiler = join(folder, 'broken-compiler');
    await writeFile(compiler, '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "disk on fire" >&2\nexit 1\n');
    await chmod(compiler, 0o755);
    const { status, stdout } = await loadIn({ PATH: '/usr/bin:/bin', CXX: compiler });
    expect(status).toBe(3);
    expect(stdout).toContain('disk on fire');
  });
});

test("the platform's package needs no compiler", async () => {
  const installed = join(folder, 'node_modules', platformPackage);
  await mkdir(installed, { recursive: true });
  await writeFile(
    join(installed, 'package.json'),
    JSON.stringify({ name: platformPackage, main: 'ringrun.node' }),
  );
  await cp(join(original, 'build/ringrun.node'), join(installed, 'ringrun.node'));
  const { status, stdout, stderr } = await loadIn({ PATH: join(folder, 'nothing') });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(Number(stdout)).toBeGreaterThan(0);
});

test('a bundle in another folder loads the platform package, even without a home directory', async () => {
  const installed = join(folder, 'node_modules', platformPackage);
  await mkdir(installed, { recursive: true });
  await writeFile(
    join(installed, 'package.json'),
    JSON.stringify({ name: platformPackage, main: 'ringrun.node' }),
  );
  await cp(join(original, 'build/ringrun.node'), join(installed, 'ringrun.node'));
  const bundle = join(folder, 'deployed/part/bundle.mjs');
  const entryPoints = [join(folder, 'dist/index.js')];
  await build({ entryPoints, bundle: true, platform: 'node', format: 'esm', outfile: bundle });
  const load = `
    // A user without an entry in /etc/passwd.
    if (process.getuid() === 0) process.setuid(4242);
    const { loadNative } = await import(process.argv[1]);
    console.log(loadNative().usableCpus());`;
  await chmod(folder, 0o755);
  const { status, stdout, stderr } = await loadIn(
    { PATH: join(folder, 'nothing'), HOME: undefined },
    load,
    bundle,
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(Number(stdout)).toBeGreaterThan(0);
});

test('RINGRUN_NATIVE sets the binary, and nothing else is tried if it does not load', async () => {
  const binary = join(folder, 'mine.node');
  await cp(join(original, 'build/ringrun.node'), binary);
  expect(await loadIn({ PATH: '', RINGRUN_NATIVE: binary })).toMatchObject({ status: 0, stderr: '' });

  await writeFile(binary, 'not a library');
  const { status, stdout, stderr } = await loadIn({ PATH: process.env['PATH'], RINGRUN_NATIVE: binary });
  expect(status).toBe(3);
  expect(stdout).toContain(`${binary}: `);
  expect(stdout).not.toContain('not installed');
  expect(stderr).toBe('');
});

describe('with a compiler', () => {
  let env: NodeJS.ProcessEnv;

  beforeEach(async () => {
    // Copies the existing binary: the test checks how often the compiler is called, and that its result is loaded.
    const compiler = join(folder, 'compiler');
    const calls = join(folder, 'calls');
    await writeFile(
      compiler,
      `#!/bin/sh
[ "$1" = --version ] && exit 0
for word; do [ "$word" = -shared ] && echo linked >> ${calls}; done
while [ $# -gt 1 ]; do [ "$1" = -o ] && cp ${join(original, 'build/ringrun.node')} "$2"; shift; done
exit 0
`,
    );
    await chmod(compiler, 0o755);
    env = { PATH: '/usr/bin:/bin', CXX: compiler };
  });

  const timesLinked = async () => (await readFile(join(folder, 'calls'), 'utf8')).trim().split('\n').length;

  test('ranks that start together compile once and print one line', async () => {
    const ranks = await Promise.all([0, 1, 2].map((rank) => loadIn({ ...env, LOCAL_RANK: String(rank) })));
    expect(ranks.map(({ status }) => status)).toEqual([0, 0, 0]);
    expect(ranks.map(({ stderr }) => stderr).join('')).toMatch(
      /^ringrun: no prebuilt native addon for \S+: compiling it once, .*npx ringrun build-native\n$/,
    );
    expect(await timesLinked()).toBe(1);
    expect(await loadIn(env)).toMatchObject({ status: 0, stderr: '' });
    expect(await timesLinked()).toBe(1);
  });

  test('build-native compiles in advance and prints the path', async () => {
    const script = 'process.exitCode = (await import(process.argv[1])).buildNative()';
    const { status, stderr } = await loadIn(env, script);
    expect(status).toBe(0);
    expect(stderr).toContain(`ringrun: built the native addon: ${join(folder, 'build/ringrun.node')}`);
    expect(await loadIn(env)).toMatchObject({ status: 0, stderr: '' });
    expect(await timesLinked()).toBe(1);
    expect(await loadIn({ PATH: '' }, script)).toMatchObject({ status: 1 });
  });

  test("a package folder that is not writable is compiled into the user's cache", async () => {
    await writeFile(join(folder, 'build'), 'no folder');
    expect(await loadIn(env)).toMatchObject({ status: 0 });
    expect(await loadIn(env)).toMatchObject({ status: 0, stderr: '' });
    expect(await timesLinked()).toBe(1);

    await chmod(join(folder, '.cache/ringrun', `native-0.1.0-${platform}`), 0o777);
    const { stdout } = await loadIn({ PATH: '' });
    expect(stdout).toContain('its folder is writable by other users');
  });
});
