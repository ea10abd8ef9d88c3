// Tests the addon with the sanitizers of g++: AddressSanitizer (with its search for leaks) and UndefinedBehaviorSanitizer in
// one binary, ThreadSanitizer in another. Fails when a test fails, and when a sanitizer reports anything about the addon.
//
//   node scripts/test-sanitized.js                  both, about 10 minutes on two cores
//   node scripts/test-sanitized.js thread [file …]  one of 'address' and 'thread'; these test files alone
//
// Node is not instrumented, so the sanitizer's runtime is preloaded into every process. Memory that processes share is
// beyond ThreadSanitizer: it sees the threads of one process.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { reportsAboutTheAddon } from './sanitizer-reports.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiler = process.env.CXX ?? 'g++';

/**
 * Enough of an optimiser that tests keep their time limits, stacks that can be walked without tables, and never unloaded: Node does
 * that at its end, and leaks that are found after it would have no names.
 */
const commonFlags = ['-O1', '-g', '-fno-omit-frame-pointer', '-D_GLIBCXX_ASSERTIONS', '-Wl,-z,nodelete'];

/** Tests of at most 3 ranks: more of them take more time, on the same paths through the addon. */
const ofFewRanks = '^(?!.*[4-9] ranks)';

/** Every frame with its module (%M), by which the addon's are told from Node's. */
const stackFormat = `stack_trace_format="    #%n %F %S %M"`;

/**
 * `flags`: of compiler and linker. `runtime`: what is preloaded. `optionsFor`: environment of processes that write reports to
 * files which begin with `path`. `tests`: pattern of the names of those that are run. Where reports do not end the process, they leave its exit code alone: most are Node's.
 * `faults`: of native/test/fixtures/faults.cc, which must be reported.
 */
const sanitizers = {
  address: {
    flags: [
      '-fsanitize=address,undefined,float-cast-overflow',
      '-fno-sanitize-recover=all',
      // UndefinedBehaviorSanitizer's runtime inside of the addon: as a library of its own, its name for the file of reports is
      // that of AddressSanitizer, which is told, and then it writes to stderr.
      '-static-libubsan',
      '-Wl,--exclude-libs,libubsan.a',
    ],
    runtime: 'libasan.so',
    optionsFor: (path) => ({
      ASAN_OPTIONS: `log_path=${path}:handle_abort=1:${stackFormat}`,
      LSAN_OPTIONS: 'exitcode=0',
      UBSAN_OPTIONS: `log_path=${path}.undefined:print_stacktrace=1:${stackFormat}`,
    }),
    files: [
      'native/test/kernels.test.ts',
      ...['faults', 'forming', 'on-device'].map((name) => `packages/collectives/test/nccl/${name}.test.ts`),
    ],
    tests: ofFewRanks,
    faults: ['read behind the end', 'memory that is lost', 'shift by 32 bits'],
  },
  thread: {
    flags: ['-fsanitize=thread'],
    runtime: 'libtsan.so',
    optionsFor: (path) => ({
      TSAN_OPTIONS: `log_path=${path}:exitcode=0:${stackFormat}`,
      CXXFLAGS: [...commonFlags, '-fsanitize=thread'].join(' '),
    }),
    files: ['packages/collectives/test/nccl/faults.test.ts'],
    tests: ofFewRanks,
    faults: ['data race'],
  },
};

/**
 * Every kind of operation and of end over every transport, every algorithm, several groups and Node environments in a process; locks of
 * files, and pixels.
 */
const filesOfBoth = [
  ...['collectives', 'tcp', 'images'].map((name) => `native/test/${name}.test.ts`),
  ...[
    'conformance/conformance',
    ...['deaths', 'disagreements', 'leaving', 'order'].map((name) => `contracts/${name}`),
    ...['collectives', 'forming', 'groups', 'messages'].map((name) => `gloo/${name}`),
  ].map((name) => `packages/collectives/test/${name}.test.ts`),
  'packages/runtime/test/store/file-store.test.ts',
];

function run(command, args, env = {}) {
  const { status, signal, error } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status === 0) return;
  const reason = error?.message ?? (signal ? `killed by ${signal}` : `exit code ${status}`);
  throw new Error(`${reason} from: ${command} ${args.join(' ')}`);
}

/** Path of a library of the compiler, which answers with the bare name where it has none. */
function libraryOf(name) {
  const { stdout, error } = spawnSync(compiler, [`-print-file-name=${name}`], { encoding: 'utf8' });
  const path = stdout?.trim();
  if (!error && existsSync(path)) return path;
  throw new Error(
    `${compiler} has no ${name}${error ? ` (${error.message})` : ''}. Install g++ (Debian, Ubuntu: it brings the sanitizers) or ` +
      'libasan, libubsan and libtsan (Fedora), or name another g++ in CXX',
  );
}

/** A folder without reports, and the environment in which every process that loads `binary` writes its reports there. */
function environmentOf({ runtime, optionsFor }, folder, binary) {
  const reports = join(folder, 'reports');
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  const env = {
    ...optionsFor(join(reports, 'report')),
    LD_PRELOAD: libraryOf(runtime),
    RINGRUN_NATIVE: binary,
  };
  return { reports, env };
}

const readAll = (folder) =>
  readdirSync(folder).flatMap((name) => reportsAboutTheAddon(readFileSync(join(folder, name), 'utf8')));

function buildFaults({ flags }, folder) {
  mkdirSync(folder, { recursive: true });
  const binary = join(folder, 'ringrun.node');
  const source = join(root, 'native/test/fixtures/faults.cc');
  run(compiler, [
    '-std=c++17',
    '-shared',
    '-fPIC',
    '-pthread',
    ...commonFlags,
    ...flags,
    source,
    '-o',
    binary,
  ]);
  return binary;
}

/** It has no entry point for Node, which says so after it has loaded it. */
const loadOnly = 'try { process.dlopen({ exports: {} }, process.env.RINGRUN_NATIVE) } catch {}';

/** Throws where a mistake that was made on purpose is not reported. */
function proveThatFaultsAreSeen(sanitizer, folder) {
  const binary = buildFaults(sanitizer, folder);
  for (const fault of sanitizer.faults) {
    const { reports, env } = environmentOf(sanitizer, folder, binary);
    spawnSync(process.execPath, ['-e', loadOnly], { env: { ...process.env, ...env, RINGRUN_FAULT: fault } });
    if (readAll(reports).length !== 1) {
      throw new Error(
        `expected one report of a ${fault} made on purpose, found ${readAll(reports).length} in ${reports}`,
      );
    }
  }
}

/** Throws when a test fails; returns the sanitizer's reports either way. */
function test(name, files) {
  const sanitizer = sanitizers[name];
  const folder = join(root, 'native/build', name);
  const flags = [...commonFlags, ...sanitizer.flags].join(' ');
  run(process.execPath, ['native/build.js', '--into', folder], { CXXFLAGS: flags });
  proveThatFaultsAreSeen(sanitizer, join(folder, 'faults'));

  const { reports, env } = environmentOf(sanitizer, folder, join(folder, 'ringrun.node'));
  const selected = files.length > 0 ? files : [...filesOfBoth, ...sanitizer.files];
  const vitest = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--testTimeout=180000',
    '-t',
    sanitizer.tests,
    ...selected,
  ];
  try {
    run(process.execPath, vitest, env);
  } finally {
    explain(name, readAll(reports), relative(root, reports));
  }
}

function explain(name, found, folder) {
  for (const report of found) console.error(`\n${report}`);
  console.error(
    `ringrun: sanitizer '${name}': ${found.length} reports about the addon (everything: ${folder})`,
  );
  if (found.length > 0) process.exitCode = 1;
}

const [name, ...files] = process.argv.slice(2);
const names = name === undefined ? Object.keys(sanitizers) : [name];
for (const one of names) {
  try {
    if (!(one in sanitizers)) throw new Error(`expected one of ${Object.keys(sanitizers).join(', ')}`);
    test(one, files);
  } catch (error) {
    console.error(`ringrun: ${basename(import.meta.url)} ${one}: ${error.message}`);
    process.exitCode = 1;
  }
}
