import { ArgumentError } from './errors.ts';
import { describeValue } from './stored-tensor.ts';

/** @param what is set, such as `requiresGrad of parameter fc.weight` */
export function requireBoolean(what: string, value: unknown): void {
  if (typeof value === 'boolean') return;
  throw new ArgumentError(`${what}: expected true or false, got ${describeValue(value)}.`);
}
