// Performs an action in the folder of argument 2, and prints its outcome as JSON.
import { Checkpointer, openStorage } from 'ringrun';

const [action, folder] = process.argv.slice(2);
const storage = openStorage(folder);

/** The steps of the checkpoints that are left. */
async function save(): Promise<string> {
  const checkpoints = new Checkpointer({ dir: folder, keep: 1 });
  const model = { stateDict: () => ({ weight: Float32Array.of(1) }), loadStateDict: () => undefined };
  checkpoints.register({ model });
  for (let step = 1; step <= 4; step += 1) await checkpoints.save({ step });
  await checkpoints.finished();
  return String((await checkpoints.resume('auto'))?.step);
}

const actions: Readonly<Record<string, () => Promise<unknown>>> = {
  write: () => storage.write('model', Buffer.from('new')),
  read: () => storage.read('model'),
  save,
};
const outcome = await actions[action]().then(
  (found) => ({
    found: found === undefined ? undefined : Buffer.from(found as string | Uint8Array).toString(),
  }),
  (error: unknown) => {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  },
);
console.log(JSON.stringify(outcome));
