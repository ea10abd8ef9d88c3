import { ArgumentError } from '../errors/errors.ts';
import { describeValue } from './describe-value.ts';

/** @param what the setting, such as `requiresGrad of parameter fc.weight` */
export function requireBoolean(what: string, value: unknown): void {
  if (typeof value === 'boolean') return;
  throw new ArgumentError(`${what}: expected true or false, got ${describeValue(value)}.`);
}
