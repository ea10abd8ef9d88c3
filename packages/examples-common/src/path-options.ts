import { InvalidArgumentError } from 'commander';
import { outputProblem, pathProblem } from 'ringrun';

/*
 * Parsers of the options that name files and folders. What cannot be read or written is refused before the training, with
 * what was expected and what is there. Each returns its text.
 */

/** A file or folder with data that exists, or s3://bucket/prefix. */
export function dataLocation(text: string): string {
  if (isBucket(text)) return text;
  const isFile = pathProblem(text, 'folder') === 'is a file';
  return accepted(text, 'a file or folder', isFile ? pathProblem(text, 'file') : pathProblem(text, 'folder'));
}

/** A text file that exists, or a URL. */
export function textLocation(text: string): string {
  return /^https?:/.test(text) ? text : accepted(text, 'a file or a URL', pathProblem(text, 'file'));
}

/** A folder to write to, which may be missing, or s3://bucket/prefix. */
export function outputFolder(text: string): string {
  return isBucket(text)
    ? text
    : accepted(text, 'a folder that can be written', outputProblem(text, 'folder'));
}

/** A file to write, which may be missing, or s3://bucket/key. */
export function outputFile(text: string): string {
  if (!isBucket(text))
    return accepted(
      text,
      'a file that can be written',
      text.endsWith('/') ? 'is a folder' : outputProblem(text, 'file'),
    );
  if (/^s3:\/\/[^/]+\/(.*[^/])?[^/]$/.test(text)) return text;
  throw new InvalidArgumentError('Expected a file or s3://bucket/key, such as s3://models/mnist.onnx.');
}

function isBucket(text: string): boolean {
  return text.startsWith('s3://');
}

function accepted(text: string, expected: string, problem: string | undefined): string {
  if (problem === undefined) return text;
  throw new InvalidArgumentError(`Expected ${expected}, but it ${problem}.`);
}
