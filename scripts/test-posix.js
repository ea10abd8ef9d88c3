// Tests the addon with the POSIX twins of Linux's own calls (native/compile/systems.js), which macOS uses: compiles them on this
// machine, and runs the tests of the addon and of collectives with that binary.
//
//   node scripts/test-posix.js             some minutes on two cores
//   node scripts/test-posix.js [file …]    these test files only
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'native/build/posix');
/** Without those that compare with Linux: they read /proc or change the affinity. */
const files = [
  'native/test',
  'packages/collectives',
  'test/as-one.test.ts',
  'test/kill.test.ts',
  'test/ddp.test.ts',
];

run(process.execPath, ['native/build.js', '--into', folder], { RINGRUN_SYSTEM: 'posix' });
run('npx', ['vitest', 'run', ...(process.argv.length > 2 ? process.argv.slice(2) : files)], {
  RINGRUN_SYSTEM: 'posix',
  RINGRUN_NATIVE: join(folder, 'ringrun.node'),
});

function run(command, args, env) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (status !== 0) process.exit(status ?? 1);
}
