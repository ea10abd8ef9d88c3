/** Why ringrun refuses what torch computes: the pattern of ringrun's message, and what the table says. */
const reasons: readonly (readonly [message: RegExp, reason: string])[] = [];

/** The reason of a refusal; undefined if none is written here, which is a difference. */
export function reasonOf(message: string): string | undefined {
  return reasons.find(([pattern]) => pattern.test(message))?.[1];
}
