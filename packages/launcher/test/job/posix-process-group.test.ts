import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import {
  parseProcessStat,
  processGroupIsLeft,
  signalProcessGroup,
} from '../../src/job/posix-process-group.ts';

test('parses state and group after a command with spaces and parentheses', () => {
  expect(parseProcessStat('4711 (a) b (c)) S 1 4700 4600 0 -1 4194560 103')).toEqual({
    state: 'S',
    group: 4700,
  });
});

test('a process group exists until its last process has ended', async () => {
  const leader = spawn('sh', ['-c', 'sleep 1000 & echo up'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(leader.stdout, 'data');
  await once(leader, 'exit');
  expect(processGroupIsLeft(leader.pid!)).toBe(true);
  signalProcessGroup(leader.pid!, 'SIGKILL');
  await expect.poll(() => processGroupIsLeft(leader.pid!), { timeout: 5000 }).toBe(false);
  expect(() => {
    signalProcessGroup(leader.pid!, 'SIGKILL');
  }).not.toThrow();
});
