// The helper thread of a worker (stack-thread.ts): answers requests for the state of this rank, and reports timeouts of its
// main thread.
import { chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { Connections, exitMessage } from './connections.ts';
import type { RankState } from './rank-state.ts';
import { withSocketAddress } from './socket-address.ts';
import { stackSocketName } from './stack-socket.ts';
import type { StackThreadData } from './stack-thread.ts';
import type { TimeoutRecord } from './timeout-record.ts';

/** Milliseconds to wait for the main thread to fail too, when another rank has reported a timeout. */
const failureMs = 300;

const { rank, errorFile } = workerData as StackThreadData;
serveStacks(rank, errorFile, parentPort!);

/** Answers on a socket next to the worker's error record. It loads the inspector only when a process asks. */
function serveStacks(rank: string, errorFile: string, fromMain: MessagePort): void {
  const folder = dirname(errorFile);
  const name = stackSocketName(rank, process.pid);
  let failed: TimeoutRecord | undefined;
  const waiting = new Set<() => void>();
  let connections: Connections | undefined;
  fromMain.on('message', (record: TimeoutRecord | typeof exitMessage) => {
    if (record === exitMessage) {
      void connections?.closeAll();
      return;
    }
    failed = record;
    for (const wake of waiting) wake();
    const ofProcess = (connections ??= new Connections(record.connections));
    void import('./timeout-report.ts').then(({ answerTimeout }) => answerTimeout(folder, record, ofProcess));
  });
  const server = createServer((socket) => {
    void answer(socket);
  });
  // Without the socket, reports lack this rank.
  server.on('error', () => undefined);
  server.on('listening', () => {
    try {
      chmodSync(join(folder, name), 0o600);
    } catch {
      // Not a socket of this folder: another user might reach it.
      server.close();
    }
  });
  try {
    withSocketAddress(folder, name, (address) => server.listen(address));
  } catch {
    // Ignored, as above.
  }

  async function answer(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy());
    const { inspectMainThread } = await import('./main-thread.ts');
    const { ownFrames } = await import('./own-folders.ts');
    const found = failed ? undefined : await inspectMainThread();
    if (found && found.operations.length > 0) await failure();
    const stack = ownFrames(failed?.stack ?? found!.stack);
    // Interrupted in a function of Node itself, such as the one that runs due timers.
    const isIdle = found?.activity === 'runs' && stack.length === 0;
    const state: RankState = {
      rank: Number(rank),
      pid: process.pid,
      runId: process.env['RINGRUN_RUN_ID'] ?? '',
      activity: failed ? 'failed' : isIdle ? 'idle' : found!.activity,
      operations: failed ? [failed.operation] : found!.operations,
      stack,
    };
    socket.end(JSON.stringify(state));
  }

  /** If the requesting rank failed in an operation, a rank that waits in the same operation fails moments later. */
  async function failure(): Promise<void> {
    if (failed) return;
    await new Promise<void>((resolve) => {
      waiting.add(resolve);
      setTimeout(resolve, failureMs);
    });
    waiting.clear();
  }
}
