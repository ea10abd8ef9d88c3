import { recordActivity } from '@ringrun/core';
import { ddpEvents } from '../ddp/events.ts';

/** Records the time that training with DistributedDataParallel waits for other ranks. */
export function recordWaits(): void {
  ddpEvents.on('waited', (awaited, startedAt, endedAt, step) => {
    recordActivity('waiting', awaited, startedAt, endedAt, step === undefined ? undefined : { step });
  });
}
