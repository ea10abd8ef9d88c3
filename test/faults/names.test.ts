// Names that change while a job starts and runs, as with the pods of a headless service: each attempt resolves the name
// again, all addresses are tried, and messages contain the name and its addresses.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { launch, node } from '../support/command.ts';
import type { Command } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Names, compilePreload, preloadProblem } from './support/preload.ts';

/** `npm run test:faults`. */
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const problem = preloadProblem();
const place = temporaryFolder();
const library = problem === undefined ? compilePreload('names') : '';
const script = builtScript('faults/clock.script');

const alive = '127.0.0.1';
/** Reserved for documentation (RFC 5737), as the address of a pod that was replaced. */
const replaced = '192.0.2.7';
/** Reserved for documentation (RFC 3849): this machine has no route to it. */
const noRoute = '2001:db8::1';
const host = 'store.test';

interface NamedNode {
  names: Names;
  start: () => Command;
}

/** Two nodes with their own names. Their script ends 0.5 s after `end` was called. */
async function twoNodes(backend: 'static' | 'c10d'): Promise<{ nodes: NamedNode[]; end: () => void }> {
  const folder = mkdtempSync(join(place, 'job-'));
  const port = await freePort();
  const nodes = [0, 1].map((rank) => {
    const names = new Names(library, join(folder, `names-${rank}`));
    const where =
      backend === 'c10d'
        ? ['--rdzv-backend', 'c10d', '--rdzv-endpoint', `${host}:${port}`]
        : ['--node-rank', String(rank), '--master-addr', host, '--master-port', String(port)];
    const env = { ...names.env, SECONDS: 0.5, RINGRUN_SECRET: 'correct horse battery staple' };
    return { names, start: () => launch(['--nnodes', '2', ...where, script, folder], { env }) };
  });
  const end = () => {
    writeFileSync(join(folder, 'changed'), '');
  };
  return { nodes, end };
}

async function endsWell(command: Command): Promise<string> {
  const { code, timedOut, left, stderr, stdout } = await command.ended;
  expect({ code, timedOut, left }, stderr + stdout).toEqual({ code: 0, timedOut: false, left: [] });
  return stderr;
}

describe.skipIf(problem)(`names${problem ? `: skipped, ${problem}` : ''}`, () => {
  const waits = [
    { what: 'does not resolve yet', first: [], says: /the name store\.test does not resolve \(ENOTFOUND\)/ },
    {
      what: 'has the address of a replaced pod',
      first: [replaced],
      says: /store\.test resolves to 192\.0\.2\.7; 192\.0\.2\.7 cannot be reached \(E\w+\)/,
    },
    {
      what: 'has an address without a route',
      first: [noRoute],
      says: /store\.test resolves to 2001:db8::1; 2001:db8::1 cannot be reached \(E\w+\)/,
    },
  ];
  test.each(isFull ? waits : waits.slice(1, 2))(
    'a node waits while the name of the store $what',
    async ({ first, says }) => {
      const { nodes, end } = await twoNodes('static');
      const [server, other] = nodes;
      server.names.resolve({ [host]: [alive] });
      other.names.resolve({ [host]: first });
      const waiting = other.start();
      const serving = server.start();
      await waiting.sees(says);
      other.names.resolve({ [host]: [alive] });
      await waiting.sees(/rank 1 works/);
      end();
      await Promise.all([serving, waiting].map(endsWell));
    },
  );

  const lists = [
    [replaced, alive],
    [noRoute, alive],
    [replaced, noRoute, alive],
  ];
  test.each((isFull ? lists : lists.slice(2)).map((addresses) => ({ addresses })))(
    'of several addresses ($addresses), the one that answers is used',
    async ({ addresses }) => {
      const { nodes, end } = await twoNodes('static');
      const [server, other] = nodes;
      server.names.resolve({ [host]: [alive] });
      other.names.resolve({ [host]: addresses });
      const commands = [server.start(), other.start()];
      await commands[1].sees(/rank 1 works/);
      end();
      await Promise.all(commands.map(endsWell));
    },
  );

  test('a name that stops resolving in the middle of a job ends nothing', async () => {
    const { nodes, end } = await twoNodes('c10d');
    for (const { names } of nodes) names.resolve({ [host]: [alive] });
    const commands = nodes.map(({ start }) => start());
    await Promise.all(commands.map((command) => command.sees(/rank \d works/)));
    for (const { names } of nodes) names.resolve({ [host]: [] });
    end();
    for (const stderr of await Promise.all(commands.map(endsWell))) {
      expect(stderr).not.toMatch(/does not resolve|round 2/);
    }
  });

  test.skipIf(!isFull)(
    'the node whose name had an old address serves the store when the name has its own',
    async () => {
      const { nodes, end } = await twoNodes('c10d');
      for (const { names } of nodes) names.resolve({ [host]: [replaced] });
      const commands = nodes.map(({ start }) => start());
      await Promise.all(commands.map((command) => command.sees(/192\.0\.2\.7 cannot be reached/)));
      for (const { names } of nodes) names.resolve({ [host]: [alive] });
      await Promise.all(commands.map((command) => command.sees(/rank \d works/)));
      end();
      await Promise.all(commands.map(endsWell));
    },
  );

  test('ranks without a launcher wait for a name that stops resolving for a moment', async () => {
    const folder = mkdtempSync(join(place, 'ranks-'));
    const port = await freePort();
    const start = (rank: number, names: Names) => {
      const env = {
        RANK: rank,
        WORLD_SIZE: 2,
        MASTER_ADDR: host,
        MASTER_PORT: port,
        SECONDS: 0.5,
        TIMEOUT_MS: 60_000,
      };
      const secret = { RINGRUN_SECRET: 'correct horse battery staple' };
      return node([script, folder], { env: { ...names.env, ...env, ...secret } });
    };
    const all = [0, 1].map((rank) => new Names(library, join(folder, `names-${rank}`)));
    for (const names of all) names.resolve({ [host]: [alive] });
    const second = start(1, all[1]);
    await second.sees(/waiting for the store at store\.test:\d+/);
    // Rank 1 connects to the address that it knows, and needs the name again for its own address.
    all[1].resolve({ [host]: [] });
    const first = start(0, all[0]);
    await second.sees(/waiting for the name store\.test of the master, which does not resolve \(ENOTFOUND\)/);
    all[1].resolve({ [host]: [alive] });
    await second.sees(/rank 1 works/);
    writeFileSync(join(folder, 'changed'), '');
    await Promise.all([first, second].map(endsWell));
  });
});
