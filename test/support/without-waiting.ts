import type { Ended } from './command.ts';

const lines = [
  /^ringrun: rank \d+: waiting for ranks? [\d, -]+ to join, at the store at \S+ \(\S+ (m?s|min) of .*\)\n/gm,
  /^ringrun: rank \d+: waiting for the store at \S+: .*\(\S+ (m?s|min) of .*\)\n/gm,
  /^ringrun: rank \d+: waiting in .* for rank \d+ \(host .*\(\S+ (m?s|min) of .*\)\n/gm,
  /^ringrun: compiling .* This happens once for each set of shapes\.\n/gm,
];

/**
 * Removes lines about waiting, all of which occur on busy machines: for the store or for ranks that are still starting
 * (after 2 s), for a rank that is more than 5 s late in an operation, for a compilation of more than 2 s.
 */
export function withoutWaiting<End extends Pick<Ended, 'stderr'>>(ended: End): End {
  return { ...ended, stderr: lines.reduce((text, line) => text.replace(line, ''), ended.stderr) };
}
