import { expect, test } from 'vitest';
import { Dealer } from 'zeromq';
import { connectStore } from '../../src/store/client.ts';
import { decodeReply, encodeRequest, protocolName } from '../../src/store/wire.ts';
import type { Call } from '../../src/store/wire.ts';
import { start } from './processes.ts';
import type { TestProcess } from './processes.ts';

const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const minutes = 60_000;

interface Memory {
  /** MB of JavaScript objects that are in use. */
  objects: number;
  /** MB outside the heap of V8: of ZeroMQ, of buffers, of the program. */
  native: number;
}

/** Returns a function that asks the server for its memory after a garbage collection. */
function memoryOf(server: TestProcess): () => Promise<Memory> {
  let samples = 0;
  return async () => {
    server.kill('SIGUSR2');
    const [, objects, native] = await server.sees(new RegExp(`sample ${++samples}: (\\S+) (\\S+);`));
    return { objects: Number(objects), native: Number(native) };
  };
}

/** Connects, publishes a key, waits for another one, and leaves without an answer. */
async function joinAndLeave(port: number, number: number): Promise<void> {
  const socket = new Dealer({ linger: 0 });
  socket.connect(`tcp://127.0.0.1:${port}`);
  const calls: Call[] = [
    { op: 'wait', keys: ['never', `member/${number % 500}`], timeoutMs: 30 * minutes },
    { op: 'set', key: `member/${number % 500}`, value: Buffer.alloc(200) },
  ];
  for (const [i, call] of calls.entries())
    await socket.send([protocolName, encodeRequest({ id: i + 1, call })]);
  expect(decodeReply((await socket.receive())[1])).toEqual({ id: 2, result: { kind: 'done' } });
  socket.close();
}

const joins = isFull ? 100_000 : 1500;

/** The server forgets a client that has been silent for 60 to 75 s. */
const maxForgetMs = 100_000;

test(
  `the memory of a store does not grow with the number of clients that have left (${joins})`,
  { timeout: 10 * minutes },
  async () => {
    const server = start(new URL('departures.script.ts', import.meta.url), {});
    const port = Number((await server.sees(/port (\d+)\n/))[1]);
    const measure = memoryOf(server);
    const samples = [await measure()];
    for (let number = 0; number < joins; number += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, i) => joinAndLeave(port, number + i)));
      if ((number + 50) % (joins / 5) === 0) samples.push(await measure());
    }
    // Connections that ZeroMQ has not closed yet occasionally add up to 30 MB, so the smaller of two samples is used.
    const native = samples.map((sample) => sample.native);
    expect(Math.min(native[4], native[5]) - Math.min(native[1], native[2])).toBeLessThan(24);
    // The server keeps about 1 KB for a client that it has not forgotten yet.
    expect(samples[5].objects - samples[0].objects).toBeLessThan(2 + (joins * 2) / 1024);
    if (isFull) {
      await expect
        .poll(async () => (await measure()).objects - samples[0].objects, {
          timeout: maxForgetMs,
          interval: 5000,
        })
        .toBeLessThan(3);
      console.log(`MB after each fifth of ${joins} joins: ${JSON.stringify(samples)}`);
    }
    const store = await connectStore({ host: '127.0.0.1', port, timeoutMs: 20_000 });
    await store.set('never', 'now');
    expect(await store.numKeys()).toBe(501);
    await store.close();
  },
);
