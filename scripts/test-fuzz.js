// Runs the libFuzzer targets of native/fuzz with AddressSanitizer and UndefinedBehaviorSanitizer. Fails if an input crashes,
// leaks or hangs, and keeps it in native/build/fuzz/findings.
//
//   node scripts/test-fuzz.js                       every target for 5 minutes
//   node scripts/test-fuzz.js --seconds 5 [target]  one target, or every target, for 5 seconds
//
// Requires clang++ (Debian: apt-get install clang). Without it, prints that fuzzing is skipped.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isOfSystem } from '../native/compile/systems.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const sourceFolder = join(root, 'native/src');
const folder = join(root, 'native/build/fuzz');
const binary = join(folder, 'targets');
const compiler = process.env.CXX ?? 'clang++';
const flags = [
  '-std=c++17',
  '-O1',
  '-g',
  '-fno-omit-frame-pointer',
  '-pthread',
  '-fsanitize=fuzzer,address,undefined',
  '-fno-sanitize-recover=all',
  `-I${sourceFolder}`,
];
const targets = ['abort', 'lengths', 'stranger', 'control', 'data', 'pointToPoint'];

const { values: options, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '300' } },
  allowPositionals: true,
});

/** The sources that the targets need: no Node, no kernels. */
function sources() {
  const parts = ['base', 'transport', 'point_to_point'];
  const found = readdirSync(sourceFolder, { recursive: true })
    .filter(
      (name) => name.endsWith('.cc') && isOfSystem(name) && parts.some((part) => name.startsWith(`${part}/`)),
    )
    .map((name) => join(sourceFolder, name));
  return [...found, join(sourceFolder, 'collectives/lengths.cc'), join(root, 'native/fuzz/targets.cc')];
}

function run(command, args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${signal ?? `exit code ${code}`} from: ${command} ${args.join(' ')}`));
    });
  });
}

/** Calls `act` on all items, one at a time per processor. */
async function forEachInParallel(items, act) {
  const waiting = [...items];
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await act(one);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}

async function build() {
  rmSync(join(folder, 'objects'), { recursive: true, force: true });
  mkdirSync(join(folder, 'objects'), { recursive: true });
  const objectOf = (source) => join(folder, 'objects', `${source.slice(root.length).replaceAll('/', '-')}.o`);
  await forEachInParallel(sources(), (source) =>
    run(compiler, [...flags, '-c', source, '-o', objectOf(source)]),
  );
  await run(compiler, [...flags, ...sources().map(objectOf), '-ldl', '-o', binary]);
}

async function fuzz(target) {
  const corpus = join(folder, 'corpus', target);
  const findings = join(folder, 'findings');
  for (const one of [corpus, findings]) mkdirSync(one, { recursive: true });
  const limits = [`-max_total_time=${options.seconds}`, '-timeout=20', '-max_len=4096', '-rss_limit_mb=2048'];
  const output = ['-print_final_stats=1', '-verbosity=0', `-artifact_prefix=${findings}/${target}-`];
  await run(binary, [...limits, ...output, '-seed=1', corpus], {
    RINGRUN_FUZZ_TARGET: target,
    RINGRUN_FUZZ_SEEDS: corpus,
  });
  console.error(`ringrun: fuzz target ${target}: no finding in ${options.seconds} s`);
}

if (spawnSync(compiler, ['--version']).status !== 0) {
  console.error(`ringrun: fuzzing is skipped: no ${compiler}. Install clang (Debian: apt-get install clang)`);
} else {
  await build();
  await forEachInParallel(positionals.length > 0 ? positionals : targets, fuzz);
}
