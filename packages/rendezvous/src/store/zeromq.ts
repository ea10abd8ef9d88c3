import { createRequire } from 'node:module';
import { isMissingPackage, missingPackage, openFilesProblem, RingrunError } from '@ringrun/core';
import { findZeromq, otherSystemProblem } from '@ringrun/native';
import type * as ZeroMQ from 'zeromq';

/** ZeroMQ: the copy in the addon's platform package, or the npm package `zeromq` on other platforms. */
export const { Context, Dealer, Reply, Router, capability } = load();

export type Context = ZeroMQ.Context;
export type Dealer = ZeroMQ.Dealer;
export type MessageLike = ZeroMQ.MessageLike;
export type Reply = ZeroMQ.Reply;
export type Router = ZeroMQ.Router;

function load(): typeof ZeroMQ {
  const problem = otherSystemProblem();
  if (problem !== undefined) return refusing(problem);
  const module = findZeromq() ?? 'zeromq';
  try {
    return createRequire(import.meta.url)(module) as typeof ZeroMQ;
  } catch (error) {
    throw isMissingPackage(error, module) ? missingPackage('loading the store', 'zeromq@6', error) : error;
  }
}

/** On a system without the addon: imports work, every use is refused. */
function refusing(problem: string): typeof ZeroMQ {
  function Refused(): never {
    throw new RingrunError('ERR_NATIVE_UNAVAILABLE', problem);
  }
  return {
    ...{ Context: Refused, Dealer: Refused, Reply: Refused, Router: Refused },
    capability: { curve: true },
  } as unknown as typeof ZeroMQ;
}

/**
 * A socket, which needs descriptors of its own.
 *
 * @param what What fails, for the error, such as `The store cannot listen`.
 * @throws RingrunError `ERR_OPEN_FILES` if this process has none left
 */
export function opened<Socket>(what: string, open: () => Socket): Socket {
  try {
    return uninterrupted(open);
  } catch (cause) {
    const shortage = openFilesProblem(cause);
    throw shortage === undefined
      ? cause
      : new RingrunError('ERR_OPEN_FILES', `${what}: ${shortage}.`, { cause });
  }
}

/**
 * Repeats a call of ZeroMQ that a signal interrupts, such as those of a profiler, a thousand times a second: it has done nothing
 * then.
 */
export function uninterrupted<Result>(call: () => Result): Result {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EINTR') throw error;
    }
  }
}
