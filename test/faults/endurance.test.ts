import { expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { node } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';

/** `npm run test:faults`. */
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const rounds = isFull ? 100 : 4;
const collectives = 100;
const worldSize = 3;

interface Occupied {
  descriptors: number;
  threads: number;
  mappings: number;
  MB: number;
}

const transports = isFull ? ['shm', 'tcp'] : ['tcp'];

test.each(transports)(
  `survivors of ${rounds} crashes in ${rounds * collectives} collectives over %s leak nothing`,
  { timeout: rounds * 30_000 },
  async (transport) => {
    const ports = new Set<number>();
    while (ports.size < rounds) ports.add(await freePort());
    const env = {
      TEST_WORLD_SIZE: worldSize,
      TEST_PORTS: [...ports].join(),
      RINGRUN_TRANSPORT: transport,
      RINGRUN_SECRET: 'the secret of this job',
    };
    const limitMs = rounds * 30_000;
    const start = (rank: number, round: number) =>
      node([builtScript('faults/endurance.script'), String(round), String(collectives)], {
        env: { ...env, TEST_RANK: rank },
        limitMs,
      });
    const survivors = [0, 1].map((rank) => start(rank, 0));
    for (let round = 0; round < rounds; round += 1) {
      const { signal, stderr } = await start(worldSize - 1, round).ended;
      expect(signal, stderr).toBe('SIGKILL');
    }
    for (const survivor of survivors) {
      const { code, stdout, stderr, left } = await survivor.ended;
      expect({ code, left }, stderr).toEqual({ code: 0, left: [] });
      const after = [...stdout.matchAll(/^round \d+ (.*)$/gm)].map(
        ([, json]) => JSON.parse(json) as Occupied,
      );
      expect(after).toHaveLength(rounds);
      if (isFull) console.log([0, 4, 9, 49, 99].map((i) => JSON.stringify(after[i])).join('\n'));
      // The first rounds open permanent resources: threads of ZeroMQ and of libuv, the worker of the store.
      const before = after[isFull ? 9 : 1];
      const last = after.at(-1)!;
      const shown = after.map((one) => JSON.stringify(one)).join('\n');
      expect(last.threads, shown).toBeLessThanOrEqual(before.threads);
      expect(last.descriptors, shown).toBeLessThanOrEqual(before.descriptors + 2);
      expect(last.mappings, shown).toBeLessThanOrEqual(before.mappings + (isFull ? 100 : 60));
      expect(last.MB, shown).toBeLessThanOrEqual(before.MB + 40);
    }
  },
);
