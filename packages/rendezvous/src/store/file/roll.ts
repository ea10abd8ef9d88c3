import type { FileRecord } from './record.ts';

/** One opening of the file. */
export interface FileMember {
  client: string;
  /** Number of the opening, from 0. Determines the byte that this member keeps locked while it lives. */
  index: number;
  host: string;
  pid: number;
  /** 0: unknown. */
  worldSize: number;
  left: boolean;
}

/** Decision for a process that opens the file. */
export type Admission =
  | { decision: 'join' }
  /** The file is of a run that has ended. `killed`: its members that did not leave. */
  | { decision: 'start-afresh'; killed: FileMember[] }
  /** A complete run is still active. */
  | { decision: 'wait'; for: FileMember[] }
  /** The active run has another world size. */
  | { decision: 'refuse'; because: FileMember };

/** Members of a file by its records, without those that have withdrawn. */
export class Roll {
  readonly #members = new Map<string, FileMember>();
  #openings = 0;

  /** Applies a record of membership. */
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

  /** Index of the next opening. */
  get nextIndex(): number {
    return this.#openings;
  }
}

/**
 * Decides if a process that opens the file for a run of `worldSize` processes (0: unknown) belongs to the run in the
 * file.
 *
 * @param lives True if a member's process still has the file open. A member that neither lives nor has left was killed.
 */
export function admit(
  members: readonly FileMember[],
  worldSize: number,
  lives: (member: FileMember) => boolean,
): Admission {
  const living = members.filter((member) => !member.left && lives(member));
  const other = (living.length > 0 ? living : members).find((member) => member.worldSize !== worldSize);
  // Without a world size the end of a run is unknown: every process that opens such a file joins it.
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
 * True if no process needs the file after this member: no other member lives, and no further one will join, because the
 * run is complete or has failed to start.
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
