// Tests the addon with the sanitizers of g++: AddressSanitizer (with LeakSanitizer) and UndefinedBehaviorSanitizer in
// one binary, ThreadSanitizer in another. Fails if a test fails or a sanitizer reports a problem of the addon.
//
//   node scripts/test-sanitized.js                  both, about 10 minutes on two cores
//   node scripts/test-sanitized.js thread [file …]  one of 'address' and 'thread', with these test files only
//
//   RINGRUN_FAULTS=full node scripts/test-sanitized.js address test/faults/fuzz.test.ts
//                                                   mutated messages for 10 minutes; RINGRUN_FAULTS_SECONDS is their number
//
// Node is not instrumented, so the sanitizer's runtime is preloaded into every process. ThreadSanitizer sees only the
// threads of one process, not memory shared between processes.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { reportsAboutTheAddon } from './sanitizer-reports.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiler = process.env.CXX ?? 'g++';

/**
 * -O1 keeps tests within their time limits, frame pointers allow stack walks without tables, and nodelete keeps the addon loaded
 * when Node exits, so that leaks found afterwards have symbol names.
 */
const commonFlags = ['-O1', '-g', '-fno-omit-frame-pointer', '-D_GLIBCXX_ASSERTIONS', '-Wl,-z,nodelete'];

/**
 * Templates of the C++ library, such as the counters of std::shared_ptr, are those of the addon: Node's have the same names and are
 * not instrumented.
 */
const ownFunctions = '-Wl,-Bsymbolic-functions';

/** Tests of at most 3 ranks: more ranks take longer on the same code paths. */
const ofFewRanks = '^(?!.*[4-9] ranks)';

/** Every frame with its module (%M), which identifies the addon. */
const stackFormat = `stack_trace_format="    #%n %F %S %M"`;

/**
 * `flags`: for compiler and linker. `runtime`: the preloaded library. `optionsFor`: environment of processes that write reports
 * to files starting with `path`. `tests`: pattern of test names. `faults`: faults of native/test/fixtures/faults.cc
 * that must be reported. Reports that do not end the process keep its exit code, because most concern Node.
 */
const sanitizers = {
  address: {
    flags: [
      '-fsanitize=address,undefined,float-cast-overflow',
      '-fno-sanitize-recover=all',
      // Links UndefinedBehaviorSanitizer's runtime into the addon. As a shared library it would use AddressSanitizer's
      // report file name and fall back to stderr.
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
      'test/faults/fuzz.test.ts',
    ],
    tests: ofFewRanks,
    faults: ['out-of-bounds read', 'memory leak', 'shift by 32 bits'],
  },
  thread: {
    flags: ['-fsanitize=thread'],
    runtime: 'libtsan.so',
    optionsFor: (path) => ({ TSAN_OPTIONS: `log_path=${path}:exitcode=0:${stackFormat}` }),
    files: ['packages/collectives/test/nccl/faults.test.ts'],
    tests: ofFewRanks,
    faults: ['data race'],
  },
};

/** Programs of a GPU, and every kernel, over fakes of NVIDIA's libraries. */
const filesOfGpus = [
  ...['kernels', 'program', 'products', 'convolutions', 'ending'].map(
    (name) => `native/test/gpu/${name}.test.ts`,
  ),
  'packages/nn/test/executor/cuda',
  'test/gpu-ddp.test.ts',
];

/**
 * All operations and endings over every transport and algorithm, several groups and Node environments in a process,
 * file locks, image transforms, graphs with their operators, GPU programs, and processes that end during a run.
 */
const filesOfBoth = [
  ...['collectives', 'tcp', 'images'].map((name) => `native/test/${name}.test.ts`),
  ...filesOfGpus,
  ...[
    'conformance/conformance',
    ...['deaths', 'disagreements', 'leaving', 'lifetimes', 'order'].map((name) => `contracts/${name}`),
    ...['collectives', 'forming', 'groups', 'messages'].map((name) => `cpu/${name}`),
  ].map((name) => `packages/collectives/test/${name}.test.ts`),
  'packages/rendezvous/test/store/file-store.test.ts',
  ...[
    ...['executor', 'library', 'graph-calls'].map((name) => `executor/${name}`),
    'compiler/clip-norm',
    'functional/dropout',
    'functional/embedding-bag',
    'ops/combine-statistics',
    ...['add-rows', 'gelu', 'layer-normalize', 'max-pool-gradient', 'own-operators', 'recurrence'].map(
      (name) => `ops/own/${name}`,
    ),
    'ops/own/softmax-cross-entropy',
  ].map((name) => `packages/nn/test/${name}.test.ts`),
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

/** Path of a library of the compiler. The compiler prints the bare name if it has no such library. */
function libraryOf(name) {
  const { stdout, error } = spawnSync(compiler, [`-print-file-name=${name}`], { encoding: 'utf8' });
  const path = stdout?.trim();
  if (!error && existsSync(path)) return path;
  throw new Error(
    `${compiler} has no ${name}${error ? ` (${error.message})` : ''}. Install g++ (Debian, Ubuntu; includes the sanitizers) or ` +
      'libasan, libubsan and libtsan (Fedora), or set CXX to another g++.',
  );
}

/** An empty folder for reports, and the environment that makes processes with `binary` write their reports to it. */
function environmentOf({ flags, runtime, optionsFor }, folder, binary) {
  const reports = join(folder, 'reports');
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  const env = {
    ...optionsFor(join(reports, 'report')),
    // For what tests compile: the fakes of NVIDIA's libraries, and kernels.
    CXXFLAGS: [...commonFlags, ...flags].join(' '),
    LD_PRELOAD: libraryOf(runtime),
    RINGRUN_NATIVE: binary,
    RINGRUN_SANITIZER: 'on',
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

/** Node throws after loading the library, which has no entry point for Node. */
const loadOnly = 'try { process.dlopen({ exports: {} }, process.env.RINGRUN_NATIVE) } catch {}';

/** Throws if a deliberate fault is not reported. */
function proveThatFaultsAreSeen(sanitizer, folder) {
  const binary = buildFaults(sanitizer, folder);
  for (const fault of sanitizer.faults) {
    const { reports, env } = environmentOf(sanitizer, folder, binary);
    spawnSync(process.execPath, ['-e', loadOnly], { env: { ...process.env, ...env, RINGRUN_FAULT: fault } });
    if (readAll(reports).length !== 1) {
      throw new Error(
        `expected one report of the deliberate fault '${fault}', got ${readAll(reports).length} in ${reports}`,
      );
    }
  }
}

/** Runs the tests under one sanitizer and prints its reports. Throws if a test fails. */
function test(name, files) {
  const sanitizer = sanitizers[name];
  const folder = join(root, 'native/build', name);
  const flags = [...commonFlags, ...sanitizer.flags].join(' ');
  run(process.execPath, ['native/build.js', '--into', folder], { CXXFLAGS: flags, LDFLAGS: ownFunctions });
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
    `ringrun: sanitizer '${name}': ${found.length} reports about the addon (all reports: ${folder})`,
  );
  if (found.length > 0) process.exitCode = 1;
}

const [name, ...files] = process.argv.slice(2);
const names = name === undefined ? Object.keys(sanitizers) : [name];
for (const one of names) {
  try {
    if (!(one in sanitizers))
      throw new Error(`expected one of ${Object.keys(sanitizers).join(', ')}, got ${one}`);
    test(one, files);
  } catch (error) {
    console.error(`ringrun: ${basename(import.meta.url)} ${one}: ${error.message}`);
    process.exitCode = 1;
  }
}
