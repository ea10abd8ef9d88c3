import { hostname } from 'node:os';
import { allGatherObject, getRank, isInitialized } from '../../process-group/index.ts';
import { InvalidDataError } from './invalid-data-error.ts';

export interface OnePerHost {
  /** Whose data it is, for messages. */
  title: string;
  act: () => Promise<void>;
  /** Whether this rank acts: by LOCAL_RANK (the rank, where that is missing) 0 of each host unless given. */
  isActor?: boolean;
  environment?: NodeJS.ProcessEnv;
}

/** How it went for a rank. */
interface Outcome {
  host: string;
  /** Why it failed. */
  failure?: string;
}

/**
 * One rank of each host acts, and the others wait until all have. When one fails, every rank fails: nobody goes on to wait for it elsewhere. Without an
 * initialised group this process acts.
 */
export async function onePerHost({
  title,
  act,
  isActor,
  environment = process.env,
}: OnePerHost): Promise<void> {
  if (!isInitialized()) {
    await act();
    return;
  }
  const isOurs = isActor ?? Number(environment.LOCAL_RANK ?? getRank()) === 0;
  let failure: unknown;
  if (isOurs) await act().catch((error: unknown) => (failure = error));
  const message = failure instanceof Error ? failure.message : String(failure);
  const outcome: Outcome = { host: hostname(), ...(failure === undefined ? {} : { failure: message }) };
  const outcomes = await allGatherObject(outcome);
  if (failure instanceof Error) throw failure;
  const failed = outcomes.findIndex((of) => of.failure !== undefined);
  if (failed < 0) return;
  const { host, failure: reason } = outcomes[failed];
  throw new InvalidDataError(title, `rank ${failed} on ${host} could not prepare it`, String(reason));
}
