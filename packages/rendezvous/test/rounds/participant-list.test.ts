import { describe, expect, test } from 'vitest';
import {
  haveNoLoopback,
  participantOf,
  withChange,
  withoutParticipant,
  withParticipant,
} from '../../src/rounds/participant-list.ts';
import type { Participant } from '../../src/rounds/rendezvous-state.ts';

function participant(id: string, address = '10.0.0.1'): Participant {
  const node = { id, host: id, pid: 1, address, processesPerNode: 1, nodeRank: undefined, machine: id };
  return {
    node: { ...node, hostsStore: false },
    ...{ previousRank: undefined, formerly: [], report: undefined, gone: undefined },
  };
}

const joined = (ids: readonly string[], before: readonly Participant[] = []) =>
  ids.reduce((list, id) => withParticipant(list, participant(id)), before);

const idsOf = (list: readonly Participant[]) => list.map(({ node }) => node.id);

describe.each([4, 40])('of %i nodes', (count) => {
  const ids = Array.from({ length: count }, (_, i) => `node${i}`);

  test('each is found, with its changes, in the list that has it', () => {
    const list = joined(ids);
    const changed = withChange(list, 'node2', { report: 'finished' });
    for (const id of ids) {
      expect(participantOf(list, id)).toEqual(participant(id));
      const report = id === 'node2' ? 'finished' : undefined;
      expect(participantOf(changed, id)).toEqual({ ...participant(id), report });
    }
    expect(idsOf(changed)).toEqual(ids);
    expect(participantOf(list, 'other')).toBeUndefined();
    expect(withChange(list, 'other', { gone: 'died' })).toEqual(list);
  });

  test('nodes after one that left are found', () => {
    const list = withoutParticipant(joined(ids), 'node1');
    const rest = ids.filter((id) => id !== 'node1');
    expect(idsOf(list)).toEqual(rest);
    expect(participantOf(list, 'node1')).toBeUndefined();
    for (const id of rest) expect(participantOf(list, id)?.node.id).toBe(id);
    const again = joined(['node1'], list);
    expect(participantOf(again, 'node1')).toBe(again.at(-1));
    expect(participantOf(list, 'node1')).toBeUndefined();
  });

  test('lists that follow from one list do not mix', () => {
    const list = joined(ids);
    const [one, other] = [joined(['a', 'b'], list), joined(['b', 'c'], list)];
    expect(participantOf(one, 'c')).toBeUndefined();
    expect(participantOf(other, 'a')).toBeUndefined();
    expect(participantOf(one, 'b')).toBe(one.at(-1));
    expect(participantOf(other, 'b')).toBe(other.at(-2));
    expect(participantOf(list, 'b')).toBeUndefined();
  });

  test('a loopback address is noticed', () => {
    const list = joined(ids);
    expect(haveNoLoopback(list)).toBe(true);
    expect(haveNoLoopback(withParticipant(list, participant('here', '127.0.0.1')))).toBe(false);
    expect(haveNoLoopback(joined(ids, [participant('here', '127.0.0.1')]))).toBe(false);
  });
});
