import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Dealer } from 'zeromq';
import { connectStore } from '../../src/store/client.ts';
import { decodeReply, encodeRequest, protocolName } from '../../src/store/wire.ts';
import type { Call } from '../../src/store/wire.ts';
import { start } from './processes.ts';

const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const minutes = 60_000;

/** MB of memory that the process occupies. */
function residentMB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
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

test(
  `the memory of a store stays flat over ${joins} clients that join, wait and leave`,
  { timeout: 15 * minutes },
  async () => {
    const server = start(new URL('scale.script.ts', import.meta.url), {});
    const port = Number((await server.sees(/port (\d+)\n/))[1]);
    const fifth = joins / 5;
    const memory: number[] = [];
    for (let number = 0; number < joins; number += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, i) => joinAndLeave(port, number + i)));
      if ((number + 50) % fifth === 0) memory.push(residentMB(server.pid));
    }
    // The heap of V8 grows until its first large collection.
    expect(memory[4] - memory[isFull ? 1 : 0]).toBeLessThan(40);
    const store = await connectStore({ host: '127.0.0.1', port, timeoutMs: 20_000 });
    await store.set('never', 'now');
    expect(await store.numKeys()).toBe(501);
    await store.close();
    if (isFull) console.log(`MB after each fifth of ${joins} joins: ${memory.map(Math.round).join(', ')}`);
  },
);
