import { describe, expect, test } from 'vitest';
import { isFull, ways } from './support/extent.ts';
import { launch } from './support/command.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import { python, torchProblem } from './support/torch-problem.ts';

const script = 'test/torch-scripts.script.py';
const problem = torchProblem();
const runOn = (processes: number) => ['--no-node', '--nproc-per-node', String(processes), python, script];
const run = runOn(2);
// Otherwise each process would use all processors of the machine.
const env = { OMP_NUM_THREADS: 1 };

describe.skipIf(problem)(`a PyTorch script, unchanged${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('trains on two processes of this host', async () => {
    const { stdout, ...ended } = await launch(run, { env }).ended;
    expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
    expect(stdout.trimEnd().split('\n').sort()).toEqual([
      'rank 0 of 2 (0 of 2 on 0): 3.000 1.000',
      'rank 1 of 2 (1 of 2 on 0): 3.000 1.000',
    ]);
  });

  test("that fails is reported as the root cause, with @record's traceback", async () => {
    const { code, stderr, left } = await launch([...run, '--fail'], { env }).ended;
    expect([code, left]).toEqual([1, []]);
    expect(stderr).toMatch(/^ {2}Traceback \(most recent call last\):$/m);
    expect(stderr).toContain('    raise ValueError("no more data")');
    // Rank 0 may detect the closed connections before the process of rank 1 has exited.
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
      /^ringrun: root cause: rank 1 on host .*: (exit code 1, ValueError: no more data|ValueError: no more data \(the launcher sent SIGTERM before the process had exited\))$/,
    );
  });
});

const noHosts = problem ?? hostsProblem();

/** Processes of each host; PyTorch takes seconds to start. */
const processes = isFull ? 2 : 1;

describe.skipIf(noHosts)(`a PyTorch script on two hosts${noHosts ? `: skipped, ${noHosts}` : ''}`, () => {
  test.each(
    ways<[string, (rank: number) => string[]]>(
      [['static', (rank) => ['--node-rank', String(rank), '--master-addr', 'host0']]],
      [['c10d', () => ['--rdzv-backend', 'c10d', '--rdzv-endpoint', 'host0', '--rdzv-id', 'job-7']]],
    ),
  )(
    `trains on ${2 * processes} processes with the %s rendezvous, on the port that it receives`,
    async (_, rendezvousArgs) => {
      using network = connectHosts(2);
      for (const host of network.hosts) host.learnNames(network.hosts.filter((other) => other !== host));
      const ends = await Promise.all(
        network.hosts.map((host, rank) => {
          const args = ['launch', '--nnodes', '2', ...rendezvousArgs(rank), ...runOn(processes)];
          return host.node(args, { env }).ended;
        }),
      );
      for (const { stderr, ...ended } of ends) {
        expect(ended, stderr).toMatchObject({ code: 0, timedOut: false, left: [] });
      }
      const lines = ends.flatMap(({ stdout }) => stdout.trimEnd().split('\n')).sort();
      expect(lines).toEqual(
        Array.from({ length: 2 * processes }, (_, rank) => {
          const [local, node] = [rank % processes, Math.floor(rank / processes)];
          return `rank ${rank} of ${2 * processes} (${local} of ${processes} on ${node}): 3.000 1.000`;
        }),
      );
    },
  );
});
