import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setRecoveryMark } from '@ringrun/launcher';
import { processSpace, systemClock } from '@ringrun/rendezvous';
import type { Clock, Process } from '@ringrun/rendezvous';
import type { Session } from '../process-group/session.ts';
import { currentState, enterState } from '../process-group/state.ts';
import { Subgroups } from '../process-group/subgroups.ts';

/** The process of a recovery. Simulations have many in one real process. */
export interface RecoveringProcess {
  readonly self: Process;
  readonly clock: Clock;
  /** All ranks have begun a fault-tolerant job: the launcher must not end it when a process dies. */
  begins(): void;
  /** The session has another default group. */
  groupChanged(session: Session): void;
  /** Destroys the groups of `newGroup`. Never rejects. */
  destroySubgroups(): Promise<void>;
}

/** This process, of the rank with which it was started. */
export function thisProcess(rank: number): RecoveringProcess {
  const token = process.env['RINGRUN_WORKER_ID'] ?? randomUUID();
  return {
    self: { token, rank, host: hostname(), pid: process.pid, space: processSpace() },
    clock: systemClock,
    begins: () => {
      setRecoveryMark(process.env);
    },
    groupChanged: (session) => {
      enterState({ phase: 'ready', session, subgroups: new Subgroups(session) });
    },
    destroySubgroups: async () => {
      const state = currentState();
      if (state.phase === 'ready') await state.subgroups.destroyAll().catch(() => undefined);
    },
  };
}
