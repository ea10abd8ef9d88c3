// A rank that passes on the data of two others dies in a training with `faultTolerance: 'shrink'`.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { hostsProblem } from '../support/hosts-problem.ts';
import { connectHosts } from '../support/hosts.ts';
import { pidOfRank } from '../support/pid-of-rank.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { linksOfFourHosts } from './support/links-of-four-hosts.ts';
import type { RecoveryResult } from './fixtures/recovery-result.ts';

const problem = hostsProblem();
const limitMs = 150_000;
const steps = 300;

test.skipIf(problem)(
  `a relay dies and is replaced: the others train on, through another one${problem ? `: skipped, ${problem}` : ''}`,
  { timeout: limitMs },
  async () => {
    const out = temporaryFolder();
    const links = linksOfFourHosts();
    using network = connectHosts(4);
    const [{ address }, one, two] = network.hosts;
    const nodes = network.hosts.map((host, node) =>
      host.node(
        [
          ...[
            'launch',
            '--nnodes=4',
            '--nproc=1',
            '--max-restarts=1',
            `--node-rank=${node}`,
            `--master-addr=${address}`,
          ],
          ...[builtScript('faults/recovery.script'), String(steps)],
        ],
        {
          env: {
            OUT: out,
            PAUSE_MS: 30,
            OMP_NUM_THREADS: 1,
            RINGRUN_LINKS: links,
            RINGRUN_SECRET: 'correct horse battery staple',
            RINGRUN_SILENT_PEER_TIMEOUT_S: 3,
          },
          limitMs,
        },
      ),
    );
    await Promise.all(
      nodes.map((node, rank) => node.sees(new RegExp(`rank ${rank} has done step 10$`, 'm'))),
    );
    one.loseRouteTo(two);
    two.loseRouteTo(one);
    await nodes[2].sees(/rank 2 .*cannot reach rank 1 .*Their data passes through rank 3 /);
    process.kill(pidOfRank(nodes[3], 3), 'SIGKILL');
    await nodes[3].sees(/rank 3 joins after step/);
    const ends = await Promise.all(nodes.map(({ ended }) => ended));
    for (const { code, stderr, left } of ends) expect({ code, left }, stderr).toEqual({ code: 0, left: [] });
    for (const { stderr } of ends) expect(stderr).not.toContain('round 2');
    const files = readdirSync(out).filter((name) => name.endsWith('.json'));
    const results = new Set(files.map((name) => readFileSync(join(out, name), 'utf8')));
    expect({ files: files.length, results: results.size }).toEqual({ files: 4, results: 1 });
    const { ranksByStep } = JSON.parse([...results][0]) as RecoveryResult;
    expect(ranksByStep).toHaveLength(steps);
    expect(ranksByStep.some((ranks) => ranks.length === 3 && !ranks.includes(3))).toBe(true);
    expect(ranksByStep.at(-1)!.toSorted()).toEqual([0, 1, 2, 3]);
  },
);
