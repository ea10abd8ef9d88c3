import { InvalidArgumentError } from '@ringrun/core';
import type { Stateful } from '@ringrun/core';

export type { Stateful } from '@ringrun/core';

/** Returns `object` if it is stateful. */
export function requireStateful(name: string, object: unknown): Stateful {
  const methods = (object ?? {}) as Record<string, unknown>;
  const missing = ['stateDict', 'loadStateDict'].filter((method) => typeof methods[method] !== 'function');
  if (missing.length === 0) return object as Stateful;
  throw new InvalidArgumentError(
    `Checkpointer.register: ${name} has no ${missing.join(' and no ')}. Register an object with both methods, or pass plain values to save() as \`values\`.`,
  );
}
