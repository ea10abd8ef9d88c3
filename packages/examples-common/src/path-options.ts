import { InvalidArgumentError } from 'commander';
import { outputProblem, pathProblem } from 'ringrun';

/*
 * Parsers of the options that name files and folders. Paths that cannot be read or written are refused before the
 * training, with the expected and the actual state. Each parser returns its text.
 */

/** A text file that exists, or a URL. */
export function textLocation(text: string): string {
  return /^https?:/.test(text) ? text : accepted(text, 'a file or a URL', pathProblem(text, 'file'));
}

/** A folder to write to, which may be missing, or s3://bucket/prefix. */
export function outputFolder(text: string): string {
  return isBucket(text) ? text : accepted(text, 'a folder', outputProblem(text, 'folder'));
}

/** A file to write, which may be missing, or s3://bucket/key. */
export function outputFile(text: string): string {
  if (!isBucket(text))
    return accepted(text, 'a file', text.endsWith('/') ? 'is a folder' : outputProblem(text, 'file'));
  if (/^s3:\/\/[^/]+\/(.*[^/])?[^/]$/.test(text)) return text;
  throw new InvalidArgumentError('Expected a file or s3://bucket/key, such as s3://models/mnist.onnx.');
}

function isBucket(text: string): boolean {
  return text.startsWith('s3://');
}

function accepted(text: string, expected: string, problem: string | undefined): string {
  if (problem === undefined) return text;
  const isOther = /^is (a (?:file|folder))$/.exec(problem);
  throw new InvalidArgumentError(
    `Expected ${expected}, ${isOther ? `got ${isOther[1]}` : `but it ${problem}`}.`,
  );
}
