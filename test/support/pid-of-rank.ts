import { expect } from 'vitest';
import type { Command } from './command.ts';

/** Process id of a rank that a launcher started. */
export function pidOfRank(command: Command, rank: number): number {
  const found = command
    .processes()
    .filter(({ parent, environment }) => parent === command.pid && environment.get('RANK') === String(rank));
  expect(found).toHaveLength(1);
  return found[0].pid;
}
