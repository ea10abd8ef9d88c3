import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../support/environment.ts';

/** An instruction of a Dockerfile with its arguments, continuation lines joined. */
export interface Instruction {
  name: string;
  text: string;
}

/** The instructions of `deploy/<name>`, without comments, including those between continuation lines. */
export function readDockerfile(name: string): Instruction[] {
  const lines = readFileSync(join(repository, 'deploy', name), 'utf8')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const match = /^([A-Z]+) (.*)$/.exec(line);
    if (match === null) throw new Error(`deploy/${name}: no instruction: ${line}`);
    return { name: match[1], text: match[2] };
  });
}
