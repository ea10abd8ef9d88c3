// Writes and reads a file in the folder of argument 2, and prints the error as JSON.
import { openStorage } from 'ringrun';

const storage = openStorage(process.argv[3]);
const [action] = process.argv.slice(2);
const done = action === 'write' ? storage.write('model', Buffer.from('new')) : storage.read('model');
const outcome = await done.then(
  (bytes) => ({ bytes: bytes && Buffer.from(bytes).toString() }),
  (error: unknown) => {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  },
);
console.log(JSON.stringify(outcome));
