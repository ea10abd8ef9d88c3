import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { figuresVariable, formatFigures, maxScalars } from '@ringrun/launcher';
import type { Phase, Progress } from '@ringrun/launcher';
import { makeFolder, printable } from '@ringrun/core';
import { ddpEvents } from '../ddp/events.ts';
import { writerEvents } from '../tensorboard/events.ts';
import { WorkRecorder } from './figures-recorder.ts';
import { RecentScalars } from './recent-scalars.ts';

/** Milliseconds between two records of a rank. */
const publishEveryMs = 1000;

/**
 * Writes this rank's figures to a file, about once a second and one write at a time. A write that fails or hangs never
 * delays the training. One line reports the first failure, and one that writing succeeds again.
 */
export class FiguresPublisher {
  readonly #path: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #work = new WorkRecorder();
  readonly #scalars = new RecentScalars();
  /** Scalars that the record has in its progress already. */
  #leftOut = new Set<string>();
  #hasNamedLimit = false;
  #later: NodeJS.Timeout | undefined;
  #phase: Phase = 'paused';
  #progress: Progress | undefined;
  #nextAt = -Infinity;
  #isWriting = false;
  /** Whether a record became due while another one was written. */
  #isDueAgain = false;
  #isOver = false;
  #hasFailed = false;
  #hasFolder = false;

  /** @param env RINGRUN_RUN_ID, RINGRUN_RESTART_COUNT, RANK and WORLD_SIZE. */
  constructor(path: string, env: NodeJS.ProcessEnv) {
    this.#path = path;
    this.#env = env;
  }

  /** An epoch begins. */
  begin(): void {
    this.#phase = 'training';
    this.#work.resume(performance.now());
  }

  /** Counts a step. Returns whether a record is due: call `publish` then. */
  step(samples: number): boolean {
    const now = performance.now();
    this.#phase = 'training';
    this.#work.step(samples, now);
    return now >= this.#nextAt;
  }

  /** From now on, scalars with these names are not published. */
  leaveOut(names: Iterable<string>): void {
    this.#leftOut = new Set(names);
  }

  /** Publishes a point of a scalar within two seconds, or with the next step. Default of the step: that of the training. */
  addScalar(name: string, value: number, step: number | undefined): void {
    if (this.#leftOut.has(name)) return;
    const hasRoom = this.#scalars.add(name, value, step ?? this.#progress?.step ?? this.#work.steps);
    if (!hasRoom && !this.#hasNamedLimit) {
      this.#hasNamedLimit = true;
      this.#log(
        `shows its first ${maxScalars} scalars on the dashboard, without ${printable(name)} and later ones. Files of TensorBoard have all of them`,
      );
    }
    if (!hasRoom) return;
    // Later than a step of the training, which publishes its progress too, and without delaying the next one.
    this.#later ??= setTimeout(
      () => {
        this.#later = undefined;
        void this.#write();
      },
      Math.max(0, this.#nextAt - performance.now()) + publishEveryMs,
    ).unref();
  }

  /** Starts to write a record, and returns at once. */
  publish(progress?: Progress): void {
    this.#progress = progress ?? this.#progress;
    this.#nextAt = performance.now() + publishEveryMs;
    clearTimeout(this.#later);
    this.#later = undefined;
    void this.#write();
  }

  /** An epoch ends. */
  pause(): void {
    this.#phase = 'paused';
    this.#work.pause(performance.now());
    void this.#write();
  }

  /** The training has ended. */
  end(): void {
    this.#phase = 'ended';
    this.#work.pause(performance.now());
    void this.#write();
  }

  /** The process ends, so only a synchronous write is left. */
  endNow(): void {
    this.#phase = 'ended';
    this.#isOver = true;
    if (!this.#hasFolder) return;
    const temporary = this.#temporary('end');
    try {
      writeFileSync(temporary, this.#record());
      renameSync(temporary, this.#path);
    } catch {
      // The last record is kept.
      rmSync(temporary, { force: true });
    }
  }

  async #write(): Promise<void> {
    this.#isDueAgain = this.#isWriting;
    if (this.#isWriting) return;
    this.#isWriting = true;
    const temporary = this.#temporary('tmp');
    try {
      // The launcher has no folder for a worker without output files.
      if (!this.#hasFolder) await makeFolder(dirname(this.#path));
      this.#hasFolder = true;
      // A reader finds a complete record.
      await writeFile(temporary, this.#record());
      await rename(temporary, this.#path);
      if (this.#hasFailed) this.#log('writes its figures for the dashboard again');
      this.#hasFailed = false;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      // The folder may be gone once the last record is written.
      if (!this.#hasFailed && !this.#isOver)
        this.#log(
          `cannot write its figures for the dashboard: ${(error as Error).message}. Training continues without them until they can be written`,
        );
      this.#hasFailed = true;
    }
    this.#isWriting = false;
    if (this.#isDueAgain && !this.#isOver) void this.#write();
  }

  /** The synchronous write at the end may overlap with another one. */
  #temporary(suffix: 'tmp' | 'end'): string {
    return `${this.#path}.${process.pid}.${suffix}`;
  }

  #log(what: string): void {
    process.stderr.write(`ringrun: rank ${this.#env['RANK'] ?? 0} ${what}.\n`);
  }

  #record(): string {
    const scalars = this.#scalars.list;
    const name = this.#env['RINGRUN_JOB_NAME'];
    return formatFigures({
      runId: this.#env['RINGRUN_RUN_ID'] ?? '',
      restartCount: Number(this.#env['RINGRUN_RESTART_COUNT'] ?? 0),
      rank: Number(this.#env['RANK'] ?? 0),
      worldSize: Number(this.#env['WORLD_SIZE'] ?? 1),
      host: hostname(),
      pid: process.pid,
      writtenAt: Date.now(),
      phase: this.#phase,
      ...this.#work.take(performance.now()),
      ...(this.#progress && { progress: this.#progress }),
      ...(name !== undefined && { name }),
      ...(scalars.length > 0 && { scalars }),
    });
  }
}

/** The publisher of this process; undefined unless a launcher asks for figures. */
export const figuresPublisher = openPublisher(process.env);

function openPublisher(env: NodeJS.ProcessEnv): FiguresPublisher | undefined {
  const path = env[figuresVariable];
  if (!path || !isMainThread) return undefined;
  // Programs that the script starts inherit the environment. They must not write to the same file.
  Reflect.deleteProperty(env, figuresVariable);
  const publisher = new FiguresPublisher(path, env);
  process.once('exit', (code) => {
    if (code === 0) publisher.endNow();
  });
  return publisher;
}

/** Publishes the scalars of all writers. */
export function startPublishingScalars(): void {
  const publisher = figuresPublisher;
  if (publisher === undefined) return;
  writerEvents.on('scalar', (tag, value, step) => {
    publisher.addScalar(tag, value, step);
  });
}

/** Publishes the steps of DistributedDataParallel of a script without a training report, which has no loss. */
export function startPublishingSteps(): void {
  if (figuresPublisher !== undefined) ddpEvents.on('averaged', publishStep);
}

/** Called by a training report, which publishes more. */
export function stopPublishingSteps(): void {
  ddpEvents.off('averaged', publishStep);
}

function publishStep(): void {
  if (figuresPublisher?.step(0) === true) figuresPublisher.publish();
}
