import type { Ended } from './command.ts';

const lines = [
  /^ringrun: rank \d+: waiting for ranks? [\d, -]+ to join, at the store at \S+ \(\d+ s of .*\)\n/gm,
  /^ringrun: rank \d+: waiting in .* for rank \d+ \(host .*\(\d+ s of .*\)\n/gm,
];

/**
 * Without the lines by which a rank says that it waits: for others that are still starting, which takes more than 2 s on a busy machine, or in an operation, for one
 * that comes to it more than 5 s later.
 */
export function withoutWaiting<End extends Pick<Ended, 'stderr'>>(ended: End): End {
  return { ...ended, stderr: lines.reduce((text, line) => text.replace(line, ''), ended.stderr) };
}
