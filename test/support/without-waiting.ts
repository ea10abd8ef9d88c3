import type { Ended } from './command.ts';

const waiting =
  /^ringrun: rank \d+: waiting for ranks? [\d, -]+ to join, at the store at \S+ \(\d+ s of .*\)\n/gm;

/** Without the lines by which a rank says that others are still starting, which takes more than 2 s on a busy machine. */
export function withoutWaiting(ended: Ended): Ended {
  return { ...ended, stderr: ended.stderr.replace(waiting, '') };
}
