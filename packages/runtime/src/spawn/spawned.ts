// The script of the ranks that `spawn` starts: calls the function, and leaves its result.
import { constants, Script } from 'node:vm';
import { InvalidArgumentError } from '@ringrun/core';
import { isTypeScript, runTypeScript } from '@ringrun/launcher';
import { CallFiles, type Called } from './call.ts';

type Callable = (...args: readonly unknown[]) => unknown;

const files = new CallFiles(process.argv[2]);
const rank = Number(process.env['RANK']);
const size = Number(process.env['WORLD_SIZE']);
const { called, args } = files.readCall();
try {
  const result = await (await functionOf(called))(...args);
  leave(result);
} catch (error) {
  const explained = explain(error, called);
  files.writeOutcome(rank, { size, error: portable(explained), at: Date.now() });
  throw explained;
}

function leave(result: unknown): void {
  try {
    files.writeOutcome(rank, { size, result });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(
      `spawn: the result of rank ${rank} cannot be sent to the caller: ${reason} Return plain data, such as numbers, typed arrays and objects of them.`,
      { cause: error },
    );
  }
}

async function functionOf(called: Called): Promise<Callable> {
  if ('source' in called) return functionOfSource(called.source, called.from);
  const { module, name } = called;
  if (isTypeScript(module)) await runTypeScript(module);
  const exported = ((await import(module)) as Readonly<Record<string, unknown>>)[name];
  if (typeof exported === 'function') return exported as Callable;
  throw new InvalidArgumentError(
    `spawn: ${module} has no export ${name} that is a function. Add \`export ${name === 'default' ? 'default ' : ''}async function ${name === 'default' ? 'train' : name}(…)\`, or pass the name of another one.`,
  );
}

function functionOfSource(source: string, from: string): Callable {
  // esbuild, which compiles TypeScript for tsx, names functions by this function.
  Object.assign(globalThis, { __name: (named: unknown) => named });
  const script = new Script(`(${source})`, {
    filename: from,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  return script.runInThisContext() as Callable;
}

function explain(error: unknown, called: Called): unknown {
  if (!(error instanceof ReferenceError) || !('source' in called)) return error;
  return new InvalidArgumentError(
    `spawn: ${error.message} in the function. Ranks get the source of a function without the variables around it: pass them in args, import() inside the function, or pass { module, function } instead.`,
    { cause: error },
  );
}

/** Errors are cloned with their message and stack; another value may not be cloneable. */
function portable(error: unknown): unknown {
  return error instanceof Error ? error : new Error(String(error));
}
