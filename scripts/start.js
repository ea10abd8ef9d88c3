// `npm start`: trains the MNIST example on two processes. If MNIST cannot be downloaded, it warns and uses synthetic digits.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setUp } from './setup.js';

await setUp();
// Imported after setUp() has built the packages.
const { prepareMnist } = await import('ringrun');

const launch = fileURLToPath(new URL('../launch.js', import.meta.url));
const example = 'packages/examples-mnist/train.ts';
const given = process.argv.slice(2);
const args = [launch, '--nproc', '2', example, ...given, ...(await whereToGetData())];
const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
process.exitCode = status ?? 1;

/** `--synthetic` if MNIST is neither cached nor downloadable; nothing if an argument selects the data. */
async function whereToGetData() {
  if (given.some((arg) => /^--(data|synthetic|help)\b/.test(arg))) return [];
  try {
    await prepareMnist();
    return [];
  } catch (error) {
    if (error.code !== 'ERR_DOWNLOAD') throw error;
    console.error(`${error.message}\nnpm start continues with --synthetic.`);
    return ['--synthetic'];
  }
}
