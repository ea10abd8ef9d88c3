import { expect, test } from 'vitest';
import { ClientLimits } from '../../src/dashboard/client-limits.ts';

const limits = () => new ClientLimits<string>({ maxStrangers: 3, maxMembers: 2 });

test('the oldest stranger goes, of the address with the most', () => {
  const clients = limits();
  expect(['a1', 'b1', 'b2'].map((name) => clients.accept(name, name[0]))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(clients.accept('b3', 'b')).toBe('b1');
  expect(clients.accept('c1', 'c')).toBe('b2');
  expect(clients.accept('a2', 'a')).toBe('a1');
});

test('a member is no stranger, and is not closed for strangers', () => {
  const clients = limits();
  clients.accept('member', 'a');
  expect(clients.admit('member')).toBeUndefined();
  for (const name of ['1', '2', '3']) expect(clients.accept(name, 'a')).toBeUndefined();
  expect(clients.accept('4', 'a')).toBe('1');
});

test('the member goes whose last request is the oldest', () => {
  const clients = limits();
  for (const name of ['1', '2']) expect(clients.admit(name)).toBeUndefined();
  expect(clients.admit('1')).toBeUndefined();
  expect(clients.admit('3')).toBe('2');
});

test('a closed connection leaves its place', () => {
  const clients = limits();
  for (const name of ['1', '2', '3']) clients.accept(name, 'a');
  clients.remove('2');
  clients.remove('unknown');
  expect(clients.accept('4', 'a')).toBeUndefined();
  expect(clients.accept('5', 'a')).toBe('1');
});
