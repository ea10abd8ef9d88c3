// Installs dependencies and builds the addon and the TypeScript packages, if they are missing or out of date.
// Uses only Node's own modules, because it runs before anything is installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = `${root}node_modules/.ringrun-installed`;
const addon = ['native/build.js'];

/** Updates everything; takes about a second if all is up to date. */
export async function setUp() {
  await install('everything', []);
  // The compiler of TypeScript uses one processor.
  await allOf([
    run('the native addon', process.execPath, addon),
    buildPackages(),
    run("the dashboard's page", process.execPath, ['scripts/bundle-page.js']),
  ]);
}

async function buildPackages() {
  const compiler = ['node_modules/typescript/bin/tsc', '--build'];
  if (!(await run('the TypeScript packages', process.execPath, compiler))) return false;
  return await run('the bundles of the packages', process.execPath, ['scripts/bundle-packages.js']);
}

/**
 * For a training whose packages run from their TypeScript sources: updates half of the dependencies, and the addon.
 *
 * @param name Name of the package with the training.
 */
export async function setUpTraining(name) {
  await install(name, ['--prod', '--filter', `${name}...`]);
  await allOf([run('the native addon', process.execPath, addon)]);
}

/** For `node launch`: sets up a fresh clone only. */
export async function setUpOnce() {
  const built = ['packages/runtime/dist/bundle/launcher.js', 'native/build/ringrun.node'];
  if (!built.every((path) => existsSync(root + path))) await setUp();
}

/** Compiles most of the addon while dependencies are downloaded. */
async function install(what, filter) {
  const lock = createHash('sha256')
    .update(readFileSync(`${root}pnpm-lock.yaml`))
    .digest('hex');
  const installed = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
  if ([`${lock} everything`, `${lock} ${what}`].includes(installed)) return;
  const { packageManager } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  // Without the last option, pnpm asks before it adds development dependencies to an installation without them.
  const command = [
    '--yes',
    packageManager,
    'install',
    '--frozen-lockfile',
    '--config.confirmModulesPurge=false',
  ];
  await allOf([
    run('the dependencies', 'npx', [...command, ...filter]),
    run('the native addon', process.execPath, [...addon, '--before-install']),
  ]);
  writeFileSync(stamp, `${lock} ${what}`);
}

/** Ends the process with 1, after all have ended, if one of the commands failed. */
async function allOf(commands) {
  const succeeded = await Promise.all(commands);
  if (succeeded.includes(false)) process.exit(1);
}

/** Resolves with true if the command succeeded; otherwise prints the failure. */
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
