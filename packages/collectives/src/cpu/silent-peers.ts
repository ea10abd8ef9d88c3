import { InvalidArgumentError } from '@ringrun/core';

const defaultMs = 15_000;
/** The kernel counts the intervals of its probes in whole seconds. */
const minMs = 1000;
const maxMs = 86_400_000;

/**
 * Milliseconds without any answer from the host of another rank after which that rank counts as dead: the option, else
 * RINGRUN_SILENT_PEER_TIMEOUT_S (in seconds), else 15 s.
 *
 * @throws InvalidArgumentError for a value outside 1 s to 1 day.
 */
export function silentPeerTimeout(option: number | undefined, env: NodeJS.ProcessEnv = process.env): number {
  if (option !== undefined) {
    if (isTimeout(option)) return Math.round(option);
    throw new InvalidArgumentError(
      `silentPeerTimeoutMs is ${option}, expected milliseconds from ${minMs} to ${maxMs} (1 s to 1 day).`,
    );
  }
  const given = env['RINGRUN_SILENT_PEER_TIMEOUT_S']?.trim() ?? '';
  if (given === '') return defaultMs;
  const ms = Number(given) * 1000;
  if (isTimeout(ms)) return Math.round(ms);
  throw new InvalidArgumentError(
    `RINGRUN_SILENT_PEER_TIMEOUT_S is '${given}', expected seconds from ${minMs / 1000} to ${maxMs / 1000}. Use a number such as 15, or unset it.`,
  );
}

function isTimeout(ms: number): boolean {
  return Number.isFinite(ms) && ms >= minMs && ms <= maxMs;
}
