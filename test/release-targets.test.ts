// The platforms of a release. Compiling for them needs zig (`npm run release -- --dry-run`); what surrounds the addon of macOS,
// which no test can load, is checked here.
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { libraryNames } from '../native/lib/onnxruntime.ts';
import { problemsOf } from '../scripts/release/check.js';
import { staysOpen, withoutSymbols } from '../scripts/release/elf.js';
import { problemsOfMachO } from '../scripts/release/mach-o.js';
import { publicPackages, stagePackage, stagePlatform } from '../scripts/release/stage.js';
import { targets } from '../scripts/release/targets.js';
import { repository } from './support/environment.ts';
import { start } from './support/start.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const require = createRequire(import.meta.url);
const builds = join(dirname(require.resolve('zeromq/package.json')), 'build');
const ofZeromq = (platform: string) => join(builds, platform, 'addon.node');
const forMacos = ofZeromq('darwin/arm64/node/libc-115-Release');

test('a release starts in a fresh clone, before anything is installed', async () => {
  const clone = temporaryFolder();
  for (const name of ['package.json', 'scripts'])
    cpSync(join(repository, name), join(clone, name), { recursive: true });
  // Stops before the setup.
  expect(
    await start(process.execPath, ['scripts/release.js', '--local'], { cwd: clone }).ended,
  ).toMatchObject({
    code: 1,
    stderr: 'release: a release made with --local or --only cannot be published. Add --dry-run.\n',
  });
});

test('a release compiles for Linux and macOS, and @ringrun/native installs the matching package', () => {
  const names = targets.map(({ packageName }) => packageName);
  expect(names).toEqual([
    '@ringrun/native-linux-x64',
    '@ringrun/native-linux-arm64',
    '@ringrun/native-linux-x64-musl',
    '@ringrun/native-linux-arm64-musl',
    '@ringrun/native-darwin-arm64',
  ]);
  const native = publicPackages().find(({ manifest }) => manifest.name === '@ringrun/native')!;
  const { version } = native.manifest;
  expect(read(stagePackage(native, temporaryFolder()))).toMatchObject({
    optionalDependencies: Object.fromEntries(names.map((name) => [name, version])),
  });
});

describe('the package for macOS', () => {
  const target = targets.find(({ name }) => name === 'darwin-arm64')!;
  // An addon for this processor and system, in place of the one that zig compiles.
  const staged = stagePlatform(target, forMacos, temporaryFolder());

  test('is for macOS on arm64, and is complete', () => {
    expect(problemsOf([staged], { isChecked: () => false })).toEqual([]);
    const manifest = read(staged);
    expect(manifest).toMatchObject({ os: ['darwin'], cpu: ['arm64'], main: 'ringrun.node' });
    expect(manifest).not.toHaveProperty('libc');
  });

  test('contains the pinned onnxruntime, by the name that is looked up, and runs on the macOS that it needs', () => {
    const [name] = libraryNames('darwin');
    const path = join(staged, name);
    expect(existsSync(path)).toBe(true);
    // Frameworks of the system; neither another processor nor another macOS, and a signature.
    expect(problemsOfMachO(readFileSync(path))).toEqual([
      expect.stringMatching(/^ringrun\.node needs \/System\/Library\/Frameworks\/CoreML/) as string,
    ]);
  });

  test('contains ZeroMQ for macOS, loaded by its own loader', () => {
    expect(readFileSync(join(staged, 'zeromq/addon.node')).equals(readFileSync(forMacos))).toBe(true);
    expect(readFileSync(join(staged, 'zeromq/lib/load-addon.js'), 'utf8')).toContain('../addon.node');
  });

  test('fails the check if it has the addon of Linux', () => {
    const wrong = stagePlatform(target, ofZeromq('linux/x64/node/glibc-127-Release'), temporaryFolder());
    expect(problemsOf([wrong])).toEqual([`${target.packageName}: ringrun.node is not a Mach-O file`]);
  });
});

test("the check reads binaries for macOS, as zeromq's: their processor, libraries, symbols and signature", () => {
  const problemsIn = (platform: string) =>
    problemsOfMachO(readFileSync(ofZeromq(platform))).map((one) => one.replace(/, _.*/, ', …'));
  expect(problemsIn('darwin/arm64/node/libc-115-Release')).toEqual([
    'ringrun.node needs /usr/lib/libc++.1.dylib',
    'ringrun.node has undefined symbols: _uv_async_init, …',
  ]);
  expect(problemsIn('darwin/x64/node/libc-115-Release')).toEqual(
    expect.arrayContaining(['ringrun.node is not for arm64', 'ringrun.node has no signature']),
  );
});

describe.each(['x64', 'arm64'])("zeromq's binary for Linux on %s", (cpu) => {
  test.each(['glibc', 'musl'])('has no symbols, and a process loads the same bytes (%s)', (libc) => {
    const original = readFileSync(ofZeromq(`linux/${cpu}/node/${libc}-127-Release`));
    const stripped = withoutSymbols(original);
    expect(original.length - stripped.length).toBeGreaterThan(250_000);
    expect(withoutSymbols(stripped)).toBe(stripped);
    expect(loadedBytes(stripped).map((one, i) => one.equals(loadedBytes(original)[i]))).toEqual(
      loadedBytes(original).map(() => true),
    );
  });
});

test.runIf(process.platform === 'linux')("a process keeps the addon after its last thread's end", () => {
  expect(staysOpen(readFileSync(join(repository, 'native/build/ringrun.node')))).toBe(true);
  expect(staysOpen(readFileSync(ofZeromq('linux/x64/node/glibc-127-Release')))).toBe(false);
});

/** The segments of an ELF file, the first without its header's offset of the sections, which no process reads. */
function loadedBytes(file: Buffer): Buffer[] {
  const copy = Buffer.from(file).fill(0, 40, 48);
  const programHeaders = Array.from({ length: file.readUInt16LE(56) }, (_, i) => 64 + i * 56);
  return programHeaders
    .filter((at) => file.readUInt32LE(at) === 1)
    .map((at) => [8, 32].map((field) => Number(file.readBigUInt64LE(at + field))))
    .map(([start = 0, length = 0]) => copy.subarray(start, start + length));
}

function read(folder: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>;
}
