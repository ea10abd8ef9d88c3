// A worker that ends with its launcher: `launcher-watch.script.ts [FOLDER]`, which the launcher would have left. Its pipe is
// descriptor 3. Prints `alive` after each line of its stdin.
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { loadNative } from '@ringrun/native';

const folder = process.argv.at(2);
loadNative().watchLauncher({
  descriptor: 3,
  launcherEnded: 'the launcher has ended\n',
  leaseExpired: 'the lease has expired\n',
  ...(folder === undefined
    ? {}
    : { folder, recordFile: join(folder, 'record.json'), record: JSON.stringify({ message: 'lease' }) }),
});
console.log('alive');
createInterface(process.stdin).on('line', () => {
  console.log('alive');
});
