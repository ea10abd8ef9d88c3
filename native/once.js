// Runs work in one of several processes that need it at the same time; the others wait and use its result.
//
// The working process holds a lock file and touches it every second. A file that is not touched for `staleAfterMs` was
// left by a dead process, possibly on another host or in another container, where its process id cannot be checked.
// Only changes of the time count, because the clocks of hosts differ. Two processes may find a stale file and both
// work, so `work` must allow that.
import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';

const beatMs = 1_000;
const pollMs = 100;
const noticeAfterMs = 10_000;

/**
 * @param lock The lock file; `${lock}.failed` holds the error of the last process that failed.
 * @param work Run by one process.
 * @param isDone Returns true if another process has done the work in the meantime.
 * @param onWait Called once, with the holder of the lock, after 10 s of waiting.
 */
export async function once({ lock, work, isDone, onWait, staleAfterMs = 15_000 }) {
  mkdirSync(dirname(lock), { recursive: true });
  const failure = `${lock}.failed`;
  const failedBefore = textOf(failure);
  await take(lock, { onWait, staleAfterMs });
  const beat = setInterval(() => touch(lock), beatMs);
  const release = () => rmSync(lock, { force: true });
  process.once('exit', release);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  try {
    if (isDone()) return;
    const failed = textOf(failure);
    // Another process failed while this one waited: the work would fail here too.
    if (failed !== undefined && failed !== failedBefore)
      throw new Error(failed.slice(failed.indexOf('\n') + 1));
    await work().catch((error) => {
      writeFileSync(failure, `process ${process.pid}, ${new Date().toISOString()}\n${error.message}`);
      throw error;
    });
    rmSync(failure, { force: true });
  } finally {
    clearInterval(beat);
    release();
    process.off('exit', release);
  }
}

/** Waits until this process holds the lock file. */
async function take(lock, { onWait, staleAfterMs }) {
  const started = performance.now();
  let noticed = false;
  let seen = { beat: undefined, at: started };
  for (;;) {
    try {
      writeFileSync(lock, `process ${process.pid} on ${hostname()}`, { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const beat = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    const now = performance.now();
    if (beat !== seen.beat) seen = { beat, at: now };
    else if (now - seen.at > staleAfterMs) rmSync(lock, { force: true });
    if (!noticed && now - started > noticeAfterMs) {
      noticed = true;
      onWait(textOf(lock) ?? 'another process');
    }
    await sleep(pollMs);
  }
}

function touch(lock) {
  try {
    const now = new Date();
    utimesSync(lock, now, now);
  } catch {
    // Another process removed it as stale, as after this one was suspended.
  }
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
