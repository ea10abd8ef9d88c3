// Jobs whose processes are all stopped, as with `docker pause` or a machine that is suspended, for longer than their
// leases and timeouts.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { launch } from '../support/command.ts';
import type { Command } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { hasStopped } from '../support/processes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const place = temporaryFolder();
const script = builtScript('faults/clock.script');

/** Longer than the timeout of the script's group, which is 5 s. */
const stoppedMs = 6000;

/** Stops all processes of the commands, and continues them. */
async function stopAll(commands: readonly Command[]): Promise<void> {
  const pids = commands.flatMap((command) => command.processes().map(({ pid }) => pid));
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  await Promise.all(pids.map(hasStopped));
  await delay(stoppedMs);
  for (const pid of pids) process.kill(pid, 'SIGCONT');
}

async function endsWell(command: Command): Promise<string> {
  const { code, timedOut, left, stderr, stdout } = await command.ended;
  expect({ code, timedOut, left }, stderr + stdout).toEqual({ code: 0, timedOut: false, left: [] });
  return stderr;
}

describe.concurrent('a job that was stopped as a whole', () => {
  test.each(isFull ? ['shm', 'tcp'] : ['tcp'])(
    'continues on one node over %s, after the timeout of its group',
    async (transport) => {
      const folder = mkdtempSync(join(place, 'job-'));
      const job = launch(['--nproc', '2', script, folder], { env: { RINGRUN_TRANSPORT: transport } });
      await job.sees(/rank 1 works in round 0/);
      await stopAll([job]);
      writeFileSync(join(folder, 'changed'), '');
      expect(await endsWell(job)).not.toMatch(/ringrun/);
    },
  );

  /** A lease of 2 s. */
  const patience = 'keep_alive_interval=0.5,keep_alive_max_attempt=4,last_call_timeout=1';

  test.each(isFull ? (['static', 'c10d'] as const) : (['static'] as const))(
    'restarts the workers of two nodes (%s), because their ranks could have been assigned to others',
    async (backend) => {
      const folder = mkdtempSync(join(place, 'job-'));
      const port = await freePort();
      const nodes = [0, 1].map((node) => {
        const where =
          backend === 'c10d'
            ? ['--rdzv-backend', 'c10d', '--rdzv-endpoint', `localhost:${port}`]
            : ['--node-rank', String(node), '--master-addr', '127.0.0.1', '--master-port', String(port)];
        return launch(['--nnodes', '2', ...where, '--rdzv-conf', patience, script, folder]);
      });
      await Promise.all(nodes.map((node) => node.sees(/rank \d works in round 0/)));
      await stopAll(nodes);
      await Promise.all(nodes.map((node) => node.sees(/rank \d works in round 1/)));
      writeFileSync(join(folder, 'changed'), '');
      for (const node of nodes) {
        const stderr = await endsWell(node);
        expect(stderr).toMatch(/lost contact with the store; the nodes changed, which uses no restart/);
        expect(stderr).toMatch(/round 2 starts with 2 nodes/);
        expect(stderr).not.toMatch(/died: no heartbeat|round 3/);
      }
    },
  );
});
