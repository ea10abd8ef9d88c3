// Installs dependencies and builds the addon and the TypeScript packages, if they are missing or out of date.
// Uses only Node's own modules, because it runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Updates everything; takes about a second if all is up to date. */
export function setUp() {
  installDependencies();
  run('the native addon', process.execPath, ['native/build.js']);
  run('the TypeScript packages', process.execPath, ['node_modules/typescript/bin/tsc', '--build']);
}

/** For `node launch`: sets up a fresh clone only. */
export function setUpOnce() {
  if (!existsSync(`${root}packages/runtime/dist/launcher/main.js`)) setUp();
}

function installDependencies() {
  const lock = createHash('sha256')
    .update(readFileSync(`${root}pnpm-lock.yaml`))
    .digest('hex');
  const stamp = `${root}node_modules/.ringrun-installed`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  const { packageManager } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  run('the dependencies', 'npx', ['--yes', packageManager, 'install', '--frozen-lockfile']);
  writeFileSync(stamp, lock);
}

function run(what, command, args) {
  const { status, signal, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  const reason = error?.message ?? (signal ? `killed by ${signal}` : `exit code ${status}`);
  console.error(`ringrun setup: ${what} failed (${reason}): ${command} ${args.join(' ')}, in ${root}`);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setUp();
