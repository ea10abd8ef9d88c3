import { describeType } from '../value-type.ts';
import type { ProgramSummary } from './recompilation-warning.ts';

/** Milliseconds after which a compilation is reported. */
const slowAfterMs = 2000;

/** Compiles a graph and prints one line on stderr if that takes more than `afterMs`. Default: 2 s. */
export async function warnIfSlow<T>(
  what: string,
  shape: ProgramSummary,
  compile: () => Promise<T>,
  afterMs = slowAfterMs,
): Promise<T> {
  // onnxruntime compiles on another thread, so the timer fires during the compilation.
  const timer = setTimeout(() => {
    process.stderr.write(`ringrun: compiling ${describeCompilation(what, shape)}\n`);
  }, afterMs);
  try {
    return await compile();
  } finally {
    clearTimeout(timer);
  }
}

/** `warnIfSlow` for a compilation that blocks the event loop: prints the line afterwards. */
export function warnIfSlowSync<T>(
  what: string,
  shape: ProgramSummary,
  compile: () => T,
  afterMs = slowAfterMs,
): T {
  const startedAt = performance.now();
  const result = compile();
  const ms = performance.now() - startedAt;
  if (ms > afterMs) {
    process.stderr.write(
      `ringrun: the event loop was blocked for ${Math.round(ms)} ms by compiling ${describeCompilation(what, shape)}\n`,
    );
  }
  return result;
}

/** `the forward pass, 2,050 operators, from 128 × float32[8,16], int64[8]. …` */
export function describeCompilation(what: string, summary: ProgramSummary): string {
  return `${what}, ${describeSummary(summary)}. This happens once for each set of shapes.`;
}

/** `2,050 operators, from 128 × float32[8,16], int64[8]` */
export function describeSummary({ operators, inputs }: ProgramSummary): string {
  const counts = new Map<string, number>();
  for (const input of inputs) counts.set(describeType(input), (counts.get(describeType(input)) ?? 0) + 1);
  const types = [...counts].map(([type, count]) => (count === 1 ? type : `${count} × ${type}`));
  const shown = types.slice(0, maxShownTypes).join(', ');
  const more = types.length > maxShownTypes ? ` and ${types.length - maxShownTypes} more shapes` : '';
  return `${operators.toLocaleString('en-US')} operators, from ${shown || 'parameters alone'}${more}`;
}

const maxShownTypes = 4;
