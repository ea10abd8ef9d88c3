import type { Formation, Process } from './decide.ts';

/**
 * A formation relative to the members of the generation before, which all its readers know: every survivor reads it, so
 * it must not name all of them again.
 */
export interface PackedFormation {
  readonly kind: 'form';
  /** In the order of their new ranks: `[first, count]` of the members before, or a process that was no member. */
  readonly members: readonly (readonly [first: number, count: number] | Process)[];
  /** The number of members without a state. They are the last ones. */
  readonly joining: number;
  /** Rank of the member that sends them its state; null without one. */
  readonly source: number | null;
  readonly committed: number;
}

export function packFormation(
  { members, joining, source, committed }: Formation,
  before: readonly Process[],
): PackedFormation {
  const places = new Map(before.map(({ token }, place) => [token, place]));
  const packed: ([first: number, count: number] | Process)[] = [];
  for (const one of members) {
    const place = places.get(one.token);
    const last = packed.at(-1);
    if (place === undefined) packed.push(one);
    else if (Array.isArray(last) && last[0] + last[1] === place) last[1] += 1;
    else packed.push([place, 1]);
  }
  const from = members.findIndex(({ token }) => token === source);
  const sender = from < 0 ? null : from;
  return { kind: 'form', members: packed, joining: joining.length, source: sender, committed };
}

export function unpackFormation(
  { members: packed, joining, source, committed }: PackedFormation,
  before: readonly Process[],
): Formation {
  const members = packed.flatMap((one) => ('token' in one ? [one] : before.slice(one[0], one[0] + one[1])));
  return {
    kind: 'form',
    members,
    joining: members.slice(members.length - joining).map(({ token }) => token),
    source: source === null ? undefined : members[source].token,
    committed,
  };
}
