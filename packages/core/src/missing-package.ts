import { RingrunError } from './errors.ts';

/**
 * The error for an optional package that is not installed. `use` is the operation that needs it, such as `reading
 * s3://bucket`.
 */
export function missingPackage(use: string, name: string, cause?: unknown): RingrunError {
  const message = `${use}: expected the package ${name}, got none. Run npm install ${name}.`;
  return new RingrunError('ERR_PACKAGE_MISSING', message, { cause });
}

/** Whether an import or `require` of the package `name` failed because it is not installed. */
export function isMissingPackage(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return isMissing && message.includes(`'${name}'`);
}
