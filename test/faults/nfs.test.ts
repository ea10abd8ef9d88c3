// A folder of checkpoints on a network file system, which lists the files of another host late.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { launch } from '../support/command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { compilePreload, preloadProblem } from './support/preload.ts';

const problem = preloadProblem();
const library = problem === undefined ? compilePreload('nfs') : '';

describe.skipIf(problem)(`a network file system${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('a restarted job waits until its last checkpoint is listed', async () => {
    const folder = temporaryFolder();
    const results = temporaryFolder();
    const visible = join(folder, 'visible');
    const env = {
      DIR: join(folder, 'nfs-volume'),
      LD_PRELOAD: library,
      NFS_FAULT: 'folder late',
      NFS_VISIBLE: visible,
    };
    const script = builtScript('fixtures/checkpoints');
    const job = launch(['--nproc', '2', '--max-restarts', '1', script, 'saveAndResume', results], { env });
    await job.sees(
      /no rank sees step 7 \(.*\) in .* yet\. A network file system may list it late: waiting for at most 60 s, 0 s so far\./,
    );
    await job.sees(/at most 60 s, 5 s so far\./);
    writeFileSync(visible, '');
    const { code, stderr } = await job.ended;
    expect(code, stderr).toBe(0);
    for (const rank of [0, 1])
      expect(readFileSync(join(results, `saveAndResume-${rank}.json`), 'utf8')).toBe('7');
  });
});
