import { hostname } from 'node:os';
import { localRankOf } from '@ringrun/core';
import { allGatherObject, getRank, isInitialized } from '../../process-group/index.ts';
import { InvalidDataError } from './invalid-data-error.ts';

export interface OnePerHost {
  /** Name of the data set, for errors. */
  title: string;
  act: () => Promise<void>;
  /** Whether this rank acts. Default: true if LOCAL_RANK (or else the rank) is 0. */
  isActor?: boolean;
  environment?: NodeJS.ProcessEnv;
}

/** The outcome on a rank. */
interface Outcome {
  host: string;
  /** The reason of a failure. */
  failure?: string;
}

/**
 * Runs an action on one rank per host while the others wait. If one rank fails, every rank fails, so that no rank waits
 * for it later. Without an initialized group, this process acts.
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
  const isOurs = isActor ?? Number(localRankOf(environment) ?? getRank()) === 0;
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
