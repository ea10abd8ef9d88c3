// Installs dependencies and builds the addon and the TypeScript packages, if they are missing or out of date.
// Uses only Node's own modules, because it runs before anything is installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Updates everything; takes about a second if all is up to date. */
export async function setUp() {
  await installDependencies();
  // The compiler of TypeScript uses one processor.
  await allOf([
    run('the native addon', process.execPath, ['native/build.js']),
    run('the TypeScript packages', process.execPath, ['node_modules/typescript/bin/tsc', '--build']),
    run("the dashboard's page", process.execPath, ['scripts/bundle-page.js']),
  ]);
}

/** For `node launch`: sets up a fresh clone only. */
export async function setUpOnce() {
  const built = ['packages/launcher/dist/commands/main.js', 'native/build/ringrun.node'];
  if (!built.every((path) => existsSync(root + path))) await setUp();
}

async function installDependencies() {
  const lock = createHash('sha256')
    .update(readFileSync(`${root}pnpm-lock.yaml`))
    .digest('hex');
  const stamp = `${root}node_modules/.ringrun-installed`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  const { packageManager } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  await allOf([run('the dependencies', 'npx', ['--yes', packageManager, 'install', '--frozen-lockfile'])]);
  writeFileSync(stamp, lock);
}

/** Ends the process with 1, after all have ended, if one of the commands failed. */
async function allOf(commands) {
  const succeeded = await Promise.all(commands);
  if (succeeded.includes(false)) process.exit(1);
}

/** Resolves with true if the command succeeded; otherwise prints what failed. */
function run(what, command, args) {
  return new Promise((resolve) => {
    const fail = (reason) => {
      console.error(`ringrun setup: ${what} failed (${reason}): ${command} ${args.join(' ')}, in ${root}`);
      resolve(false);
    };
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
    child.once('error', (error) => {
      fail(error.message);
    });
    child.once('close', (code, signal) => {
      if (code === 0) resolve(true);
      else fail(signal ? `killed by ${signal}` : `exit code ${code}`);
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await setUp();
