// Makes a release in release/: compiles the addon for every platform, writes the API reference to docs/api, packs all
// public packages, checks and installs the tarballs, and publishes them.
//
//   npm run release -- --dry-run            everything except publishing
//   npm run release -- --dry-run --local    only this machine's binary from native/build.js; no cross compiler, not publishable
//   npm run release -- --dry-run --only darwin-arm64
//                                           as --local, and also compiles for this platform, which may be repeated
//   … --built                               uses the existing build without updating it
//
// Cross compiling requires zig: pip install ziglang==0.17.1
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { problemsOf } from './release/check.js';
import { binaryOf, compileFor, findZig } from './release/compile.js';
import { tryInstalled } from './release/install.js';
import { pack } from './release/pack.js';
import { targetOfThisMachine, targets } from './release/targets.js';
import { setUp } from './setup.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options } = parseArgs({
  options: {
    'dry-run': { type: 'boolean' },
    built: { type: 'boolean' },
    local: { type: 'boolean' },
    only: { type: 'string', multiple: true },
    into: { type: 'string', default: join(root, 'release') },
  },
});

try {
  await release(resolve(options.into));
} catch (error) {
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}

async function release(folder) {
  const isPartial = options.local === true || options.only !== undefined;
  if (isPartial && !options['dry-run'])
    throw new Error('a release made with --local or --only cannot be published. Add --dry-run.');
  if (!options.built) await setUp();
  // Imports esbuild, which a fresh clone has only now.
  const { publicPackages, stagePackage, stagePlatform } = await import('./release/stage.js');
  writeApiReference();
  const binaries = isPartial
    ? [...localBinary(), ...compiledBinaries(targetsNamed(options.only ?? []))]
    : compiledBinaries(targets);
  rmSync(folder, { recursive: true, force: true });
  const staged = [
    ...binaries.map(({ target, binary }) => stagePlatform(target, binary, join(folder, 'packages'))),
    ...publicPackages().map((one) => stagePackage(one, join(folder, 'packages'))),
  ];
  const isChecked = (name) => !isPartial || name !== targetOfThisMachine()?.packageName;
  const problems = problemsOf(staged, { isChecked });
  if (problems.length > 0) throw new Error(`the packages failed the check:\n  ${problems.join('\n  ')}`);
  mkdirSync(folder, { recursive: true });
  const packed = staged.map((one) => pack(one, folder));
  for (const { tarball } of packed) {
    console.log(`${(statSync(tarball).size / 1024).toFixed(0).padStart(6)} KiB  ${basename(tarball)}`);
  }
  tryInstalled(packed);
  if (options['dry-run'])
    console.log(`release: ${packed.length} packages are in ${folder}; nothing was published.`);
  else packed.forEach(publish);
}

/** Stops the release if an export is undocumented. */
function writeApiReference() {
  const { status } = spawnSync('npm', ['run', '--silent', 'docs:api'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error(`npm run docs:api failed with exit code ${status}.`);
}

/** The targets of `--only`, without this machine's. */
function targetsNamed(names) {
  return names.map((name) => {
    const found = targets.find((target) => target.name === name && target !== targetOfThisMachine());
    if (found !== undefined) return found;
    const others = targets.filter((target) => target !== targetOfThisMachine()).map((target) => target.name);
    throw new Error(`--only: expected ${others.join(', ')}, got ${name}.`);
  });
}

function compiledBinaries(chosen) {
  if (chosen.length === 0) return [];
  const zig = findZig();
  return chosen.map((target) => {
    compileFor(target, zig);
    return { target, binary: binaryOf(target) };
  });
}

function localBinary() {
  const target = targetOfThisMachine();
  if (target === undefined)
    throw new Error(`releases do not include a binary for ${process.platform}-${process.arch}.`);
  return [{ target, binary: join(root, 'native/build/ringrun.node') }];
}

/** Publishes dependencies first, so a release that fails half-way can be repeated. */
function publish({ tarball }) {
  const { status } = spawnSync('npm', ['publish', tarball], { stdio: 'inherit' });
  if (status !== 0) throw new Error(`npm publish ${tarball} failed with exit code ${status}.`);
}
