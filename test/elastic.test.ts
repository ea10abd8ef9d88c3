import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import type { Command } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { firstMnist } from './support/first-mnist.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import type { Host, Network } from './support/hosts.ts';
import { pidOfRank } from './support/pid-of-rank.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const problem = hostsProblem();
const limitMs = 170_000;

/** A node is dead after 2 s of silence, and the rendezvous waits 1 s for more nodes. */
const patience = 'keep_alive_interval=0.5,keep_alive_max_attempt=4,last_call_timeout=1';

/** Starts a launcher on a host, for a job of 1 to 3 nodes; the first host has the store. */
function startAgent({ hosts }: Network, host: Host, args: readonly string[]): Command {
  const options = [
    '--nnodes',
    '1:3',
    '--rdzv-backend',
    'c10d',
    '--rdzv-endpoint',
    `${hosts[0].address}:29400`,
  ];
  return host.node(['launch', ...options, '--rdzv-conf', patience, ...args], {
    env: { OMP_NUM_THREADS: 1 },
    limitMs,
  });
}

describe.skipIf(problem)(`elastic jobs${problem ? `: skipped, ${problem}` : ''}`, () => {
  test(
    'MNIST on 1 to 3 nodes completes after one is killed in mid-epoch and one joins later',
    async () => {
      const data = firstMnist({ train: 4500, test: 1000 });
      const training = ['--epochs', '2', '--global-batch-size', '60', '--lr', '0.05', '--log-interval', '10'];
      const saving = ['--output', temporaryFolder(), '--checkpoint-interval', '20', '--resume', 'auto'];
      const args = [compiledExample('examples-mnist'), '--data', data, ...training, ...saving];
      using network = connectHosts(3);
      const [first, second, third] = network.hosts;
      const agents = [first, second, third].map((host) => startAgent(network, host, args));
      await agents[0].sees(/Train Epoch: 1 \[1800\/4500/);
      third.killProcesses();

      await agents[0].sees(/round 2 starts with 2 nodes/);
      await agents[0].sees(/resumed from .*: step [1-9][^]*Train Epoch: \d/);
      // Even on a fast machine, training does not end before the other node has joined.
      const worker = pidOfRank(agents[0], 0);
      process.kill(worker, 'SIGSTOP');
      const late = startAgent(network, third, args);
      await agents[0].sees(/node host2 \(pid \d+\) waits for the next round/);
      process.kill(worker, 'SIGCONT');

      const ends = await Promise.all([agents[0], agents[1], late].map(({ ended }) => ended));
      for (const { code, timedOut, left } of ends) {
        expect({ code, timedOut, left }).toEqual({ code: 0, timedOut: false, left: [] });
      }
      const [{ stdout, stderr }] = ends;
      expect(stdout).toMatch(/parameters identical on 3 ranks/);
      expect(Number([...stdout.matchAll(/^accuracy=(\S+)/gm)].at(-1)![1])).toBeGreaterThan(0.88);
      expect(stdout).toMatch(/Train Epoch: 1 [^]*Train Epoch: 2 /);
      expect(stdout).not.toContain('Train Epoch: 3');
      expect(stdout.match(/^resumed from /gm)).toHaveLength(2);
      const history = stderr.slice(stderr.indexOf('ringrun: events of the job:'));
      expect(history).toMatch(
        new RegExp(
          [
            /round 1 starts with 3 nodes: node host0 .* node host1 .* node host2/,
            /node host2 \(pid \d+\) died: no heartbeat for 2 s/,
            /round 1 ended: .*the nodes changed, which uses no restart/,
            /round 2 starts with 2 nodes: node host0 .* node host1/,
            /node host2 \(pid \d+\) waits for the next round/,
            /round 2 ended: node host2 \(pid \d+\) joined/,
            /round 3 starts with 3 nodes: node host0 .* node host1 .* node host2/,
            /the job finished/,
          ]
            .map(({ source }) => String.raw`ringrun: \d\d:\d\d:\d\d ${source}`)
            .join('[^]*'),
        ),
      );
    },
    limitMs,
  );

  test('a node cut off from the store stops its workers before the others restart without it', async () => {
    using network = connectHosts(2);
    const [first, second] = network.hosts.map((host) =>
      startAgent(network, host, [builtScript('elastic.script')]),
    );
    await Promise.all([first, second].map((agent) => agent.sees(/rank \d of 2 works/)));
    network.hosts[1].cutLink();
    await second.sees(
      /the store does not answer: stopping the workers before their ranks are assigned to other nodes/,
    );
    await first.sees(/rank 0 of 1 works/);
    expect(workersOf(second)).toEqual([]);
  });

  test('a loopback address is refused if another node would receive it', async () => {
    using network = connectHosts(2);
    const first = startAgent(network, network.hosts[0], [builtScript('elastic.script')]);
    await first.sees(/round 1 starts/);
    const options = ['--local-addr', '127.0.0.1', builtScript('elastic.script')];
    const { code, stderr } = await startAgent(network, network.hosts[1], options).ended;
    const why =
      /node host1 \(pid \d+\) cannot join: the address of node host1 .* is 127\.0\.0\.1, .* Use an endpoint .*--local-addr/;
    expect(code).toBe(1);
    expect(stderr).toMatch(why);
    await first.sees(why);
  });
});

/** The launchers with a rank. */
function workersOf(agent: Command): number[] {
  return agent
    .processes()
    .filter(({ environment }) => environment.has('RANK'))
    .map(({ pid }) => pid);
}
