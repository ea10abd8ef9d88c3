import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Checkpointer } from 'ringrun';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('failed saves of many checkpointers add at most one listener', async () => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const warnings: string[] = [];
  const record = ({ name }: Error) => warnings.push(name);
  process.on('warning', record);
  onTestFinished(() => {
    written.mockRestore();
    process.off('warning', record);
  });
  const before = process.listenerCount('exit');
  for (let i = 0; i < 12; i += 1) {
    const dir = join(temporaryFolder(), 'checkpoints');
    const checkpoints = new Checkpointer({ dir });
    checkpoints.register({ model: { stateDict: () => ({}), loadStateDict: () => undefined } });
    // A file in the place of the folder.
    writeFileSync(dir, '');
    for (let step = 1; step <= 2; step += 1) {
      await checkpoints.save({ step });
      await expect(checkpoints.finished()).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_NOT_WRITTEN' });
    }
  }
  await new Promise(setImmediate);
  expect(process.listenerCount('exit') - before).toBeLessThanOrEqual(1);
  expect(warnings).toEqual([]);
});
