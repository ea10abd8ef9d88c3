import type { FileRecord } from './record.ts';

/** One opening of the file, in the order of the openings. */
export interface FileMember {
  client: string;
  /** Counts openings from 0; names the byte that this member keeps locked while it lives. */
  index: number;
  host: string;
  pid: number;
  /** 0: not said. */
  worldSize: number;
  left: boolean;
}

/** What somebody who opens the file has to do. */
export type Admission =
  | { decision: 'join' }
  /** What is there is of a run that is over; `killed`: who of it has not left. */
  | { decision: 'start-afresh'; killed: FileMember[] }
  /** A run that is complete still goes on. */
  | { decision: 'wait'; for: FileMember[] }
  /** The run that goes on has another number of processes. */
  | { decision: 'refuse'; because: FileMember };

/** Who has opened a file, as its records tell. Those who have withdrawn do not count. */
export class Roll {
  readonly #members = new Map<string, FileMember>();
  #openings = 0;

  /** Takes note of a record of membership. */
  take(record: FileRecord): void {
    const { client } = record;
    if (record.entry === 'withdrawn') this.#members.delete(client);
    else if (record.entry === 'left') this.#members.get(client)!.left = true;
    else if (record.entry === 'joined') {
      this.#members.set(client, { client, index: this.#openings++, ...record.joined, left: false });
    }
  }

  get members(): FileMember[] {
    return [...this.#members.values()];
  }

  /** The index that the next opening gets. */
  get nextIndex(): number {
    return this.#openings;
  }
}

/**
 * Whether one who opens the file for a run of `worldSize` processes (0: not said) belongs to the run that the file tells of.
 *
 * @param lives Whether a member's process still has the file open. One that neither lives nor has left was killed.
 */
export function admit(
  members: readonly FileMember[],
  worldSize: number,
  lives: (member: FileMember) => boolean,
): Admission {
  const living = members.filter((member) => !member.left && lives(member));
  const other = (living.length > 0 ? living : members).find((member) => member.worldSize !== worldSize);
  // Without a number of processes nobody can tell where a run ends: such a file belongs to whoever opens it, for as long as it is there.
  const boundless = members.some((member) => member.worldSize === 0);
  if (other && (living.length > 0 || boundless)) return { decision: 'refuse', because: other };
  if (worldSize === 0) return { decision: 'join' };
  const killed = members.filter((member) => !member.left && !living.includes(member));
  if (living.length === 0 && (other !== undefined || killed.length > 0 || members.length >= worldSize)) {
    return { decision: 'start-afresh', killed };
  }
  return members.length < worldSize ? { decision: 'join' } : { decision: 'wait', for: living };
}

/**
 * Whether nobody needs the file once this member is gone: none of the others lives, and no further one will come, because all have come, or because none has
 * but this one, whose run has failed.
 */
export function isLast(
  members: readonly FileMember[],
  self: FileMember,
  how: 'left' | 'withdrawn',
  lives: (member: FileMember) => boolean,
): boolean {
  const others = members.filter((member) => member !== self);
  if (self.worldSize === 0 || others.some((member) => !member.left && lives(member))) return false;
  return how === 'withdrawn' || members.length >= self.worldSize;
}
