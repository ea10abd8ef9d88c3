// A process on the path between two ranks with `--encrypt`, which records, repeats, reorders and cuts their bytes.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { node } from '../support/command.ts';
import type { Command } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { compilePreload, preloadProblem } from './support/preload.ts';
import { Relay, passOn, purposes } from './support/relay.ts';
import type { Interference, Relayed, Unit } from './support/relay.ts';

const problem = preloadProblem();
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const place = temporaryFolder();
const library = problem === undefined ? compilePreload('relay') : '';
const script = builtScript('faults/relay.script');

interface Job extends Disposable {
  relay: Relay;
  ranks: Command[];
}

/** Ranks of different hosts, as far as they know, whose connections pass a relay. */
async function startJob(
  interfere?: Interference,
  { size = 2, untilFile = '' }: { size?: number; untilFile?: string } = {},
): Promise<Job> {
  const port = await freePort();
  const relay = await Relay.start(place, library, port, interfere);
  const job = {
    ...relay.env,
    WORLD_SIZE: size,
    MASTER_ADDR: '127.0.0.1',
    MASTER_PORT: port,
    OMP_NUM_THREADS: 1,
    RINGRUN_ENCRYPT: 1,
    RINGRUN_SECRET: 'correct horse battery staple',
  };
  const ranks = Array.from({ length: size }, (_, rank) =>
    node([script, '20', untilFile], { env: { ...job, RANK: rank, RINGRUN_HOST_ID: `host-${rank}` } }),
  );
  return {
    relay,
    ranks,
    [Symbol.dispose]: () => {
      relay[Symbol.dispose]();
    },
  };
}

async function endsWell({ ranks }: Job): Promise<string> {
  const ends = await Promise.all(ranks.map(({ ended }) => ended));
  const shown = ends.map(({ stdout, stderr }) => stderr + stdout).join('\n');
  for (const [rank, { code, stdout }] of ends.entries()) {
    expect(code, shown).toBe(0);
    expect(stdout).toContain(`rank ${rank} is done`);
    expect(stdout).not.toContain('WRONG');
  }
  return ends.map(({ stderr }) => stderr).join('');
}

/** Sends recorded bytes on a new connection to a rank. Resolves with its answer, when it has closed the connection. */
async function replayed(bytes: Buffer, port: number): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  const answer: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => answer.push(chunk));
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  socket.write(bytes);
  await closed;
  return Buffer.concat(answer);
}

/** The messages of the rank that connects, and of the one that listens. */
const [handshakeBytes, challengeBytes] = [84, 64];
const { data, pointToPoint } = purposes;

/** Interferes once with the record `at` of the dialler on the first connection with this purpose. */
function atRecord(purpose: number, at: number, act: (unit: Unit) => void): Interference {
  let first: Relayed | undefined;
  return (unit) => {
    const { connection, fromDialler, index } = unit;
    const isChosen = fromDialler && index === at && connection.purpose === purpose;
    if (isChosen) first ??= connection;
    if (isChosen && connection === first) act(unit);
    else passOn(unit);
  };
}

/** Keeps the record `at`, and acts on it and the next one. */
function onTwoRecords(purpose: number, at: number, act: (first: Unit, second: Unit) => void): Interference {
  let kept: Unit | undefined;
  const keep = atRecord(purpose, at, (unit) => (kept = unit));
  return (unit) => {
    if (!kept || unit.connection !== kept.connection || !unit.fromDialler || unit.index !== at + 1)
      keep(unit);
    else act(kept, unit);
  };
}

describe.skipIf(problem)(`an encrypted connection${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('a relay that passes everything on does not disturb a job, and sees no number twice', async () => {
    using job = await startJob();
    expect(await endsWell(job)).toBe('');
    const ciphertexts = job.relay.connections.flatMap(({ units }) =>
      units.filter(({ index }) => index >= 0).map(({ bytes }) => bytes.toString('latin1')),
    );
    expect(ciphertexts.length).toBeGreaterThan(100);
    expect(new Set(ciphertexts).size).toBe(ciphertexts.length);
  });

  test('a recorded connection is refused by its rank, by another one and by a later job', async () => {
    const [end, endOfLater] = ['end', 'end of later'].map((name) => join(place, name));
    using job = await startJob(undefined, { size: 3, untilFile: end });
    await Promise.all(job.ranks.map((rank) => rank.sees(/has done step 3$/m)));
    const recorded = [...job.relay.with(data), ...job.relay.with(pointToPoint)];
    expect(new Set(recorded.map(({ purpose }) => purpose)).size).toBe(2);
    for (const connection of recorded) {
      const bytes = connection.bytesOf(true);
      const answer = await replayed(bytes.subarray(0, handshakeBytes), connection.port);
      // A new challenge, which the recorded proof does not answer.
      expect(answer).toHaveLength(challengeBytes);
      // The rest of the recording is not read: the reset of the connection may overtake the challenge.
      expect((await replayed(bytes, connection.port)).length).toBeLessThanOrEqual(challengeBytes);
      expect(connection.bytesOf(false).subarray(0, challengeBytes)).not.toEqual(answer);
      const other = recorded.find(({ listener }) => listener !== connection.listener);
      if (other) expect(await replayed(bytes, other.port)).toHaveLength(0);
    }
    expect(recorded.map(({ listener }) => listener)).toEqual(expect.arrayContaining([0, 1]));
    writeFileSync(end, '');
    expect(await endsWell(job)).toMatch(/rank \d refused \d+ connections? \(.* from 127\.0\.0\.1/);

    using later = await startJob(undefined, { size: 3, untilFile: endOfLater });
    await Promise.all(later.ranks.map((rank) => rank.sees(/has done step 3$/m)));
    for (const { listener, port } of later.relay.with(data)) {
      for (const old of recorded.filter((one) => one.listener === listener)) {
        const handshake = old.bytesOf(true).subarray(0, handshakeBytes);
        expect(await replayed(handshake, port)).toHaveLength(challengeBytes);
      }
    }
    writeFileSync(endOfLater, '');
    await endsWell(later);
  });

  test('a rank that receives a recorded challenge tries again', async () => {
    let old: Buffer | undefined;
    let replays = 0;
    using job = await startJob((unit) => {
      const { connection, fromDialler, index, bytes } = unit;
      const isChallenge = !fromDialler && index === -1;
      if (isChallenge && old !== undefined && connection.purpose === data && replays === 0) {
        replays += 1;
        connection.write(false, old);
      } else passOn(unit);
      if (isChallenge) old ??= bytes;
    });
    await endsWell(job);
    expect(replays).toBe(1);
  });

  const changes: Record<string, (purpose: number) => Interference> = {
    'a record is sent twice': (purpose) =>
      atRecord(purpose, 2, (unit) => {
        passOn(unit);
        passOn(unit);
      }),
    'two records are swapped': (purpose) =>
      onTwoRecords(purpose, 2, (first, second) => {
        passOn(second);
        passOn(first);
      }),
    'a record is left out': (purpose) =>
      onTwoRecords(purpose, 2, (_, second) => {
        passOn(second);
      }),
    'an earlier record is repeated': (purpose) =>
      atRecord(purpose, 3, ({ connection }) => {
        const first = connection.units.find(({ fromDialler, index }) => fromDialler && index === 1)!;
        connection.write(true, first.bytes);
      }),
    'the records of a rank are returned to it': (purpose) =>
      atRecord(purpose, 2, ({ connection, bytes }) => {
        connection.write(false, bytes);
      }),
    'a record of another connection replaces one': (purpose) => {
      const records: Unit[] = [];
      let isDone = false;
      return (unit) => {
        const { connection, fromDialler, index } = unit;
        const other = records.find((one) => one.connection !== connection);
        const isChosen = fromDialler && index >= 2 && connection.purpose === purpose;
        if (!isDone && isChosen && other) {
          isDone = true;
          connection.write(true, other.bytes);
        } else passOn(unit);
        if (fromDialler && index >= 0) records.push(unit);
      };
    },
  };
  const kinds = { data, 'point-to-point': pointToPoint };

  const every = Object.entries(changes).flatMap(([what, change]) =>
    Object.entries(kinds).map(([kind, purpose]) => ({ what, change, kind, purpose })),
  );
  /** A record that is sent twice on a data connection, and one that is left out of a message. */
  const few = every.filter((_, i) => i === 0 || i === 5);
  test.each(isFull ? every : few)(
    '$what on a $kind connection: the job ends, names it and uses no wrong byte',
    async (one) => {
      using job = await startJob(one.change(one.purpose));
      const ends = await Promise.all(job.ranks.map(({ ended }) => ended));
      for (const { code, stderr, stdout } of ends) {
        expect(stdout).not.toContain('WRONG');
        expect(code, stderr).toBe(1);
        expect(stderr).toMatch(
          new RegExp(
            `the encrypted ${one.kind} connection between rank \\d and rank \\d \\(.*127\\.0\\.0\\.1.*\\) were changed`,
          ),
        );
        expect(stderr).toContain("code: 'ERR_CONNECTION_ALTERED'");
      }
    },
  );

  test.each([
    { where: 'between two records', cut: (bytes: Buffer) => bytes },
    { where: 'within a record', cut: (bytes: Buffer) => bytes.subarray(0, bytes.length - 7) },
  ])('a connection that ends $where is no clean end', async ({ cut }) => {
    for (const purpose of isFull ? [data, pointToPoint, purposes.control] : [pointToPoint]) {
      // A control connection has few records, and none before a rank waits for long.
      let isCut = false;
      using job = await startJob((unit) => {
        const { connection, fromDialler, index, bytes } = unit;
        const isControl = connection.purpose === purposes.control;
        const isChosen = connection.purpose === purpose && fromDialler && index === (isControl ? -1 : 2);
        if (isCut || !isChosen) {
          passOn(unit);
          return;
        }
        isCut = true;
        connection.write(true, isControl ? bytes : cut(bytes));
        connection.end();
      });
      const ends = await Promise.all(job.ranks.map(({ ended }) => ended));
      expect(isCut).toBe(true);
      for (const { code, stderr, stdout } of ends) {
        expect(stdout).not.toContain('WRONG');
        expect(code, stderr + stdout).toBe(1);
        expect(stderr).toMatch(/PeerDiedError: rank [01] \(host .*\) is gone/);
      }
    }
  });
});
