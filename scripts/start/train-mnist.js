// Runs in a process that resolves packages to their sources: see start.js.
import { prepareMnist } from 'ringrun';

const example = 'packages/examples-mnist/train.ts';
const given = process.argv.slice(2);
process.argv.splice(2, Infinity, '--nproc', '2', example, ...given, ...(await dataOption()));
await import('ringrun/launcher');

/** `--synthetic` if MNIST is neither cached nor downloadable; nothing if an argument selects the data. */
async function dataOption() {
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
