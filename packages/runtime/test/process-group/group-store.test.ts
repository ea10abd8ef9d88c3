import { expect, test } from 'vitest';
import { freePort } from '../../../../test/support/free-port.ts';
import { start } from '../../../rendezvous/test/store/processes.ts';

test('a process that served stores at 12 ports in turn keeps the threads and descriptors of one', async () => {
  const ports = new Set<number>();
  while (ports.size < 12) ports.add(await freePort());
  const script = new URL('group-store.script.ts', import.meta.url);
  const server = start(script, { PORTS: [...ports].join(' ') });
  expect(await server.ended).toEqual({ code: 0, signal: null });
  const held = server.output().stdout.trim().split('\n');
  const [[threads, descriptors], [laterThreads, laterDescriptors]] = [held[1], held[11]].map((line) =>
    line.split(' ').map(Number),
  );
  expect(laterThreads - threads).toBe(0);
  // Sockets of closed clients end on ZeroMQ's own thread, a moment later.
  expect(laterDescriptors - descriptors).toBeLessThan(6);
});
