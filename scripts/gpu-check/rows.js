// Results, one line of JSON each, written when they are known: a check that is stopped loses nothing.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export class Rows {
  /** Rows with `ok: false`. */
  failures = 0;
  #file;

  /** @param name of the file, which is emptied */
  constructor(folder, name) {
    mkdirSync(folder, { recursive: true });
    this.#file = join(folder, name);
    writeFileSync(this.#file, '');
  }

  add(row) {
    if (row.ok === false) this.failures += 1;
    appendFileSync(this.#file, `${JSON.stringify(row)}\n`);
    console.log(textOf(row));
  }
}

/** `ok       kernels, attention: 12 passed (3.1 s)`, or columns of a comparison. */
function textOf({ what, ok, detail, seconds, ...figures }) {
  const state = ok === undefined ? '' : `${(ok ? 'ok' : 'FAILED').padEnd(8)} `;
  const rest = Object.entries(figures).map(([name, value]) => `${name} ${shown(value)}`);
  const parts = [detail, rest.join('  ')].filter(Boolean);
  const took = seconds === undefined ? '' : ` (${seconds.toFixed(1)} s)`;
  return `${state}${what}: ${parts.join('; ')}${took}`;
}

function shown(value) {
  return typeof value === 'number' && !Number.isInteger(value) ? value.toPrecision(4) : String(value);
}

/** The line of a process's output that names its error, else the last one. */
export function errorLine(text) {
  const lines = text.trim().split('\n');
  return (lines.find((line) => /^\W*\w*(Error|Exception)\b.*:/.test(line)) ?? lines.at(-1)).slice(0, 300);
}
