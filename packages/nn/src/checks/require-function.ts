import { ArgumentError } from '../errors/errors.ts';
import { describeValue } from './describe-value.ts';

export function requireFunction(where: string, given: unknown): void {
  if (typeof given === 'function') return;
  throw new ArgumentError(`${where}: expected a function, got ${describeValue(given)}.`);
}
