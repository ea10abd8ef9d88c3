import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch, node } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { ways } from './support/extent.ts';
import { freePort } from './support/free-port.ts';
import { pidOfRank } from './support/pid-of-rank.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';

const maxSeconds = 5;
// Enough images for some seconds of training after the first line of progress.
const data = syntheticMnist({ train: 20_000, test: 100 });

const deathOf = (victim: number, transport: 'shm' | 'tcp') => [victim, transport] as const;

describe('kill -9 in mid-epoch, under the launcher', () => {
  const others = [deathOf(0, 'shm'), deathOf(2, 'shm'), ...[0, 1, 2].map((rank) => deathOf(rank, 'tcp'))];

  test.each(ways([deathOf(1, 'shm')], others))(
    'rank %d of 3 over %s: all ranks end, and the last line names it',
    async (victim, transport) => {
      const command = launch(['--nproc', '3', compiledExample('examples-mnist'), '--data', data], {
        env: { RINGRUN_TRANSPORT: transport },
      });
      await command.sees(/^Train Epoch: 1 \[[1-9]/m);
      const pid = pidOfRank(command, victim);
      const killedAt = performance.now();
      process.kill(pid, 'SIGKILL');
      const { code, stdout, stderr, left, timedOut } = await command.ended;
      expect((performance.now() - killedAt) / 1000).toBeLessThan(maxSeconds);
      expect({ code, left, timedOut }).toEqual({ code: 137, left: [], timedOut: false });
      expect(stdout).not.toContain('accuracy=');
      const lastLine = stderr.trimEnd().split('\n').at(-1);
      expect(lastLine).toContain(`root cause: rank ${victim} on host ${hostname()} (pid ${pid}, `);
      expect(lastLine).toContain('killed by SIGKILL (signal 9: ');
    },
  );
});

describe('kill -9 without a launcher', () => {
  test.each(ways([deathOf(0, 'tcp')], [deathOf(1, 'tcp'), deathOf(0, 'shm'), deathOf(1, 'shm')]))(
    'rank %d of 2 over %s: the other rank ends with an error that names it',
    async (victim, transport) => {
      const env = {
        WORLD_SIZE: 2,
        MASTER_ADDR: '127.0.0.1',
        MASTER_PORT: await freePort(),
        RINGRUN_TRANSPORT: transport,
      };
      const ranks = [0, 1].map((rank) => node([builtScript('kill.script')], { env: { ...env, RANK: rank } }));
      await Promise.all(ranks.map((rank) => rank.sees(/^rank \d trains$/m)));
      const killedAt = performance.now();
      process.kill(ranks[victim].pid, 'SIGKILL');
      const { code, stderr, left, timedOut } = await ranks[1 - victim].ended;
      expect((performance.now() - killedAt) / 1000).toBeLessThan(maxSeconds);
      expect({ code, left, timedOut }).toEqual({ code: 1, left: [], timedOut: false });
      const name = `rank ${victim} (host ${hostname()}, pid ${ranks[victim].pid})`;
      expect(stderr).toContain(`PeerDiedError: ${name} is gone`);
      expect(stderr).toMatch(/rank \d \(host .*\) was in allReduce #\d+ \(float32, \d+ elements/);
      expect(stderr).toContain("code: 'ERR_PEER_DIED'");
    },
  );
});
